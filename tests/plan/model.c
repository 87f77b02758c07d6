/* SPDX-License-Identifier: MIT */
#include "model.h"
#include "model_draw.h"

#include "base/mem.h"
#include "base/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ACTORS_MAX 128
#define NEVER INT64_MAX
#define LATER (UINT64_C(1) << 62) /* a turn after all that have just begun */
#define RESOURCE_STORE 7          /* any interned number */

/* ---- which loader ---- */

static int all_workers(const struct model_config *c)
{
    return c->workers + c->second.workers;
}

/* Items from one epoch of the first loader to its next. */
static int cycle(const struct model_config *c)
{
    return c->epoch_items + (c->second.workers && !c->second.zipped ? c->second.items : 0);
}

/* Which loader item i is of, 0 or 1. */
static int loader_of(const struct model_config *c, int i)
{
    if (!c->second.workers)
        return 0;
    return c->second.zipped ? i & 1 : i % cycle(c) >= c->epoch_items;
}

/* Items of one loader are so far apart. */
static int stride(const struct model_config *c)
{
    return c->second.workers && c->second.zipped ? 2 : 1;
}

/* The first item of the epoch that item i is of. */
static int epoch_first(const struct model_config *c, int i)
{
    if (!c->epoch_items)
        return 0;
    int first = i / cycle(c) * cycle(c);
    return !c->second.zipped && loader_of(c, i) ? first + c->epoch_items : first;
}

static int epoch_length(const struct model_config *c, int i)
{
    return !c->second.zipped && loader_of(c, i) ? c->second.items : c->epoch_items;
}

/* The workers of a loader are first .. first + count - 1 of all. */
static int workers_first(const struct model_config *c, int loader)
{
    return loader ? c->workers : 0;
}

static int workers_count(const struct model_config *c, int loader)
{
    return loader ? c->second.workers : c->workers;
}

static bool lives_on(const struct model_config *c, int loader)
{
    return loader ? c->second.persistent : c->persistent;
}

/* ---- the machine ---- */

enum actor_state { ACTOR_BLOCKED, ACTOR_SLEEPING, ACTOR_ON_CPU, ACTOR_QUEUED };

struct actor {
    enum actor_state state;
    int64_t until; /* sleeping: when it wakes; in slices: end of its slice */
    double work;   /* left to compute */
    double asked;  /* computing: what it asked for */
    int64_t asked_at, queued_at, starved;
    int pc;          /* where its program goes on */
    uint64_t bursts; /* of a neighbour */
    uint64_t turn;   /* for the first come first served queue */
};

struct worker {
    int *queue; /* item numbers on order; owned */
    int head, tail;
    int round;
    int64_t idle_from, start, idle;
    bool alive, fresh; /* fresh: its first item is not delivered */
    uint32_t out;      /* the queue that it hands over through */
    struct replay_delivery d;
};

struct consumer {
    int step, launch, fork, fork_end, epoch_end;
    int ordered[2];  /* of each loader: the next item to order */
    bool started[2]; /* its workers were */
    uint32_t queues; /* made so far */
    int64_t t0, t1, sync_from;
    struct replay_step s;
};

#define JOBS_MAX 4

/* A trainer with its device and its workers. */
struct job {
    int trainer; /* its actor; its workers' follow */
    int items;
    uint64_t draws; /* its items' draws are those from here on */
    int64_t device_free;
    struct worker worker[ACTORS_MAX];
    struct consumer k;
    uint64_t *serial;    /* owned: per item, its delivery in the log */
    bool *ready;         /* owned */
    struct share *parts; /* owned: per item REPLAY_PARTS_MAX */
    int waiting_for;     /* item; -1 none */
    bool done;
};

struct model {
    const struct model_config *c;
    struct replay_log *log;
    int log_consumer, jobs;
    int64_t now;
    int actors;
    int keeps_core; /* an actor whose work has just ended and that may go on; -1 none */
    uint64_t turns; /* from 1 */
    uint64_t slices;
    struct actor actor[ACTORS_MAX];
    struct job job[JOBS_MAX], *j; /* the latter: whose turn it is */
    struct model_trace segs;      /* all that the first one did */
};

static void seg(struct model *m, int actor, enum model_did did, enum cause cause, int item,
                int64_t t0, int64_t t1)
{
    struct model_trace *t = &m->segs;
    if (m->j != m->job || (t1 <= t0 && did != DID_DELIVER))
        return;
    if (!mem_grow((void **)&t->v, &t->cap, t->count + 1, sizeof(*t->v)))
        abort();
    t->v[t->count++] =
        (struct model_seg){t0, t1, (uint32_t)item, (uint16_t)actor, (uint8_t)did, (uint8_t)cause};
}

static void sleep_for(struct model *m, int a, double ns)
{
    m->actor[a].state = ACTOR_SLEEPING;
    m->actor[a].until = m->now + (int64_t)ns;
}

static int on_cpu(const struct model *m)
{
    int n = 0;
    for (int a = 0; a < m->actors; a++)
        n += m->actor[a].state == ACTOR_ON_CPU;
    return n;
}

/* In slices: whoever has waited longest gets the free core. */
static void dispatch(struct model *m)
{
    while (!m->c->cores || on_cpu(m) < m->c->cores) {
        int best = -1;
        for (int a = 0; a < m->actors; a++)
            if (m->actor[a].state == ACTOR_QUEUED &&
                (best < 0 || m->actor[a].turn < m->actor[best].turn))
                best = a;
        if (best < 0)
            return;
        struct actor *w = &m->actor[best];
        w->state = ACTOR_ON_CPU;
        w->starved += m->now - w->queued_at;
        double slice = (double)m->c->slice * /* equal ones lock threads into unequal turns */
                       (0.75 + 0.5 * draw_uniform(m->c->seed, m->slices++, FOR_SLICE));
        w->until = m->now + (int64_t)ceil(fmin(w->work, slice));
    }
}

static void compute(struct model *m, int a, double ns)
{
    struct actor *w = &m->actor[a];
    w->work = w->asked = ns;
    w->asked_at = w->queued_at = m->now;
    w->starved = 0;
    if (ns < 1) { /* nothing to do asks for no core */
        sleep_for(m, a, 0);
        return;
    }
    w->turn = m->keeps_core == a ? 0 : m->turns++;
    w->state = m->c->slice ? ACTOR_QUEUED : ACTOR_ON_CPU;
    if (m->c->slice)
        dispatch(m);
}

static double share_rate(const struct model *m)
{
    int n = on_cpu(m);
    return m->c->cores && n > m->c->cores ? (double)m->c->cores / n : 1;
}

/* Splits the computing that just ended into work and waiting for a core. */
static void computed(struct model *m, int a, int64_t *ret_cpu, int64_t *ret_starved)
{
    int64_t whole = m->now - m->actor[a].asked_at;
    int64_t starved = m->c->slice ? m->actor[a].starved : whole - (int64_t)m->actor[a].asked;
    if (starved < 0)
        starved = 0;
    *ret_starved = starved;
    *ret_cpu = whole - starved;
}

/* ---- workers ---- */

enum { W_IDLE, W_WOKEN, W_IMPORT, W_READ, W_DECODE };

static void part(struct worker *w, enum cause cause, uint32_t resource, int64_t ns)
{
    replay_delivery_add(&w->d, cause, resource, ns);
}

static double read_time(const struct model *m, int item, int round)
{
    const struct model_config *c = m->c;
    return (loader_of(c, item) ? c->second.read : c->read) / c->rounds *
           draw_tail(c->read_tail, c->read_spread, c->seed, m->j->draws + (uint64_t)item,
                     FOR_READ + (uint64_t)round);
}

static double decode_time(const struct model *m, int item, int round)
{
    const struct model_config *c = m->c;
    return (loader_of(c, item) ? c->second.decode : c->decode) / c->rounds *
           draw_tail(c->decode_tail, c->decode_spread, c->seed, m->j->draws + (uint64_t)item,
                     FOR_DECODE + (uint64_t)round);
}

static double wake_time(const struct model *m, int a)
{
    return m->c->wake * 2 *
           draw_uniform(m->c->seed + m->c->noise, (uint64_t)m->now * 64 + (uint64_t)a, FOR_WAKE);
}

/* The next round of its item; what takes no time does not leave the core. */
static void worker_read(struct model *m, int w)
{
    struct worker *k = &m->j->worker[w];
    int item = k->queue[k->head];
    double ns = read_time(m, item, k->round);
    if (ns >= 1) {
        m->actor[m->j->trainer + 1 + w].pc = W_READ;
        sleep_for(m, m->j->trainer + 1 + w, ns);
    } else {
        m->actor[m->j->trainer + 1 + w].pc = W_DECODE;
        compute(m, m->j->trainer + 1 + w, decode_time(m, item, k->round));
    }
}

static void start_item(struct model *m, int w)
{
    struct worker *k = &m->j->worker[w];
    k->round = 0;
    worker_read(m, w);
}

static void worker_look(struct model *m, int w)
{
    struct worker *k = &m->j->worker[w];
    struct actor *a = &m->actor[m->j->trainer + 1 + w];
    if (k->head == k->tail) {
        a->state = ACTOR_BLOCKED;
        a->pc = W_IDLE;
        k->idle_from = m->now;
        return;
    }
    k->start = m->now;
    k->idle = 0;
    start_item(m, w);
}

static void order(struct model *m, int item)
{
    int loader = loader_of(m->c, item);
    int nth = (item - epoch_first(m->c, item)) / stride(m->c);
    int w = workers_first(m->c, loader) + nth % workers_count(m->c, loader);
    struct worker *k = &m->j->worker[w];
    struct actor *a = &m->actor[m->j->trainer + 1 + w];
    k->queue[k->tail++] = item;
    if (a->pc == W_IDLE && a->state == ACTOR_BLOCKED && k->alive) {
        a->pc = W_WOKEN;
        sleep_for(m, m->j->trainer + 1 + w, wake_time(m, m->j->trainer + 1 + w));
    }
}

static void trainer_go(struct model *m);

static void deliver(struct model *m, int w)
{
    struct worker *k = &m->j->worker[w];
    int item = k->queue[k->head++];
    k->d.start_ns = k->start;
    k->d.end_ns = m->now;
    k->d.idle_ns = k->idle;
    k->d.worker = (uint32_t)w;
    k->d.queue = k->out;
    k->d.startup = k->fresh;
    k->fresh = false;
    if (m->log)
        m->j->serial[item] = replay_push_delivery(m->log, m->log_consumer, &k->d);
    memcpy(&m->j->parts[item * REPLAY_PARTS_MAX], k->d.parts, sizeof(k->d.parts));
    memset(&k->d, 0, sizeof(k->d));
    m->j->ready[item] = true;
    seg(m, m->j->trainer + 1 + w, DID_DELIVER, CAUSE_NONE, item, m->now, m->now);
    worker_look(m, w);
    if (m->j->waiting_for == item) {
        m->j->waiting_for = -1;
        sleep_for(m, m->j->trainer, wake_time(m, m->j->trainer));
    }
}

static void worker_cpu_done(struct model *m, int w, enum cause cause)
{
    int64_t cpu, starved;
    struct worker *k = &m->j->worker[w];
    int item = k->head < k->tail ? k->queue[k->head] : -1;
    int64_t at = m->actor[m->j->trainer + 1 + w].asked_at;
    computed(m, m->j->trainer + 1 + w, &cpu, &starved);
    part(k, cause, 0, cpu);
    part(k, CAUSE_CPU_STARVED, 0, starved);
    seg(m, m->j->trainer + 1 + w, DID_CPU, cause, item, at, at + cpu);
    seg(m, m->j->trainer + 1 + w, DID_STARVED, CAUSE_CPU_STARVED, item, at + cpu, m->now);
}

static void worker_go(struct model *m, int w)
{
    struct worker *k = &m->j->worker[w];
    struct actor *a = &m->actor[m->j->trainer + 1 + w];
    int item = k->head < k->tail ? k->queue[k->head] : -1;
    double ns;
    switch (a->pc) {
    case W_WOKEN:
        seg(m, m->j->trainer + 1 + w, DID_IDLE, CAUSE_NONE, item, k->idle_from, m->now);
        k->idle = m->now - k->idle_from;
        if (!k->fresh)
            k->start = m->now;
        start_item(m, w);
        break;
    case W_IMPORT:
        worker_cpu_done(m, w, CAUSE_STARTUP);
        if (k->head == k->tail) {
            a->state = ACTOR_BLOCKED;
            a->pc = W_IDLE;
            k->idle_from = m->now;
        } else {
            start_item(m, w);
        }
        break;
    case W_READ:
        ns = read_time(m, item, k->round);
        part(k, CAUSE_STORAGE, RESOURCE_STORE, (int64_t)ns);
        seg(m, m->j->trainer + 1 + w, DID_READ, CAUSE_STORAGE, item, m->now - (int64_t)ns, m->now);
        a->pc = W_DECODE;
        compute(m, m->j->trainer + 1 + w, decode_time(m, item, k->round));
        break;
    case W_DECODE:
        worker_cpu_done(m, w, CAUSE_PREPARE);
        if (++k->round < m->c->rounds)
            worker_read(m, w);
        else
            deliver(m, w);
        break;
    default:
        break;
    }
}

static void start_worker(struct model *m, int w)
{
    struct worker *k = &m->j->worker[w];
    k->out = m->j->k.queues + (uint32_t)(m->c->second.zipped && w >= m->c->workers);
    k->alive = k->fresh = true;
    k->head = k->tail = 0;
    k->start = m->now;
    k->idle = 0;
    memset(&k->d, 0, sizeof(k->d));
    m->actor[m->j->trainer + 1 + w].pc = W_IMPORT;
    compute(m, m->j->trainer + 1 + w, m->c->startup);
}

/* ---- the trainer ---- */

enum {
    T_EPOCH,
    T_FORKED,
    T_NEXT,
    T_TAKEN,
    T_UNPACKED,
    T_LOADING,
    T_LOADED,
    T_COPY,
    T_COPIED,
    T_LAUNCHED,
    T_SYNCED,
    T_HOST,
    T_WRITTEN,
    T_END
};

static void op(struct model *m, enum replay_op_kind kind, enum cause cause, int64_t ns)
{
    replay_step_add(&m->j->k.s, kind, cause, 0, ns);
}

static void trainer_cpu_done(struct model *m, enum cause cause)
{
    int64_t cpu, starved, at = m->actor[m->j->trainer].asked_at;
    computed(m, m->j->trainer, &cpu, &starved);
    op(m, REPLAY_THREAD, cause, cpu);
    op(m, REPLAY_THREAD, CAUSE_CPU_STARVED, starved);
    seg(m, m->j->trainer, DID_CPU, cause, m->j->k.step, at, at + cpu);
    seg(m, m->j->trainer, DID_STARVED, CAUSE_CPU_STARVED, m->j->k.step, at + cpu, m->now);
}

static void device(struct model *m, double ns, enum cause cause)
{
    int64_t from = m->j->device_free > m->now ? m->j->device_free : m->now;
    if ((int64_t)ns <= 0)
        return;
    m->j->device_free = from + (int64_t)ns;
    op(m, REPLAY_DEVICE, cause, (int64_t)ns);
    seg(m, MODEL_DEVICE, cause == CAUSE_NONE ? DID_KERNEL : DID_DEVICE_COPY, cause, m->j->k.step,
        from, m->j->device_free);
}

/* Blocks the trainer until the device has done all; true: it has already. */
static bool await_device(struct model *m)
{
    m->j->k.sync_from = m->now;
    if (m->j->device_free <= m->now)
        return true;
    sleep_for(m, m->j->trainer, (double)(m->j->device_free - m->now));
    return false;
}

static void synced(struct model *m, enum cause cause)
{
    op(m, REPLAY_SYNC, cause, m->now - m->j->k.sync_from);
    seg(m, m->j->trainer, cause == CAUSE_NONE ? DID_SYNC : DID_COPY, cause, m->j->k.step,
        m->j->k.sync_from, m->now);
}

static void push_step(struct model *m)
{
    m->j->k.s.t0 = m->j->k.t0;
    m->j->k.s.t1 = m->j->k.t1;
    m->j->k.s.end_ns = m->now;
    if (m->log)
        replay_push_step(m->log, m->log_consumer, &m->j->k.s);
    memset(&m->j->k.s, 0, sizeof(m->j->k.s));
    m->j->k.s.delivery = REPLAY_NONE;
}

/* Begins an epoch: workers are started (one after another) or are there; then work is ordered. */
static void begin_epoch(struct model *m)
{
    const struct model_config *c = m->c;
    struct consumer *k = &m->j->k;
    int length = epoch_length(c, k->step), loader = loader_of(c, k->step);
    bool start = !lives_on(c, loader) || !k->started[loader];
    k->epoch_end = length && k->step + length < m->j->items ? k->step + length : m->j->items;
    k->fork = workers_first(c, loader);
    k->fork_end = k->fork + workers_count(c, loader);
    if (c->second.zipped && c->second.workers)
        k->fork_end = all_workers(c);
    if (!start)
        k->fork = k->fork_end;
    k->queues += start && k->step ? (uint32_t)stride(c) : 0;
    k->started[loader] = true;
    k->ordered[loader] = k->step;
    k->ordered[1] = stride(c) == 2 ? k->step + 1 : k->ordered[1];
}

static void order_next(struct model *m, int loader)
{
    struct consumer *k = &m->j->k;
    if (k->ordered[loader] < k->epoch_end)
        order(m, k->ordered[loader]);
    k->ordered[loader] += stride(m->c);
}

static void order_first(struct model *m)
{
    const struct model_config *c = m->c;
    int from = loader_of(c, m->j->k.step), to = stride(c) == 2 ? 1 : from;
    for (int loader = from; loader <= to; loader++) {
        int prefetch = loader ? c->second.prefetch : c->prefetch;
        for (int n = 0; n < prefetch * workers_count(c, loader); n++)
            order_next(m, loader);
    }
    m->actor[m->j->trainer].pc = T_NEXT;
}

static void next_launch(struct model *m)
{
    m->actor[m->j->trainer].pc = T_LAUNCHED;
    compute(m, m->j->trainer, m->c->launch);
}

static double step_draw(const struct model *m, enum purpose what)
{
    return draw_tail(TAIL_LOGNORMAL, 0.1, m->c->seed, m->j->draws + (uint64_t)m->j->k.step, what);
}

/* One move; true: goes on at once. */
static bool trainer_epoch_move(struct model *m)
{
    const struct model_config *c = m->c;
    struct actor *a = &m->actor[m->j->trainer];
    if (a->pc == T_EPOCH) {
        begin_epoch(m);
    } else {
        trainer_cpu_done(m, CAUSE_STARTUP);
        start_worker(m, m->j->k.fork++);
    }
    if (m->j->k.fork < m->j->k.fork_end) {
        a->pc = T_FORKED;
        compute(m, m->j->trainer, c->fork);
        return false;
    }
    if (c->workers)
        order_first(m);
    a->pc = T_NEXT;
    return true;
}

static bool trainer_take_move(struct model *m)
{
    struct actor *a = &m->actor[m->j->trainer];
    switch (a->pc) {
    case T_NEXT:
        if (m->j->k.step == m->j->k.epoch_end) {
            a->pc = m->j->k.step == m->j->items ? T_END : T_EPOCH;
            return true;
        }
        push_step(m);
        m->j->k.t0 = m->j->k.t1 = m->now;
        if (!m->c->workers) {
            a->pc = T_LOADING;
            sleep_for(m, m->j->trainer, read_time(m, m->j->k.step, 0));
            return false;
        }
        a->pc = T_TAKEN;
        if (m->j->ready[m->j->k.step])
            return true;
        m->j->waiting_for = m->j->k.step;
        a->state = ACTOR_BLOCKED;
        return false;
    case T_TAKEN:
        m->j->k.t1 = m->now;
        m->j->k.s.delivery = m->j->serial[m->j->k.step];
        seg(m, m->j->trainer, DID_AWAIT, CAUSE_NONE, m->j->k.step, m->j->k.t0, m->j->k.t1);
        a->pc = T_UNPACKED;
        compute(m, m->j->trainer, m->c->take);
        return false;
    case T_UNPACKED:
        trainer_cpu_done(m, CAUSE_HOST);
        order_next(m, loader_of(m->c, m->j->k.step));
        a->pc = T_COPY;
        return true;
    case T_LOADING:
        op(m, REPLAY_THREAD, CAUSE_STORAGE, m->now - m->j->k.t0);
        seg(m, m->j->trainer, DID_READ, CAUSE_STORAGE, m->j->k.step, m->j->k.t0, m->now);
        a->pc = T_LOADED;
        compute(m, m->j->trainer, decode_time(m, m->j->k.step, 0));
        return false;
    default:
        trainer_cpu_done(m, CAUSE_PREPARE);
        a->pc = T_COPY;
        return true;
    }
}

static bool trainer_feed_move(struct model *m)
{
    const struct model_config *c = m->c;
    struct actor *a = &m->actor[m->j->trainer];
    double copy = c->copy * step_draw(m, FOR_COPY);
    switch (a->pc) {
    case T_COPY:
        m->j->k.launch = 0;
        device(m, c->pinned ? copy * c->pinned_ratio : copy,
               c->pinned ? CAUSE_LINK : CAUSE_PAGEABLE_COPY);
        if (!c->pinned && copy >= 1) {
            a->pc = T_COPIED;
            return await_device(m);
        }
        next_launch(m);
        return false;
    case T_COPIED:
        synced(m, CAUSE_PAGEABLE_COPY);
        next_launch(m);
        return false;
    case T_LAUNCHED:
        trainer_cpu_done(m, CAUSE_LAUNCH);
        device(m, c->kernel / c->launches * step_draw(m, FOR_KERNEL), CAUSE_NONE);
        if (++m->j->k.launch < c->launches) {
            next_launch(m);
            return false;
        }
        bool write = c->checkpoint_every && (m->j->k.step + 1) % c->checkpoint_every == 0;
        a->pc = T_SYNCED;
        if (write || m->j->k.step + 1 == m->j->items ||
            (c->sync_every && m->j->k.step % c->sync_every == 0))
            return await_device(m);
        m->j->k.sync_from = -1;
        return true;
    default:
        return false;
    }
}

static bool trainer_end_move(struct model *m)
{
    const struct model_config *c = m->c;
    struct actor *a = &m->actor[m->j->trainer];
    switch (a->pc) {
    case T_SYNCED:
        if (m->j->k.sync_from >= 0)
            synced(m, CAUSE_NONE);
        a->pc = T_HOST;
        compute(m, m->j->trainer, c->host * step_draw(m, FOR_HOST));
        return false;
    case T_HOST:
        trainer_cpu_done(m, CAUSE_HOST);
        a->pc = T_WRITTEN;
        m->j->k.sync_from = m->now;
        if (c->checkpoint_every && (m->j->k.step + 1) % c->checkpoint_every == 0 &&
            c->checkpoint > 0) {
            sleep_for(m, m->j->trainer, c->checkpoint);
            return false;
        }
        return true;
    case T_WRITTEN:
        op(m, REPLAY_THREAD, CAUSE_CHECKPOINT, m->now - m->j->k.sync_from);
        seg(m, m->j->trainer, DID_WRITE, CAUSE_CHECKPOINT, m->j->k.step, m->j->k.sync_from, m->now);
        m->j->k.step++;
        a->pc = T_NEXT;
        return true;
    default: /* T_END */
        push_step(m);
        m->j->done = true;
        return false;
    }
}

static void trainer_go(struct model *m)
{
    bool more = true;
    while (more) {
        int pc = m->actor[m->j->trainer].pc;
        if (pc <= T_FORKED)
            more = trainer_epoch_move(m);
        else if (pc <= T_LOADED)
            more = trainer_take_move(m);
        else if (pc <= T_LAUNCHED)
            more = trainer_feed_move(m);
        else
            more = trainer_end_move(m);
    }
}

/* ---- the event loop ---- */

static void neighbour_go(struct model *m, int a)
{
    struct actor *n = &m->actor[a];
    double ns = 50.0 * (double)NS_PER_MS *
                draw_uniform(m->c->seed, n->bursts++ * 128 + (uint64_t)a, FOR_NEIGHBOUR);
    n->pc = !n->pc;
    if (n->pc)
        compute(m, a, ns);
    else
        sleep_for(m, a, ns);
}

static void actor_go(struct model *m, int a)
{
    int each = 1 + all_workers(m->c);
    m->actor[a].state = ACTOR_BLOCKED;
    if (a >= m->jobs * each) {
        neighbour_go(m, a);
        return;
    }
    m->j = &m->job[a / each];
    if (a == m->j->trainer)
        trainer_go(m);
    else
        worker_go(m, a % each - 1);
}

/* The next moment at which something happens, and to whom. */
static int64_t next_event(const struct model *m, int *ret_actor)
{
    int64_t best = NEVER;
    double rate = share_rate(m);
    for (int a = 0; a < m->actors; a++) {
        const struct actor *w = &m->actor[a];
        int64_t at = NEVER;
        if (w->state == ACTOR_SLEEPING || (w->state == ACTOR_ON_CPU && m->c->slice))
            at = w->until;
        else if (w->state == ACTOR_ON_CPU)
            at = m->now + (int64_t)ceil(w->work / rate);
        if (at < best) {
            best = at;
            *ret_actor = a;
        }
    }
    return best;
}

static void pass_time(struct model *m, int64_t to)
{
    double work = (double)(to - m->now) * (m->c->slice ? 1 : share_rate(m));
    for (int a = 0; a < m->actors; a++)
        if (m->actor[a].state == ACTOR_ON_CPU)
            m->actor[a].work -= work;
    m->now = to;
}

static bool all_done(const struct model *m)
{
    for (int j = 0; j < m->jobs; j++)
        if (!m->job[j].done)
            return false;
    return true;
}

static void loop(struct model *m)
{
    while (!all_done(m)) {
        int a = -1;
        int64_t at = next_event(m, &a);
        if (a < 0)
            abort(); /* the model is stuck: a fault of the model */
        pass_time(m, at);
        struct actor *w = &m->actor[a];
        if (w->state == ACTOR_ON_CPU && w->work > 0.5) { /* its slice is over */
            w->state = ACTOR_QUEUED;
            w->turn = m->turns++ + (m->c->woken_first ? LATER : 0);
            w->queued_at = m->now;
        } else {
            m->keeps_core = w->state == ACTOR_ON_CPU ? a : -1;
            actor_go(m, a);
            m->keeps_core = -1;
        }
        if (m->c->slice)
            dispatch(m);
    }
}

/* ---- truth ---- */

static void share_wait(const struct model *m, struct model_truth *t, uint32_t item, double ns)
{
    const struct share *p = &m->job->parts[item * REPLAY_PARTS_MAX];
    double sum = 0;
    for (int i = 0; i < REPLAY_PARTS_MAX; i++)
        sum += (double)p[i].ns;
    for (int i = 0; i < REPLAY_PARTS_MAX && sum > 0; i++)
        t->wait[p[i].cause] += ns * (double)p[i].ns / sum;
    t->unshared_wait += ns;
}

/* Device idle from t0 to t1: by what the trainer did. *at walks over the trainer's segments. */
static void idle_truth(const struct model *m, struct model_truth *t, size_t *at, int64_t t0,
                       int64_t t1)
{
    const struct model_trace *s = &m->segs;
    for (size_t i = *at; i < s->count; i++) {
        const struct model_seg *g = &s->v[i];
        if (g->actor != MODEL_TRAINER || g->did == DID_SYNC || g->did == DID_COPY)
            continue;
        int64_t from = g->t0 > t0 ? g->t0 : t0, to = g->t1 < t1 ? g->t1 : t1;
        if (g->t0 >= t1)
            break;
        if (g->t1 <= t0) {
            *at = i;
            continue;
        }
        if (g->did == DID_AWAIT)
            share_wait(m, t, g->item, (double)(to - from));
        else
            t->wait[g->cause] += (double)(to - from);
    }
}

static void find_truth(const struct model *m, struct model_truth *t)
{
    int64_t busy_until = 0;
    size_t at = 0;
    memset(t, 0, sizeof(*t));
    for (size_t i = 0; i < m->segs.count; i++) {
        const struct model_seg *g = &m->segs.v[i];
        if (g->actor != MODEL_DEVICE)
            continue;
        *(g->did == DID_KERNEL ? &t->compute : &t->copy) += (double)(g->t1 - g->t0);
        idle_truth(m, t, &at, busy_until, g->t0);
        busy_until = g->t1;
    }
    idle_truth(m, t, &at, busy_until, m->now);
    t->total = (double)m->now;
    for (int j = 0; j < m->jobs; j++)
        t->total = fmax(t->total, (double)m->job[j].device_free);
}

/* ---- outside ---- */

static void begin_job(struct model *m, int number)
{
    const struct model_config *c = m->c;
    struct job *j = m->j = &m->job[number];
    j->trainer = number * (1 + all_workers(c));
    j->items = c->items / m->jobs;
    j->draws = (uint64_t)number * (uint64_t)c->items;
    j->waiting_for = -1;
    j->serial = mem_zalloc((size_t)j->items * sizeof(*j->serial));
    j->ready = mem_zalloc((size_t)j->items * sizeof(*j->ready));
    j->parts = mem_zalloc((size_t)j->items * REPLAY_PARTS_MAX * sizeof(*j->parts));
    if (!j->serial || !j->ready || !j->parts)
        abort();
    for (int w = 0; w < all_workers(c); w++)
        if (!(j->worker[w].queue = mem_zalloc((size_t)j->items * sizeof(int))))
            abort();
    j->k.s.delivery = REPLAY_NONE;
    sleep_for(m, j->trainer, 0);
}

static void end_job(struct job *j, int workers)
{
    for (int w = 0; w < workers; w++)
        free(j->worker[w].queue);
    free(j->serial);
    free(j->ready);
    free(j->parts);
}

void model_run(const struct model_config *config, struct replay_log *log, struct model_truth *truth,
               struct model_trace *trace)
{
    struct model *m = mem_zalloc(sizeof(*m));
    if (!m)
        abort();
    m->c = config;
    m->jobs = config->jobs > 1 ? config->jobs : 1;
    m->log = m->jobs == 1 ? log : NULL;
    m->log_consumer = m->log ? replay_consumer(log, 1, 0) : -1;
    m->actors = m->jobs * (1 + all_workers(config)) + config->neighbours;
    m->keeps_core = -1;
    m->turns = 1;
    if (m->jobs > JOBS_MAX || m->actors > ACTORS_MAX)
        abort();
    for (int n = 0; n < config->neighbours; n++)
        sleep_for(m, m->actors - 1 - n, 0);
    for (int j = m->jobs; j-- > 0;)
        begin_job(m, j);
    loop(m);
    if (truth)
        find_truth(m, truth);
    for (int j = 0; j < m->jobs; j++)
        end_job(&m->job[j], all_workers(config));
    if (trace)
        *trace = m->segs;
    else
        free(m->segs.v);
    free(m);
}
