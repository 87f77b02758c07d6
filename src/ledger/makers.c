/* SPDX-License-Identifier: MIT */
#include "ledger/makers.h"

#include "base/mem.h"
#include "base/unit.h"
#include "ledger/turn.h"
#include "ledger/walk.h"

#include <stdlib.h>

/* A worker that waited this long for work had none. */
#define IDLE_NS (1 * NS_PER_MS)
/* A thread of the same process that ended a shorter wait handed over a lock, not a batch. */
#define LOADER_NS (1 * NS_PER_MS)

void makers_clear(struct makers *ms)
{
    for (int i = 0; i < ms->count; i++)
        free(ms->maker[i]);
    *ms = (struct makers){0};
}

/* Workers are those alive at once; makers beyond them came in later generations. */
static void count_workers(struct makers *ms)
{
    uint32_t alive = 1; /* the new one was, when it delivered */
    for (int i = 0; i < ms->count - 1; i++) {
        const struct thread *x = threads_find(ms->threads, ms->maker[i]->key);
        alive += !x || x->alive;
    }
    ms->distinct++;
    if (alive > ms->totals.workers)
        ms->totals.workers = alive;
    ms->totals.generations = (ms->distinct + ms->totals.workers - 1) / ms->totals.workers - 1;
}

static bool known_maker(const struct makers *ms, uint32_t key)
{
    for (int i = 0; i < ms->count; i++)
        if (ms->maker[i]->key == key)
            return true;
    return false;
}

static struct made_by *maker_of(struct makers *ms, uint32_t key)
{
    for (int i = 0; i < ms->count; i++)
        if (ms->maker[i]->key == key)
            return ms->maker[i];
    if (ms->count == MAKERS_MAX) { /* the longest silent one makes room */
        int old = 0;
        for (int i = 1; i < ms->count; i++)
            if (ms->maker[i]->last < ms->maker[old]->last)
                old = i;
        free(ms->maker[old]);
        ms->maker[old] = ms->maker[--ms->count];
    }
    struct made_by *m = mem_zalloc(sizeof(*m));
    if (!m)
        return NULL;
    m->key = key;
    m->seen = m->last = INT64_MIN;
    ms->maker[ms->count++] = m;
    count_workers(ms);
    return m;
}

static void push_delivery(struct makers *ms, struct made_by *m, const struct maker *made,
                          int worker)
{
    struct replay_delivery d = {.start_ns = made->t0,
                                .end_ns = made->t1,
                                .idle_ns = made->idle_ns,
                                .worker = (uint32_t)worker,
                                .startup = made->first};
    int64_t started = made->t0 - made->idle_ns - made->born;
    if (made->first && made->born < made->t0 && started > 0) {
        d.start_ns = made->born;
        replay_delivery_add(&d, CAUSE_STARTUP, 0, started);
    }
    for (int i = 0; i < made->parts.count; i++)
        replay_delivery_add(&d, (enum cause)made->parts.part[i].cause, made->parts.part[i].resource,
                            made->parts.part[i].ns);
    uint64_t serial = replay_push_delivery(ms->log, ms->consumer, &d);
    if (serial == REPLAY_NONE || m->tail - m->head == MAKERS_QUEUE_MAX)
        return;
    m->queue[m->tail % MAKERS_QUEUE_MAX] = serial;
    m->ends[m->tail % MAKERS_QUEUE_MAX] = made->t1;
    m->tail++;
    /* it ran out of work: all that it may have ahead was lying there */
    unsigned ahead = m->tail - m->head;
    if (made->idle_ns > IDLE_NS && !made->first && (!m->most || ahead < m->most))
        m->most = ahead;
}

static void enumerate(struct makers *ms, const struct thread *th, int worker, int64_t until)
{
    struct made_by *m = ms->maker[worker];
    const struct thread *x = threads_find(ms->threads, m->tid);
    const struct thread *hop = threads_find(ms->threads, m->hop);
    if (!x || !hop)
        return;
    struct walk k;
    walk_init(&k, ms->threads, ms->names, th);
    if (hop != th)
        k.chain[k.depth++] = hop;
    for (;;) {
        int64_t t = turn_next(x, hop, m->seen);
        struct turn turn;
        struct shares parts = {.count = 0};
        bool silent = turn_silent(x, k.chain, k.depth, m->seen, t < until ? t : until, &turn);
        if (silent)
            t = turn.t1;
        else if (t > until || !turn_find(x, hop, k.chain, k.depth, t, &turn))
            return;
        k.maker.thread = NULL;
        walk_made(&k, x, hop, &turn, &parts);
        m->seen = t;
        if (k.maker.thread)
            push_delivery(ms, m, &k.maker, worker);
    }
}

void makers_update(struct makers *ms, const struct thread *th, int64_t until)
{
    for (int i = 0; i < ms->count; i++)
        enumerate(ms, th, i, until);
}

struct taken makers_take(struct made_by *m)
{
    unsigned at = m->head++ % MAKERS_QUEUE_MAX;
    m->consumed++;
    return (struct taken){m->queue[at], m->ends[at]};
}

/* Was this one taken before the next of `m`? */
static bool before(const struct makers *ms, int i, const struct made_by *m, int64_t t0)
{
    const struct made_by *o = ms->maker[i];
    if (o == m || o->head == o->tail || m->head == m->tail)
        return false;
    int64_t end = o->ends[o->head % MAKERS_QUEUE_MAX], mine = m->ends[m->head % MAKERS_QUEUE_MAX];
    if (end > t0)
        return false;
    if (!ms->totals.processes)
        return end < mine;
    if (end > m->last && end > mine)
        return false;
    return o->consumed < m->consumed || (o->consumed == m->consumed && o->key < m->key);
}

/* More lies there than its prefetch lets it have ahead: some were taken unnoticed. */
static bool too_many(const struct made_by *m, int64_t t0)
{
    return m->most && m->tail - m->head > m->most && m->ends[m->head % MAKERS_QUEUE_MAX] <= t0;
}

static int by_end(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    return x->end < y->end ? -1 : x->end > y->end;
}

int makers_unnoticed(struct makers *ms, struct made_by *m, int64_t t0, int64_t fresh,
                     struct taken taken[MAKERS_QUEUE_MAX])
{
    int count = 0;
    while (m->tail - m->head > 1 && m->ends[(m->head + 1) % MAKERS_QUEUE_MAX] <= fresh &&
           m->ends[m->head % MAKERS_QUEUE_MAX] <= t0 && count < MAKERS_QUEUE_MAX)
        taken[count++] = makers_take(m);
    for (int i = 0; i < ms->count; i++)
        while (count < MAKERS_QUEUE_MAX && (before(ms, i, m, t0) || too_many(ms->maker[i], t0)))
            taken[count++] = makers_take(ms->maker[i]);
    qsort(taken, (size_t)count, sizeof(taken[0]), by_end);
    return count;
}

/* A thread of the launching process that was asked by it and soon answered, or that only handed a
 * lock over, is no loader: PyTorch's queue threads are such. */
static bool only_helped(const struct makers *ms, uint32_t key, const struct event_wait *w,
                        const struct maker *m)
{
    bool answered = m->idle_ns > 0 && m->t1 - m->t0 < ANSWER_NS;
    return answered || (!known_maker(ms, key) && w->t_wake - w->t_out < LOADER_NS);
}

struct made_by *makers_of_wake(struct makers *ms, const struct thread *th,
                               const struct event_wait *w)
{
    const struct thread *x = threads_find(ms->threads, w->waker_tid);
    struct walk k;
    struct shares parts = {.count = 0};
    if (!x || x->launches)
        return NULL;
    walk_init(&k, ms->threads, ms->names, th);
    if (!walk_delivery(&k, ms->threads, x, w->t_wake, &parts) || !k.maker.thread)
        return NULL;
    int64_t other = shares_of(&parts, CAUSE_NETWORK) + shares_of(&parts, CAUSE_LATE_PEER) +
                    shares_of(&parts, CAUSE_COLLECTIVE) + shares_of(&parts, CAUSE_CHECKPOINT);
    bool process = x->tgid != th->tgid;
    if (other * (process ? 2 : 10) > shares_total(&parts))
        return NULL;
    if (!process && k.maker.thread->tgid != th->tgid)
        process = true; /* a helper thread of this process hands on what a process made */
    uint32_t key = process ? k.maker.thread->tgid : x->tid;
    if (!process && (ms->totals.processes || only_helped(ms, key, w, &k.maker)))
        return NULL;
    struct made_by *m = maker_of(ms, key);
    if (!m)
        return NULL;
    if (!m->tid || (k.maker.thread->tid != m->tid && k.maker.thread->tid == m->key &&
                    k.maker.hop->tgid == m->key)) {
        m->tid = k.maker.thread->tid;
        m->hop = k.maker.hop->tid;
    }
    ms->totals.processes |= process;
    return m;
}
