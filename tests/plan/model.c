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
    struct replay_delivery d;
};

struct consumer {
    int step, launch, fork, epoch_end, ordered;
    int64_t t0, t1, sync_from;
    struct replay_step s;
};

struct model {
    const struct model_config *c;
    struct replay_log *log;
    struct model_trace *trace;
    int log_consumer;
    int64_t now, device_free;
    int actors;
    int keeps_core; /* an actor whose work has just ended and that may go on; -1 none */
    uint64_t turns; /* from 1 */
    uint64_t slices;
    struct actor actor[ACTORS_MAX];
    struct worker worker[ACTORS_MAX];
    struct consumer k;
    uint64_t *serial; /* owned: per item, its delivery in the log */
    bool *ready;      /* owned */
    int waiting_for;  /* item; -1 none */
    bool done;
    struct model_trace segs; /* all that was done */
    struct share *parts;     /* owned: per item REPLAY_PARTS_MAX */
};

static void seg(struct model *m, int actor, enum model_did did, enum cause cause, int item,
                int64_t t0, int64_t t1)
{
    struct model_trace *t = &m->segs;
    if (t1 <= t0 && did != DID_DELIVER)
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
    return c->read / c->rounds *
           draw_tail(c->read_tail, c->read_spread, c->seed, (uint64_t)item,
                     FOR_READ + (uint64_t)round);
}

static double decode_time(const struct model *m, int item, int round)
{
    const struct model_config *c = m->c;
    return c->decode / c->rounds *
           draw_tail(c->decode_tail, c->decode_spread, c->seed, (uint64_t)item,
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
    struct worker *k = &m->worker[w];
    int item = k->queue[k->head];
    double ns = read_time(m, item, k->round);
    if (ns >= 1) {
        m->actor[1 + w].pc = W_READ;
        sleep_for(m, 1 + w, ns);
    } else {
        m->actor[1 + w].pc = W_DECODE;
        compute(m, 1 + w, decode_time(m, item, k->round));
    }
}

static void start_item(struct model *m, int w)
{
    struct worker *k = &m->worker[w];
    k->round = 0;
    worker_read(m, w);
}

static void worker_look(struct model *m, int w)
{
    struct worker *k = &m->worker[w];
    struct actor *a = &m->actor[1 + w];
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
    int first = m->c->epoch_items ? item / m->c->epoch_items * m->c->epoch_items : 0;
    int w = (item - first) % m->c->workers;
    struct worker *k = &m->worker[w];
    struct actor *a = &m->actor[1 + w];
    k->queue[k->tail++] = item;
    if (a->pc == W_IDLE && a->state == ACTOR_BLOCKED && k->alive) {
        a->pc = W_WOKEN;
        sleep_for(m, 1 + w, wake_time(m, 1 + w));
    }
}

static void trainer_go(struct model *m);

static void deliver(struct model *m, int w)
{
    struct worker *k = &m->worker[w];
    int item = k->queue[k->head++];
    k->d.start_ns = k->start;
    k->d.end_ns = m->now;
    k->d.idle_ns = k->idle;
    k->d.worker = (uint32_t)w;
    k->d.startup = k->fresh;
    k->fresh = false;
    if (m->log)
        m->serial[item] = replay_push_delivery(m->log, m->log_consumer, &k->d);
    memcpy(&m->parts[item * REPLAY_PARTS_MAX], k->d.parts, sizeof(k->d.parts));
    memset(&k->d, 0, sizeof(k->d));
    m->ready[item] = true;
    seg(m, 1 + w, DID_DELIVER, CAUSE_NONE, item, m->now, m->now);
    worker_look(m, w);
    if (m->waiting_for == item) {
        m->waiting_for = -1;
        sleep_for(m, MODEL_TRAINER, wake_time(m, MODEL_TRAINER));
    }
}

static void worker_cpu_done(struct model *m, int w, enum cause cause)
{
    int64_t cpu, starved;
    struct worker *k = &m->worker[w];
    int item = k->head < k->tail ? k->queue[k->head] : -1;
    int64_t at = m->actor[1 + w].asked_at;
    computed(m, 1 + w, &cpu, &starved);
    part(k, cause, 0, cpu);
    part(k, CAUSE_CPU_STARVED, 0, starved);
    seg(m, 1 + w, DID_CPU, cause, item, at, at + cpu);
    seg(m, 1 + w, DID_STARVED, CAUSE_CPU_STARVED, item, at + cpu, m->now);
}

static void worker_go(struct model *m, int w)
{
    struct worker *k = &m->worker[w];
    struct actor *a = &m->actor[1 + w];
    int item = k->head < k->tail ? k->queue[k->head] : -1;
    double ns;
    switch (a->pc) {
    case W_WOKEN:
        seg(m, 1 + w, DID_IDLE, CAUSE_NONE, item, k->idle_from, m->now);
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
        seg(m, 1 + w, DID_READ, CAUSE_STORAGE, item, m->now - (int64_t)ns, m->now);
        a->pc = W_DECODE;
        compute(m, 1 + w, decode_time(m, item, k->round));
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
    struct worker *k = &m->worker[w];
    k->alive = k->fresh = true;
    k->head = k->tail = 0;
    k->start = m->now;
    k->idle = 0;
    memset(&k->d, 0, sizeof(k->d));
    m->actor[1 + w].pc = W_IMPORT;
    compute(m, 1 + w, m->c->startup);
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
    replay_step_add(&m->k.s, kind, cause, 0, ns);
}

static void trainer_cpu_done(struct model *m, enum cause cause)
{
    int64_t cpu, starved, at = m->actor[MODEL_TRAINER].asked_at;
    computed(m, MODEL_TRAINER, &cpu, &starved);
    op(m, REPLAY_THREAD, cause, cpu);
    op(m, REPLAY_THREAD, CAUSE_CPU_STARVED, starved);
    seg(m, MODEL_TRAINER, DID_CPU, cause, m->k.step, at, at + cpu);
    seg(m, MODEL_TRAINER, DID_STARVED, CAUSE_CPU_STARVED, m->k.step, at + cpu, m->now);
}

static void device(struct model *m, double ns, enum cause cause)
{
    int64_t from = m->device_free > m->now ? m->device_free : m->now;
    if ((int64_t)ns <= 0)
        return;
    m->device_free = from + (int64_t)ns;
    op(m, REPLAY_DEVICE, cause, (int64_t)ns);
    seg(m, MODEL_DEVICE, cause == CAUSE_NONE ? DID_KERNEL : DID_DEVICE_COPY, cause, m->k.step, from,
        m->device_free);
}

/* Blocks the trainer until the device has done all; true: it has already. */
static bool await_device(struct model *m)
{
    m->k.sync_from = m->now;
    if (m->device_free <= m->now)
        return true;
    sleep_for(m, MODEL_TRAINER, (double)(m->device_free - m->now));
    return false;
}

static void synced(struct model *m, enum cause cause)
{
    op(m, REPLAY_SYNC, cause, m->now - m->k.sync_from);
    seg(m, MODEL_TRAINER, cause == CAUSE_NONE ? DID_SYNC : DID_COPY, cause, m->k.step,
        m->k.sync_from, m->now);
}

static void push_step(struct model *m)
{
    m->k.s.t0 = m->k.t0;
    m->k.s.t1 = m->k.t1;
    m->k.s.end_ns = m->now;
    if (m->log)
        replay_push_step(m->log, m->log_consumer, &m->k.s);
    memset(&m->k.s, 0, sizeof(m->k.s));
    m->k.s.delivery = REPLAY_NONE;
}

/* Begins an epoch: workers are started (one after another) or are there; then work is ordered. */
static void begin_epoch(struct model *m)
{
    const struct model_config *c = m->c;
    m->k.epoch_end = c->epoch_items && m->k.step + c->epoch_items < c->items
                         ? m->k.step + c->epoch_items
                         : c->items;
    m->k.fork = 0;
    m->k.ordered = m->k.step;
}

static void order_first(struct model *m)
{
    int want = m->c->workers * m->c->prefetch;
    for (; m->k.ordered < m->k.epoch_end && m->k.ordered < m->k.step + want; m->k.ordered++)
        order(m, m->k.ordered);
    m->actor[MODEL_TRAINER].pc = T_NEXT;
}

static void next_launch(struct model *m)
{
    m->actor[MODEL_TRAINER].pc = T_LAUNCHED;
    compute(m, MODEL_TRAINER, m->c->launch);
}

static double step_draw(const struct model *m, enum purpose what)
{
    return draw_tail(TAIL_LOGNORMAL, 0.1, m->c->seed, (uint64_t)m->k.step, what);
}

/* One move; true: goes on at once. */
static bool trainer_epoch_move(struct model *m)
{
    const struct model_config *c = m->c;
    struct actor *a = &m->actor[MODEL_TRAINER];
    bool start = !c->persistent || m->k.step == 0;
    if (a->pc == T_EPOCH) {
        begin_epoch(m);
    } else {
        trainer_cpu_done(m, CAUSE_STARTUP);
        start_worker(m, m->k.fork++);
    }
    if (start && m->k.fork < c->workers) {
        a->pc = T_FORKED;
        compute(m, MODEL_TRAINER, c->fork);
        return false;
    }
    if (c->workers)
        order_first(m);
    a->pc = T_NEXT;
    return true;
}

static bool trainer_take_move(struct model *m)
{
    struct actor *a = &m->actor[MODEL_TRAINER];
    switch (a->pc) {
    case T_NEXT:
        if (m->k.step == m->k.epoch_end) {
            a->pc = m->k.step == m->c->items ? T_END : T_EPOCH;
            return true;
        }
        push_step(m);
        m->k.t0 = m->k.t1 = m->now;
        if (!m->c->workers) {
            a->pc = T_LOADING;
            sleep_for(m, MODEL_TRAINER, read_time(m, m->k.step, 0));
            return false;
        }
        a->pc = T_TAKEN;
        if (m->ready[m->k.step])
            return true;
        m->waiting_for = m->k.step;
        a->state = ACTOR_BLOCKED;
        return false;
    case T_TAKEN:
        m->k.t1 = m->now;
        m->k.s.delivery = m->serial[m->k.step];
        seg(m, MODEL_TRAINER, DID_AWAIT, CAUSE_NONE, m->k.step, m->k.t0, m->k.t1);
        a->pc = T_UNPACKED;
        compute(m, MODEL_TRAINER, m->c->take);
        return false;
    case T_UNPACKED:
        trainer_cpu_done(m, CAUSE_HOST);
        if (m->k.ordered < m->k.epoch_end)
            order(m, m->k.ordered++);
        a->pc = T_COPY;
        return true;
    case T_LOADING:
        op(m, REPLAY_THREAD, CAUSE_STORAGE, m->now - m->k.t0);
        seg(m, MODEL_TRAINER, DID_READ, CAUSE_STORAGE, m->k.step, m->k.t0, m->now);
        a->pc = T_LOADED;
        compute(m, MODEL_TRAINER, decode_time(m, m->k.step, 0));
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
    struct actor *a = &m->actor[MODEL_TRAINER];
    double copy = c->copy * step_draw(m, FOR_COPY);
    switch (a->pc) {
    case T_COPY:
        m->k.launch = 0;
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
        if (++m->k.launch < c->launches) {
            next_launch(m);
            return false;
        }
        bool write = c->checkpoint_every && (m->k.step + 1) % c->checkpoint_every == 0;
        a->pc = T_SYNCED;
        if (write || m->k.step + 1 == c->items || (c->sync_every && m->k.step % c->sync_every == 0))
            return await_device(m);
        m->k.sync_from = -1;
        return true;
    default:
        return false;
    }
}

static bool trainer_end_move(struct model *m)
{
    const struct model_config *c = m->c;
    struct actor *a = &m->actor[MODEL_TRAINER];
    switch (a->pc) {
    case T_SYNCED:
        if (m->k.sync_from >= 0)
            synced(m, CAUSE_NONE);
        a->pc = T_HOST;
        compute(m, MODEL_TRAINER, c->host * step_draw(m, FOR_HOST));
        return false;
    case T_HOST:
        trainer_cpu_done(m, CAUSE_HOST);
        a->pc = T_WRITTEN;
        m->k.sync_from = m->now;
        if (c->checkpoint_every && (m->k.step + 1) % c->checkpoint_every == 0 &&
            c->checkpoint > 0) {
            sleep_for(m, MODEL_TRAINER, c->checkpoint);
            return false;
        }
        return true;
    case T_WRITTEN:
        op(m, REPLAY_THREAD, CAUSE_CHECKPOINT, m->now - m->k.sync_from);
        seg(m, MODEL_TRAINER, DID_WRITE, CAUSE_CHECKPOINT, m->k.step, m->k.sync_from, m->now);
        m->k.step++;
        a->pc = T_NEXT;
        return true;
    default: /* T_END */
        push_step(m);
        m->done = true;
        return false;
    }
}

static void trainer_go(struct model *m)
{
    bool more = true;
    while (more) {
        int pc = m->actor[MODEL_TRAINER].pc;
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
    m->actor[a].state = ACTOR_BLOCKED;
    if (a == MODEL_TRAINER)
        trainer_go(m);
    else if (a <= m->c->workers)
        worker_go(m, a - 1);
    else
        neighbour_go(m, a);
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

static void loop(struct model *m)
{
    while (!m->done) {
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
    const struct share *p = &m->parts[item * REPLAY_PARTS_MAX];
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
    t->total = (double)(m->now > m->device_free ? m->now : m->device_free);
}

/* ---- outside ---- */

void model_run(const struct model_config *config, struct replay_log *log, struct model_truth *truth,
               struct model_trace *trace)
{
    struct model *m = mem_zalloc(sizeof(*m));
    if (!m)
        abort();
    m->c = config;
    m->log = log;
    m->log_consumer = log ? replay_consumer(log, 1, 0) : -1;
    m->actors = 1 + config->workers + config->neighbours;
    m->waiting_for = m->keeps_core = -1;
    m->turns = 1;
    m->serial = mem_zalloc((size_t)config->items * sizeof(*m->serial));
    m->ready = mem_zalloc((size_t)config->items * sizeof(*m->ready));
    m->parts = mem_zalloc((size_t)config->items * REPLAY_PARTS_MAX * sizeof(*m->parts));
    if (!m->serial || !m->ready || !m->parts || m->actors > ACTORS_MAX)
        abort();
    for (int w = 0; w < config->workers; w++)
        if (!(m->worker[w].queue = mem_zalloc((size_t)config->items * sizeof(int))))
            abort();
    m->k.s.delivery = REPLAY_NONE;
    for (int n = 0; n < config->neighbours; n++)
        sleep_for(m, 1 + config->workers + n, 0);
    sleep_for(m, MODEL_TRAINER, 0);
    loop(m);
    if (truth)
        find_truth(m, truth);
    for (int w = 0; w < config->workers; w++)
        free(m->worker[w].queue);
    free(m->serial);
    free(m->ready);
    free(m->parts);
    if (trace)
        *trace = m->segs;
    else
        free(m->segs.v);
    free(m);
}
