/* SPDX-License-Identifier: MIT */
#include "ledger/helper.h"

#include "base/unit.h"
#include "ledger/search.h"

/* CPython's interpreter lock is handed over after 5 ms: who waits longer than this waits for work; so does who
 * waits without a limit for longer than the locks inside it and the C library are kept. */
#define LOCK_NS (6 * NS_PER_MS)
#define INNER_LOCK_NS (1 * NS_PER_MS)
/* So many of the last wakes and waits tell whom a thread works for, and whether it reads. */
#define LAST_WAKES 64
#define LAST_WAITS 64
#define LOCK_WAKES 512      /* ... whether one only contends for a lock */
#define PROGRAM_NS NS_PER_S /* files that a thread reads in its first second are its program */
#define READS_PART 4        /* a reader waits for bytes at least once in so many waits */
/* From a wake until who gives a lock away at the request of another waits until that tells that it has it. */
#define GIVING_NS (200 * NS_PER_US)
/* A new thread tells at most this late that it has started: it may want for a core. */
#define STARTED_NS (20 * NS_PER_MS)
#define LIVES_NS NS_PER_S
#define TELLING 2 /* once may be chance: a start, a thread without a core that holds a lock */

static bool works_for(const struct thread *y, const struct thread *consumer, int64_t t)
{
    size_t i = SEARCH_AFTER(&y->wakes, t, t);
    for (int n = 0; n < LAST_WAKES && i-- > y->wakes.first; n++)
        if (y->wakes.item[i].tid == consumer->tid)
            return true;
    return false;
}

static bool kept_so_long(int64_t ns, bool timed)
{
    return ns <= (timed ? LOCK_NS : INNER_LOCK_NS);
}

bool helper_awaits_lock(const struct event_wait *w)
{
    return w->target == TARGET_FUTEX && kept_so_long(w->t_wake - w->t_out, w->flags & WAIT_TIMED);
}

/* Did it wait for work? Who ended that is the consumer, or another of its helpers: in a pool one tells the
 * next that there is more. */
static bool waited_for_work(const struct threads *t, const struct thread *x,
                            const struct thread *consumer, const struct event_wait *w)
{
    bool queue = w->target == TARGET_POLL || w->target == TARGET_PIPE ||
                 w->target == TARGET_FUTEX || w->target == TARGET_UNKNOWN;
    if (!queue || !w->waker_tid || w->waker_tgid != x->tgid || w->waker_tid == x->tid ||
        w->flags & (WAIT_WAKER_IRQ | WAIT_ROOM) || helper_awaits_lock(w))
        return false;
    const struct thread *by = threads_find(t, w->waker_tid);
    return by && !turn_took_lock(by, w->t_wake) &&
           (by == consumer || works_for(by, consumer, w->t_wake));
}

struct helping {
    const struct threads *t;
    const struct thread *x, *consumer;
};

static bool was_given_work(void *arg, const struct event_wait *w)
{
    const struct helping *h = arg;
    return waited_for_work(h->t, h->x, h->consumer, w);
}

void helper_begin(const struct threads *t, const struct thread *x, const struct thread *consumer,
                  struct turn *turn)
{
    if (x->tgid != consumer->tgid || x->tid == x->tgid)
        return;
    struct helping h = {t, x, consumer};
    turn_begin_at_work(x, turn, was_given_work, &h);
}

static bool reads(const struct thread *x)
{
    int all = 0, reading = 0;
    for (size_t i = x->waits.count; all < LAST_WAITS && i-- > x->waits.first;) {
        const struct event_wait *w = &x->waits.item[i];
        bool file = w->target == TARGET_FILE && w->t_out - PROGRAM_NS > x->start;
        all += w->target != TARGET_CORE;
        reading += w->target == TARGET_SOCKET || w->target == TARGET_POLL || file;
    }
    return reading >= TELLING && reading * READS_PART >= all;
}

/* Locks, too, are handed over without a time limit, but soon. */
static bool awaited(const struct thread *x, const struct thread *y)
{
    int all = 0, awaited = 0;
    for (size_t i = x->wakes.count; all < LAST_WAKES && i-- > x->wakes.first;) {
        const struct wake *w = &x->wakes.item[i];
        if (w->tid != y->tid || w->timed)
            continue;
        all++;
        awaited += w->waited_ns > LOCK_NS;
    }
    return awaited >= TELLING && awaited * 2 >= all;
}

bool helper_of(const struct thread *x, const struct thread *y)
{
    return reads(x) || awaited(x, y);
}

bool helper_starts(const struct thread *x, int64_t t)
{
    return x->start != INT64_MIN && t - x->start < STARTED_NS;
}

/* Did x, when it woke y at t, give CPython's lock away because y asked for it? */
static bool gave_lock(const struct thread *x, const struct thread *y, int64_t t)
{
    const struct waits *ws = &x->waits;
    for (size_t i = waits_after(ws, t); i < ws->count && ws->item[i].t_out < t + GIVING_NS; i++) {
        const struct event_wait *w = &ws->item[i];
        if (w->waker_tid == y->tid && !(w->flags & WAIT_TIMED) && helper_awaits_lock(w))
            return true;
    }
    return false;
}

/* Does what x wakes at t only learn that it ends? One that lived for less may have been made for a batch. */
static bool ends(const struct thread *x, int64_t t)
{
    return x->exit != INT64_MAX && x->exit - t < STARTED_NS && t - x->start > LIVES_NS;
}

bool helper_only_locks(const struct thread *x, const struct thread *y)
{
    int gave = 0;
    if (x->tgid != y->tgid || x->relays)
        return false;
    size_t i = x->wakes.count;
    for (int n = 0; n < LOCK_WAKES && i-- > x->wakes.first; n++) {
        const struct wake *w = &x->wakes.item[i];
        if (w->tid != y->tid || helper_starts(x, w->t) || ends(x, w->t))
            continue;
        if (!kept_so_long(w->waited_ns, w->timed))
            return false;
        gave += gave < TELLING && w->timed && gave_lock(x, y, w->t);
    }
    return gave == TELLING;
}
