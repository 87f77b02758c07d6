/* SPDX-License-Identifier: MIT */
/*
 * cuda_stream: streams, events and what may stand in a stream beside kernels
 * and copies.
 */
#include <stdlib.h>

#include "cuda.h"

#define STREAM_MAGIC UINT32_C(0x73747231)
#define EVENT_MAGIC UINT32_C(0x65767431)
#define EVENT_FLAGS_MASK 7u
#define LEAST_PRIORITY 0
#define GREATEST_PRIORITY (-5)

/* ---- streams ------------------------------------------------------------------ */

void sim_stream_free_locked(abi_cu_stream stream)
{
    sim_op_unref_locked(stream->tail);
    for (int i = 0; i < SIM_QUEUE_DEPTH; i++)
        sim_op_unref_locked(stream->queue[i]);
    stream->magic = 0;
    free(stream);
}

/* Destroyed streams stay in the list until their work has ended. */
static void reap_locked(abi_cu_context context)
{
    int64_t now = sim_now();

    for (abi_cu_stream *link = &context->streams; *link;) {
        abi_cu_stream stream = *link;
        if (stream->magic == STREAM_MAGIC || !sim_op_ended_locked(stream->tail, now)) {
            link = &stream->next;
            continue;
        }
        *link = stream->next;
        sim_stream_free_locked(stream);
    }
}

abi_cu_stream sim_stream_new(abi_cu_context context, unsigned flags, int priority)
{
    abi_cu_stream stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    reap_locked(context);
    stream->magic = STREAM_MAGIC;
    stream->id = context->next_stream_id++;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    return stream;
}

static abi_cu_stream thread_stream(abi_cu_context context)
{
    abi_cu_stream stream = context->streams;
    pthread_t self = pthread_self();

    pthread_mutex_lock(&sim.lock);
    while (stream && !(stream->per_thread && pthread_equal(stream->owner, self)))
        stream = stream->next;
    if (!stream && (stream = sim_stream_new(context, 0, 0))) {
        stream->per_thread = true;
        stream->owner = self;
        stream->next = context->streams;
        context->streams = stream;
    }
    pthread_mutex_unlock(&sim.lock);
    return stream;
}

abi_cu_result sim_stream_find(const struct sim_call *call, abi_cu_stream handle,
                              abi_cu_stream *ret_stream)
{
    uintptr_t number = (uintptr_t)handle;
    abi_cu_context context;

    if (number > ABI_CU_STREAM_PER_THREAD) {
        if (handle->magic != STREAM_MAGIC)
            return ABI_CU_INVALID_HANDLE;
        *ret_stream = handle;
        return ABI_CU_SUCCESS;
    }
    abi_cu_result result = sim_context_need(&context);
    if (result != ABI_CU_SUCCESS)
        return result;
    if (number == ABI_CU_STREAM_PER_THREAD || (number == 0 && call->kind.thread_default))
        *ret_stream = thread_stream(context);
    else
        *ret_stream = context->legacy;
    return *ret_stream ? ABI_CU_SUCCESS : ABI_CU_OUT_OF_MEMORY;
}

abi_cu_result do_cuStreamCreateWithPriority(struct sim_call *call, abi_cu_stream *out,
                                            unsigned flags, int priority)
{
    abi_cu_context context;

    if (!out || flags & ~SIM_STREAM_NON_BLOCKING)
        return ABI_CU_INVALID_VALUE;
    abi_cu_result result = sim_context_need(&context);
    if (result != ABI_CU_SUCCESS)
        return result;
    if (priority > LEAST_PRIORITY)
        priority = LEAST_PRIORITY;
    if (priority < GREATEST_PRIORITY)
        priority = GREATEST_PRIORITY;
    pthread_mutex_lock(&sim.lock);
    abi_cu_stream stream = sim_stream_new(context, flags, priority);
    if (stream) {
        stream->next = context->streams;
        context->streams = stream;
    }
    pthread_mutex_unlock(&sim.lock);
    if (!stream)
        return ABI_CU_OUT_OF_MEMORY;
    *out = stream;
    sim_call_resource(ABI_RESOURCE_STREAM_CREATED, context, stream);
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuStreamCreate(struct sim_call *call, abi_cu_stream *out, unsigned flags)
{
    return do_cuStreamCreateWithPriority(call, out, flags, 0);
}

abi_cu_result do_cuStreamDestroy_v2(struct sim_call *call, abi_cu_stream handle)
{
    if ((uintptr_t)handle <= ABI_CU_STREAM_PER_THREAD || handle->magic != STREAM_MAGIC)
        return ABI_CU_INVALID_HANDLE;
    sim_call_resource(ABI_RESOURCE_STREAM_DESTROY_STARTING, handle->context, handle);
    pthread_mutex_lock(&sim.lock);
    handle->magic = 0;
    reap_locked(handle->context);
    pthread_mutex_unlock(&sim.lock);
    return ABI_CU_SUCCESS;
}

/* An operation that ends with all that is in the stream now. */
static abi_cu_result fence(const struct sim_call *call, abi_cu_stream handle,
                           abi_cu_stream *ret_stream, struct sim_op **ret_op)
{
    abi_cu_result result = sim_stream_find(call, handle, ret_stream);
    if (result != ABI_CU_SUCCESS)
        return result;
    pthread_mutex_lock(&sim.lock);
    struct sim_op *op = sim_op_fence_locked(*ret_stream);
    pthread_mutex_unlock(&sim.lock);
    *ret_op = op;
    return op ? ABI_CU_SUCCESS : ABI_CU_OUT_OF_MEMORY;
}

abi_cu_result do_cuStreamSynchronize(struct sim_call *call, abi_cu_stream handle)
{
    abi_cu_stream stream;
    struct sim_op *op;

    abi_cu_result result = fence(call, handle, &stream, &op);
    if (result != ABI_CU_SUCCESS)
        return result;
    sim_op_wait_and_unref(op, sim_context_wait_mode(stream->context));
    sim_record_sync(call, ABI_SYNC_STREAM, stream->context, stream->id, ABI_INVALID_ID);
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuStreamQuery(struct sim_call *call, abi_cu_stream handle)
{
    abi_cu_stream stream;
    struct sim_op *op;

    abi_cu_result result = fence(call, handle, &stream, &op);
    if (result != ABI_CU_SUCCESS)
        return result;
    pthread_mutex_lock(&sim.lock);
    if (!sim_op_ended_locked(op, sim_now()))
        result = ABI_CU_NOT_READY;
    sim_op_unref_locked(op);
    pthread_mutex_unlock(&sim.lock);
    return result;
}

abi_cu_result do_cuStreamGetFlags(struct sim_call *call, abi_cu_stream handle, unsigned *flags)
{
    abi_cu_stream stream;
    abi_cu_result result = flags ? sim_stream_find(call, handle, &stream) : ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *flags = stream->flags;
    return result;
}

abi_cu_result do_cuStreamGetPriority(struct sim_call *call, abi_cu_stream handle, int *priority)
{
    abi_cu_stream stream;
    abi_cu_result result = priority ? sim_stream_find(call, handle, &stream) : ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *priority = stream->priority;
    return result;
}

abi_cu_result do_cuStreamGetCtx(struct sim_call *call, abi_cu_stream handle, abi_cu_context *out)
{
    abi_cu_stream stream;
    abi_cu_result result = out ? sim_stream_find(call, handle, &stream) : ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *out = stream->context;
    return result;
}

abi_cu_result do_cuStreamGetId(struct sim_call *call, abi_cu_stream handle, unsigned long long *id)
{
    abi_cu_stream stream;
    abi_cu_result result = id ? sim_stream_find(call, handle, &stream) : ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *id = stream->id;
    return result;
}

abi_cu_result do_cuStreamGetDevice(struct sim_call *call, abi_cu_stream handle,
                                   abi_cu_device *device)
{
    abi_cu_stream stream;
    abi_cu_result result = device ? sim_stream_find(call, handle, &stream) : ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *device = stream->context->ordinal;
    return result;
}

abi_cu_result do_cuStreamIsCapturing(struct sim_call *call, abi_cu_stream handle, int *status)
{
    abi_cu_stream stream;
    abi_cu_result result = status ? sim_stream_find(call, handle, &stream) : ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *status = 0; /* there are no graphs here */
    return result;
}

/* ---- functions of the host in a stream ------------------------------------------ */

static void call_host(struct sim_op *op)
{
    if (op->host_fn)
        op->host_fn(op->user_data);
    if (op->callback)
        op->callback(op->callback_stream, ABI_CU_SUCCESS, op->user_data);
}

static abi_cu_result add_host(const struct sim_call *call, abi_cu_stream handle, sim_host_fn fn,
                              sim_stream_callback callback, void *user_data)
{
    abi_cu_stream stream;

    abi_cu_result result =
        fn || callback ? sim_stream_find(call, handle, &stream) : ABI_CU_INVALID_VALUE;
    if (result != ABI_CU_SUCCESS)
        return result;
    pthread_mutex_lock(&sim.lock);
    struct sim_op *op = sim_op_new_locked(stream->context->device);
    if (op) {
        op->engine = SIM_HOST;
        op->work = call_host;
        op->host_fn = fn;
        op->callback = callback;
        op->callback_stream = handle;
        op->user_data = user_data;
        sim_op_submit_locked(op, stream);
        sim_op_unref_locked(op);
    }
    pthread_mutex_unlock(&sim.lock);
    return op ? ABI_CU_SUCCESS : ABI_CU_OUT_OF_MEMORY;
}

abi_cu_result do_cuLaunchHostFunc(struct sim_call *call, abi_cu_stream handle, sim_host_fn fn,
                                  void *user_data)
{
    return add_host(call, handle, fn, NULL, user_data);
}

abi_cu_result do_cuStreamAddCallback(struct sim_call *call, abi_cu_stream handle,
                                     sim_stream_callback callback, void *user_data, unsigned flags)
{
    return flags ? ABI_CU_INVALID_VALUE : add_host(call, handle, NULL, callback, user_data);
}

/* ---- events ----------------------------------------------------------------------- */

static bool is_event(abi_cu_event event)
{
    return event && event->magic == EVENT_MAGIC;
}

abi_cu_result do_cuEventCreate(struct sim_call *call, abi_cu_event *out, unsigned flags)
{
    abi_cu_context context;

    if (!out || flags & ~EVENT_FLAGS_MASK)
        return ABI_CU_INVALID_VALUE;
    abi_cu_result result = sim_context_need(&context);
    if (result != ABI_CU_SUCCESS)
        return result;
    abi_cu_event event = calloc(1, sizeof(*event));
    if (!event)
        return ABI_CU_OUT_OF_MEMORY;
    event->magic = EVENT_MAGIC;
    event->context = context;
    event->flags = flags;
    pthread_mutex_lock(&sim.lock);
    event->id = ++sim.events_made;
    pthread_mutex_unlock(&sim.lock);
    *out = event;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuEventRecord(struct sim_call *call, abi_cu_event event, abi_cu_stream handle)
{
    abi_cu_stream stream;

    if (!is_event(event))
        return ABI_CU_INVALID_HANDLE;
    abi_cu_result result = sim_stream_find(call, handle, &stream);
    if (result != ABI_CU_SUCCESS)
        return result;
    pthread_mutex_lock(&sim.lock);
    struct sim_op *op = sim_op_mark_locked(stream);
    if (op) {
        sim_op_unref_locked(event->op);
        event->op = op;
    }
    pthread_mutex_unlock(&sim.lock);
    return op ? ABI_CU_SUCCESS : ABI_CU_OUT_OF_MEMORY;
}

abi_cu_result do_cuEventRecordWithFlags(struct sim_call *call, abi_cu_event event,
                                        abi_cu_stream handle, unsigned flags)
{
    return do_cuEventRecord(call, event, handle);
}

abi_cu_result do_cuStreamWaitEvent(struct sim_call *call, abi_cu_stream handle, abi_cu_event event,
                                   unsigned flags)
{
    abi_cu_stream stream;

    if (!is_event(event))
        return ABI_CU_INVALID_HANDLE;
    abi_cu_result result = sim_stream_find(call, handle, &stream);
    if (result != ABI_CU_SUCCESS)
        return result;
    pthread_mutex_lock(&sim.lock);
    struct sim_op *op = sim_op_new_locked(stream->context->device);
    if (op) {
        sim_op_depend_locked(op, event->op);
        sim_op_submit_locked(op, stream);
        sim_op_unref_locked(op);
    }
    pthread_mutex_unlock(&sim.lock);
    if (!op)
        return ABI_CU_OUT_OF_MEMORY;
    sim_record_sync(call, ABI_SYNC_STREAM_WAIT_EVENT, stream->context, stream->id, event->id);
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuEventQuery(struct sim_call *call, abi_cu_event event)
{
    if (!is_event(event))
        return ABI_CU_INVALID_HANDLE;
    pthread_mutex_lock(&sim.lock);
    bool ended = sim_op_ended_locked(event->op, sim_now());
    pthread_mutex_unlock(&sim.lock);
    return ended ? ABI_CU_SUCCESS : ABI_CU_NOT_READY;
}

abi_cu_result do_cuEventSynchronize(struct sim_call *call, abi_cu_event event)
{
    if (!is_event(event))
        return ABI_CU_INVALID_HANDLE;
    pthread_mutex_lock(&sim.lock);
    struct sim_op *op = event->op;
    if (op)
        sim_op_ref_locked(op);
    pthread_mutex_unlock(&sim.lock);
    sim_op_wait_and_unref(op, sim_context_wait_mode(event->context));
    sim_record_sync(call, ABI_SYNC_EVENT, event->context, ABI_INVALID_ID, event->id);
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuEventDestroy_v2(struct sim_call *call, abi_cu_event event)
{
    if (!is_event(event))
        return ABI_CU_INVALID_HANDLE;
    pthread_mutex_lock(&sim.lock);
    sim_op_unref_locked(event->op);
    pthread_mutex_unlock(&sim.lock);
    event->magic = 0;
    free(event);
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuEventElapsedTime(struct sim_call *call, float *milliseconds, abi_cu_event from,
                                    abi_cu_event to)
{
    abi_cu_result result = ABI_CU_SUCCESS;

    if (!milliseconds)
        return ABI_CU_INVALID_VALUE;
    if (!is_event(from) || !is_event(to) || (from->flags | to->flags) & SIM_EVENT_DISABLE_TIMING)
        return ABI_CU_INVALID_HANDLE;
    pthread_mutex_lock(&sim.lock);
    int64_t now = sim_now();
    if (!from->op || !to->op)
        result = ABI_CU_INVALID_HANDLE;
    else if (!sim_op_ended_locked(from->op, now) || !sim_op_ended_locked(to->op, now))
        result = ABI_CU_NOT_READY;
    else
        *milliseconds = (float)((double)(to->op->end_ns - from->op->end_ns) / (double)NS_PER_MS);
    pthread_mutex_unlock(&sim.lock);
    return result;
}

abi_cu_result do_cuEventElapsedTime_v2(struct sim_call *call, float *milliseconds,
                                       abi_cu_event from, abi_cu_event to)
{
    return do_cuEventElapsedTime(call, milliseconds, from, to);
}
