/* SPDX-License-Identifier: MIT */
#include "probe/join.h"

#include <stddef.h>

static struct join_slot *slot_of(struct join *j, uint32_t id)
{
    return &j->slots[id & (JOIN_SLOTS - 1)];
}

#define MANY 4u
#define STATE_MASK 3u
#define LENGTH_SHIFT 3
#define LENGTH_MAX ((UINT32_C(1) << (32 - LENGTH_SHIFT)) - 1)

static uint64_t make_word(uint32_t id, uint32_t length, bool many, enum join_state state)
{
    return (uint64_t)id << 32 | length << LENGTH_SHIFT | (many ? MANY : 0) | state;
}

static uint32_t word_id(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

static uint32_t word_ns(uint64_t word)
{
    return (uint32_t)word >> LENGTH_SHIFT << 3;
}

static void append_order(struct join *j, uint32_t id)
{
    uint64_t at = __atomic_fetch_add(&j->head, 1, __ATOMIC_RELAXED);
    uint64_t *order = &j->order[at & (JOIN_SLOTS - 1)];
    uint64_t old = __atomic_load_n(order, __ATOMIC_RELAXED);

    while ((int32_t)((uint32_t)(old >> 32) - (uint32_t)at) <= 0 && /* we were not lapped */
           !__atomic_compare_exchange_n(order, &old, at << 32 | id, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
}

void join_enter(struct join *j, uint32_t id, uint32_t tid, int64_t t0, bool many)
{
    struct join_slot *s = slot_of(j, id);
    uint64_t claim = make_word(0, 1, false, JOIN_CLAIMED);

    if (id == 0 || __atomic_exchange_n(&s->word, claim, __ATOMIC_ACQUIRE) == claim)
        return; /* a call one whole table away writes here just now: this one stays unknown */
    __atomic_thread_fence(__ATOMIC_RELEASE); /* the claim is seen before the new values are */
    __atomic_store_n(&s->t0, t0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->tid, tid, __ATOMIC_RELAXED);
    __atomic_store_n(&s->word, make_word(id, 0, many, JOIN_OPEN), __ATOMIC_RELEASE);
    append_order(j, id);
}

void join_exit(struct join *j, uint32_t id, int64_t now, bool failed)
{
    struct join_slot *s = slot_of(j, id);
    uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);

    if (id == 0 || word_id(word) != id)
        return;
    int64_t units = (now - __atomic_load_n(&s->t0, __ATOMIC_RELAXED)) >> 3;
    uint32_t length = units < 0 ? 0 : units > LENGTH_MAX ? LENGTH_MAX : (uint32_t)units;
    uint64_t closed = make_word(id, length, word & MANY, failed ? JOIN_FAILED : JOIN_CLOSED);
    __atomic_compare_exchange_n(&s->word, &word, closed, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* The slot's word and start, if they belong to the call. */
static bool read_slot(struct join *j, uint32_t id, uint64_t *ret_word, struct join_call *ret)
{
    struct join_slot *s = slot_of(j, id);
    uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);

    if (id == 0 || word_id(word) != id)
        return false;
    ret->t0 = __atomic_load_n(&s->t0, __ATOMIC_RELAXED);
    ret->tid = __atomic_load_n(&s->tid, __ATOMIC_RELAXED);
    ret->ns = word_ns(word);
    ret->open = (word & STATE_MASK) == JOIN_OPEN;
    *ret_word = word;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return word_id(__atomic_load_n(&s->word, __ATOMIC_RELAXED)) == id;
}

bool join_find(struct join *j, uint32_t id, uint16_t flush, struct join_call *ret)
{
    uint64_t word;

    if (!read_slot(j, id, &word, ret))
        return false;
    __atomic_store_n(&slot_of(j, id)->seen, (uint64_t)id << 32 | flush, __ATOMIC_RELAXED);
    return true;
}

/* Whether nothing more is to come for the call. *ret_t0 is its start. */
static bool settled(struct join *j, uint32_t id, int64_t now, int64_t patience, uint16_t flush,
                    int64_t *ret_t0)
{
    struct join_call call;
    uint64_t word;

    if (!read_slot(j, id, &word, &call))
        return true;
    uint64_t seen = __atomic_load_n(&slot_of(j, id)->seen, __ATOMIC_RELAXED);
    uint32_t state = word & STATE_MASK;
    *ret_t0 = call.t0;
    if (state == JOIN_FAILED)
        return true;
    if (word_id(seen) == id) {
        if (!(word & MANY))
            return true;
        if ((uint16_t)(flush - (uint16_t)seen) >= 2) /* a whole flush went by without one */
            return true;
    }
    return state == JOIN_CLOSED && now - call.t0 - call.ns > patience;
}

int64_t join_oldest_missing(struct join *j, int64_t now, int64_t patience, uint16_t flush)
{
    uint64_t head = __atomic_load_n(&j->head, __ATOMIC_ACQUIRE);
    int64_t t0 = 0;

    if (head - j->tail > JOIN_SLOTS)
        j->tail = head - JOIN_SLOTS;
    for (; j->tail != head; j->tail++) {
        uint64_t entry = __atomic_load_n(&j->order[j->tail & (JOIN_SLOTS - 1)], __ATOMIC_ACQUIRE);
        int32_t ahead = (int32_t)((uint32_t)(entry >> 32) - (uint32_t)j->tail);
        if (ahead < 0 || entry == 0)
            return INT64_MIN; /* its thread is about to write it */
        if (ahead > 0)
            continue; /* written over */
        if (!settled(j, (uint32_t)entry, now, patience, flush, &t0))
            return t0;
    }
    return INT64_MAX;
}
