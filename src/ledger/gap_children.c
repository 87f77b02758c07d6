/* SPDX-License-Identifier: MIT */
/* Children that are made or end in a gap: neither is a delivery. */
#include "ledger/gap_explain.h"

#include "base/unit.h"

/* A child that ended at most this long before it woke its parent did so by ending. */
#define EXIT_NS (50 * NS_PER_MS)
/* A batch that has come is unpacked and launched in less than this. */
#define UNPACK_NS (20 * NS_PER_MS)

/* Who was made before that was not made in this gap. */
static int64_t made_before(const struct explaining *x)
{
    return x->gap->t0 - (x->threads->sampled ? START_EARLY_NS : 0);
}

/* Did the thread launch soon after this wait, without another one? Then it had what it awaited. */
static bool was_last(const struct explaining *x, const struct event_wait *w)
{
    const struct waits *ws = &x->th->waits;
    if (x->b - w->t_in >= UNPACK_NS)
        return false;
    for (size_t i = waits_after(ws, w->t_in); i < ws->count && ws->item[i].t_out < x->b; i++)
        if (ws->item[i].target != TARGET_CORE)
            return false;
    return true;
}

/* Did this thread, of an earlier batch, end around the wake, before anything was launched? Then that was
 * no batch, unless it ended only after a wake that was enough to go on. One that was made in this gap was made
 * for what is awaited. */
static bool ended(const struct explaining *x, const struct thread *y, const struct event_wait *w,
                  int64_t since)
{
    return y && !y->alive && y->start < made_before(x) && y->exit > since - EXIT_NS &&
           y->exit < x->gap->t1 && (y->exit <= w->t_wake || !was_last(x, w));
}

bool gap_woken_by_exit(const struct explaining *x, const struct event_wait *w)
{
    return w->waker_tgid != x->th->tgid &&
           (ended(x, threads_find(x->walk.threads, w->waker_tid), w, w->t_wake) ||
            ended(x, threads_find(x->walk.threads, w->waker_tgid), w, w->t_out));
}

/* Did a child, of an earlier batch, end in the gap between `since` and about the end of this wait? */
static bool ended_since(const struct explaining *x, const struct event_wait *w, int64_t since)
{
    for (size_t i = 0; i < x->walk.threads->count; i++) {
        const struct thread *y = x->walk.threads->list[i];
        if (y->tid == y->tgid && !y->alive && y->start < made_before(x) && y->exit > since &&
            y->exit < w->t_wake + EXIT_NS && y->exit < x->gap->t1 &&
            threads_made_for(x->walk.threads, y, x->th->tgid))
            return true;
    }
    return false;
}

/* Does anything else come by this wait's channel in the gap than ends of children? */
static bool brings(const struct explaining *x, const struct event_wait *w)
{
    const struct waits *ws = &x->th->waits;
    for (size_t i = waits_after(ws, x->a); i < ws->count && ws->item[i].t_out < x->b; i++) {
        const struct event_wait *v = &ws->item[i];
        if (v->channel == w->channel && v->waker_tid && !(v->flags & WAIT_WAKER_IRQ) &&
            !gap_woken_by_exit(x, v))
            return true;
    }
    return false;
}

bool gap_child_ended(const struct explaining *x, const struct event_wait *w)
{
    return ended_since(x, w, w->t_out) ||
           (w->target == TARGET_PIPE && w->channel && !(w->flags & WAIT_SAMPLED) &&
            ended_since(x, w, x->gap->t0) && !brings(x, w));
}

bool gap_starts_alone(const struct explaining *x)
{
    for (size_t i = 0; x->starting && i < x->threads->count; i++) {
        const struct thread *y = x->threads->list[i];
        if (y->tgid != x->th->tgid && threads_made_for(x->threads, y, x->th->tgid))
            return false;
    }
    return x->starting && !x->threads->attached;
}

int64_t gap_last_fork(const struct explaining *x)
{
    int64_t last = x->a;
    for (size_t i = 0; i < x->walk.threads->count; i++) {
        const struct thread *y = x->walk.threads->list[i];
        if (y->tid == y->tgid && y->start > last && y->start <= x->b &&
            threads_made_for(x->walk.threads, y, x->th->tgid))
            last = y->start;
    }
    return last;
}

bool gap_of_a_start(const struct explaining *x, const struct event_wait *w)
{
    if (w->target == TARGET_CHILD)
        return x->starting || gap_child_ended(x, w);
    return !(w->flags & WAIT_PRIVATE) && gap_last_fork(x) > x->a;
}
