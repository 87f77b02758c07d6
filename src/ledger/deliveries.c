/* SPDX-License-Identifier: MIT */
#include "ledger/deliveries.h"

#include "base/unit.h"
#include "ledger/pieces.h"
#include "ledger/relay.h"
#include "ledger/walk.h"

#include <stdlib.h>

/* Work that is given so soon after a take that was awaited belongs to that take, as does what is
 * given before the thread launches anything. */
#define ORDER_NS (10 * NS_PER_MS)
#define AHEAD_PART 8
/* So many takes in a row from one loader are a loop over it: when the thread waits for another one it has
 * taken all. Zipped ones take turns. */
#define LOOP_TAKES 8
/* From the end of a worker's queue to its own. */
#define CLOSING_NS (1 * NS_PER_S)

static struct queued *at(struct made_by *m, unsigned i)
{
    return &m->queue[i % MAKERS_QUEUE_MAX];
}

/* The parts of a delivery are known as sums; replay wants them in the order in which they happened.
 */
struct ordering {
    struct replay_delivery *d;
    struct shares direct; /* what the thread's own waits say */
    struct shares others; /* what it waited for in others */
    int64_t own;          /* its time on a core */
    int64_t startup;      /* left of it: comes first */
    enum cause cpu;
};

static void add_direct(void *arg, const struct piece *p)
{
    struct ordering *o = arg;
    if (p->cpu)
        o->own += p->ns;
    else if (p->cause != CAUSE_NONE)
        shares_add(&o->direct, (enum cause)p->cause, p->resource, p->ns);
}

static void add_in_order(void *arg, const struct piece *p)
{
    struct ordering *o = arg;
    int64_t ns = p->ns, start = 0;
    if (p->cpu || p->cause == CAUSE_NONE)
        start = o->startup < ns ? o->startup : ns;
    o->startup -= start;
    ns -= start;
    replay_delivery_add(o->d, CAUSE_STARTUP, 0, start);
    if (p->cpu || p->cause != CAUSE_NONE) {
        replay_delivery_add(o->d, p->cpu ? o->cpu : (enum cause)p->cause, p->cpu ? 0 : p->resource,
                            ns);
        return;
    }
    if (o->d->startup && !o->others.count) { /* it waited for something of its start */
        replay_delivery_add(o->d, CAUSE_STARTUP, 0, ns);
        return;
    }
    struct shares part;
    shares_clear(&part);
    shares_add_scaled(&part, &o->others, ns);
    for (int i = 0; i < part.count; i++)
        replay_delivery_add(o->d, (enum cause)part.part[i].cause, part.part[i].resource,
                            part.part[i].ns);
}

/* What the thread did itself of a part: on a core, and by its own waits. */
static int64_t own_of(const struct ordering *o, const struct share *part)
{
    int64_t own = part->cause == o->cpu ? o->own : 0;
    for (int i = 0; i < o->direct.count; i++)
        if (o->direct.part[i].cause == part->cause && o->direct.part[i].resource == part->resource)
            own += o->direct.part[i].ns;
    return own;
}

static void add_parts(const struct walk *k, struct replay_delivery *d, const struct maker *made)
{
    static const enum cause cpu[] = {CAUSE_PREPARE, CAUSE_HOST, CAUSE_COLLECTIVE};
    const struct shares *parts = &made->parts;
    struct ordering o = {.d = d, .cpu = CAUSE_PREPARE};
    pieces_of(k, made->thread, made->t0, made->t1, add_direct, &o);
    o.startup = shares_of(parts, CAUSE_STARTUP) - shares_of(&o.direct, CAUSE_STARTUP);
    for (int i = 2; i >= 0; i--)
        if (shares_of(parts, cpu[i]))
            o.cpu = cpu[i];
    for (int i = 0; i < parts->count; i++) {
        const struct share *part = &parts->part[i];
        int64_t ns = part->cause == CAUSE_STARTUP ? 0 : part->ns - own_of(&o, part);
        if (ns > 0)
            shares_add(&o.others, (enum cause)part->cause, part->resource, ns);
    }
    pieces_of(k, made->thread, made->t0, made->t1, add_in_order, &o);
}

static void push_delivery(struct makers *ms, struct made_by *m, const struct walk *k)
{
    const struct maker *made = &k->maker;
    struct replay_delivery d = {.start_ns = made->t0,
                                .end_ns = made->t1,
                                .idle_ns = made->idle_ns,
                                .worker = m->number,
                                .queue = m->outlet,
                                .startup = made->first};
    int64_t started = made->t0 - made->idle_ns - made->born;
    if (made->first && made->born < made->t0 && started > 0) {
        d.start_ns = made->born;
        replay_delivery_add(&d, CAUSE_STARTUP, 0, started);
    }
    add_parts(k, &d, made);
    uint64_t serial = replay_push_delivery(ms->log, ms->consumer, &d);
    if (serial == REPLAY_NONE)
        return;
    if (m->tail - m->head == MAKERS_QUEUE_MAX) /* nobody can have left so many lying there */
        m->head++;
    if (m->known < m->head)
        m->known = m->head;
    m->queue[m->tail++ % MAKERS_QUEUE_MAX] = (struct queued){serial, made->t1, INT64_MAX};
}

/* A worker that is given its end asks for no work after that, and its queue that closes looks like
 * a delivery. */
static bool closes(const struct thread *x, const struct thread *const *chain, int depth, int64_t t)
{
    return x->exit != INT64_MAX && x->exit - t < CLOSING_NS &&
           !turn_given_work(x, chain, depth, t, x->exit);
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
        struct shares parts;
        shares_clear(&parts);
        bool silent = turn_silent(x, k.chain, k.depth, m->seen, t < until ? t : until, &turn);
        if (silent)
            t = turn.t1;
        else if (t > until || !relay_turn(ms->threads, x, hop, k.chain, k.depth, t, &turn))
            return;
        k.maker.thread = NULL;
        k.pieces = 0;
        walk_made(&k, x, hop, &turn, &parts);
        m->seen = t;
        if (k.maker.thread && !(turn.idle_ns > 0 && closes(x, k.chain, k.depth, turn.t1)))
            push_delivery(ms, m, &k);
    }
}

/* How far a maker may be ahead, its prefetch. More seems to lie there where takes left no trace,
 * less at the start of an epoch: the low end of what was seen is right. */
static unsigned usually_ahead(const struct makers *ms)
{
    unsigned all = 0, seen = 0, n = 0;
    for (unsigned i = 0; i <= MAKERS_AHEAD_MAX; i++)
        all += ms->ahead[i];
    while (n < MAKERS_AHEAD_MAX && (seen += ms->ahead[n]) * AHEAD_PART < all)
        n++;
    return n;
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
static void given_work(struct makers *ms, struct made_by *m, const struct thread *th,
                       const struct launches *launches, int64_t t)
{
    unsigned n = there(m, m->known, t);
    bool awaited = !m->answered && m->last != INT64_MIN && t >= m->last &&
                   (t - m->last < ORDER_NS || !launches_between(launches, th, m->last, t));
    m->answered |= awaited;
    n += awaited;
    if (!n)
        return; /* the first work of all, or of an epoch */
    ms->ahead[n < MAKERS_AHEAD_MAX ? n : MAKERS_AHEAD_MAX]++;
    unsigned ahead = usually_ahead(ms);
    if (awaited || n < ahead)
        return;
    m->known += n - ahead + 1;
    at(m, m->known - 1)->taken = t;
}

static void look_at_work(struct makers *ms, struct made_by *m, const struct thread *th,
                         const struct launches *launches, int64_t until)
{
    const struct thread *x = threads_find(ms->threads, m->tid);
    const struct thread *chain[2] = {th, threads_find(ms->threads, m->hop)};
    int depth = chain[1] && chain[1] != th ? 2 : 1;
    const struct event_wait *w;
    while (x && (w = turn_given_work(x, chain, depth, m->asked, until))) {
        m->asked = w->t_in;
        if (!closes(x, chain, depth, w->t_in))
            given_work(ms, m, th, launches, w->t_wake);
    }
    m->asked = until > m->asked ? until : m->asked;
}

void deliveries_update(struct makers *ms, const struct thread *th, const struct launches *launches,
                       int64_t until)
{
    makers_find_siblings(ms, th, until);
    for (int i = 0; i < ms->count; i++) {
        struct made_by *m = ms->maker[i];
        enumerate(ms, m, th, until);
        if (ms->totals.processes || ms->asides)
            look_at_work(ms, m, th, launches, until);
        int64_t exit = makers_exit(ms, m);
        if (exit <= until && !ms->ending) /* its loader has ended: nothing was left lying there */
            m->known += there(m, m->known, exit == INT64_MIN ? until : exit);
    }
}

/* ---- which were taken, and in which order ---- */

struct taking {
    struct makers *ms;
    struct taken *out;
    int count;
    int order[MAKERS_MAX]; /* those that have ended, then those that live, each in turn */
    int ended, all;
    unsigned due[MAKERS_MAX]; /* by index of maker: how many are to be taken */
};

static struct made_by *maker_at(const struct taking *k, int place)
{
    return k->ms->maker[k->order[place]];
}

static void took(struct makers *ms, struct made_by *m)
{
    ms->run = m->outlet == ms->last_queue ? ms->run + 1 : 1;
    ms->last_queue = m->outlet;
    m->turn = ++ms->turns;
}

static void take_one(struct taking *k, struct made_by *m)
{
    struct queued *q = at(m, m->head++);
    took(k->ms, m);
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

/* Adds the makers that had ended at t, or those that lived, by their keys. */
static void add_makers(struct taking *k, int64_t t, bool ended)
{
    int first = k->all;
    for (int i = 0; i < k->ms->count; i++) {
        int at = k->all;
        if ((makers_exit(k->ms, k->ms->maker[i]) <= t) != ended)
            continue;
        for (; at > first && maker_at(k, at - 1)->key > k->ms->maker[i]->key; at--)
            k->order[at] = k->order[at - 1];
        k->order[at] = i;
        k->all++;
    }
}

static void begin_taking(struct taking *k, struct makers *ms, struct taken *out, int64_t t)
{
    k->ms = ms;
    k->out = out;
    k->count = k->all = 0;
    for (int i = 0; i < ms->count; i++)
        k->due[i] = ms->maker[i]->known - ms->maker[i]->head;
    add_makers(k, t, true);
    k->ended = k->all;
    add_makers(k, t, false);
}

/* Place of a maker in [from, to); from - 1: it is not there. */
static int place_of(const struct taking *k, uint32_t key, int from, int to)
{
    for (int i = from; i < to; i++)
        if (maker_at(k, i)->key == key)
            return i;
    return from - 1;
}

/* Place in [from, to) of the maker of the queue that was taken from last; from - 1: none there was. */
static int place_of_last(const struct taking *k, uint32_t queue, int from, int to)
{
    int last = from - 1;
    uint64_t turn = 0;
    for (int i = from; i < to; i++) {
        const struct made_by *m = maker_at(k, i);
        if (m->outlet != queue || m->turn <= turn)
            continue;
        turn = m->turn;
        last = i;
    }
    return last;
}

/* All of its queue from the place after the last take up to m's have one more turn than m had rounds. */
static void due_in_turn(struct taking *k, const struct made_by *m, unsigned rounds, int64_t t0)
{
    int last = place_of_last(k, m->outlet, k->ended, k->all);
    int mine = place_of(k, m->key, k->ended, k->all);
    for (int i = k->ended; i < k->all && mine >= k->ended; i++) {
        struct made_by *o = maker_at(k, i);
        if (o->outlet != m->outlet)
            continue;
        bool between = last < mine ? i > last && i < mine : i > last || i < mine;
        unsigned due = rounds + between, have = there(o, o->head, t0);
        due = due < have ? due : have;
        if (o != m && due > k->due[k->order[i]])
            k->due[k->order[i]] = due;
    }
}

/* Takes what is due of the queue's makers in [from, to), in turn. */
static void take_of_queue(struct taking *k, uint32_t queue, int from, int to)
{
    int i = place_of_last(k, queue, from, to) + 1;
    bool left = true;
    while (left) {
        left = false;
        for (; i < to; i++) {
            unsigned *due = &k->due[k->order[i]];
            if (maker_at(k, i)->outlet != queue || !*due)
                continue;
            take_one(k, maker_at(k, i));
            --*due;
        }
        for (i = from; i < to; i++)
            left |= maker_at(k, i)->outlet == queue && k->due[k->order[i]];
        i = from;
    }
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

/* Stable: those of one moment stay in the order in which they were taken. */
static void sort_by_moment(struct taken *v, int count)
{
    for (int i = 1; i < count; i++) {
        struct taken one = v[i];
        int n = i;
        for (; n > 0 && v[n - 1].at > one.at; n--)
            v[n] = v[n - 1];
        v[n] = one;
    }
}

/* Takes what is due of the makers in [from, to) between two moments, each queue's in turn. */
static void take_in_turn(struct taking *k, int from, int to, int64_t begin, int64_t end)
{
    for (int i = from; i < to; i++) {
        int first = k->count;
        if (!k->due[k->order[i]])
            continue;
        take_of_queue(k, maker_at(k, i)->outlet, from, to);
        set_moments(k->out + first, k->count - first, begin, end);
    }
}

static void take_by_end(struct taking *k)
{
    for (int w = 0; w < k->ms->count; w++)
        for (; k->due[w]; k->due[w]--)
            take_one(k, k->ms->maker[w]);
    qsort(k->out, (size_t)k->count, sizeof(k->out[0]), by_end);
}

/* The first end of a maker of which something is due; before it, all was taken. */
static int64_t first_exit(const struct taking *k, int64_t t)
{
    for (int i = 0; i < k->ended; i++) {
        int64_t exit = makers_exit(k->ms, maker_at(k, i));
        if (k->due[k->order[i]] && exit != INT64_MIN && exit < t)
            t = exit;
    }
    return t;
}

/* Is o of a loader that was looped over until the thread began to wait for m's? */
static bool ends_loop(const struct makers *ms, const struct made_by *m, const struct made_by *o)
{
    return m->outlet != ms->last_queue && o->outlet == ms->last_queue && ms->run >= LOOP_TAKES;
}

int deliveries_unnoticed(struct makers *ms, struct made_by *m, int64_t from, int64_t t0, int64_t t1,
                         bool fresh, struct taken taken[DELIVERIES_TAKEN_MAX])
{
    struct taking k;
    bool in_order = makers_in_order(ms);
    begin_taking(&k, ms, taken, t0);
    /* its queue's thread may have been late with the newest: it is not there before it woke us */
    unsigned rounds = m->known - m->head, mine = there(m, m->head, t1),
             early = there(m, m->head, t0);
    if (fresh && mine)
        rounds = mine - 1 < early ? mine - 1 : early;
    /* what lay there when it was taken: of the others', only what came before it was taken by then */
    int64_t came = !fresh && rounds < early ? at(m, m->head + rounds)->end : t0;
    for (int i = 0; i < ms->count; i++) {
        if (ms->maker[i] == m)
            k.due[i] = rounds;
        else if (ends_loop(ms, m, ms->maker[i]))
            k.due[i] = there(ms->maker[i], ms->maker[i]->head, t0);
        else if (!in_order && ms->maker[i]->outlet == m->outlet)
            k.due[i] = there(ms->maker[i], ms->maker[i]->head, came);
    }
    if (in_order) {
        due_in_turn(&k, m, rounds, t0);
        take_in_turn(&k, 0, k.ended, from, first_exit(&k, t0));
        for (int i = 0; i < k.count; i++)
            from = taken[i].at > from ? taken[i].at : from;
        take_in_turn(&k, k.ended, k.all, from, t0);
        sort_by_moment(taken, k.count);
    } else {
        take_by_end(&k);
        set_moments(taken, k.count, from, t0);
    }
    return k.count;
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
    sort_by_moment(taken, k.count);
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
    took(ms, m);
    return serial;
}
