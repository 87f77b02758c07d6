/* SPDX-License-Identifier: MIT */
#include "ledger/makers.h"

#include "base/mem.h"
#include "base/unit.h"
#include "ledger/answer.h"
#include "ledger/helper.h"
#include "ledger/own_time.h"
#include "ledger/relay.h"
#include "ledger/walk.h"

#include <stdlib.h>

/* A thread of the same process that ended a shorter wait handed over a lock, not a batch. */
#define LOADER_NS (1 * NS_PER_MS)
/* CPython's interpreter lock is handed over after 5 ms: who waits longer than this waits for work. */
#define IDLE_NS (6 * NS_PER_MS)
/* Siblings are looked for this often, or when threads came or went. */
#define LOOK_NS (100 * NS_PER_MS)
/* So many takes tell whether a loader keeps an order. */
#define TELLING_TAKES 32
/* The workers of a loader are made one right after another: one that was made so many times as long before as
 * another was made after is another loader's. */
#define FAR_TIMES 4
/* A queue's thread may be late now and then. */
#define UNHEARD 3

void makers_clear(struct makers *ms)
{
    for (int i = 0; i < ms->count; i++)
        free(ms->maker[i]);
    *ms = (struct makers){0};
}

/* Workers are those alive at once, each since its first delivery at least (t is the newest one's);
 * makers beyond them came in later generations. */
static void count_workers(struct makers *ms, int64_t t)
{
    uint32_t alive = 1; /* the new one was, when it delivered */
    for (int i = 0; i < ms->count - 1; i++) {
        const struct thread *x = threads_find(ms->threads, ms->maker[i]->key);
        alive += x && x->exit > t && x->start < t; /* one that is forgotten had ended long before */
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

int64_t makers_exit(const struct makers *ms, const struct made_by *m)
{
    const struct thread *x = threads_find(ms->threads, m->key);
    return x ? x->exit : INT64_MIN;
}

/* The lowest number whose makers had all ended before this one began: a worker that is started anew
 * takes an old one's. */
static uint32_t free_number(const struct makers *ms, uint32_t key)
{
    bool used[MAKERS_MAX] = {false};
    const struct thread *x = threads_find(ms->threads, key);
    uint32_t n = 0;
    for (int i = 0; i < ms->count; i++)
        if (!x || makers_exit(ms, ms->maker[i]) > x->start)
            used[ms->maker[i]->number] = true;
    while (n < MAKERS_MAX - 1 && used[n])
        n++;
    return n;
}

/* Of the makers that lived when x was made, or were made while it lives: the one made last before it (later:
 * first after it), and how long between; told: only of those whose queue has shown. NULL: there is none. */
static const struct made_by *made_next_to(const struct makers *ms, const struct thread *x,
                                          bool later, bool told, int64_t *ret_ns)
{
    const struct made_by *ret = NULL;
    *ret_ns = INT64_MAX;
    for (int i = 0; x->start != INT64_MIN && i < ms->count; i++) {
        const struct made_by *m = ms->maker[i];
        const struct thread *y = threads_find(ms->threads, m->key);
        if (!y || y == x || y->start == INT64_MIN || (y->start > x->start) != later ||
            y->exit <= x->start || x->exit <= y->start || (told && !m->channel && !m->apart))
            continue;
        int64_t ns = later ? y->start - x->start : x->start - y->start;
        if (ns >= *ret_ns)
            continue;
        *ret_ns = ns;
        ret = m;
    }
    return ret;
}

/* The maker beside which x was made: right before it, or right after it. */
static const struct made_by *made_beside(const struct makers *ms, const struct thread *x, bool told)
{
    int64_t before_ns, after_ns;
    const struct made_by *before = made_next_to(ms, x, false, told, &before_ns);
    const struct made_by *after = made_next_to(ms, x, true, told, &after_ns);
    return before && (!after || after_ns >= before_ns / FAR_TIMES) ? before : after;
}

/* Until more is known of it. Threads may come and go within one loader. */
static uint32_t first_queue(struct makers *ms, const struct made_by *m)
{
    const struct thread *x = threads_find(ms->threads, m->key);
    const struct made_by *beside = x ? made_beside(ms, x, false) : NULL;
    if (x && x->tid != x->tgid)
        return 0;
    return beside ? beside->outlet : ms->queues++;
}

/* Makers whose queue has not shown go with those that were made beside them. */
static void place_the_rest(struct makers *ms)
{
    for (int i = 0; i < ms->count; i++) {
        struct made_by *m = ms->maker[i];
        const struct thread *x = threads_find(ms->threads, m->key);
        if (m->channel || m->apart || !x || x->tid != x->tgid)
            continue;
        const struct made_by *beside = made_beside(ms, x, true);
        if (beside)
            m->outlet = beside->outlet;
    }
}

static const struct made_by *of_channel(const struct makers *ms, uint64_t channel)
{
    for (int i = 0; i < ms->count; i++)
        if (ms->maker[i]->channel == channel)
            return ms->maker[i];
    return NULL;
}

/* Is the queue known to be another channel's? */
static bool queue_known(const struct makers *ms, uint32_t queue)
{
    for (int i = 0; i < ms->count; i++)
        if (ms->maker[i]->outlet == queue && ms->maker[i]->channel)
            return true;
    return false;
}

static void set_channel(struct makers *ms, struct made_by *m, uint64_t channel)
{
    const struct made_by *same = of_channel(ms, channel);
    if (m->channel == channel)
        return;
    m->channel = 0;
    m->outlet = same ? same->outlet : queue_known(ms, m->outlet) ? ms->queues++ : m->outlet;
    m->channel = channel;
    m->apart = 0;
    place_the_rest(ms);
}

/* m put something while the thread waited on its queue's channel, and did not wake it: it is another's. */
static void tell_apart(struct makers *ms, struct made_by *m)
{
    uint32_t was = m->outlet;
    for (int i = 0; i < ms->count; i++)
        if (ms->maker[i]->apart == was + 1)
            m->outlet = ms->maker[i]->outlet;
    if (m->outlet == was)
        m->outlet = ms->queues++;
    m->apart = was + 1;
    m->unheard = 0;
    place_the_rest(ms);
}

/* Did its queue's thread send something of o's during the wait, long before that ended? */
static bool sent_in_vain(const struct makers *ms, const struct made_by *o,
                         const struct event_wait *w)
{
    const struct thread *x = threads_find(ms->threads, o->tid);
    const struct thread *hop = threads_find(ms->threads, o->hop);
    return x && hop && hop->tgid == x->tgid && turn_next(x, hop, w->t_out) <= w->t_wake - SEND_NS &&
           turn_sends(x, hop, w->t_out, w->t_wake - SEND_NS) != INT64_MIN;
}

/* The thread waited on m's channel. */
static void look_for_unheard(struct makers *ms, const struct made_by *m, const struct event_wait *w)
{
    for (int i = 0; i < ms->count; i++) {
        struct made_by *o = ms->maker[i];
        if (o == m || o->channel || o->outlet != m->outlet || !sent_in_vain(ms, o, w))
            continue;
        if (++o->unheard == UNHEARD)
            tell_apart(ms, o);
    }
}

static struct made_by *maker_of(struct makers *ms, uint32_t key, int64_t t)
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
    m->number = free_number(ms, key);
    m->seen = m->asked = m->last = INT64_MIN;
    m->outlet = first_queue(ms, m);
    ms->maker[ms->count++] = m;
    count_workers(ms, t);
    return m;
}

/* When a thread of the launching process began what it delivered: where its turn did, or its last long wait
 * in a queue ended, whoever ended that (the threads of a pool hand the queue's lock on to each other). */
static int64_t began(const struct thread *x, const struct maker *m)
{
    for (size_t i = waits_after(&x->waits, m->t1); i-- > x->waits.first;) {
        const struct event_wait *w = &x->waits.item[i];
        if (w->t_in <= m->t0)
            break;
        if (w->t_in <= m->t1 && w->target == TARGET_FUTEX && w->t_wake - w->t_out > IDLE_NS)
            return w->t_wake;
    }
    return m->t0;
}

/* A thread of the launching process that was asked by it and soon answered, or that only handed a
 * lock over, is no loader: PyTorch's queue threads are such. Nor is one that began after the last
 * launch (a pool that reads the files of one batch): nothing of what it makes is made ahead. */
static bool only_helped(const struct makers *ms, const struct thread *th, uint32_t key,
                        const struct event_wait *w, const struct maker *m)
{
    const struct thread *x = threads_find(ms->threads, key);
    bool answered = m->idle_ns > 0 && m->t1 - m->t0 < ANSWER_NS;
    if (answered || known_maker(ms, key))
        return answered;
    if (x && (helper_starts(x, w->t_wake) || helper_only_locks(x, th)))
        return true;
    return helper_awaits_lock(w) || w->t_wake - w->t_out < LOADER_NS ||
           (ms->launches && !launches_between(ms->launches, th, began(m->thread, m), w->t_wake));
}

/* A thread of this process may only hand on what a child process made: the wait of it that the
 * child ended, NULL if it does not. */
static const struct event_wait *relayed(const struct makers *ms, const struct thread *th,
                                        const struct thread *x, int64_t t)
{
    for (size_t i = waits_after(&x->waits, t); i-- > x->waits.first;) {
        const struct event_wait *w = &x->waits.item[i];
        if (w->t_in > t || !w->waker_tid || (w->flags & WAIT_WAKER_IRQ))
            continue;
        if (w->waker_tgid == x->tgid)
            return NULL; /* it waited for this process last */
        if (!relay_takes(ms->threads, x, w))
            continue;
        const struct thread *y = threads_find(ms->threads, w->waker_tgid);
        return y && threads_made_for(ms->threads, y, th->tgid) ? w : NULL;
    }
    return NULL;
}

/* Did `th`, which took something from m at `on`, get it from the thread that hands over, just before? What
 * ended `on` may only have answered a question about it. */
static bool handed_before(const struct thread *th, const struct made_by *m,
                          const struct event_wait *on)
{
    for (size_t i = waits_after(&th->waits, on->t_wake); i-- > th->waits.first;) {
        const struct event_wait *w = &th->waits.item[i];
        if (on->t_wake - w->t_wake >= ANSWER_REACH_NS)
            return false;
        if (w->t_wake <= on->t_wake && !(w->flags & WAIT_WAKER_IRQ) &&
            (w->waker_tid == m->hop || w->waker_tid == m->tid))
            return true;
    }
    return false;
}

/* The loader has processes: threads that seemed to load before them did not. */
static void drop_threads(struct makers *ms)
{
    for (int i = 0; i < ms->count; i++)
        free(ms->maker[i]);
    ms->count = 0;
    ms->distinct = 0;
    ms->totals.workers = ms->totals.generations = 0;
    ms->totals.processes = true;
}

static bool is_loader(const struct shares *parts, bool process)
{
    int64_t other = shares_of(parts, CAUSE_NETWORK) + shares_of(parts, CAUSE_LATE_PEER) +
                    shares_of(parts, CAUSE_COLLECTIVE) + shares_of(parts, CAUSE_CHECKPOINT);
    return other * (process ? 2 : 10) <= shares_total(parts);
}

/* Of the threads that the maker wakes its queue's was made first: later ones answer questions. */
static bool made_before(const struct makers *ms, uint32_t tid, uint32_t than)
{
    const struct thread *x = threads_find(ms->threads, tid), *y = threads_find(ms->threads, than);
    return x && y && x->tgid == y->tgid && x->start < y->start;
}

/* Which threads of the maker to follow: those of the process's own main thread, once seen. */
static void learn_threads(const struct makers *ms, struct made_by *m, const struct maker *maker)
{
    bool main_thread = maker->thread->tid == m->key && maker->hop->tgid == m->key;
    const struct thread *hop = threads_find(ms->threads, m->hop);
    bool better = maker->thread->tid != m->tid || !hop || hop->tgid != m->key ||
                  made_before(ms, maker->hop->tid, m->hop) || helper_of(hop, maker->thread);
    if (!m->tid || (main_thread && better)) {
        m->tid = maker->thread->tid;
        m->hop = maker->hop->tid;
    }
}

/* A process that ended with its first delivery was made for it: a command that was run, no worker. */
static bool made_for_one(const struct makers *ms, uint32_t key, int64_t t)
{
    const struct thread *x = threads_find(ms->threads, key);
    return x && !x->alive && x->exit < t + ENDED_NS && !known_maker(ms, key);
}

/* A child that has yet to begin its program lets its parent go on, which waits for that: no delivery. */
static bool before_program(const struct makers *ms, uint32_t key, int64_t t)
{
    const struct thread *x = threads_find(ms->threads, key);
    return x && x->exec > t;
}

/* Is there a worker with a thread that hands over: which its main thread hands to, or which itself was seen to
 * make the first batch, since it waited long for something else? */
static bool hands_over_inside(const struct makers *ms)
{
    for (int i = 0; i < ms->count; i++) {
        const struct made_by *m = ms->maker[i];
        const struct thread *hop = threads_find(ms->threads, m->hop);
        if (hop && (hop->tgid == m->key || (ms->totals.processes && m->tid != m->key)))
            return true;
    }
    return false;
}

/* Did it make workers (multiprocessing's fork server): one that is known, or in this turn a process of
 * the same program that lives on? */
static bool makes_workers(const struct makers *ms, const struct maker *m)
{
    for (int i = 0; i < ms->count; i++) {
        const struct thread *y = threads_find(ms->threads, ms->maker[i]->key);
        if (y && y->tid == y->tgid && y->parent_tgid == m->thread->tgid)
            return true;
    }
    for (size_t i = 0; i < ms->threads->count; i++) {
        const struct thread *y = ms->threads->list[i];
        if (y->tid == y->tgid && y->parent_tgid == m->thread->tgid && y->exec == INT64_MIN &&
            y->start > m->t0 && y->start <= m->t1 && y->exit > m->t1)
            return true;
    }
    return false;
}

/* A process that is no worker: it makes others, or only answers questions about what workers, which have a
 * thread that hands over, have made (the keeper of shared memory, with PyTorch's file_system strategy). */
static bool only_serves(const struct makers *ms, const struct thread *x, uint32_t key,
                        const struct event_wait *w, const struct maker *m)
{
    if (known_maker(ms, key))
        return false;
    bool soon = w->t_wake - w->t_out < ANSWER_NS || (m->idle_ns > 0 && m->t1 - m->t0 < ANSWER_NS);
    bool answered = m->thread == x && x->tid == x->tgid &&
                    (soon || !threads_made_for(ms->threads, x, m->hop->tgid));
    return (answered && hands_over_inside(ms)) || makes_workers(ms, m);
}

struct made_by *makers_of_wake(struct makers *ms, const struct thread *th,
                               const struct event_wait *w, bool *ret_fresh)
{
    const struct thread *x = threads_find(ms->threads, w->waker_tid), *by = x;
    const struct event_wait *on = x && x->tgid == th->tgid ? relayed(ms, th, x, w->t_wake) : NULL;
    int64_t t = on ? on->t_wake : w->t_wake;
    struct walk k;
    struct shares parts;
    shares_clear(&parts);
    if (on)
        x = threads_find(ms->threads, on->waker_tid);
    if (!x || !x->job || x->launches)
        return NULL;
    walk_init(&k, ms->threads, ms->names, th);
    if (!walk_delivery(&k, ms->threads, x, t, &parts) || !k.maker.thread)
        return NULL;
    bool process = x->tgid != th->tgid;
    uint32_t key = process ? k.maker.thread->tgid : x->tid;
    if (!is_loader(&parts, process) ||
        (process && (made_for_one(ms, key, t) || before_program(ms, key, t) ||
                     only_serves(ms, x, key, on ? on : w, &k.maker))) ||
        (!process && (ms->totals.processes || only_helped(ms, th, key, w, &k.maker))))
        return NULL;
    if (process && !ms->totals.processes)
        drop_threads(ms);
    struct made_by *m = maker_of(ms, key, t);
    if (!m)
        return NULL;
    learn_threads(ms, m, &k.maker);
    const struct event_wait *got = on ? on : w; /* a sharer answers over sockets of its own */
    if (got->target == TARGET_PIPE && got->channel && got->waker_tid == m->hop) {
        set_channel(ms, m, got->channel);
        look_for_unheard(ms, m, got);
    }
    *ret_fresh = x->tid == m->hop || x->tid == m->tid || (on && handed_before(by, m, on));
    return m;
}

bool makers_put_between(const struct makers *ms, const struct made_by *m, int64_t t0, int64_t t1)
{
    const struct thread *x = threads_find(ms->threads, m->tid);
    const struct thread *hop = threads_find(ms->threads, m->hop);
    return x && hop && hop->tgid == x->tgid &&
           (turn_next(x, hop, t0) <= t1 || turn_sends(x, hop, t0, t1) != INT64_MIN);
}

bool makers_in_order(const struct makers *ms)
{
    bool told = ms->asides || ms->totals.awaited >= TELLING_TAKES;
    return told ? ms->asides > 0 : ms->totals.processes;
}

/* The thread of y's process that y, its main thread, hands its work to; NULL: none yet. Of those that
 * it wakes and that do not work for it the queue's was made first; libraries make others, but these sleep. */
static const struct thread *hop_of(const struct threads *t, const struct thread *y)
{
    const struct thread *hop = NULL;
    for (size_t i = y->wakes.first; i < y->wakes.count; i++) {
        const struct wake *w = &y->wakes.item[i];
        const struct thread *x =
            w->tgid == y->tgid && w->tid != y->tid ? threads_find(t, w->tid) : NULL;
        if (x && (!hop || x->start < hop->start) && !helper_of(x, y))
            hop = x;
    }
    return hop;
}

/* When y first handed something over to hop, as far as it is remembered: it may be found long after that. */
static int64_t first_handover(const struct thread *y, const struct thread *hop)
{
    for (size_t i = y->wakes.first; i < y->wakes.count; i++)
        if (y->wakes.item[i].tid == hop->tid)
            return y->wakes.item[i].t;
    return INT64_MAX;
}

void makers_find_siblings(struct makers *ms, const struct thread *th, int64_t now)
{
    if (!ms->totals.processes ||
        (ms->threads->count == ms->looked && now - ms->looked_at < LOOK_NS) ||
        !hands_over_inside(ms))
        return;
    ms->looked = ms->threads->count;
    ms->looked_at = now;
    for (size_t i = 0; i < ms->threads->count; i++) {
        const struct thread *y = ms->threads->list[i];
        if (y->tid != y->tgid || y->launches || !threads_made_for(ms->threads, y, th->tgid) ||
            known_maker(ms, y->tid))
            continue;
        const struct thread *hop = hop_of(ms->threads, y);
        int64_t first = hop ? first_handover(y, hop) : INT64_MAX;
        /* Events are ahead of what is booked: the workers of the next epoch are not those of this one. */
        struct made_by *m = first <= now ? maker_of(ms, y->tid, first) : NULL;
        if (m) {
            m->tid = y->tid;
            m->hop = hop->tid;
        }
    }
}
