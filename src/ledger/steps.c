/* SPDX-License-Identifier: MIT */
#include "ledger/steps.h"

#include "base/mem.h"
#include "base/unit.h"
#include "ledger/gap.h"
#include "ledger/turn.h"
#include "ledger/walk.h"

#include <stdlib.h>
#include <string.h>

#define MAKERS_MAX 256
#define QUEUE_MAX 256
/* A worker that waited this long for work had none. */
#define IDLE_NS (1 * NS_PER_MS)
/* A thread of the same process that ended a shorter wait handed over a lock, not a batch. */
#define LOADER_NS (1 * NS_PER_MS)

/* A span as its launching thread saw it. */
struct launched {
    int64_t t0, t1; /* the call */
    int64_t adds;   /* exclusive device time */
    enum cause cause;
    bool sync_copy;
};

/* One worker: a loader process, or a thread of this process. */
struct made_by {
    uint32_t key;              /* tgid of a process, tid of a thread */
    uint32_t tid, hop;         /* the thread that makes; the one it hands over to */
    int64_t seen;              /* deliveries up to here are in the log */
    uint64_t queue[QUEUE_MAX]; /* serials not consumed yet, a ring */
    int64_t ends[QUEUE_MAX];
    unsigned head, tail;
    unsigned most; /* delivered and not taken at most: its prefetch; 0 not known */
    uint64_t consumed;
    int64_t last;
};

struct steps {
    struct threads *threads;
    const struct intern *names;
    struct replay_log *log;
    uint32_t tid;
    int consumer;
    struct launched *launched; /* owned; sorted by t0 */
    size_t first, count, cap;
    int64_t at; /* waits that ended before are done */
    int64_t cut; /* calls that ended before have cut steps where they should */
    bool open;  /* a step has begun */
    struct replay_step step;
    struct made_by *maker[MAKERS_MAX]; /* owned */
    int makers;
    uint32_t distinct; /* makers ever seen */
    struct steps_totals totals;
};

struct steps *steps_new(struct threads *threads, const struct intern *names,
                        struct replay_log *log, uint32_t tid, uint32_t device, int64_t origin)
{
    struct steps *s = mem_zalloc(sizeof(*s));
    if (!s)
        return NULL;
    s->threads = threads;
    s->names = names;
    s->log = log;
    s->tid = tid;
    s->at = s->cut = origin;
    s->step = (struct replay_step){.t0 = origin, .t1 = origin, .delivery = REPLAY_NONE};
    s->open = true; /* up to the first delivery: workers are being made */
    s->consumer = log ? replay_consumer(log, tid, device) : -1;
    return s;
}

void steps_free(struct steps *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->makers; i++)
        free(s->maker[i]);
    free(s->launched);
    free(s);
}

uint32_t steps_tid(const struct steps *s)
{
    return s->tid;
}

void steps_totals(const struct steps *s, struct steps_totals *ret)
{
    *ret = s->totals;
}

static enum cause device_cause(const struct event_span *span)
{
    if (span->kind == SPAN_COMM)
        return CAUSE_COLLECTIVE;
    if (span->kind != SPAN_COPY)
        return CAUSE_NONE;
    return span->host_copy && span->pageable ? CAUSE_PAGEABLE_COPY : CAUSE_LINK;
}

bool steps_span(struct steps *s, const struct event_span *span, int64_t adds)
{
    if (!mem_grow((void **)&s->launched, &s->cap, s->count + 1, sizeof(*s->launched)))
        return false;
    struct launched l = {span->launch_t0, span->launch_t1, adds, device_cause(span),
                         span->kind == SPAN_COPY && span->sync_copy};
    size_t i = s->count++;
    for (; i > s->first && s->launched[i - 1].t0 > l.t0; i--)
        s->launched[i] = s->launched[i - 1];
    s->launched[i] = l;
    return true;
}

static void forget_launched(struct steps *s, int64_t before)
{
    while (s->first < s->count && s->launched[s->first].t0 < before)
        s->first++;
    if (s->first > 1024 && s->first * 2 > s->count) {
        memmove(s->launched, s->launched + s->first, (s->count - s->first) * sizeof(*s->launched));
        s->count -= s->first;
        s->first = 0;
    }
}

/* Index of the first launch at or after t. */
static size_t launched_at(const struct steps *s, int64_t t)
{
    size_t lo = s->first, hi = s->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->launched[mid].t0 >= t)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static const struct event_call *call_over(const struct thread *th, int64_t t)
{
    size_t i = calls_after(&th->calls, t);
    return i < th->calls.count && th->calls.item[i].t0 <= t ? &th->calls.item[i] : NULL;
}

/* Did the thread make a driver call that began in [a, b)? */
static bool calls_between(const struct steps *s, const struct thread *th, int64_t a, int64_t b)
{
    size_t i = launched_at(s, a);
    if (i < s->count && s->launched[i].t0 < b)
        return true;
    size_t c = calls_after(&th->calls, a);
    return c < th->calls.count && th->calls.item[c].t0 < b && th->calls.item[c].t0 >= a;
}

/* ---- the thread's own time between two steps ---- */

struct own {
    const struct steps *s;
    const struct thread *th;
    struct replay_step *step;
    int64_t at, end;
};

static void own_cpu(struct own *o, int64_t to)
{
    int64_t ns = (to < o->end ? to : o->end) - o->at;
    if (ns <= 0)
        return;
    replay_step_add(o->step, REPLAY_THREAD, ns <= GAP_LAUNCH_CPU_NS ? CAUSE_LAUNCH : CAUSE_HOST, 0,
                    ns);
    o->at += ns;
}

static void own_launch(struct own *o, const struct launched *l)
{
    own_cpu(o, l->t0);
    int64_t end = l->t1 < o->end ? l->t1 : o->end;
    replay_step_add(o->step, REPLAY_DEVICE, l->cause, 0, l->adds);
    if (end <= o->at)
        return;
    replay_step_add(o->step, l->sync_copy ? REPLAY_SYNC : REPLAY_THREAD,
                    l->sync_copy ? l->cause : CAUSE_LAUNCH, 0, end - o->at);
    o->at = end;
}

static void own_call(struct own *o, const struct event_call *c)
{
    own_cpu(o, c->t0);
    int64_t end = c->t1 < o->end ? c->t1 : o->end;
    if (end < o->at)
        return;
    if (c->kind == CALL_SYNC || c->kind == CALL_COPY)
        replay_step_add(o->step, REPLAY_SYNC, CAUSE_NONE, 0, end - o->at);
    else
        replay_step_add(o->step, REPLAY_THREAD, CAUSE_HOST, 0, end - o->at);
    o->at = end;
}

static void own_wait(struct own *o, const struct event_wait *w)
{
    own_cpu(o, w->t_out);
    int64_t from = o->at, wake = w->t_wake < o->end ? w->t_wake : o->end;
    int64_t in = w->t_in < o->end ? w->t_in : o->end;
    struct walk k;
    struct shares parts = {.count = 0}, scaled = {.count = 0};
    if (wake > from) {
        walk_init(&k, o->s->threads, o->s->names, o->th);
        enum cause c = walk_direct(&k, o->th, w);
        const struct thread *y = threads_find(o->s->threads, w->waker_tid);
        if (c != CAUSE_NONE)
            shares_add(&parts, c, w->resource, 1);
        else if (!y || !walk_turn(&k, y, o->th, w->t_wake, &parts))
            shares_add(&parts, CAUSE_UNKNOWN, 0, 1);
        shares_add_scaled(&scaled, &parts, wake - from);
        for (int i = 0; i < scaled.count; i++)
            replay_step_add(o->step, REPLAY_THREAD, (enum cause)scaled.part[i].cause,
                            scaled.part[i].resource, scaled.part[i].ns);
        o->at = wake;
    }
    if (in > o->at) {
        replay_step_add(o->step, REPLAY_THREAD, CAUSE_CPU_STARVED, 0, in - o->at);
        o->at = in;
    }
}

/* Fills the ops of [a, b) in the order of the thread's own time. */
static void own_time(const struct steps *s, const struct thread *th, struct replay_step *step,
                     int64_t a, int64_t b)
{
    struct own o = {s, th, step, a, b};
    size_t l = launched_at(s, a), c = calls_after(&th->calls, a), w = waits_after(&th->waits, a);
    for (;;) {
        int64_t tl = l < s->count ? s->launched[l].t0 : INT64_MAX;
        int64_t tc = c < th->calls.count ? th->calls.item[c].t0 : INT64_MAX;
        int64_t tw = w < th->waits.count ? th->waits.item[w].t_out : INT64_MAX;
        if (tl >= b && tc >= b && tw >= b)
            break;
        if (tl <= tc && tl <= tw)
            own_launch(&o, &s->launched[l++]);
        else if (tc <= tw)
            own_call(&o, &th->calls.item[c++]);
        else
            own_wait(&o, &th->waits.item[w++]);
    }
    own_cpu(&o, b);
}

/* ---- deliveries ---- */

/* Workers are those alive at once; makers beyond them came in later generations. */
static void count_workers(struct steps *s)
{
    uint32_t alive = 1; /* the new one was, when it delivered */
    for (int i = 0; i < s->makers - 1; i++) {
        const struct thread *x = threads_find(s->threads, s->maker[i]->key);
        alive += !x || x->alive;
    }
    s->distinct++;
    if (alive > s->totals.workers)
        s->totals.workers = alive;
    s->totals.generations = (s->distinct + s->totals.workers - 1) / s->totals.workers - 1;
}

static bool known_maker(const struct steps *s, uint32_t key)
{
    for (int i = 0; i < s->makers; i++)
        if (s->maker[i]->key == key)
            return true;
    return false;
}

static struct made_by *maker_of(struct steps *s, uint32_t key)
{
    for (int i = 0; i < s->makers; i++)
        if (s->maker[i]->key == key)
            return s->maker[i];
    if (s->makers == MAKERS_MAX) { /* the longest silent one makes room */
        int old = 0;
        for (int i = 1; i < s->makers; i++)
            if (s->maker[i]->last < s->maker[old]->last)
                old = i;
        free(s->maker[old]);
        s->maker[old] = s->maker[--s->makers];
    }
    struct made_by *m = mem_zalloc(sizeof(*m));
    if (!m)
        return NULL;
    m->key = key;
    m->seen = m->last = INT64_MIN;
    s->maker[s->makers++] = m;
    count_workers(s);
    return m;
}

static void push_delivery(struct steps *s, struct made_by *m, const struct maker *made, int worker)
{
    struct replay_delivery d = {.start_ns = made->t0, .end_ns = made->t1,
                                .idle_ns = made->idle_ns, .worker = (uint32_t)worker,
                                .startup = made->first};
    int64_t started = made->t0 - made->idle_ns - made->born;
    if (made->first && made->born < made->t0 && started > 0) {
        d.start_ns = made->born;
        replay_delivery_add(&d, CAUSE_STARTUP, 0, started);
    }
    for (int i = 0; i < made->parts.count; i++)
        replay_delivery_add(&d, (enum cause)made->parts.part[i].cause,
                            made->parts.part[i].resource, made->parts.part[i].ns);
    uint64_t serial = replay_push_delivery(s->log, s->consumer, &d);
    if (serial == REPLAY_NONE || m->tail - m->head == QUEUE_MAX)
        return;
    m->queue[m->tail % QUEUE_MAX] = serial;
    m->ends[m->tail % QUEUE_MAX] = made->t1;
    m->tail++;
    /* it ran out of work: all that it may have ahead was lying there */
    unsigned ahead = m->tail - m->head;
    if (made->idle_ns > IDLE_NS && !made->first && (!m->most || ahead < m->most))
        m->most = ahead;
}

/* Brings what a maker handed over up to `until` into the log. */
static void enumerate(struct steps *s, const struct thread *th, int worker, int64_t until)
{
    struct made_by *m = s->maker[worker];
    const struct thread *x = threads_find(s->threads, m->tid);
    const struct thread *hop = threads_find(s->threads, m->hop);
    if (!x || !hop)
        return;
    struct walk k;
    walk_init(&k, s->threads, s->names, th);
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
            push_delivery(s, m, &k.maker, worker);
    }
}

/* Was this one taken before the next of `m`? */
static bool before(const struct steps *s, int i, const struct made_by *m, int64_t t0)
{
    const struct made_by *o = s->maker[i];
    if (o == m || o->head == o->tail || m->head == m->tail)
        return false;
    int64_t end = o->ends[o->head % QUEUE_MAX], mine = m->ends[m->head % QUEUE_MAX];
    if (end > t0)
        return false;
    if (!s->totals.processes)
        return end < mine;
    if (end > m->last && end > mine)
        return false;
    return o->consumed < m->consumed || (o->consumed == m->consumed && o->key < m->key);
}

static void begin_step(struct steps *s, int64_t t0, int64_t t1, uint64_t delivery)
{
    s->step = (struct replay_step){.t0 = t0, .t1 = t1, .delivery = delivery};
    s->open = true;
    s->totals.deliveries++;
}

static void end_step(struct steps *s, const struct thread *th, int64_t end)
{
    if (!s->open)
        return;
    s->step.end_ns = end;
    own_time(s, th, &s->step, s->step.t1, end);
    replay_push_step(s->log, s->consumer, &s->step);
    s->open = false;
}

/* More lies there than its prefetch lets it have ahead: some were taken unnoticed. */
static bool too_many(const struct made_by *m, int64_t t0)
{
    return m->most && m->tail - m->head > m->most && m->ends[m->head % QUEUE_MAX] <= t0;
}

struct taken {
    uint64_t serial;
    int64_t end;
};

static struct taken take_oldest(struct made_by *m)
{
    unsigned at = m->head++ % QUEUE_MAX;
    m->consumed++;
    return (struct taken){m->queue[at], m->ends[at]};
}

static int by_end(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    return x->end < y->end ? -1 : x->end > y->end;
}

/*
 * Ends the open step at t0, with those deliveries in between that nobody waited for. `fresh`: the
 * thread was woken by m's newest delivery, so what m delivered before was taken unnoticed.
 */
static void end_steps(struct steps *s, const struct thread *th, struct made_by *m, int64_t t0,
                      int64_t fresh)
{
    struct taken unnoticed[QUEUE_MAX];
    int count = 0;
    while (m->tail - m->head > 1 && m->ends[(m->head + 1) % QUEUE_MAX] <= fresh &&
           m->ends[m->head % QUEUE_MAX] <= t0 && count < QUEUE_MAX)
        unnoticed[count++] = take_oldest(m);
    for (int i = 0; i < s->makers; i++)
        while (count < QUEUE_MAX && (before(s, i, m, t0) || too_many(s->maker[i], t0)))
            unnoticed[count++] = take_oldest(s->maker[i]);
    if (!s->open)
        return;
    qsort(unnoticed, (size_t)count, sizeof(unnoticed[0]), by_end);
    int64_t from = s->step.t1, at = from;
    for (int i = 0; i <= count; i++) {
        int64_t cut = from + (t0 - from) * (i + 1) / (count + 1);
        if (i < count && cut < unnoticed[i].end)
            cut = unnoticed[i].end; /* not before it was there */
        at = cut > at ? cut : at;
        end_step(s, th, i < count ? at : t0);
        if (i < count)
            begin_step(s, at, at, unnoticed[i].serial);
    }
}

/* A thread of the launching process that was asked by it and soon answered, or that only handed a
 * lock over, is no loader: PyTorch's queue threads are such. */
static bool only_helped(const struct steps *s, uint32_t key, const struct event_wait *w,
                        const struct maker *m)
{
    bool answered = m->idle_ns > 0 && m->t1 - m->t0 < ANSWER_NS;
    return answered || (!known_maker(s, key) && w->t_wake - w->t_out < LOADER_NS);
}

/* The worker behind a wake, its queue brought up to date. NULL: not a loader's. */
static struct made_by *delivered_by(struct steps *s, const struct thread *th,
                                    const struct event_wait *w)
{
    const struct thread *x = threads_find(s->threads, w->waker_tid);
    struct walk k;
    struct shares parts = {.count = 0};
    if (!x || x->launches)
        return NULL;
    walk_init(&k, s->threads, s->names, th);
    if (!walk_delivery(&k, s->threads, x, w->t_wake, &parts) || !k.maker.thread)
        return NULL;
    int64_t other = shares_of(&parts, CAUSE_NETWORK) + shares_of(&parts, CAUSE_LATE_PEER) +
                    shares_of(&parts, CAUSE_COLLECTIVE) + shares_of(&parts, CAUSE_CHECKPOINT);
    bool process = x->tgid != th->tgid;
    if (other * (process ? 2 : 10) > shares_total(&parts))
        return NULL;
    if (!process && k.maker.thread->tgid != th->tgid)
        process = true; /* a helper thread of this process hands on what a process made */
    uint32_t key = process ? k.maker.thread->tgid : x->tid;
    if (!process && (s->totals.processes || only_helped(s, key, w, &k.maker)))
        return NULL;
    struct made_by *m = maker_of(s, key);
    if (!m)
        return NULL;
    if (!m->tid || (k.maker.thread->tid != m->tid && k.maker.thread->tid == m->key &&
                    k.maker.hop->tgid == m->key)) {
        m->tid = k.maker.thread->tid;
        m->hop = k.maker.hop->tid;
    }
    s->totals.processes |= process;
    return m;
}

static void take(struct steps *s, const struct thread *th, struct made_by *m, int64_t t0,
                 int64_t t1, int64_t fresh)
{
    for (int i = 0; i < s->makers; i++)
        enumerate(s, th, i, t1);
    end_steps(s, th, m, t0, fresh);
    uint64_t serial = REPLAY_NONE;
    if (m->head != m->tail && m->ends[m->head % QUEUE_MAX] <= t1)
        serial = m->queue[m->head++ % QUEUE_MAX];
    m->consumed++;
    m->last = t1;
    begin_step(s, t0, t1, serial);
    s->totals.awaited++;
}

/* A wait of the launching thread that another thread's delivery ended. */
static bool is_delivery(const struct steps *s, const struct thread *th, const struct event_wait *w)
{
    struct walk k;
    walk_init(&k, s->threads, s->names, th);
    return w->waker_tid && !(w->flags & WAIT_WAKER_IRQ) && !call_over(th, w->t_out) &&
           walk_direct(&k, th, w) == CAUSE_NONE;
}

/* Jobs that load by themselves: a step begins where a synchronisation ended. */
static void cut_at_syncs(struct steps *s, const struct thread *th, int64_t until)
{
    for (size_t i = calls_after(&th->calls, s->cut); i < th->calls.count; i++) {
        const struct event_call *c = &th->calls.item[i];
        if (c->t1 > until)
            break;
        s->cut = c->t1;
        if (c->kind != CALL_SYNC || (s->open && c->t1 - s->step.t1 < NS_PER_MS))
            continue;
        end_step(s, th, c->t1);
        s->step = (struct replay_step){.t0 = c->t1, .t1 = c->t1, .delivery = REPLAY_NONE};
        s->open = true;
    }
}

/* The waits from w on that no driver call of the thread separates: one fetching of a batch. */
struct fetch {
    const struct event_wait *first, *last;
    struct made_by *by; /* of the last delivery; NULL: none came from a loader */
    int64_t fresh;      /* when its newest delivery woke the thread; INT64_MIN: it was there */
};

static struct fetch fetch_from(struct steps *s, const struct thread *th, size_t i)
{
    const struct event_wait *w = &th->waits.item[i];
    struct fetch f = {w, w, NULL, INT64_MIN};
    for (; i < th->waits.count; i++) {
        const struct event_wait *v = &th->waits.item[i];
        if (v != w && calls_between(s, th, w->t_in, v->t_in))
            break;
        struct made_by *m = is_delivery(s, th, v) ? delivered_by(s, th, v) : NULL;
        if (!m)
            continue;
        if (f.by != m)
            f.fresh = INT64_MIN;
        if (v->waker_tid == m->hop || v->waker_tid == m->tid)
            f.fresh = v->t_wake;
        f.by = m;
        f.last = v;
    }
    return f;
}

void steps_advance(struct steps *s, int64_t until)
{
    const struct thread *th = threads_find(s->threads, s->tid);
    if (!th || s->consumer < 0)
        return;
    size_t i = waits_after(&th->waits, s->at);
    while (i < th->waits.count && th->waits.item[i].t_in <= until) {
        const struct event_wait *w = &th->waits.item[i++];
        s->at = w->t_in;
        if (!is_delivery(s, th, w) || w->t_out < (s->open ? s->step.t1 : INT64_MIN))
            continue;
        struct fetch f = fetch_from(s, th, i - 1);
        if (f.last->t_in > until) {
            s->at = w->t_in - 1; /* not all of it is known yet */
            return;
        }
        if (!f.by)
            continue;
        take(s, th, f.by, f.first->t_out, f.last->t_in, f.fresh);
        s->at = f.last->t_in;
        i = waits_after(&th->waits, s->at);
    }
    if (!s->makers)
        cut_at_syncs(s, th, until);
    if (s->open)
        forget_launched(s, s->step.t1);
}
