/* SPDX-License-Identifier: MIT */
#include "ledger/answer.h"

#include "ledger/helper.h"
#include "ledger/search.h"

/* So many of the last wakes tell whom a thread asks. */
#define LAST_WAKES 64

/* Of [t0, t1): how long x waited for a lock of its process. */
static int64_t locked(const struct thread *x, int64_t t0, int64_t t1)
{
    const struct waits *ws = &x->waits;
    int64_t ns = 0;
    for (size_t i = waits_after(ws, t0); i < ws->count && ws->item[i].t_out < t1; i++)
        if (ws->item[i].target == TARGET_FUTEX && ws->item[i].waker_tgid == x->tgid)
            ns += overlap(ws->item[i].t_out, ws->item[i].t_wake, t0, t1);
    return ns;
}

bool answer_only(const struct thread *x, const struct turn *turn)
{
    int64_t ns = turn->t1 - turn->t0;
    return turn->idle_ns > 0 && (ns < ANSWER_NS || ns - locked(x, turn->t0, turn->t1) < ANSWER_NS);
}

/* Did y wait, until `at`, for room in what it wrote? */
static bool waited_for_room(const struct thread *y, int64_t at)
{
    const struct waits *ws = &y->waits;
    for (size_t i = waits_after(ws, at - 1); i < ws->count && ws->item[i].t_wake <= at; i++)
        if (ws->item[i].t_wake == at && ws->item[i].flags & WAIT_ROOM)
            return true;
    return false;
}

bool answer_asked(const struct thread *x, const struct thread *y, int64_t at)
{
    size_t i = SEARCH_AFTER(&x->wakes, t, at);
    for (int n = 0; n < LAST_WAKES && i-- > x->wakes.first; n++)
        if (x->wakes.item[i].tid == y->tid && !waited_for_room(y, x->wakes.item[i].t))
            return true;
    return false;
}

const struct thread *answer_follows(const struct threads *t, const struct thread *x,
                                    const struct thread *consumer, int64_t at, int64_t *ret_t)
{
    const struct waits *ws = &consumer->waits;
    for (size_t i = waits_after(ws, at);
         i-- > ws->first && at - ws->item[i].t_wake < ANSWER_REACH_NS;) {
        const struct event_wait *w = &ws->item[i];
        if (w->t_wake > at || w->waker_tgid != x->tgid || w->waker_tid == x->tid ||
            (w->flags & WAIT_WAKER_IRQ))
            continue;
        *ret_t = w->t_wake;
        return threads_find(t, w->waker_tid);
    }
    return NULL;
}

/* Who made x: a thread tells the one that made it that it has started (CPython waits for that). NULL:
 * it is not known. */
static const struct thread *made_by(const struct threads *t, const struct thread *x)
{
    const struct wake *w = x->wakes.item + x->wakes.first;
    bool told = x->wakes.count > x->wakes.first && w->tgid == x->tgid && helper_starts(x, w->t);
    return told ? threads_find(t, w->tid) : NULL;
}

bool answer_maker(const struct threads *t, const struct thread *x, const struct thread **ret_maker,
                  const struct thread **ret_hop)
{
    if (threads_maker(t, x->tgid, ret_maker, ret_hop) && *ret_maker != x && *ret_hop != x)
        return true;
    const struct thread *m = threads_find(t, x->tgid);
    for (size_t i = m && m != x ? m->wakes.count : 0; i-- > (m ? m->wakes.first : 0);) {
        const struct wake *w = &m->wakes.item[i];
        const struct thread *hop = threads_find(t, w->tid);
        if (w->tgid != x->tgid || w->tid == x->tid || w->tid == m->tid ||
            (hop && helper_of(hop, m)))
            continue;
        *ret_maker = m;
        *ret_hop = hop;
        return hop != NULL;
    }
    *ret_maker = m;
    *ret_hop = made_by(t, x);
    return m && *ret_hop && *ret_hop != m && made_by(t, *ret_hop) == m;
}
