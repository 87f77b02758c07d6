/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include "model_draw.h"

#include "base/mem.h"
#include "base/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US NS_PER_US
#define FOR_JOB 300
#define WORKERS 16
/* Within the trainer's process: its own tid, then these. */
enum {
    TID_PIN = 1,
    TID_ORDER = 2,
    TID_THREAD_WORKER = 20,
    TID_PROCESSES = 40,
    TIDS_PER_PROCESS = 3
};

struct worker_view {
    uint32_t pid, tid, feeder, sharer;
    int64_t feeder_since, sharer_since, order_since; /* in their wait from then on; -1: not made */
    int64_t idle_since;
    bool running;
};

struct view {
    struct stream *s;
    const struct stream_job *job;
    const struct model_config *c;
    struct worker_view worker[WORKERS];
    int started; /* workers of this epoch */
    uint32_t next_pid;
    int64_t *delivered;      /* per item; owned */
    int *by;                 /* per item, the worker; owned */
    struct model_seg *await; /* owned, with `awaits` of them, by time */
    int awaits, awaiting;    /* the first that is not over */
    int64_t trainer_at;      /* the trainer waits again from then on, within an await */
    int64_t pin_since;
    struct model_seg launch; /* the trainer's last launch */
    int launched;            /* the item that was launched last; -1 none */
    int64_t reported;        /* device activity is handed over in order */
};

static bool chance(uint64_t seed, int what, double p)
{
    return draw_uniform(seed, (uint64_t)what, FOR_JOB) < p;
}

struct stream_job stream_job_random(uint64_t seed)
{
    struct stream_job j = {.pid = 100, .read_as = TARGET_FILE, .read_pieces = 1};
    j.threads = chance(seed, 0, 0.2);
    j.pin_thread = !j.threads && chance(seed, 1, 0.3);
    j.order_threads = !j.threads && chance(seed, 2, 0.5);
    j.sharer = !j.threads && chance(seed, 3, 0.5);
    j.locks = !j.threads && chance(seed, 4, 0.5);
    j.late_feeder = chance(seed, 5, 0.5);
    j.spins = chance(seed, 6, 0.5);
    j.read_pieces = 1 + (int)(4 * draw_uniform(seed, 7, FOR_JOB));
    double as = draw_uniform(seed, 8, FOR_JOB);
    if (as < 0.3) {
        j.read_flags = WAIT_REMOTE_FS;
    } else if (as < 0.5) {
        j.read_as = TARGET_FAULT;
        j.read_flags = WAIT_IOWAIT;
    } else if (as < 0.7) {
        j.read_as = TARGET_SOCKET;
        j.read_flags = WAIT_WAKER_IRQ;
    }
    return j;
}

static void report(struct view *v, int64_t at, const struct event *e)
{
    struct stream *s = v->s;
    if (!mem_grow((void **)&s->v, &s->cap, s->count + 1, sizeof(*s->v)))
        abort();
    s->v[s->count] = (struct reported){at, s->count, *e};
    s->count++;
}

static void thread(struct view *v, int64_t t, uint32_t tid, uint32_t tgid, uint32_t parent,
                   enum thread_change change, const char *name)
{
    struct event e = {.kind = EVENT_THREAD,
                      .thread = {.t = t,
                                 .tid = tid,
                                 .tgid = tgid,
                                 .parent_tgid = parent,
                                 .change = (uint8_t)change,
                                 .job = true}};
    snprintf(e.thread.name, sizeof(e.thread.name), "%s", name);
    report(v, t, &e);
}

static struct event off_core(uint32_t tid, uint32_t tgid, enum target target, int64_t t_out,
                             int64_t t_wake, int64_t t_in)
{
    return (struct event){.kind = EVENT_WAIT,
                          .wait = {.t_out = t_out,
                                   .t_wake = t_wake,
                                   .t_in = t_in,
                                   .tid = tid,
                                   .tgid = tgid,
                                   .target = (uint8_t)target}};
}

/* A wait that another thread ended. */
static void woken(struct view *v, uint32_t tid, uint32_t tgid, enum target target, int64_t t_out,
                  int64_t t_wake, int64_t t_in, uint32_t waker, uint32_t waker_tgid)
{
    struct event e = off_core(tid, tgid, target, t_out, t_wake, t_in);
    if (t_wake <= t_out)
        return;
    e.wait.waker_tid = waker;
    e.wait.waker_tgid = waker_tgid;
    report(v, t_in, &e);
}

static void starved(struct view *v, uint32_t tid, uint32_t tgid, const struct model_seg *g)
{
    struct event e = off_core(tid, tgid, TARGET_CORE, g->t0, g->t0, g->t1);
    report(v, g->t1, &e);
}

/* A read of several waits, with a little work of the kernel's between them. */
static void read_of(struct view *v, uint32_t tid, uint32_t tgid, const struct model_seg *g)
{
    int n = v->job->read_pieces;
    int64_t len = (g->t1 - g->t0) / n, between = len > 200 * US ? 20 * US : 0;
    for (int i = 0; i < n; i++) {
        int64_t t0 = g->t0 + len * i, t1 = i == n - 1 ? g->t1 : t0 + len - between;
        struct event e = off_core(tid, tgid, (enum target)v->job->read_as, t0, t1, t1);
        e.wait.flags = v->job->read_flags;
        e.wait.resource = v->job->store;
        if (v->job->read_as == TARGET_SOCKET) {
            e.wait.channel = tid;
            e.wait.rx_bytes = (uint64_t)t1;
            e.wait.tx_bytes = (uint64_t)t1 / 100;
            e.wait.rx_during = 60000;
        }
        report(v, t1, &e);
    }
}

/* ---- hand-overs ---- */

static void trainer_woken(struct view *v, int64_t t_wake, int64_t t_in, uint32_t waker,
                          uint32_t waker_tgid, enum target target)
{
    uint32_t pid = v->job->pid;
    int64_t lock = 2 * US;
    woken(v, pid, pid, target, v->trainer_at, t_wake, t_in, waker, waker_tgid);
    v->trainer_at = t_in;
    if (v->job->locks && v->job->pin_thread && t_in - t_wake > 8 * US) {
        /* the pin thread still holds the lock: the wait goes on for a moment */
        woken(v, pid, pid, TARGET_FUTEX, t_in + US, t_in + US + lock, t_in + US + lock, waker, pid);
        v->trainer_at = t_in + US + lock;
    }
}

/* The trainer's await that t is in; NULL: it is busy. */
static const struct model_seg *await_at(struct view *v, int64_t t)
{
    while (v->awaiting < v->awaits && v->await[v->awaiting].t1 <= t)
        v->awaiting++;
    const struct model_seg *a = v->awaiting < v->awaits ? &v->await[v->awaiting] : NULL;
    if (!a || a->t0 > t)
        return NULL;
    if (v->trainer_at < a->t0)
        v->trainer_at = a->t0;
    return a;
}

/* The batch is in the trainer's queue at t, put there by `by`. */
static void arrives(struct view *v, int64_t t, int64_t item, uint32_t by, uint32_t by_tgid,
                    enum target target)
{
    const struct model_seg *a = await_at(v, t);
    if (!a || v->trainer_at >= t)
        return;
    bool last = a->item == item;
    int64_t in = last ? a->t1 : t + 5 * US, ends = v->delivered[a->item];
    if (!last && in >= ends)
        return;
    trainer_woken(v, t, in, by, by_tgid, target);
    if (!last) /* it puts this one aside */
        v->trainer_at += 20 * US;
}

static void feed_on(struct view *v, const struct worker_view *w, int64_t t, uint32_t item)
{
    uint32_t pid = v->job->pid, pin = pid + TID_PIN;
    if (!v->job->pin_thread) {
        arrives(v, t, item, w->feeder, w->pid, TARGET_PIPE);
        return;
    }
    const struct model_seg *a = await_at(v, t);
    int64_t d = a && a->t1 - t < 8 * US ? (a->t1 - t) / 4 : 2 * US;
    woken(v, pin, pid, TARGET_PIPE, v->pin_since, t, t + d / 2, w->feeder, w->pid);
    v->pin_since = t + d + US;
    arrives(v, t + d, item, pin, pid, TARGET_FUTEX);
}

static void deliver(struct view *v, struct worker_view *w, int64_t t, uint32_t item)
{
    const struct model_seg *a = await_at(v, t);
    w->idle_since = t + US;
    int64_t d = a && a->item == item && a->t1 - t < 20 * US ? (a->t1 - t) / 5 : 4 * US;
    if (v->job->threads) {
        arrives(v, t, item, w->tid, w->pid, TARGET_FUTEX);
        return;
    }
    if (w->feeder_since < 0) {
        thread(v, t, w->feeder, w->pid, v->job->pid, THREAD_START, "QueueFeeder");
        woken(v, w->feeder, w->pid, TARGET_FUTEX, t + d / 4, t + d / 2, t + d / 2, w->tid, w->pid);
    } else {
        woken(v, w->feeder, w->pid, TARGET_FUTEX, w->feeder_since, t, t + d / 4, w->tid, w->pid);
        if (v->job->locks && d >= 2 * US)
            woken(v, w->feeder, w->pid, TARGET_FUTEX, t + d / 2, t + d * 3 / 4, t + d * 3 / 4,
                  w->tid, w->pid);
    }
    if (v->job->sharer && w->sharer_since < 0) {
        thread(v, t, w->sharer, w->pid, v->job->pid, THREAD_START, "sharer");
        w->sharer_since = t + US;
    }
    feed_on(v, w, t + d, item);
    w->feeder_since = t + d + US;
}

/* The trainer unpacks: it fetches the descriptor of the batch from a thread of its worker. */
static void unpack(struct view *v, const struct model_seg *g)
{
    struct worker_view *w = &v->worker[v->by[g->item]];
    int64_t t = g->t0 + 5 * US, answer = t + 12 * US;
    uint32_t pid = v->job->pid;
    if (!v->job->sharer || w->sharer_since < 0 || g->t1 - g->t0 < 100 * US || w->sharer_since >= t)
        return;
    woken(v, w->sharer, w->pid, TARGET_PIPE, w->sharer_since, t, t + 2 * US, pid, pid);
    w->sharer_since = answer + US;
    woken(v, pid, pid, TARGET_PIPE, t + US, answer, answer + US, w->sharer, w->pid);
}

static void order(struct view *v, struct worker_view *w, int nth, const struct model_seg *g)
{
    uint32_t pid = v->job->pid, queue = pid + TID_ORDER + (uint32_t)nth;
    int64_t late = (g->t1 - g->t0) / 4 < 4 * US ? (g->t1 - g->t0) / 4 : 4 * US;
    int64_t wake = g->t1 - late, asked = wake - late / 2;
    enum target target = v->job->threads ? TARGET_FUTEX : TARGET_PIPE;
    if (v->job->order_threads && w->order_since < asked) {
        woken(v, queue, pid, TARGET_FUTEX, w->order_since, asked, asked + late / 4, pid, pid);
        w->order_since = wake + US;
        woken(v, w->tid, w->pid, target, g->t0, wake, g->t1, queue, pid);
    } else {
        woken(v, w->tid, w->pid, target, g->t0, wake, g->t1, pid, pid);
    }
}

/* ---- starting and ending ---- */

static void end_worker(struct view *v, struct worker_view *w, int64_t t)
{
    if (!w->running)
        return;
    w->running = false;
    if (!v->job->threads) { /* it is told to end, and closes its queue */
        woken(v, w->tid, w->pid, TARGET_PIPE, w->idle_since, t - 30 * US, t - 28 * US, v->job->pid,
              v->job->pid);
        if (w->feeder_since >= 0)
            woken(v, w->feeder, w->pid, TARGET_FUTEX, w->feeder_since, t - 20 * US, t - 19 * US,
                  w->tid, w->pid);
        if (w->feeder_since >= 0)
            thread(v, t, w->feeder, w->pid, v->job->pid, THREAD_EXIT, "");
        if (w->sharer_since >= 0)
            thread(v, t, w->sharer, w->pid, v->job->pid, THREAD_EXIT, "");
    }
    thread(v, t, w->tid, w->pid, v->job->pid, THREAD_EXIT, "");
}

static void start_worker(struct view *v, int nth, int64_t t)
{
    struct worker_view *w = &v->worker[nth];
    uint32_t pid = v->job->pid;
    uint32_t tid = v->next_pid;
    v->next_pid += v->job->threads ? 1 : TIDS_PER_PROCESS;
    *w = (struct worker_view){.tid = tid,
                              .pid = v->job->threads ? pid : tid,
                              .feeder = tid + 1,
                              .sharer = tid + 2,
                              .feeder_since = -1,
                              .sharer_since = -1,
                              .order_since = t,
                              .running = true};
    thread(v, t, tid, w->pid, v->job->threads ? 1 : pid, THREAD_START, "worker");
    if (v->job->threads)
        return;
    if (!v->job->late_feeder) {
        thread(v, t + US, w->feeder, w->pid, pid, THREAD_START, "QueueFeeder");
        w->feeder_since = t + 2 * US;
    }
}

/* ---- the device ---- */

static void device_span(struct view *v, const struct model_seg *g, const struct model_seg *launch)
{
    bool copy = g->did == DID_DEVICE_COPY, pageable = g->cause == CAUSE_PAGEABLE_COPY;
    struct event e = {.kind = EVENT_SPAN,
                      .span = {.t0 = g->t0,
                               .t1 = g->t1,
                               .launch_t0 = launch->t0,
                               .launch_t1 = launch->t1,
                               .device = v->job->device,
                               .pid = v->job->pid,
                               .tid = v->job->pid,
                               .kind = copy ? SPAN_COPY : SPAN_COMPUTE,
                               .host_copy = copy,
                               .pageable = copy && pageable,
                               .sync_copy = copy && pageable,
                               .bytes = copy ? 1 << 20 : 0}};
    int64_t at = g->t1 > launch->t1 ? g->t1 : launch->t1;
    v->reported = at > v->reported ? at : v->reported;
    report(v, v->reported + 10 * NS_PER_MS, &e);
}

/* The trainer sits in the driver until its device is done. */
static void in_driver(struct view *v, const struct model_seg *g)
{
    uint32_t pid = v->job->pid;
    struct event e = {.kind = EVENT_CALL,
                      .call = {.t0 = g->t0,
                               .t1 = g->t1,
                               .device = v->job->device,
                               .pid = pid,
                               .tid = pid,
                               .kind = g->did == DID_SYNC ? CALL_SYNC : CALL_COPY}};
    report(v, g->t1, &e);
    if (v->job->spins || g->t1 - g->t0 < 20 * US)
        return;
    e = off_core(pid, pid, TARGET_POLL, g->t0 + 3 * US, g->t1 - 3 * US, g->t1 - 2 * US);
    e.wait.flags = WAIT_WAKER_IRQ;
    report(v, g->t1 - 2 * US, &e);
}

/* ---- walking the trace ---- */

static void of_worker(struct view *v, const struct model_seg *g)
{
    int nth = g->actor - 1;
    struct worker_view *w = &v->worker[nth];
    switch ((enum model_did)g->did) {
    case DID_IDLE:
        order(v, w, nth, g);
        break;
    case DID_READ:
        read_of(v, w->tid, w->pid, g);
        break;
    case DID_STARVED:
        starved(v, w->tid, w->pid, g);
        break;
    case DID_DELIVER:
        deliver(v, w, g->t0, g->item);
        break;
    default:
        break;
    }
}

static void trainer_cpu(struct view *v, const struct model_seg *g, const struct model_seg *next)
{
    bool lost_core =
        next && next->actor == MODEL_TRAINER && next->did == DID_STARVED && next->t0 == g->t1;
    int64_t end = lost_core ? next->t1 : g->t1;
    if (g->cause == CAUSE_STARTUP) {
        for (int w = 0; w < WORKERS && v->started == 0; w++)
            end_worker(v, &v->worker[w], g->t0 + US);
        start_worker(v, v->started++, g->t1 - US);
    } else if (g->cause == CAUSE_LAUNCH) {
        v->launch = *g;
        v->launch.t1 = end;
        v->launched = (int)g->item;
    } else if (g->cause == CAUSE_HOST && v->launched != (int)g->item && v->c->workers) {
        unpack(v, g);
    }
    if (g->cause != CAUSE_STARTUP)
        v->started = 0;
}

static void of_trainer(struct view *v, const struct model_seg *g, const struct model_seg *next)
{
    uint32_t pid = v->job->pid;
    struct event e;
    switch ((enum model_did)g->did) {
    case DID_CPU:
        trainer_cpu(v, g, next);
        break;
    case DID_READ:
        read_of(v, pid, pid, g);
        break;
    case DID_STARVED:
        starved(v, pid, pid, g);
        break;
    case DID_SYNC:
    case DID_COPY:
        in_driver(v, g);
        break;
    case DID_WRITE:
        e = off_core(pid, pid, TARGET_WRITE, g->t0, g->t1, g->t1);
        e.wait.resource = v->job->disk;
        report(v, g->t1, &e);
        break;
    default:
        break;
    }
}

/* The call that gave the device this work: a launch, or a copy that is entered when work begins. */
static void of_device(struct view *v, const struct model_trace *t, size_t i)
{
    const struct model_seg *g = &t->v[i];
    struct model_seg call = v->launch;
    if (g->did == DID_DEVICE_COPY) {
        size_t n = i + 1;
        while (n < t->count && t->v[n].actor != MODEL_TRAINER)
            n++;
        call = t->v[n < t->count ? n : i]; /* a pageable copy is awaited at once */
        if (g->cause == CAUSE_LINK)
            call.t1 = call.t0 + US;
    }
    device_span(v, g, &call);
}

static int by_time(const void *a, const void *b)
{
    const struct model_seg *x = a, *y = b;
    return x->t0 < y->t0 ? -1 : x->t0 > y->t0;
}

/* Deliveries and awaits, known before the walk. */
static void look_ahead(struct view *v, const struct model_trace *t)
{
    v->delivered = mem_zalloc((size_t)v->c->items * sizeof(*v->delivered));
    v->by = mem_zalloc((size_t)v->c->items * sizeof(*v->by));
    v->await = mem_zalloc((size_t)(v->c->items + 1) * sizeof(*v->await));
    if (!v->delivered || !v->by || !v->await)
        abort();
    for (size_t i = 0; i < t->count; i++) {
        const struct model_seg *g = &t->v[i];
        if (g->did == DID_DELIVER) {
            v->delivered[g->item] = g->t0;
            v->by[g->item] = g->actor - 1;
        } else if (g->did == DID_AWAIT) {
            v->await[v->awaits++] = *g;
        }
    }
    qsort(v->await, (size_t)v->awaits, sizeof(*v->await), by_time);
}

static void device_held(struct view *v, int64_t t, bool taken)
{
    struct event e = {
        .kind = EVENT_DEVICE,
        .device = {.t = t, .device = v->job->device, .pid = v->job->pid, .taken = taken}};
    report(v, t, &e);
}

void stream_add(struct stream *s, const struct stream_job *job, const struct model_config *config,
                const struct model_trace *trace, int64_t total)
{
    uint32_t pid = job->pid;
    struct view v = {.s = s, .job = job, .c = config, .launched = -1};
    v.next_pid = pid + (job->threads ? TID_THREAD_WORKER : TID_PROCESSES);
    look_ahead(&v, trace);
    thread(&v, 0, pid, pid, 1, THREAD_START, "trainer");
    if (job->pin_thread)
        thread(&v, 0, pid + TID_PIN, pid, 1, THREAD_START, "pin");
    device_held(&v, 0, true);
    for (size_t i = 0; i < trace->count; i++) {
        const struct model_seg *g = &trace->v[i];
        if (g->actor == MODEL_DEVICE)
            of_device(&v, trace, i);
        else if (g->actor == MODEL_TRAINER)
            of_trainer(&v, g, i + 1 < trace->count ? g + 1 : NULL);
        else
            of_worker(&v, g);
    }
    device_held(&v, total, false);
    for (int w = 0; w < WORKERS; w++)
        end_worker(&v, &v.worker[w], total);
    thread(&v, total, pid, pid, 1, THREAD_EXIT, "");
    free(v.delivered);
    free(v.by);
    free(v.await);
}

static int by_report(const void *a, const void *b)
{
    const struct reported *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->nth < y->nth ? -1 : x->nth > y->nth;
}

void stream_sort(struct stream *s)
{
    qsort(s->v, s->count, sizeof(*s->v), by_report);
}

void stream_clear(struct stream *s)
{
    free(s->v);
    *s = (struct stream){0};
}

void stream_feed(const struct stream *s, struct ledger *l, int64_t end)
{
    int64_t tick = 0;
    for (size_t i = 0; i < s->count; i++) {
        while (s->v[i].at >= tick + 50 * NS_PER_MS) {
            tick += 50 * NS_PER_MS;
            ledger_advance(l, tick - 20 * NS_PER_MS);
        }
        ledger_push(l, &s->v[i].e);
    }
    ledger_finish(l, end);
}
