/* SPDX-License-Identifier: MIT */
#include "ledger/relay.h"

#include "ledger/answer.h"
#include "ledger/helper.h"
#include "ledger/search.h"

/* So many of the last waits tell for which makers a relay waits. */
#define LAST_WAITS 256

/* Does y's process make things that it hands over? */
static bool makes(const struct threads *t, const struct thread *y)
{
    const struct thread *maker, *hop;
    return threads_maker(t, y->tgid, &maker, &hop) || answer_maker(t, y, &maker, &hop);
}

bool relay_takes(const struct threads *t, const struct thread *x, const struct event_wait *w)
{
    const struct thread *y = turn_takes(x, w) ? threads_find(t, w->waker_tid) : NULL;
    return y && (!answer_asked(x, y, w->t_wake) || makes(t, y));
}

static void begin_at_source(const struct threads *t, const struct thread *x, struct turn *turn)
{
    const struct event_wait *first = NULL;
    for (size_t i = waits_after(&x->waits, turn->t1); i-- > x->waits.first;) {
        const struct event_wait *w = &x->waits.item[i];
        if (w->t_in <= turn->t0)
            return;
        if (w->t_in > turn->t1 || !relay_takes(t, x, w))
            continue;
        if (first && w->waker_tgid != first->waker_tgid) {
            turn->t0 = first->t_out;
            turn->idle_ns = 0;
            turn->first = turn->from_start = turn->from_horizon = false;
            return;
        }
        first = w;
        turn->source = turn->source ? turn->source : w;
    }
}

bool relay_turn(const struct threads *t, const struct thread *x, const struct thread *consumer,
                const struct thread *const *chain, int depth, int64_t at, struct turn *ret)
{
    struct turn turn;
    if (!turn_find(x, consumer, chain, depth, at, &turn))
        return false;
    if (x->tgid == chain[0]->tgid)
        begin_at_source(t, x, &turn);
    else
        helper_begin(t, x, consumer, &turn);
    *ret = turn;
    return true;
}

/* When y last woke its hop, by `at`; INT64_MIN: it has not. */
static int64_t last_put(const struct thread *y, const struct thread *hop, int64_t at)
{
    for (size_t i = SEARCH_AFTER(&y->wakes, t, at); i-- > y->wakes.first;)
        if (y->wakes.item[i].tid == hop->tid)
            return turn_put(y, hop, at);
    return INT64_MIN;
}

bool relay_found(const struct threads *t, const struct thread *x, int64_t at,
                 const struct thread **ret_maker, const struct thread **ret_hop, int64_t *ret_put)
{
    int64_t last = INT64_MIN;
    size_t i = waits_after(&x->waits, at);
    for (int n = 0; n < LAST_WAITS && i-- > x->waits.first; n++) {
        const struct event_wait *w = &x->waits.item[i];
        const struct thread *hop = turn_takes(x, w) ? threads_find(t, w->waker_tid) : NULL;
        const struct thread *y = hop ? threads_find(t, hop->tgid) : NULL;
        if (!y || y == hop || answer_asked(x, hop, w->t_wake))
            continue;
        int64_t put = last_put(y, hop, at);
        if (put <= last)
            continue;
        last = put;
        *ret_maker = y;
        *ret_hop = hop;
        *ret_put = put;
    }
    return last != INT64_MIN;
}
