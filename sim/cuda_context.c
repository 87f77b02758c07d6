/* SPDX-License-Identifier: MIT */
/*
 * cuda_context: contexts and which one is current in a thread.
 *
 * A context's structure is never freed, so that a handle used after its
 * destruction is told from a good one.
 */
#include <stdlib.h>

#include "cuda.h"

#define CONTEXT_MAGIC UINT32_C(0x63747831)
#define CONTEXT_IS_DESTROYED 709
#define STACK_DEPTH 64
#define SCHED_SPIN 1u
#define SCHED_YIELD 2u
#define SCHED_MASK 7u
#define FLAGS_MASK 0xffu
#define FIRST_STREAM_ID 7 /* CUPTI's number of the default stream */

struct context_stack {
    abi_cu_context contexts[STACK_DEPTH];
    int depth;
};

static _Thread_local struct context_stack stack;

abi_cu_context sim_context_current(void)
{
    return stack.depth ? stack.contexts[stack.depth - 1] : NULL;
}

abi_cu_result sim_context_check(abi_cu_context context)
{
    if (!context || context->magic != CONTEXT_MAGIC)
        return ABI_CU_INVALID_CONTEXT;
    return context->alive ? ABI_CU_SUCCESS : CONTEXT_IS_DESTROYED;
}

abi_cu_result sim_context_need(abi_cu_context *ret_context)
{
    abi_cu_context context = sim_context_current();
    abi_cu_result result = sim_context_check(context);

    if (result == ABI_CU_SUCCESS)
        *ret_context = context;
    return result;
}

enum sim_wait_mode sim_context_wait_mode(abi_cu_context context)
{
    switch (context->flags & SCHED_MASK) {
    case SCHED_SPIN:
        return SIM_WAIT_SPIN;
    case SCHED_YIELD:
        return SIM_WAIT_YIELD;
    default:
        return SIM_WAIT_SLEEP;
    }
}

static abi_cu_result context_new(abi_cu_device dev, unsigned flags, bool primary,
                                 abi_cu_context *ret_context)
{
    abi_cu_context context = calloc(1, sizeof(*context));
    if (!context)
        return ABI_CU_OUT_OF_MEMORY;
    context->magic = CONTEXT_MAGIC;
    context->alive = true;
    context->primary = primary;
    context->ordinal = dev;
    context->device = &sim.devices[dev];
    context->flags = flags;
    context->next_stream_id = FIRST_STREAM_ID;
    pthread_mutex_lock(&sim.lock);
    context->uid = ++sim.contexts_made;
    context->legacy = sim_stream_new(context, 0, 0);
    if (context->legacy) {
        context->next = sim.contexts;
        sim.contexts = context;
    }
    pthread_mutex_unlock(&sim.lock);
    if (!context->legacy) {
        free(context);
        return ABI_CU_OUT_OF_MEMORY;
    }
    atomic_fetch_add(&context->device->shared->contexts, 1);
    sim_call_resource(ABI_RESOURCE_CONTEXT_CREATED, context, NULL);
    *ret_context = context;
    return ABI_CU_SUCCESS;
}

static void context_end(abi_cu_context context)
{
    sim_call_resource(ABI_RESOURCE_CONTEXT_DESTROY_STARTING, context, NULL);
    sim_context_drain(context, SIM_WAIT_SLEEP);
    sim_memory_drop_context(context);
    sim_module_drop_context(context);
    pthread_mutex_lock(&sim.lock);
    context->alive = false;
    while (context->streams) {
        abi_cu_stream stream = context->streams;
        context->streams = stream->next;
        sim_stream_free_locked(stream);
    }
    sim_stream_free_locked(context->legacy);
    context->legacy = NULL;
    pthread_mutex_unlock(&sim.lock);
    atomic_fetch_sub(&context->device->shared->contexts, 1);
}

/* ---- the stack of the thread ------------------------------------------------ */

static abi_cu_result push(abi_cu_context context)
{
    if (stack.depth == STACK_DEPTH)
        return ABI_CU_OUT_OF_MEMORY;
    stack.contexts[stack.depth++] = context;
    return ABI_CU_SUCCESS;
}

void sim_context_drop(abi_cu_context context)
{
    if (sim_context_current() == context)
        stack.depth--;
}

abi_cu_result do_cuCtxPushCurrent_v2(struct sim_call *call, abi_cu_context context)
{
    abi_cu_result result = sim_context_check(context);
    return result == ABI_CU_SUCCESS ? push(context) : result;
}

abi_cu_result do_cuCtxPopCurrent_v2(struct sim_call *call, abi_cu_context *out)
{
    abi_cu_context context = sim_context_current();
    if (!context)
        return ABI_CU_INVALID_CONTEXT;
    stack.depth--;
    if (out)
        *out = context;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuCtxSetCurrent(struct sim_call *call, abi_cu_context context)
{
    abi_cu_result result = context ? sim_context_check(context) : ABI_CU_SUCCESS;
    if (result != ABI_CU_SUCCESS)
        return result;
    if (stack.depth)
        stack.depth--;
    return context ? push(context) : ABI_CU_SUCCESS;
}

abi_cu_result do_cuCtxGetCurrent(struct sim_call *call, abi_cu_context *out)
{
    if (!out)
        return ABI_CU_INVALID_VALUE;
    *out = sim_context_current();
    return ABI_CU_SUCCESS;
}

/* ---- contexts of one's own ---------------------------------------------------- */

static abi_cu_result create(abi_cu_context *out, unsigned flags, abi_cu_device dev)
{
    abi_cu_context context;

    if (!out || flags & ~FLAGS_MASK)
        return ABI_CU_INVALID_VALUE;
    if (dev < 0 || dev >= sim.device_count)
        return ABI_CU_INVALID_DEVICE;
    abi_cu_result result = context_new(dev, flags, false, &context);
    if (result == ABI_CU_SUCCESS)
        result = push(context);
    if (result == ABI_CU_SUCCESS)
        *out = context;
    return result;
}

abi_cu_result do_cuCtxCreate_v2(struct sim_call *call, abi_cu_context *out, unsigned flags,
                                abi_cu_device dev)
{
    return create(out, flags, dev);
}

abi_cu_result do_cuCtxCreate_v3(struct sim_call *call, abi_cu_context *out, void *affinity,
                                int count, unsigned flags, abi_cu_device dev)
{
    return create(out, flags, dev);
}

abi_cu_result do_cuCtxCreate_v4(struct sim_call *call, abi_cu_context *out,
                                struct sim_context_params *params, unsigned flags,
                                abi_cu_device dev)
{
    return create(out, flags, dev);
}

abi_cu_result do_cuCtxDestroy_v2(struct sim_call *call, abi_cu_context context)
{
    abi_cu_result result = sim_context_check(context);
    if (result != ABI_CU_SUCCESS)
        return result;
    if (context->primary)
        return ABI_CU_INVALID_CONTEXT;
    context_end(context);
    sim_context_drop(context);
    return ABI_CU_SUCCESS;
}

/* ---- the primary context ---------------------------------------------------------- */

abi_cu_result do_cuDevicePrimaryCtxRetain(struct sim_call *call, abi_cu_context *out,
                                          abi_cu_device dev)
{
    abi_cu_result result = ABI_CU_SUCCESS;

    if (!out)
        return ABI_CU_INVALID_VALUE;
    if (dev < 0 || dev >= sim.device_count)
        return ABI_CU_INVALID_DEVICE;
    struct sim_device *device = &sim.devices[dev];
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    if (!device->primary)
        result = context_new(dev, device->primary_flags, true, &device->primary);
    if (result == ABI_CU_SUCCESS) {
        device->primary_refs++;
        *out = device->primary;
    }
    pthread_mutex_unlock(&one_at_a_time);
    return result;
}

abi_cu_result do_cuDevicePrimaryCtxReset(struct sim_call *call, abi_cu_device dev)
{
    if (dev < 0 || dev >= sim.device_count)
        return ABI_CU_INVALID_DEVICE;
    struct sim_device *device = &sim.devices[dev];
    abi_cu_context context = device->primary;
    if (context) {
        context_end(context);
        device->primary = NULL;
        device->primary_refs = 0;
    }
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuDevicePrimaryCtxRelease(struct sim_call *call, abi_cu_device dev)
{
    if (dev < 0 || dev >= sim.device_count)
        return ABI_CU_INVALID_DEVICE;
    struct sim_device *device = &sim.devices[dev];
    if (!device->primary)
        return ABI_CU_INVALID_CONTEXT;
    if (--device->primary_refs == 0)
        return do_cuDevicePrimaryCtxReset(call, dev);
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuDevicePrimaryCtxSetFlags(struct sim_call *call, abi_cu_device dev,
                                            unsigned flags)
{
    if (flags & ~FLAGS_MASK)
        return ABI_CU_INVALID_VALUE;
    if (dev < 0 || dev >= sim.device_count)
        return ABI_CU_INVALID_DEVICE;
    sim.devices[dev].primary_flags = flags;
    if (sim.devices[dev].primary)
        sim.devices[dev].primary->flags = flags; /* since CUDA 11.0 of an active one too */
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuDevicePrimaryCtxGetState(struct sim_call *call, abi_cu_device dev,
                                            unsigned *flags, int *active)
{
    if (!flags || !active)
        return ABI_CU_INVALID_VALUE;
    if (dev < 0 || dev >= sim.device_count)
        return ABI_CU_INVALID_DEVICE;
    *flags = sim.devices[dev].primary_flags;
    *active = sim.devices[dev].primary != NULL;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuDevicePrimaryCtxReset_v2(struct sim_call *call, abi_cu_device dev)
{
    return do_cuDevicePrimaryCtxReset(call, dev);
}

abi_cu_result do_cuDevicePrimaryCtxRelease_v2(struct sim_call *call, abi_cu_device dev)
{
    return do_cuDevicePrimaryCtxRelease(call, dev);
}

abi_cu_result do_cuDevicePrimaryCtxSetFlags_v2(struct sim_call *call, abi_cu_device dev,
                                               unsigned flags)
{
    return do_cuDevicePrimaryCtxSetFlags(call, dev, flags);
}

/* ---- questions ------------------------------------------------------------------------ */

abi_cu_result do_cuCtxGetDevice_v2(struct sim_call *call, abi_cu_device *device,
                                   abi_cu_context context)
{
    abi_cu_result result = context ? sim_context_check(context) : sim_context_need(&context);
    if (result == ABI_CU_SUCCESS && !device)
        result = ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *device = context->ordinal;
    return result;
}

abi_cu_result do_cuCtxGetDevice(struct sim_call *call, abi_cu_device *device)
{
    return do_cuCtxGetDevice_v2(call, device, NULL);
}

abi_cu_result do_cuCtxGetFlags(struct sim_call *call, unsigned *flags)
{
    abi_cu_context context;
    abi_cu_result result = flags ? sim_context_need(&context) : ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *flags = context->flags;
    return result;
}

abi_cu_result do_cuCtxSetFlags(struct sim_call *call, unsigned flags)
{
    abi_cu_context context;
    abi_cu_result result = flags & ~FLAGS_MASK ? ABI_CU_INVALID_VALUE : sim_context_need(&context);
    if (result == ABI_CU_SUCCESS)
        context->flags = flags;
    return result;
}

abi_cu_result do_cuCtxGetApiVersion(struct sim_call *call, abi_cu_context context,
                                    unsigned *version)
{
    abi_cu_result result = context ? sim_context_check(context) : sim_context_need(&context);
    if (result == ABI_CU_SUCCESS && !version)
        result = ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *version = 3020; /* the number that every context since CUDA 3.2 answers */
    return result;
}

abi_cu_result do_cuCtxGetId(struct sim_call *call, abi_cu_context context, unsigned long long *id)
{
    abi_cu_result result = context ? sim_context_check(context) : sim_context_need(&context);
    if (result == ABI_CU_SUCCESS && !id)
        result = ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *id = context->uid;
    return result;
}

abi_cu_result do_cuCtxGetStreamPriorityRange(struct sim_call *call, int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuCtxGetLimit(struct sim_call *call, size_t *value, int limit)
{
    static const size_t limits[] = {1024, 7 * MIB, 8 * MIB, 2, 2048, 64, 0};

    if (!value)
        return ABI_CU_INVALID_VALUE;
    if (limit < 0 || limit >= (int)(sizeof(limits) / sizeof(*limits)))
        return 215; /* CUDA_ERROR_UNSUPPORTED_LIMIT */
    *value = limits[limit];
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuCtxSetLimit(struct sim_call *call, int limit, size_t value)
{
    size_t now;
    return do_cuCtxGetLimit(call, &now, limit);
}

abi_cu_result do_cuCtxEnablePeerAccess(struct sim_call *call, abi_cu_context peer, unsigned flags)
{
    return flags ? ABI_CU_INVALID_VALUE : sim_context_check(peer);
}

abi_cu_result do_cuCtxDisablePeerAccess(struct sim_call *call, abi_cu_context peer)
{
    return sim_context_check(peer);
}

abi_cu_result do_cuCtxSynchronize_v2(struct sim_call *call, abi_cu_context context)
{
    abi_cu_result result = context ? sim_context_check(context) : sim_context_need(&context);
    if (result != ABI_CU_SUCCESS)
        return result;
    sim_context_drain(context, sim_context_wait_mode(context));
    sim_record_sync(call, ABI_SYNC_CONTEXT, context, ABI_INVALID_ID, ABI_INVALID_ID);
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuCtxSynchronize(struct sim_call *call)
{
    return do_cuCtxSynchronize_v2(call, NULL);
}
