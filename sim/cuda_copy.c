/* SPDX-License-Identifier: MIT */
/*
 * cuda_copy: copies and memsets.
 *
 * Who moves the bytes follows the real driver: a copy from or to pinned memory
 * that was asked for asynchronously is moved by the copy engine's thread; one
 * that touches pageable memory, or a synchronous one, by the calling thread,
 * which returns when it is done. Small pageable writes to the device are taken
 * aside at once, and the call returns.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

#define DEVICE_GBPS 2000.0      /* copies within device memory, memsets */
#define STAGED_BYTES (64 * KIB) /* pageable writes up to this are taken aside */
#define COPY_OVERHEAD_NS (NS_PER_US + 200)

struct copy {
    uintptr_t dst, src;
    size_t bytes;
    enum sim_memory_kind dst_kind, src_kind;
    enum abi_copy_kind kind;
    bool async;
};

static const enum abi_memory_kind record_kinds[] = {
    [SIM_PAGEABLE] = ABI_MEMORY_PAGEABLE,
    [SIM_PINNED] = ABI_MEMORY_PINNED,
    [SIM_DEVICE] = ABI_MEMORY_DEVICE,
    [SIM_MANAGED] = ABI_MEMORY_MANAGED,
};

static bool on_host(enum sim_memory_kind kind)
{
    return kind == SIM_PAGEABLE || kind == SIM_PINNED;
}

static int64_t duration(size_t bytes, double gbps)
{
    return COPY_OVERHEAD_NS + (int64_t)((double)bytes / gbps);
}

static void move_bytes(struct sim_op *op)
{
    memmove(op->dst, op->src, op->bytes);
}

static void set_bytes(struct sim_op *op)
{
    size_t count = op->bytes / op->width;

    if (op->width == 1) {
        memset(op->dst, (int)op->value, count);
    } else if (op->width == 2) {
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)op->dst)[i] = (uint16_t)op->value;
    } else {
        for (size_t i = 0; i < count; i++)
            ((uint32_t *)op->dst)[i] = op->value;
    }
}

/* The kind of memory and whether all of the range lies in it. */
static abi_cu_result classify(uintptr_t address, size_t bytes, enum sim_memory_kind *ret_kind)
{
    struct sim_allocation row;

    *ret_kind = SIM_PAGEABLE;
    if (!sim_memory_find(address, &row))
        return ABI_CU_SUCCESS;
    *ret_kind = row.kind;
    if (bytes <= row.base + row.bytes - address)
        return ABI_CU_SUCCESS;
    /* Host memory may be registered in part: it counts as pageable then. */
    if (row.kind != SIM_PINNED)
        return ABI_CU_INVALID_VALUE;
    *ret_kind = SIM_PAGEABLE;
    return ABI_CU_SUCCESS;
}

static abi_cu_result describe(struct copy *copy)
{
    abi_cu_result result = classify(copy->dst, copy->bytes, &copy->dst_kind);
    if (result == ABI_CU_SUCCESS)
        result = classify(copy->src, copy->bytes, &copy->src_kind);
    if (result != ABI_CU_SUCCESS)
        return result;
    if (on_host(copy->dst_kind))
        copy->kind = on_host(copy->src_kind) ? ABI_COPY_HTOH : ABI_COPY_DTOH;
    else
        copy->kind = on_host(copy->src_kind) ? ABI_COPY_HTOD : ABI_COPY_DTOD;
    return ABI_CU_SUCCESS;
}

static void fill_record(struct sim_op *op, const struct sim_call *call, const struct copy *copy,
                        abi_cu_stream stream)
{
    memset(&op->record.copy, 0, sizeof(op->record.copy));
    op->record.copy.kind = ABI_KIND_MEMCPY;
    op->record.copy.copy_kind = (uint8_t)copy->kind;
    op->record.copy.src_kind = (uint8_t)record_kinds[copy->src_kind];
    op->record.copy.dst_kind = (uint8_t)record_kinds[copy->dst_kind];
    op->record.copy.flags = copy->async ? ABI_FLAG_MEMCPY_ASYNC : 0;
    op->record.copy.bytes = copy->bytes;
    op->record.copy.device_id = (uint32_t)stream->context->ordinal;
    op->record.copy.context_id = stream->context->uid;
    op->record.copy.stream_id = stream->id;
    op->record.copy.correlation_id = call->correlation;
    op->record.copy.channel_id = copy->kind == ABI_COPY_DTOH ? 2 : 1;
    op->record.copy.channel_type = 2; /* an asynchronous copy engine */
    op->record.copy.copy_count = 1;
}

static void fill_operation(struct sim_op *op, const struct copy *copy)
{
    bool pageable = copy->src_kind == SIM_PAGEABLE || copy->dst_kind == SIM_PAGEABLE;
    double gbps = copy->kind == ABI_COPY_DTOD ? DEVICE_GBPS
                  : pageable                  ? sim.config.pageable_gbps
                                              : sim.config.pinned_gbps;

    op->engine = copy->kind == ABI_COPY_HTOD   ? SIM_HTOD
                 : copy->kind == ABI_COPY_DTOH ? SIM_DTOH
                                               : SIM_LOCAL;
    op->duration_ns = duration(copy->bytes, gbps);
    op->work = move_bytes;
    op->dst = (void *)copy->dst;
    op->src = (const void *)copy->src;
    op->bytes = copy->bytes;
    op->counts_as_copy = copy->kind != ABI_COPY_HTOH;
    if (copy->kind == ABI_COPY_HTOD && copy->src_kind == SIM_PAGEABLE && copy->async &&
        copy->bytes <= STAGED_BYTES && (op->owned = malloc(copy->bytes + 1))) {
        memcpy(op->owned, op->src, copy->bytes);
        op->src = op->owned;
        return;
    }
    op->by_caller = pageable || (!copy->async && copy->kind != ABI_COPY_DTOD);
}

static abi_cu_result run(const struct sim_call *call, struct copy *copy, abi_cu_stream handle)
{
    abi_cu_stream stream;

    abi_cu_result result = sim_stream_find(call, handle, &stream);
    if (result == ABI_CU_SUCCESS)
        result = describe(copy);
    if (result != ABI_CU_SUCCESS || copy->bytes == 0)
        return result;
    pthread_mutex_lock(&sim.lock);
    struct sim_op *op = sim_op_new_locked(stream->context->device);
    if (!op) {
        pthread_mutex_unlock(&sim.lock);
        return ABI_CU_OUT_OF_MEMORY;
    }
    fill_operation(op, copy);
    if (sim_wants(ABI_KIND_MEMCPY))
        fill_record(op, call, copy, stream);
    bool here = op->by_caller;
    sim_op_submit_locked(op, stream);
    if (!here)
        sim_op_unref_locked(op);
    pthread_mutex_unlock(&sim.lock);
    if (here) {
        sim_op_run_here(op, sim_context_wait_mode(stream->context));
        pthread_mutex_lock(&sim.lock);
        sim_op_unref_locked(op);
        pthread_mutex_unlock(&sim.lock);
    }
    return ABI_CU_SUCCESS;
}

static abi_cu_result copy_now(const struct sim_call *call, uintptr_t dst, uintptr_t src,
                              size_t bytes)
{
    return run(call, &(struct copy){.dst = dst, .src = src, .bytes = bytes}, NULL);
}

static abi_cu_result copy_async(const struct sim_call *call, uintptr_t dst, uintptr_t src,
                                size_t bytes, abi_cu_stream stream)
{
    return run(call, &(struct copy){.dst = dst, .src = src, .bytes = bytes, .async = true}, stream);
}

/* The device's side of a typed copy has to be memory that the driver knows. */
static bool is_known(abi_cu_ptr address)
{
    struct sim_allocation row;
    return sim_memory_find((uintptr_t)address, &row);
}

abi_cu_result do_cuMemcpy(struct sim_call *call, abi_cu_ptr dst, abi_cu_ptr src, size_t bytes)
{
    return copy_now(call, (uintptr_t)dst, (uintptr_t)src, bytes);
}

abi_cu_result do_cuMemcpyAsync(struct sim_call *call, abi_cu_ptr dst, abi_cu_ptr src, size_t bytes,
                               abi_cu_stream stream)
{
    return copy_async(call, (uintptr_t)dst, (uintptr_t)src, bytes, stream);
}

abi_cu_result do_cuMemcpyHtoD_v2(struct sim_call *call, abi_cu_ptr dst, const void *src,
                                 size_t bytes)
{
    if (!src || !is_known(dst))
        return ABI_CU_INVALID_VALUE;
    return copy_now(call, (uintptr_t)dst, (uintptr_t)src, bytes);
}

abi_cu_result do_cuMemcpyDtoH_v2(struct sim_call *call, void *dst, abi_cu_ptr src, size_t bytes)
{
    if (!dst || !is_known(src))
        return ABI_CU_INVALID_VALUE;
    return copy_now(call, (uintptr_t)dst, (uintptr_t)src, bytes);
}

abi_cu_result do_cuMemcpyDtoD_v2(struct sim_call *call, abi_cu_ptr dst, abi_cu_ptr src,
                                 size_t bytes)
{
    if (!is_known(dst) || !is_known(src))
        return ABI_CU_INVALID_VALUE;
    return copy_now(call, (uintptr_t)dst, (uintptr_t)src, bytes);
}

abi_cu_result do_cuMemcpyHtoDAsync_v2(struct sim_call *call, abi_cu_ptr dst, const void *src,
                                      size_t bytes, abi_cu_stream stream)
{
    if (!src || !is_known(dst))
        return ABI_CU_INVALID_VALUE;
    return copy_async(call, (uintptr_t)dst, (uintptr_t)src, bytes, stream);
}

abi_cu_result do_cuMemcpyDtoHAsync_v2(struct sim_call *call, void *dst, abi_cu_ptr src,
                                      size_t bytes, abi_cu_stream stream)
{
    if (!dst || !is_known(src))
        return ABI_CU_INVALID_VALUE;
    return copy_async(call, (uintptr_t)dst, (uintptr_t)src, bytes, stream);
}

abi_cu_result do_cuMemcpyDtoDAsync_v2(struct sim_call *call, abi_cu_ptr dst, abi_cu_ptr src,
                                      size_t bytes, abi_cu_stream stream)
{
    if (!is_known(dst) || !is_known(src))
        return ABI_CU_INVALID_VALUE;
    return copy_async(call, (uintptr_t)dst, (uintptr_t)src, bytes, stream);
}

abi_cu_result do_cuMemcpyPeer(struct sim_call *call, abi_cu_ptr dst, abi_cu_context dst_context,
                              abi_cu_ptr src, abi_cu_context src_context, size_t bytes)
{
    return do_cuMemcpyDtoD_v2(call, dst, src, bytes);
}

abi_cu_result do_cuMemcpyPeerAsync(struct sim_call *call, abi_cu_ptr dst,
                                   abi_cu_context dst_context, abi_cu_ptr src,
                                   abi_cu_context src_context, size_t bytes, abi_cu_stream stream)
{
    return do_cuMemcpyDtoDAsync_v2(call, dst, src, bytes, stream);
}

/* ---- memsets ------------------------------------------------------------------------ */

struct set {
    abi_cu_ptr dst;
    uint32_t value, width;
    size_t count;
    bool async;
};

static void fill_set_record(struct sim_op *op, const struct sim_call *call, const struct set *set,
                            enum sim_memory_kind kind, abi_cu_stream stream)
{
    memset(&op->record.set, 0, sizeof(op->record.set));
    op->record.set.kind = ABI_KIND_MEMSET;
    op->record.set.value = set->value;
    op->record.set.bytes = set->count * set->width;
    op->record.set.device_id = (uint32_t)stream->context->ordinal;
    op->record.set.context_id = stream->context->uid;
    op->record.set.stream_id = stream->id;
    op->record.set.correlation_id = call->correlation;
    op->record.set.flags = set->async ? ABI_FLAG_MEMSET_ASYNC : 0;
    op->record.set.memory_kind = (uint16_t)record_kinds[kind];
    op->record.set.channel_id = 8;
    op->record.set.channel_type = 1; /* compute */
}

static abi_cu_result run_set(const struct sim_call *call, const struct set *set,
                             abi_cu_stream handle)
{
    abi_cu_stream stream;
    enum sim_memory_kind kind;

    if (set->dst % set->width || !is_known(set->dst) || set->count > SIZE_MAX / set->width)
        return ABI_CU_INVALID_VALUE;
    abi_cu_result result = sim_stream_find(call, handle, &stream);
    if (result == ABI_CU_SUCCESS)
        result = classify((uintptr_t)set->dst, set->count * set->width, &kind);
    if (result != ABI_CU_SUCCESS || set->count == 0)
        return result;
    pthread_mutex_lock(&sim.lock);
    struct sim_op *op = sim_op_new_locked(stream->context->device);
    if (op) {
        op->engine = SIM_LOCAL;
        op->work = set_bytes;
        op->dst = (void *)(uintptr_t)set->dst;
        op->bytes = set->count * set->width;
        op->value = set->value;
        op->width = set->width;
        op->duration_ns = duration(op->bytes, DEVICE_GBPS);
        op->counts_as_kernel = true;
        if (sim_wants(ABI_KIND_MEMSET))
            fill_set_record(op, call, set, kind, stream);
        sim_op_submit_locked(op, stream);
        sim_op_unref_locked(op);
    }
    pthread_mutex_unlock(&sim.lock);
    return op ? ABI_CU_SUCCESS : ABI_CU_OUT_OF_MEMORY;
}

abi_cu_result do_cuMemsetD8_v2(struct sim_call *call, abi_cu_ptr dst, unsigned char value,
                               size_t count)
{
    return run_set(call, &(struct set){dst, value, 1, count, false}, NULL);
}

abi_cu_result do_cuMemsetD16_v2(struct sim_call *call, abi_cu_ptr dst, unsigned short value,
                                size_t count)
{
    return run_set(call, &(struct set){dst, value, 2, count, false}, NULL);
}

abi_cu_result do_cuMemsetD32_v2(struct sim_call *call, abi_cu_ptr dst, unsigned value, size_t count)
{
    return run_set(call, &(struct set){dst, value, 4, count, false}, NULL);
}

abi_cu_result do_cuMemsetD8Async(struct sim_call *call, abi_cu_ptr dst, unsigned char value,
                                 size_t count, abi_cu_stream stream)
{
    return run_set(call, &(struct set){dst, value, 1, count, true}, stream);
}

abi_cu_result do_cuMemsetD16Async(struct sim_call *call, abi_cu_ptr dst, unsigned short value,
                                  size_t count, abi_cu_stream stream)
{
    return run_set(call, &(struct set){dst, value, 2, count, true}, stream);
}

abi_cu_result do_cuMemsetD32Async(struct sim_call *call, abi_cu_ptr dst, unsigned value,
                                  size_t count, abi_cu_stream stream)
{
    return run_set(call, &(struct set){dst, value, 4, count, true}, stream);
}
