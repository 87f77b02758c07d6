/* SPDX-License-Identifier: MIT */
/*
 * cuda_call: what happens at the entry and exit of every driver function, and
 * the seam to libcupti.
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda.h"

static _Thread_local pid_t thread_id; /* of this thread, 0: not asked yet */

bool sim_wants(enum abi_kind kind)
{
    struct sim_hooks *hooks = atomic_load_explicit(&sim.hooks, memory_order_acquire);
    return hooks && atomic_load_explicit(&hooks->kinds, memory_order_relaxed) >> kind & 1;
}

static void callback(struct sim_hooks *hooks, struct sim_call *call, int site)
{
    abi_cu_context context = sim_context_current();
    struct abi_callback_data data = {
        .site = site,
        .function_name = call->kind.name,
        .params = call->kind.args,
        .return_value = &call->result,
        .symbol_name = call->kind.symbol ? sim_function_name(call->kind.symbol) : NULL,
        .context = context,
        .context_uid = context ? context->uid : 0,
        .correlation_data = &call->data,
        .correlation_id = call->correlation,
    };
    hooks->api(call->kind.cbid, &data);
}

abi_cu_result sim_call_enter(struct sim_call *call, const struct sim_call_kind *kind)
{
    struct sim_hooks *hooks;

    *call = (struct sim_call){.kind = *kind};
    if (atomic_load_explicit(&sim.forked, memory_order_relaxed) ||
        !atomic_load_explicit(&sim.ready, memory_order_acquire))
        return kind->early ? ABI_CU_SUCCESS : ABI_CU_NOT_INITIALIZED;
    call->correlation = atomic_fetch_add_explicit(&sim.correlation, 1, memory_order_relaxed) + 1;
    call->start_ns = sim_now();
    hooks = atomic_load_explicit(&sim.hooks, memory_order_acquire);
    if (hooks && atomic_load_explicit(&hooks->callbacks[kind->cbid], memory_order_relaxed)) {
        call->entered = true;
        callback(hooks, call, ABI_SITE_ENTER);
    }
    return ABI_CU_SUCCESS;
}

static void record_call(struct sim_hooks *hooks, const struct sim_call *call)
{
    int64_t end = sim_now();

    if (thread_id == 0)
        thread_id = (pid_t)syscall(SYS_gettid);
    union sim_record record = {.api = {
                                   .kind = ABI_KIND_DRIVER,
                                   .cbid = call->kind.cbid,
                                   .start = (uint64_t)call->start_ns,
                                   .end = (uint64_t)end,
                                   .process_id = (uint32_t)getpid(),
                                   .thread_id = (uint32_t)thread_id,
                                   .correlation_id = call->correlation,
                                   .return_value = (uint32_t)call->result,
                               }};
    pthread_mutex_lock(&sim.lock);
    hooks->record(&record, end);
    pthread_mutex_unlock(&sim.lock);
}

abi_cu_result sim_call_leave(struct sim_call *call, abi_cu_result result)
{
    struct sim_hooks *hooks = atomic_load_explicit(&sim.hooks, memory_order_acquire);

    call->result = result;
    if (!hooks || call->correlation == 0 || atomic_load_explicit(&sim.forked, memory_order_relaxed))
        return result;
    if (atomic_load_explicit(&hooks->api_records[call->kind.cbid], memory_order_relaxed))
        record_call(hooks, call);
    if (call->entered)
        callback(hooks, call, ABI_SITE_EXIT);
    return call->result;
}

void sim_call_resource(uint32_t cbid, abi_cu_context context, abi_cu_stream stream)
{
    struct sim_hooks *hooks = atomic_load_explicit(&sim.hooks, memory_order_acquire);

    if (hooks && atomic_load_explicit(&hooks->resources, memory_order_relaxed) >> cbid & 1)
        hooks->resource(cbid, context, stream);
}

void sim_record_sync(const struct sim_call *call, enum abi_sync_type type, abi_cu_context context,
                     uint32_t stream, uint32_t event)
{
    struct sim_hooks *hooks = atomic_load_explicit(&sim.hooks, memory_order_acquire);
    int64_t end = sim_now();

    if (!hooks)
        return;
    if (sim_wants(ABI_KIND_SYNCHRONIZATION)) {
        union sim_record record = {.sync = {
                                       .kind = ABI_KIND_SYNCHRONIZATION,
                                       .type = type,
                                       .start = (uint64_t)call->start_ns,
                                       .end = (uint64_t)end,
                                       .correlation_id = call->correlation,
                                       .context_id = context->uid,
                                       .stream_id = stream,
                                       .cuda_event_id = event,
                                   }};
        pthread_mutex_lock(&sim.lock);
        hooks->record(&record, end);
        pthread_mutex_unlock(&sim.lock);
    }
    uint32_t cbid = type == ABI_SYNC_CONTEXT ? ABI_SYNCHRONIZE_CONTEXT : ABI_SYNCHRONIZE_STREAM;
    if ((type == ABI_SYNC_CONTEXT || type == ABI_SYNC_STREAM) &&
        atomic_load_explicit(&hooks->synchronizes, memory_order_relaxed) >> cbid & 1)
        hooks->synchronize(cbid, context, NULL);
}

/* ---- what libcupti asks ---------------------------------------------------- */

static void attach(struct sim_hooks *hooks)
{
    atomic_store_explicit(&sim.hooks, hooks, memory_order_release);
}

static bool usable(void)
{
    return !atomic_load_explicit(&sim.forked, memory_order_relaxed);
}

static bool context_info(abi_cu_context context, uint32_t *uid, uint32_t *device)
{
    if (sim_context_check(context) != ABI_CU_SUCCESS)
        return false;
    *uid = context->uid;
    *device = (uint32_t)context->ordinal;
    return true;
}

static bool stream_info(abi_cu_context context, abi_cu_stream stream, bool per_thread, uint32_t *id)
{
    struct sim_call call = {.kind.thread_default = per_thread};
    abi_cu_stream found;

    if (sim_context_check(context) != ABI_CU_SUCCESS)
        return false;
    if (!stream && !per_thread) {
        *id = context->legacy->id;
        return true;
    }
    if (sim_stream_find(&call, stream, &found) != ABI_CU_SUCCESS)
        return false;
    *id = found->id;
    return true;
}

SIM_EXPORT const struct sim_driver *sim_driver_v1(void)
{
    static const struct sim_driver driver = {
        .attach = attach,
        .usable = usable,
        .current = sim_context_current,
        .context_info = context_info,
        .stream_info = stream_info,
    };
    return &driver;
}
