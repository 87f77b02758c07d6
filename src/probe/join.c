/* SPDX-License-Identifier: MIT */
#include "probe/join.h"

#include <stddef.h>

static struct join_slot *slot_of(struct join *j, uint32_t id)
{
    return &j->slots[id & (JOIN_SLOTS - 1)];
}

void join_enter(struct join *j, uint32_t id, uint32_t tid, int64_t t0, bool many)
{
    struct join_slot *s = slot_of(j, id);

    if (id == 0)
        return;
    __atomic_store_n(&s->id, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    s->tid = tid;
    s->t0 = t0;
    s->ns = 0;
    s->many = many;
    __atomic_store_n(&s->seen, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->state, JOIN_OPEN, __ATOMIC_RELAXED);
    __atomic_store_n(&s->id, id, __ATOMIC_RELEASE);
    uint64_t at = __atomic_fetch_add(&j->head, 1, __ATOMIC_RELAXED);
    uint64_t *order = &j->order[at & (JOIN_SLOTS - 1)];
    uint64_t old = __atomic_load_n(order, __ATOMIC_RELAXED);
    while ((int32_t)((uint32_t)(old >> 32) - (uint32_t)at) <= 0 && /* we were not lapped */
           !__atomic_compare_exchange_n(order, &old, at << 32 | id, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
}

void join_exit(struct join *j, uint32_t id, int64_t now, bool failed)
{
    struct join_slot *s = slot_of(j, id);

    if (__atomic_load_n(&s->id, __ATOMIC_RELAXED) != id)
        return;
    int64_t ns = now - s->t0;
    s->ns = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
    __atomic_store_n(&s->state, failed ? JOIN_FAILED : JOIN_CLOSED, __ATOMIC_RELEASE);
}

bool join_find(struct join *j, uint32_t id, uint16_t flush, struct join_call *ret)
{
    struct join_slot *s = slot_of(j, id);

    if (id == 0 || __atomic_load_n(&s->id, __ATOMIC_ACQUIRE) != id)
        return false;
    ret->open = __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == JOIN_OPEN;
    ret->t0 = s->t0;
    ret->ns = s->ns;
    ret->tid = s->tid;
    __atomic_store_n(&s->seen, flush, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&s->id, __ATOMIC_RELAXED) == id; /* not written over meanwhile */
}

/* Whether nothing more is to come for the call. *ret_t0 is its start. */
static bool settled(struct join *j, uint32_t id, int64_t now, int64_t patience, uint16_t flush,
                    int64_t *ret_t0)
{
    struct join_slot *s = slot_of(j, id);

    if (__atomic_load_n(&s->id, __ATOMIC_ACQUIRE) != id)
        return true;
    uint16_t seen = __atomic_load_n(&s->seen, __ATOMIC_RELAXED);
    uint8_t state = __atomic_load_n(&s->state, __ATOMIC_RELAXED);
    *ret_t0 = s->t0;
    if (state == JOIN_FAILED)
        return true;
    if (seen != 0 && !s->many)
        return true;
    if (seen != 0 && (uint16_t)(flush - seen) >= 2) /* a whole flush went by without one */
        return true;
    return state == JOIN_CLOSED && now - s->t0 - s->ns > patience;
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
