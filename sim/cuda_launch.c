/* SPDX-License-Identifier: MIT */
/*
 * cuda_launch: kernels.
 */
#include <string.h>

#include "cuda.h"

#define OTHER_KERNEL_NS (10 * NS_PER_US) /* a kernel that says nothing of its length */
#define KERNEL_NS_MAX (3600 * NS_PER_S)
#define THREADS_PER_BLOCK_MAX 1024u

struct launch {
    abi_cu_function function;
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    abi_cu_stream stream;
    void **params, **extra;
};

/* The first parameter of a spin kernel, from either form of passing parameters. */
static abi_cu_result spin_length(const struct launch *launch, int64_t *ret_ns)
{
    enum { EXTRA_END = 0, EXTRA_POINTER = 1, EXTRA_SIZE = 2 };
    const void *first = launch->params ? launch->params[0] : NULL;
    size_t room = sizeof(uint64_t);
    uint64_t ns;

    for (void **at = launch->extra; !first && at && (uintptr_t)*at != EXTRA_END; at += 2) {
        if ((uintptr_t)at[0] == EXTRA_SIZE)
            room = *(size_t *)at[1];
        else if ((uintptr_t)at[0] != EXTRA_POINTER)
            return ABI_CU_INVALID_VALUE;
    }
    for (void **at = launch->extra; !first && at && (uintptr_t)*at != EXTRA_END; at += 2)
        if ((uintptr_t)at[0] == EXTRA_POINTER)
            first = at[1];
    if (!first || room < sizeof(ns))
        return ABI_CU_INVALID_VALUE;
    memcpy(&ns, first, sizeof(ns));
    *ret_ns = ns == 0 ? 1 : ns > (uint64_t)KERNEL_NS_MAX ? KERNEL_NS_MAX : (int64_t)ns;
    return ABI_CU_SUCCESS;
}

static abi_cu_result check(const struct launch *launch, int64_t *ret_ns)
{
    const unsigned *grid = launch->grid, *block = launch->block;

    if (!sim_function_name(launch->function))
        return ABI_CU_INVALID_HANDLE;
    for (int i = 0; i < 3; i++)
        if (grid[i] == 0 || block[i] == 0 || block[i] > THREADS_PER_BLOCK_MAX)
            return ABI_CU_INVALID_VALUE;
    if ((uint64_t)block[0] * block[1] * block[2] > THREADS_PER_BLOCK_MAX)
        return ABI_CU_INVALID_VALUE;
    if (launch->params && launch->extra)
        return ABI_CU_INVALID_VALUE;
    *ret_ns = OTHER_KERNEL_NS;
    return launch->function->takes_ns ? spin_length(launch, ret_ns) : ABI_CU_SUCCESS;
}

static void fill_record(struct sim_op *op, const struct sim_call *call, const struct launch *launch,
                        abi_cu_stream stream)
{
    struct abi_kernel *kernel = &op->record.kernel;

    memset(kernel, 0, sizeof(*kernel));
    kernel->kind = ABI_KIND_CONCURRENT_KERNEL;
    kernel->registers_per_thread = 16;
    kernel->device_id = (uint32_t)stream->context->ordinal;
    kernel->context_id = stream->context->uid;
    kernel->stream_id = stream->id;
    for (int i = 0; i < 3; i++) {
        kernel->grid[i] = (int32_t)launch->grid[i];
        kernel->block[i] = (int32_t)launch->block[i];
    }
    kernel->dynamic_shared_memory = (int32_t)launch->shared_bytes;
    kernel->correlation_id = call->correlation;
    kernel->grid_id = atomic_fetch_add_explicit(&sim.grids, 1, memory_order_relaxed) + 1;
    kernel->name = launch->function->name;
    kernel->channel_id = 8;
    kernel->channel_type = 1; /* compute */
}

static abi_cu_result launch_kernel(const struct sim_call *call, const struct launch *launch)
{
    abi_cu_stream stream;
    int64_t ns;

    abi_cu_result result = check(launch, &ns);
    if (result == ABI_CU_SUCCESS)
        result = sim_stream_find(call, launch->stream, &stream);
    if (result != ABI_CU_SUCCESS)
        return result;
    if (sim.config.launch_ns)
        sim_wait_until(call->start_ns + sim.config.launch_ns, SIM_WAIT_SPIN);
    pthread_mutex_lock(&sim.lock);
    sim_stream_make_room_locked(stream);
    struct sim_op *op = sim_op_new_locked(stream->context->device);
    if (op) {
        op->duration_ns = ns;
        op->counts_as_kernel = true;
        if (sim_wants(ABI_KIND_CONCURRENT_KERNEL) || sim_wants(ABI_KIND_KERNEL))
            fill_record(op, call, launch, stream);
        sim_op_submit_locked(op, stream);
        sim_op_unref_locked(op);
    }
    pthread_mutex_unlock(&sim.lock);
    return op ? ABI_CU_SUCCESS : ABI_CU_OUT_OF_MEMORY;
}

abi_cu_result do_cuLaunchKernel(struct sim_call *call, abi_cu_function function, unsigned grid_x,
                                unsigned grid_y, unsigned grid_z, unsigned block_x,
                                unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                abi_cu_stream stream, void **params, void **extra)
{
    return launch_kernel(call, &(struct launch){function,
                                                {grid_x, grid_y, grid_z},
                                                {block_x, block_y, block_z},
                                                shared_bytes,
                                                stream,
                                                params,
                                                extra});
}

abi_cu_result do_cuLaunchCooperativeKernel(struct sim_call *call, abi_cu_function function,
                                           unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                           unsigned block_x, unsigned block_y, unsigned block_z,
                                           unsigned shared_bytes, abi_cu_stream stream,
                                           void **params)
{
    return do_cuLaunchKernel(call, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                             shared_bytes, stream, params, NULL);
}

abi_cu_result do_cuLaunchKernelEx(struct sim_call *call, const struct sim_launch_config *config,
                                  abi_cu_function function, void **params, void **extra)
{
    struct launch launch = {.function = function, .params = params, .extra = extra};

    if (!config)
        return ABI_CU_INVALID_VALUE;
    memcpy(launch.grid, config->grid, sizeof(launch.grid));
    memcpy(launch.block, config->block, sizeof(launch.block));
    launch.shared_bytes = config->shared_bytes;
    launch.stream = config->stream;
    return launch_kernel(call, &launch);
}

/* Like the real ones they only switch what a profiler collects. */
abi_cu_result do_cuProfilerStart(struct sim_call *call)
{
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuProfilerStop(struct sim_call *call)
{
    return ABI_CU_SUCCESS;
}
