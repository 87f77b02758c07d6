/* SPDX-License-Identifier: MIT */
#include "ledger/turn.h"

#include "base/unit.h"
#include "ledger/search.h"

/*
 * One delivery is a burst of wakes: a queue's condition, then the interpreter
 * lock (its waiters time out after 5 ms, sys.setswitchinterval), then a handshake.
 * Two wakes are one burst if they are this close, or if the later one ended a
 * wait shorter than a lock hand-over that is also much shorter than the wait the first ended, and
 * the waker has not blocked in between.
 */
#define BURST_NS (1 * NS_PER_MS)
#define HANDOVER_NS (6 * NS_PER_MS)
#define HANDOVER_REACH_NS (20 * NS_PER_MS)
#define BURST_WAKES 64
#define TAKEN_NS (30 * NS_PER_US) /* from having a core until CPython's lock is taken */
#define LOCK_WAKES 8 /* between what is handed over and a lock that is given away after it */
/* The longest that a reader takes for what is in a pipe while more of it waits for room. */
#define WRITING_NS (50 * NS_PER_MS)

static bool is_queue(const struct event_wait *w)
{
    return w->target == TARGET_PIPE || w->target == TARGET_FUTEX || w->target == TARGET_POLL ||
           w->target == TARGET_UNKNOWN;
}

/* Did it wait in the midst of what it wrote, for room in the pipe? A longer wait is for a reader that is
 * busy with other things: the queue is full. */
static bool writes_on(const struct event_wait *w)
{
    return w->flags & WAIT_ROOM && w->t_wake - w->t_out < HANDOVER_REACH_NS;
}

static bool goes_to(const struct thread *x, const struct thread *consumer, const struct wake *w)
{
    return w->tid == consumer->tid || (consumer->tgid != x->tgid && w->tgid == consumer->tgid);
}

/* Who blocks lets go of the lock: what it wakes after that is something new. `near` of these two: the
 * first wait of x that ended after the later moment. */
static bool blocked_between(const struct thread *x, size_t near, int64_t t0)
{
    for (size_t i = near; i-- > x->waits.first && x->waits.item[i].t_in > t0;) {
        const struct event_wait *w = &x->waits.item[i];
        if (w->t_out >= t0 && w->t_wake > w->t_out)
            return true;
    }
    return false;
}

/* Did another process than the consumer's hand something to x in between? */
static bool fed_between(const struct thread *x, size_t near, const struct wake *earlier,
                        const struct wake *later)
{
    for (size_t i = near; i-- > x->waits.first && x->waits.item[i].t_in > earlier->t;) {
        const struct event_wait *w = &x->waits.item[i];
        if (w->t_wake > earlier->t && is_queue(w) && w->waker_tid && w->waker_tgid != x->tgid &&
            w->waker_tgid != later->tgid && !(w->flags & WAIT_WAKER_IRQ))
            return true;
    }
    return false;
}

/* Did the later wake give away a lock that came with what the earlier handed over? */
static bool lock_follows(const struct wake *earlier, const struct wake *later)
{
    return later->t - earlier->t < HANDOVER_REACH_NS && later->waited_ns < HANDOVER_NS &&
           earlier->waited_ns > 3 * later->waited_ns;
}

/* Had x, when it made the later wake, just got room in the pipe for more of what it wrote at the earlier
 * one? */
static bool goes_on_writing(const struct thread *x, size_t near, const struct wake *earlier,
                            const struct wake *later)
{
    for (size_t i = near; i-- > x->waits.first && x->waits.item[i].t_in > earlier->t;) {
        const struct event_wait *w = &x->waits.item[i];
        if (w->target == TARGET_CORE || w->t_in > later->t)
            continue;
        return writes_on(w) && w->t_out >= earlier->t && later->t - w->t_in < BURST_NS;
    }
    return false;
}

/* *near: the first wait of x that ended after `later`; SIZE_MAX: not looked for yet. */
static bool same_burst(const struct thread *x, size_t *near, const struct wake *earlier,
                       const struct wake *later)
{
    bool close = later->t - earlier->t < BURST_NS, lock = lock_follows(earlier, later);
    if (!close && !lock && later->t - earlier->t >= WRITING_NS)
        return false;
    if (*near == SIZE_MAX)
        *near = waits_after(&x->waits, later->t);
    if (goes_on_writing(x, *near, earlier, later))
        return true;
    if (!close && !lock)
        return false;
    return close ? !fed_between(x, *near, earlier, later) : !blocked_between(x, *near, earlier->t);
}

bool turn_same_burst(const struct thread *x, const struct wake *earlier, const struct wake *later)
{
    size_t near = SIZE_MAX;
    return same_burst(x, &near, earlier, later);
}

/* Index of the last wake to consumer below `from`; SIZE_MAX: none. */
static size_t wake_below(const struct thread *x, const struct thread *consumer, size_t from)
{
    for (size_t i = from; i-- > x->wakes.first;)
        if (goes_to(x, consumer, &x->wakes.item[i]))
            return i;
    return SIZE_MAX;
}

/* ... at or before t. */
static size_t wake_before(const struct thread *x, const struct thread *consumer, int64_t t)
{
    return wake_below(x, consumer, SEARCH_AFTER(&x->wakes, t, t));
}

/*
 * Does `later` only give away a lock, a moment after `earlier` handed something over? Whatever the waker has
 * done in between: CPython's threads wait for the interpreter lock for 5 ms at a time and for a queue
 * without end; and nothing is made as fast as locks inside it and the C library are given away.
 */
static bool gives_lock(const struct thread *x, const struct thread *consumer,
                       const struct wake *earlier, const struct wake *later)
{
    if (x->tgid != consumer->tgid || later->t - earlier->t >= HANDOVER_REACH_NS)
        return false;
    if (later->timed && !earlier->timed && later->waited_ns < HANDOVER_NS)
        return true;
    return later->waited_ns < BURST_NS && lock_follows(earlier, later);
}

/* The wake by which was handed over what the lock of wake i was given away after; i: none, or it is
 * that itself. */
static size_t handed_with(const struct thread *x, const struct thread *consumer, size_t i)
{
    const struct wake *v = x->wakes.item;
    size_t at = i;
    for (int n = 0; v[i].waited_ns < HANDOVER_NS && n < LOCK_WAKES; n++) {
        at = wake_below(x, consumer, at);
        if (at == SIZE_MAX || v[i].t - v[at].t >= HANDOVER_REACH_NS)
            return i;
        if (gives_lock(x, consumer, &v[at], &v[i]))
            return at;
    }
    return i;
}

/* Goes back from wake i to the first wake of its burst; of a burst's wakes the condition's and the
 * lock's need not be neighbours. Threads that wake each other without a pause have no bursts: it
 * looks no further than BURST_WAKES. */
static size_t burst_lead(const struct thread *x, const struct thread *consumer, size_t i)
{
    const struct wake *v = x->wakes.item;
    size_t near = SIZE_MAX;
    for (int n = 0; n < BURST_WAKES; n++) {
        size_t before = handed_with(x, consumer, i);
        if (before != i) {
            near = SIZE_MAX;
            i = before;
            continue;
        }
        before = wake_below(x, consumer, i);
        if (before != SIZE_MAX && !same_burst(x, &near, &v[before], &v[i])) {
            before = wake_below(x, consumer, before);
            if (before != SIZE_MAX && !same_burst(x, &near, &v[before], &v[i]))
                before = SIZE_MAX;
        }
        if (before == SIZE_MAX)
            return i;
        i = before;
        while (near != SIZE_MAX && near > x->waits.first && x->waits.item[near - 1].t_in > v[i].t)
            near--;
    }
    return i;
}

/* Did this wait of x end because the consumer's side sent it work? */
static bool waited_for_work(const struct thread *x, const struct thread *const *chain, int depth,
                            const struct event_wait *w)
{
    if (!w->waker_tid || (w->flags & WAIT_WAKER_IRQ) || !is_queue(w) || writes_on(w))
        return false;
    for (int i = 0; i < depth; i++)
        if (chain[i]->tgid != x->tgid && chain[i]->tgid == w->waker_tgid)
            return true;
    /* within one process a short futex wait is a lock, not work */
    return w->waker_tid == chain[0]->tid &&
           (w->target != TARGET_FUTEX || w->t_wake - w->t_out > HANDOVER_NS);
}

void turn_begin_at_work(const struct thread *x, struct turn *turn,
                        bool (*is_work)(void *arg, const struct event_wait *w), void *arg)
{
    for (size_t i = waits_after(&x->waits, turn->t1); i-- > x->waits.first;) {
        const struct event_wait *w = &x->waits.item[i];
        if (w->t_in > turn->t1)
            continue;
        if (w->t_wake <= turn->t0)
            return;
        if (!is_work(arg, w))
            continue;
        turn->idle_ns = w->t_wake - later(w->t_out, turn->t0);
        turn->t0 = w->t_wake;
        turn->from_start = turn->from_horizon = false;
        return;
    }
}

struct chained {
    const struct thread *x, *const *chain;
    int depth;
};

static bool chain_gave_work(void *arg, const struct event_wait *w)
{
    const struct chained *c = arg;
    return waited_for_work(c->x, c->chain, c->depth, w);
}

/*
 * When x made the thread that takes its deliveries: CPython's queues make it with the first.
 * INT64_MIN: it was there from the start, or is no thread of x's process.
 */
static int64_t made_with_delivery(const struct thread *x, const struct thread *consumer)
{
    if (consumer->tgid != x->tgid || x->start == INT64_MIN || consumer->start == INT64_MIN)
        return INT64_MIN;
    return consumer->start - x->start > BURST_NS ? consumer->start : INT64_MIN;
}

/* Does this wake only tell the new thread of the delivery that it was made with? x has done nothing
 * since but wait for it to start. */
static bool of_making(const struct thread *x, int64_t made, const struct wake *w)
{
    if (made == INT64_MIN || w->t < made || w->t - made >= HANDOVER_REACH_NS)
        return false;
    for (size_t i = waits_after(&x->waits, made); i < x->waits.count; i++) {
        const struct event_wait *v = &x->waits.item[i];
        if (v->t_in > w->t)
            break;
        if (v->t_wake > v->t_out && v->t_out >= made && v->waker_tgid != x->tgid)
            return false;
    }
    return true;
}

/* Where the burst begins whose first wake is i. */
static int64_t burst_begin(const struct thread *x, const struct thread *consumer, size_t i)
{
    int64_t made = made_with_delivery(x, consumer);
    const struct wake *w = &x->wakes.item[i];
    return of_making(x, made, w) ? made : w->t;
}

int64_t turn_put(const struct thread *x, const struct thread *consumer, int64_t t)
{
    const struct wake *v = x->wakes.item;
    size_t i = wake_before(x, consumer, t), lead = i;
    for (int n = 0; n < BURST_WAKES && i != SIZE_MAX; n++) {
        i = wake_below(x, consumer, i);
        if (i == SIZE_MAX || v[lead].t - v[i].t >= HANDOVER_REACH_NS)
            break;
        if (lock_follows(&v[i], &v[lead]))
            lead = i;
    }
    if (lead != SIZE_MAX)
        return v[lead].t;
    int64_t made = made_with_delivery(x, consumer);
    return made != INT64_MIN && made < t ? made : t;
}

bool turn_takes(const struct thread *x, const struct event_wait *w)
{
    return w->waker_tid && w->waker_tgid != x->tgid && is_queue(w) &&
           !(w->flags & (WAIT_WAKER_IRQ | WAIT_ROOM));
}

bool turn_find(const struct thread *x, const struct thread *consumer,
               const struct thread *const *chain, int depth, int64_t t, struct turn *ret)
{
    struct turn turn = {.t1 = t};
    int64_t made = made_with_delivery(x, consumer);
    size_t i = wake_before(x, consumer, t);
    if (i != SIZE_MAX) {
        i = burst_lead(x, consumer, i);
        turn.t1 = burst_begin(x, consumer, i);
        size_t before = turn.t1 == made ? SIZE_MAX : wake_below(x, consumer, i);
        i = before == SIZE_MAX ? before : burst_lead(x, consumer, before);
    }
    if (i != SIZE_MAX) {
        turn.t0 = burst_begin(x, consumer, i);
    } else if (made != INT64_MIN && made < turn.t1) {
        turn.t0 = made;
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
    struct chained chained = {x, chain, depth};
    turn_begin_at_work(x, &turn, chain_gave_work, &chained);
    *ret = turn;
    return true;
}

bool turn_took_lock(const struct thread *x, int64_t t)
{
    size_t i = waits_after(&x->waits, t);
    while (i > x->waits.first && x->waits.item[i - 1].target == TARGET_CORE)
        i--;
    const struct event_wait *w = i > x->waits.first ? &x->waits.item[i - 1] : NULL;
    return w && w->target == TARGET_FUTEX && w->flags & WAIT_TIMED && t - w->t_in < TAKEN_NS;
}

int64_t turn_next(const struct thread *x, const struct thread *consumer, int64_t t)
{
    const struct wake *last = NULL, *before = NULL, *put = NULL;
    size_t i = wake_before(x, consumer, t);
    int64_t made = made_with_delivery(x, consumer);
    int after = 0;
    if (made > t)
        return made;
    i = i == SIZE_MAX ? x->wakes.first : burst_lead(x, consumer, i);
    for (; i < x->wakes.count; i++) {
        const struct wake *w = &x->wakes.item[i];
        if (!goes_to(x, consumer, w) || of_making(x, made, w))
            continue;
        bool same = (last && turn_same_burst(x, last, w)) ||
                    (before && turn_same_burst(x, before, w)) ||
                    (put && gives_lock(x, consumer, put, w));
        if (w->t > t && (!same || ++after > BURST_WAKES))
            return w->t;
        before = last;
        last = w;
        put = same ? put : w;
    }
    return INT64_MAX;
}

int64_t turn_sends(const struct thread *x, const struct thread *hop, int64_t t0, int64_t t1)
{
    for (size_t i = waits_after(&hop->waits, t1); i-- > hop->waits.first;) {
        const struct event_wait *w = &hop->waits.item[i];
        if (w->t_in <= t0)
            break;
        if (w->t_in <= t1 && w->waker_tid == x->tid && !(w->flags & WAIT_WAKER_IRQ))
            return w->t_in;
    }
    return INT64_MIN;
}

bool turn_silent(const struct thread *x, const struct thread *const *chain, int depth,
                 int64_t after, int64_t before, struct turn *ret)
{
    const struct event_wait *got = NULL;
    for (size_t i = waits_after(&x->waits, after); i < x->waits.count; i++) {
        const struct event_wait *w = &x->waits.item[i];
        if (w->t_out >= before)
            return false;
        bool lock = w->target == TARGET_FUTEX && x->tgid != chain[0]->tgid;
        if (lock || !waited_for_work(x, chain, depth, w))
            continue;
        if (got && w->t_out > got->t_in) {
            *ret = (struct turn){
                .t0 = got->t_wake, .t1 = w->t_out, .idle_ns = got->t_wake - got->t_out};
            return true;
        }
        got = w;
    }
    return false;
}

const struct event_wait *turn_given_work(const struct thread *x, const struct thread *const *chain,
                                         int depth, int64_t after, int64_t until)
{
    for (size_t i = waits_after(&x->waits, after); i < x->waits.count; i++) {
        const struct event_wait *w = &x->waits.item[i];
        if (w->t_in > until)
            return NULL;
        if (waited_for_work(x, chain, depth, w))
            return w;
    }
    return NULL;
}
