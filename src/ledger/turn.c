/* SPDX-License-Identifier: MIT */
#include "ledger/turn.h"

#include "base/unit.h"

/*
 * One delivery is a burst of wakes: a queue's condition, then the interpreter
 * lock (its waiters time out after 5 ms, sys.setswitchinterval), then a handshake.
 * Two wakes are one burst if they are this close, or if the later one ended a
 * wait shorter than a lock hand-over that is also much shorter than the wait the first ended.
 */
#define BURST_NS (1 * NS_PER_MS)
#define HANDOVER_NS (6 * NS_PER_MS)
#define HANDOVER_REACH_NS (20 * NS_PER_MS)
#define BURST_WAKES 64

static bool goes_to(const struct thread *x, const struct thread *consumer, const struct wake *w)
{
    return w->tid == consumer->tid ||
           (consumer->tgid != x->tgid && w->tgid == consumer->tgid);
}

static bool same_burst(const struct wake *earlier, const struct wake *later)
{
    int64_t apart = later->t - earlier->t;
    if (apart < BURST_NS)
        return true;
    return apart < HANDOVER_REACH_NS && later->waited_ns < HANDOVER_NS &&
           earlier->waited_ns > 3 * later->waited_ns;
}

/* Index of the last wake to consumer at or before t, going down from `from`; SIZE_MAX: none. */
static size_t wake_before(const struct thread *x, const struct thread *consumer, size_t from,
                          int64_t t)
{
    size_t lo = x->wakes.first, hi = from > lo ? from : lo; /* to the first one after t */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (x->wakes.item[mid].t > t)
            hi = mid;
        else
            lo = mid + 1;
    }
    for (size_t i = lo; i-- > x->wakes.first;)
        if (goes_to(x, consumer, &x->wakes.item[i]))
            return i;
    return SIZE_MAX;
}

/* Goes back from wake i to the first wake of its burst. Threads that wake each other without a
 * pause have no bursts: it looks no further than BURST_WAKES. */
static size_t burst_lead(const struct thread *x, const struct thread *consumer, size_t i)
{
    for (int n = 0; n < BURST_WAKES; n++) {
        size_t before = wake_before(x, consumer, i, INT64_MAX);
        if (before == SIZE_MAX || !same_burst(&x->wakes.item[before], &x->wakes.item[i]))
            return i;
        i = before;
    }
    return i;
}

/* Did this wait of x end because the consumer's side sent it work? */
static bool waited_for_work(const struct thread *x, const struct thread *const *chain, int depth,
                            const struct event_wait *w)
{
    bool queue = w->target == TARGET_PIPE || w->target == TARGET_FUTEX ||
                 w->target == TARGET_POLL || w->target == TARGET_UNKNOWN;
    if (!w->waker_tid || (w->flags & WAIT_WAKER_IRQ) || !queue)
        return false;
    for (int i = 0; i < depth; i++)
        if (chain[i]->tgid != x->tgid && chain[i]->tgid == w->waker_tgid)
            return true;
    /* within one process a short futex wait is a lock, not work */
    return w->waker_tid == chain[0]->tid &&
           (w->target != TARGET_FUTEX || w->t_wake - w->t_out > HANDOVER_NS);
}

static void begin_at_work(const struct thread *x, const struct thread *const *chain, int depth,
                          struct turn *turn)
{
    for (size_t i = waits_after(&x->waits, turn->t1); i-- > x->waits.first;) {
        const struct event_wait *w = &x->waits.item[i];
        if (w->t_in > turn->t1)
            continue;
        if (w->t_wake <= turn->t0)
            return;
        if (waited_for_work(x, chain, depth, w)) {
            int64_t since = w->t_out > turn->t0 ? w->t_out : turn->t0;
            turn->idle_ns = w->t_wake - since;
            turn->t0 = w->t_wake;
            turn->from_start = turn->from_horizon = false;
            return;
        }
    }
}

bool turn_find(const struct thread *x, const struct thread *consumer,
               const struct thread *const *chain, int depth, int64_t t, struct turn *ret)
{
    struct turn turn = {.t1 = t};
    size_t i = wake_before(x, consumer, x->wakes.count, t);
    if (i != SIZE_MAX) {
        i = burst_lead(x, consumer, i);
        turn.t1 = x->wakes.item[i].t;
        size_t before = wake_before(x, consumer, i, INT64_MAX);
        i = before == SIZE_MAX ? before : burst_lead(x, consumer, before);
    }
    if (i != SIZE_MAX) {
        turn.t0 = x->wakes.item[i].t;
    } else if (x->start != INT64_MIN && x->start >= x->known_since) {
        turn.t0 = turn.born = x->start;
        turn.from_start = turn.first = true;
    } else if (x->known_since != INT64_MIN) {
        turn.t0 = x->known_since;
        turn.from_horizon = true;
    } else {
        return false;
    }
    if (turn.t0 > turn.t1)
        turn.t0 = turn.t1;
    begin_at_work(x, chain, depth, &turn);
    *ret = turn;
    return true;
}

int64_t turn_next(const struct thread *x, const struct thread *consumer, int64_t t)
{
    const struct wake *last = NULL;
    size_t i = wake_before(x, consumer, x->wakes.count, t);
    int after = 0;
    for (i = i == SIZE_MAX ? x->wakes.first : i; i < x->wakes.count; i++) {
        const struct wake *w = &x->wakes.item[i];
        if (!goes_to(x, consumer, w))
            continue;
        if (w->t > t && (!last || ++after > BURST_WAKES || !same_burst(last, w)))
            return w->t;
        last = w;
    }
    return INT64_MAX;
}

bool turn_silent(const struct thread *x, const struct thread *const *chain, int depth,
                 int64_t after, int64_t before, struct turn *ret)
{
    const struct event_wait *got = NULL;
    for (size_t i = waits_after(&x->waits, after); i < x->waits.count; i++) {
        const struct event_wait *w = &x->waits.item[i];
        if (w->t_out >= before)
            return false;
        if (w->target == TARGET_FUTEX || !waited_for_work(x, chain, depth, w))
            continue;
        if (got && w->t_out > got->t_in) {
            *ret = (struct turn){.t0 = got->t_wake, .t1 = w->t_out,
                                 .idle_ns = got->t_wake - got->t_out};
            return true;
        }
        got = w;
    }
    return false;
}
