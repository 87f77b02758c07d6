/* SPDX-License-Identifier: MIT */
#include "ledger/deliveries.h"

#include "base/unit.h"
#include "ledger/turn.h"
#include "ledger/walk.h"

#include <stdlib.h>

/* Work that is given so soon after a take that was awaited belongs to that take. */
#define ORDER_NS (10 * NS_PER_MS)
/* From the end of a worker's queue to its own. */
#define CLOSING_NS (1 * NS_PER_S)

static struct queued *at(struct made_by *m, unsigned i)
{
    return &m->queue[i % MAKERS_QUEUE_MAX];
}

static void push_delivery(struct makers *ms, struct made_by *m, const struct maker *made)
{
    struct replay_delivery d = {.start_ns = made->t0,
                                .end_ns = made->t1,
                                .idle_ns = made->idle_ns,
                                .worker = m->number,
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
    if (serial == REPLAY_NONE)
        return;
    if (m->tail - m->head == MAKERS_QUEUE_MAX) /* nobody can have left so many lying there */
        m->head++;
    if (m->known < m->head)
        m->known = m->head;
    m->queue[m->tail++ % MAKERS_QUEUE_MAX] = (struct queued){serial, made->t1, INT64_MAX};
}

/* A worker that is given its end closes its queue, which looks like a delivery: it asks for no work
 * after it. */
static bool only_closes(const struct thread *x, const struct thread *const *chain, int depth,
                        const struct turn *turn)
{
    return turn->idle_ns > 0 && x->exit != INT64_MAX && x->exit - turn->t1 < CLOSING_NS &&
           !turn_given_work(x, chain, depth, turn->t1, x->exit);
}

/* Brings what m handed over up to `until` into the log and its queue. */
static void enumerate(struct makers *ms, struct made_by *m, const struct thread *th, int64_t until)
{
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
        if (k.maker.thread && !only_closes(x, k.chain, k.depth, &turn))
            push_delivery(ms, m, &k.maker);
    }
}

/* How far it may be ahead: what lay there most often when it was given work. */
static unsigned usually_ahead(const struct made_by *m)
{
    unsigned best = 0;
    for (unsigned i = 1; i <= MAKERS_AHEAD_MAX; i++)
        if (m->ahead[i] > m->ahead[best])
            best = i;
    return best;
}

/* Number of deliveries from `first` on that were there at t. */
static unsigned there(struct made_by *m, unsigned first, int64_t t)
{
    unsigned n = 0;
    while (first + n != m->tail && at(m, first + n)->end <= t)
        n++;
    return n;
}

/* It had no work, and got some at t: one of its deliveries was taken then. */
static void given_work(struct made_by *m, int64_t t)
{
    unsigned n = there(m, m->known, t);
    bool awaited = !m->answered && m->last != INT64_MIN && t >= m->last && t - m->last < ORDER_NS;
    m->answered |= awaited;
    n += awaited;
    if (!n)
        return; /* the first work of all, or of an epoch */
    m->ahead[n < MAKERS_AHEAD_MAX ? n : MAKERS_AHEAD_MAX]++;
    unsigned ahead = usually_ahead(m);
    if (awaited || n < ahead)
        return;
    m->known += n - ahead + 1;
    at(m, m->known - 1)->taken = t;
}

static void look_at_work(struct makers *ms, struct made_by *m, const struct thread *th,
                         int64_t until)
{
    const struct thread *x = threads_find(ms->threads, m->tid);
    const struct thread *chain[2] = {th, threads_find(ms->threads, m->hop)};
    int depth = chain[1] && chain[1] != th ? 2 : 1;
    const struct event_wait *w;
    while (x && (w = turn_given_work(x, chain, depth, m->asked, until))) {
        m->asked = w->t_in;
        given_work(m, w->t_wake);
    }
}

void deliveries_update(struct makers *ms, const struct thread *th, int64_t until)
{
    makers_find_siblings(ms, th, until);
    for (int i = 0; i < ms->count; i++) {
        struct made_by *m = ms->maker[i];
        enumerate(ms, m, th, until);
        if (ms->totals.processes || ms->asides)
            look_at_work(ms, m, th, until);
        int64_t exit = makers_exit(ms, m);
        if (exit <= until) /* its loader has ended: nothing was left lying there */
            m->known += there(m, m->known, exit == INT64_MIN ? until : exit);
    }
}

/* ---- which were taken, and in which order ---- */

struct taking {
    struct makers *ms;
    struct taken *out;
    int count;
    int order[MAKERS_MAX]; /* makers that live, in turn */
    int living;
    unsigned due[MAKERS_MAX]; /* by index of maker: how many are to be taken */
};

static void take_one(struct taking *k, struct made_by *m)
{
    struct queued *q = at(m, m->head++);
    if (m->known < m->head)
        m->known = m->head;
    if (k->count < DELIVERIES_TAKEN_MAX)
        k->out[k->count++] = (struct taken){q->serial, q->end, q->taken};
}

static int by_end(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    return x->end < y->end ? -1 : x->end > y->end;
}

static void begin_taking(struct taking *k, struct makers *ms, struct taken *out, int64_t t)
{
    k->ms = ms;
    k->out = out;
    k->count = k->living = 0;
    for (int i = 0; i < ms->count; i++) {
        int at = k->living;
        k->due[i] = ms->maker[i]->known - ms->maker[i]->head;
        if (makers_exit(ms, ms->maker[i]) <= t)
            continue;
        for (; at > 0 && ms->maker[k->order[at - 1]]->key > ms->maker[i]->key; at--)
            k->order[at] = k->order[at - 1];
        k->order[at] = i;
        k->living++;
    }
}

/* Place of a maker in turn; -1: it has ended. */
static int place_of(const struct taking *k, uint32_t key)
{
    for (int i = 0; i < k->living; i++)
        if (k->ms->maker[k->order[i]]->key == key)
            return i;
    return -1;
}

/* All from the place after the last take up to m's have one more turn than m had rounds. */
static void due_in_turn(struct taking *k, const struct made_by *m, unsigned rounds, int64_t t0)
{
    int last = place_of(k, k->ms->last_key), mine = place_of(k, m->key);
    for (int i = 0; i < k->living && mine >= 0; i++) {
        struct made_by *o = k->ms->maker[k->order[i]];
        bool between = last < mine ? i > last && i < mine : i > last || i < mine;
        unsigned due = rounds + between, have = there(o, o->head, t0);
        due = due < have ? due : have;
        if (o != m && due > k->due[k->order[i]])
            k->due[k->order[i]] = due;
    }
}

/* Takes what is due: that of makers that have ended, then of the others in turn. */
static void take_in_turn(struct taking *k)
{
    int i = place_of(k, k->ms->last_key) + 1;
    bool left = true;
    for (int w = 0; w < k->ms->count; w++)
        for (; k->due[w] && makers_exit(k->ms, k->ms->maker[w]) != INT64_MAX &&
               place_of(k, k->ms->maker[w]->key) < 0;
             k->due[w]--)
            take_one(k, k->ms->maker[w]);
    qsort(k->out, (size_t)k->count, sizeof(k->out[0]), by_end);
    while (left) {
        left = false;
        for (; i < k->living; i++) {
            unsigned *due = &k->due[k->order[i]];
            if (!*due)
                continue;
            take_one(k, k->ms->maker[k->order[i]]);
            k->ms->last_key = k->ms->maker[k->order[i]]->key;
            left |= --*due > 0;
        }
        for (int j = 0; j < k->living; j++)
            left |= k->due[k->order[j]] > 0;
        i = 0;
    }
}

static void take_by_end(struct taking *k)
{
    for (int w = 0; w < k->ms->count; w++)
        for (; k->due[w]; k->due[w]--)
            take_one(k, k->ms->maker[w]);
    qsort(k->out, (size_t)k->count, sizeof(k->out[0]), by_end);
}

/* Moments of taking: as known, else evenly between those that are, never before it was there. */
static void set_moments(struct taken *v, int count, int64_t from, int64_t to)
{
    for (int i = 0; i < count;) {
        int n = i;
        while (n < count && v[n].at == INT64_MAX)
            n++;
        int64_t next = n < count && v[n].at < to ? v[n].at : to, begin = from;
        for (int j = i; j < n; j++) {
            int64_t even = begin + (next - begin) / (n - i + 1) * (j - i + 1);
            even = even > v[j].end ? even : v[j].end;
            even = even < to ? even : to;
            from = v[j].at = even > from ? even : from;
        }
        if (n < count)
            from = v[n].at = next > from ? next : from;
        i = n + 1;
    }
}

int deliveries_unnoticed(struct makers *ms, struct made_by *m, int64_t from, int64_t t0,
                         int64_t t1, bool fresh,
                         struct taken taken[DELIVERIES_TAKEN_MAX])
{
    struct taking k;
    bool in_order = makers_in_order(ms);
    begin_taking(&k, ms, taken, t0);
    /* its queue's thread may have been late with the newest: it is not there before it woke us */
    unsigned rounds = m->known - m->head, mine = there(m, m->head, t1), early = there(m, m->head, t0);
    if (fresh && mine)
        rounds = mine - 1 < early ? mine - 1 : early;
    for (int i = 0; i < ms->count; i++) {
        if (ms->maker[i] == m)
            k.due[i] = rounds;
        else if (!in_order)
            k.due[i] = there(ms->maker[i], ms->maker[i]->head, t0);
    }
    if (in_order) {
        due_in_turn(&k, m, rounds, t0);
        take_in_turn(&k);
    } else {
        take_by_end(&k);
    }
    set_moments(taken, k.count, from, t0);
    return k.count;
}

static int by_moment(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at ? 1 : by_end(a, b);
}

int deliveries_known(struct makers *ms, int64_t from, int64_t until,
                     struct taken taken[DELIVERIES_TAKEN_MAX])
{
    struct taking k;
    begin_taking(&k, ms, taken, until);
    for (int w = 0; w < ms->count; w++) {
        int first = k.count;
        int64_t next = until;
        for (; k.due[w]; k.due[w]--)
            take_one(&k, ms->maker[w]);
        for (int i = k.count; i-- > first;) /* those without a moment: just before the next */
            next = taken[i].at = taken[i].at < next ? taken[i].at : next;
    }
    qsort(taken, (size_t)k.count, sizeof(taken[0]), by_moment);
    set_moments(taken, k.count, from, until);
    return k.count;
}

uint64_t deliveries_awaited(struct makers *ms, struct made_by *m, int64_t t1)
{
    uint64_t serial = REPLAY_NONE;
    if (m->head != m->tail && at(m, m->head)->end <= t1)
        serial = at(m, m->head++)->serial;
    if (m->known < m->head)
        m->known = m->head;
    m->last = t1;
    m->answered = false;
    ms->last_key = m->key;
    return serial;
}
