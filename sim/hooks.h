/* SPDX-License-Identifier: MIT */
/*
 * hooks: the private seam between the simulated libcuda and libcupti.
 *
 * libcupti finds sim_driver_v1 in libcuda by dlsym (a real libcuda has no such
 * symbol) and attaches one struct sim_hooks for the life of the process. libcuda
 * reads its switches at every call, so tracing that nobody asked for costs two
 * loads. Hooks may be called from any thread; `record` is called with libcuda's
 * lock held and must only store; `api` and `resource` are called without it.
 * All times that cross here are CLOCK_MONOTONIC ns.
 */
#ifndef GPUFEED_SIM_HOOKS_H
#define GPUFEED_SIM_HOOKS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "probe/cuda_abi.h"

union sim_record {
    struct abi_activity head;
    struct abi_kernel kernel;
    struct abi_memcpy copy;
    struct abi_memset set;
    struct abi_sync sync;
    struct abi_api api;
};

struct sim_hooks {
    _Atomic uint64_t kinds;                      /* bit enum abi_kind: records wanted */
    _Atomic uint8_t callbacks[ABI_CBID_LIMIT];   /* by driver cbid: call `api` */
    _Atomic uint8_t api_records[ABI_CBID_LIMIT]; /* by driver cbid: record kind DRIVER */
    _Atomic uint32_t resources;                  /* bit enum abi_resource_cbid: call `resource` */
    _Atomic uint32_t synchronizes;               /* bit enum abi_synchronize_cbid */
    void (*api)(uint32_t cbid, const struct abi_callback_data *data);
    void (*resource)(uint32_t cbid, abi_cu_context context, abi_cu_stream stream);
    void (*synchronize)(uint32_t cbid, abi_cu_context context, abi_cu_stream stream);
    void (*record)(const union sim_record *record, int64_t end_ns);
};

struct sim_driver {
    void (*attach)(struct sim_hooks *hooks);
    /* False once the process is the child of a fork of an initialised one. */
    bool (*usable)(void);
    abi_cu_context (*current)(void);
    bool (*context_info)(abi_cu_context context, uint32_t *uid, uint32_t *device);
    bool (*stream_info)(abi_cu_context context, abi_cu_stream stream, bool per_thread,
                        uint32_t *id);
};

const struct sim_driver *sim_driver_v1(void);

#endif
