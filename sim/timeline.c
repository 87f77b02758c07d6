/* SPDX-License-Identifier: MIT */
/*
 * timeline: when each operation starts and ends.
 *
 * An operation passes WAITING (for others), QUEUED (in its copy engine, in the
 * order in which they become ready), RUNNING (its work is being done) and DONE
 * (its times are final, though its end may lie ahead). Kernels and marks go from
 * WAITING to DONE at once, with no thread involved; so do small copies that may
 * start now. The invariants: an engine has at most one RUNNING operation, its
 * `active`, which is not in the queue; one that has not begun gives way to one
 * that is ready earlier; an operation's start is never before the end of
 * anything it depends on; `pending` counts edges that point at it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

#define LAUNCH_LATENCY_NS (3 * NS_PER_US) /* from the call to the device's start */
#define INLINE_BYTES (64 * KIB)           /* moved at once rather than by the engine's thread */
#define OPS_AT_ONCE 64

struct sim_edge {
    struct sim_edge *next;
    struct sim_op *op;
};

struct engine_thread {
    struct sim_device *device;
    struct sim_engine *engine;
};

void sim_timeline_init_device(struct sim_device *device)
{
    for (int i = 0; i < SIM_ENGINES; i++)
        sim_condition_init(&device->engines[i].wake);
}

struct sim_op *sim_op_new_locked(struct sim_device *device)
{
    if (!sim.free_ops) {
        struct sim_op *fresh = calloc(OPS_AT_ONCE, sizeof(*fresh));
        if (!fresh)
            return NULL;
        for (int i = 0; i < OPS_AT_ONCE; i++) {
            fresh[i].next = sim.free_ops;
            sim.free_ops = &fresh[i];
        }
    }
    struct sim_op *op = sim.free_ops;
    sim.free_ops = op->next;
    memset(op, 0, offsetof(struct sim_op, record));
    op->record.head.kind = ABI_KIND_INVALID;
    op->device = device;
    op->refs = 1;
    op->pending = 1; /* the submission itself */
    op->engine = SIM_NO_ENGINE;
    return op;
}

void sim_op_ref_locked(struct sim_op *op)
{
    op->refs++;
}

void sim_op_unref_locked(struct sim_op *op)
{
    if (!op || --op->refs > 0)
        return;
    assert(op->state == SIM_OP_DONE || op->state == SIM_OP_WAITING);
    free(op->owned);
    op->next = sim.free_ops;
    sim.free_ops = op;
}

void sim_op_depend_locked(struct sim_op *op, struct sim_op *other)
{
    if (!other)
        return;
    if (other->state == SIM_OP_DONE) {
        if (other->end_ns > op->ready_ns)
            op->ready_ns = other->end_ns;
        return;
    }
    struct sim_edge *edge = sim.free_edges;
    if (edge)
        sim.free_edges = edge->next;
    else
        edge = malloc(sizeof(*edge));
    if (!edge)
        abort(); /* the order of the program would be lost */
    edge->op = op;
    edge->next = other->dependents;
    other->dependents = edge;
    op->pending++;
}

bool sim_op_ended_locked(const struct sim_op *op, int64_t now)
{
    return !op || (op->state == SIM_OP_DONE && op->end_ns <= now);
}

/* Kernels that run side by side count once: what overlaps the last busy time is left out. */
static void count_kernel(struct sim_device *device, int64_t start, int64_t end)
{
    if (start >= device->covered_from && start <= device->covered_to) {
        if (end <= device->covered_to)
            return;
        share_add_busy(device->shared, SHARE_KERNEL, device->covered_to, end);
        device->covered_to = end;
    } else {
        share_add_busy(device->shared, SHARE_KERNEL, start, end);
        device->covered_from = start;
        device->covered_to = end;
    }
}

static void publish(struct sim_op *op)
{
    union sim_record *record = &op->record;
    struct sim_hooks *hooks = atomic_load_explicit(&sim.hooks, memory_order_acquire);

    if (op->counts_as_kernel)
        count_kernel(op->device, op->start_ns, op->end_ns);
    if (op->counts_as_copy)
        share_add_busy(op->device->shared, SHARE_COPY, op->start_ns, op->end_ns);
    if (record->head.kind == ABI_KIND_INVALID || !hooks)
        return;
    uint64_t start = (uint64_t)op->start_ns, end = (uint64_t)op->end_ns;
    if (record->head.kind == ABI_KIND_CONCURRENT_KERNEL) {
        record->kernel.start = start;
        record->kernel.end = end;
    } else if (record->head.kind == ABI_KIND_MEMCPY) {
        record->copy.start = start;
        record->copy.end = end;
    } else {
        record->set.start = start;
        record->set.end = end;
    }
    hooks->record(record, op->end_ns);
}

/* Makes the operation's times final; those that can start now go onto *startable. */
static void finish(struct sim_op *op, struct sim_op **startable)
{
    op->state = SIM_OP_DONE;
    publish(op);
    while (op->dependents) {
        struct sim_edge *edge = op->dependents;
        struct sim_op *after = edge->op;
        op->dependents = edge->next;
        edge->next = sim.free_edges;
        sim.free_edges = edge;
        if (op->end_ns > after->ready_ns)
            after->ready_ns = op->end_ns;
        if (--after->pending == 0) {
            after->next = *startable;
            *startable = after;
        }
    }
    sim_op_unref_locked(op); /* the reference that kept it until its times were known */
}

static void *engine_main(void *arg);

static void wake_engine(struct sim_device *device, struct sim_engine *engine)
{
    pthread_attr_t detached;
    pthread_t thread;

    if (engine->started) {
        pthread_cond_signal(&engine->wake);
        return;
    }
    struct engine_thread *start = malloc(sizeof(*start));
    if (!start)
        abort();
    *start = (struct engine_thread){device, engine};
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, engine_main, start) != 0)
        abort(); /* work already promised could not be done */
    pthread_attr_destroy(&detached);
    engine->started = true;
}

/* When the head of the queue may begin. */
static int64_t head_start(const struct sim_engine *engine)
{
    int64_t ready = engine->head->ready_ns;
    return ready > engine->free_ns ? ready : engine->free_ns;
}

static bool may_run_inline(const struct sim_engine *engine)
{
    const struct sim_op *op = engine->head;
    return !op->by_caller && op->bytes <= INLINE_BYTES && op->engine != SIM_HOST &&
           head_start(engine) <= sim_now() + LAUNCH_LATENCY_NS;
}

static void begin_head(struct sim_engine *engine)
{
    struct sim_op *op = engine->head;

    op->start_ns = head_start(engine);
    op->state = SIM_OP_RUNNING;
    engine->head = op->next;
    op->next = NULL;
    engine->active = op;
}

/* Ends the active operation; its end is `earliest` or when its duration is over. */
static void end_active(struct sim_engine *engine, int64_t earliest, struct sim_op **startable)
{
    struct sim_op *op = engine->active;

    op->end_ns = op->start_ns + op->duration_ns;
    if (op->end_ns < earliest)
        op->end_ns = earliest;
    engine->active = NULL;
    engine->free_ns = op->end_ns;
    finish(op, startable);
}

/* Does what needs no other thread, and tells the thread whose turn is next. */
static void drive(struct sim_device *device, struct sim_engine *engine, struct sim_op **startable)
{
    while (!engine->active && engine->head && may_run_inline(engine)) {
        begin_head(engine);
        engine->active->work(engine->active);
        end_active(engine, 0, startable);
    }
    if (engine->active || !engine->head)
        return;
    if (engine->head->by_caller)
        pthread_cond_broadcast(&sim.done);
    else
        wake_engine(device, engine);
}

static void start_one(struct sim_op *op, struct sim_op **startable)
{
    if (op->engine == SIM_NO_ENGINE) {
        op->start_ns = op->ready_ns;
        op->end_ns = op->start_ns + op->duration_ns;
        finish(op, startable);
        return;
    }
    struct sim_engine *engine = &op->device->engines[op->engine];
    struct sim_op **link = &engine->head;
    op->state = SIM_OP_QUEUED;
    while (*link && (*link)->ready_ns <= op->ready_ns)
        link = &(*link)->next;
    op->next = *link;
    *link = op;
    drive(op->device, engine, startable);
}

static void start_all(struct sim_op *startable)
{
    while (startable) {
        struct sim_op *op = startable;
        startable = op->next;
        op->next = NULL;
        start_one(op, &startable);
    }
}

/* What is in the stream, and what its default-stream rules put before it. */
static void depend_on_stream(struct sim_op *op, abi_cu_stream stream)
{
    abi_cu_context context = stream->context;

    sim_op_depend_locked(op, stream->tail);
    if (stream == context->legacy) {
        for (abi_cu_stream other = context->streams; other; other = other->next)
            if (!(other->flags & SIM_STREAM_NON_BLOCKING))
                sim_op_depend_locked(op, other->tail);
    } else if (!(stream->flags & SIM_STREAM_NON_BLOCKING)) {
        sim_op_depend_locked(op, context->legacy->tail);
    }
}

void sim_op_submit_locked(struct sim_op *op, abi_cu_stream stream)
{
    int64_t now = sim_now();
    int64_t latency = op->duration_ns || op->work ? LAUNCH_LATENCY_NS : 0;

    if (now + latency > op->ready_ns)
        op->ready_ns = now + latency;
    depend_on_stream(op, stream);
    sim_op_unref_locked(stream->tail);
    stream->tail = op;
    op->refs += 2; /* the stream's, and one until its times are known */
    if (op->counts_as_kernel) {
        struct sim_op **slot = &stream->queue[stream->queued++ % SIM_QUEUE_DEPTH];
        sim_op_unref_locked(*slot);
        *slot = op;
        op->refs++;
    }
    if (--op->pending == 0)
        start_all(op);
}

/* The work of the active operation was done at `now`. */
static void complete(struct sim_device *device, struct sim_engine *engine, int64_t now)
{
    struct sim_op *startable = NULL;

    end_active(engine, now, &startable);
    start_all(startable);
    startable = NULL;
    drive(device, engine, &startable);
    start_all(startable);
    pthread_cond_broadcast(&sim.done);
}

static void *engine_main(void *arg)
{
    struct engine_thread start = *(struct engine_thread *)arg;
    struct sim_engine *engine = start.engine;

    free(arg);
    pthread_setname_np(pthread_self(), "sim-engine");
    pthread_mutex_lock(&sim.lock);
    for (;;) {
        if (engine->active || !engine->head || engine->head->by_caller) {
            pthread_cond_wait(&engine->wake, &sim.lock);
        } else if (head_start(engine) > sim_now()) {
            sim_wait_condition(&engine->wake, &sim.lock, head_start(engine));
        } else {
            begin_head(engine);
            struct sim_op *op = engine->active;
            pthread_mutex_unlock(&sim.lock);
            op->work(op);
            int64_t now = sim_now();
            pthread_mutex_lock(&sim.lock);
            complete(start.device, engine, now);
        }
    }
    return NULL;
}

void sim_op_run_here(struct sim_op *op, enum sim_wait_mode mode)
{
    struct sim_engine *engine = &op->device->engines[op->engine];

    pthread_mutex_lock(&sim.lock);
    for (;;) {
        if (engine->active || engine->head != op)
            pthread_cond_wait(&sim.done, &sim.lock);
        else if (head_start(engine) > sim_now())
            sim_wait_condition(&sim.done, &sim.lock, head_start(engine));
        else
            break;
    }
    begin_head(engine);
    pthread_mutex_unlock(&sim.lock);
    op->work(op);
    int64_t now = sim_now();
    pthread_mutex_lock(&sim.lock);
    complete(op->device, engine, now);
    int64_t end = op->end_ns;
    pthread_mutex_unlock(&sim.lock);
    sim_wait_until(end, mode);
}

void sim_op_wait_and_unref(struct sim_op *op, enum sim_wait_mode mode)
{
    if (!op)
        return;
    pthread_mutex_lock(&sim.lock);
    while (op->state != SIM_OP_DONE)
        pthread_cond_wait(&sim.done, &sim.lock);
    int64_t end = op->end_ns;
    sim_op_unref_locked(op);
    pthread_mutex_unlock(&sim.lock);
    sim_wait_until(end, mode);
}

void sim_stream_make_room_locked(abi_cu_stream stream)
{
    struct sim_op *oldest = stream->queue[stream->queued % SIM_QUEUE_DEPTH];
    enum sim_wait_mode mode = sim_context_wait_mode(stream->context);

    if (sim_op_ended_locked(oldest, sim_now()))
        return;
    sim_op_ref_locked(oldest);
    pthread_mutex_unlock(&sim.lock);
    sim_op_wait_and_unref(oldest, mode);
    pthread_mutex_lock(&sim.lock);
}

struct sim_op *sim_op_mark_locked(abi_cu_stream stream)
{
    struct sim_op *op = sim_op_new_locked(stream->context->device);
    if (op)
        sim_op_submit_locked(op, stream);
    return op;
}

struct sim_op *sim_op_fence_locked(abi_cu_stream stream)
{
    struct sim_op *op = sim_op_new_locked(stream->context->device);

    if (!op)
        return NULL;
    op->ready_ns = sim_now();
    depend_on_stream(op, stream);
    op->refs++; /* until its times are known */
    if (--op->pending == 0)
        start_all(op);
    return op;
}

void sim_context_drain(abi_cu_context context, enum sim_wait_mode mode)
{
    int64_t latest = 0;

    pthread_mutex_lock(&sim.lock);
    for (abi_cu_stream stream = context->legacy; stream;) {
        struct sim_op *op = stream->tail;
        if (op && op->state != SIM_OP_DONE) {
            pthread_cond_wait(&sim.done, &sim.lock);
            stream = context->legacy; /* the list may have changed */
            continue;
        }
        if (op && op->end_ns > latest)
            latest = op->end_ns;
        stream = stream == context->legacy ? context->streams : stream->next;
    }
    pthread_mutex_unlock(&sim.lock);
    sim_wait_until(latest, mode);
}
