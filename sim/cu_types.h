/* SPDX-License-Identifier: MIT */
/*
 * cu_types: types of CUDA's binary interface that only the driver library
 * needs; the others are in probe/cuda_abi.h.
 */
#ifndef GPUFEED_SIM_CU_TYPES_H
#define GPUFEED_SIM_CU_TYPES_H

#include "probe/cuda_abi.h"

typedef void (*sim_host_fn)(void *user_data);
typedef void (*sim_stream_callback)(abi_cu_stream stream, abi_cu_result status, void *user_data);

struct sim_launch_config { /* CUlaunchConfig */
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    abi_cu_stream stream;
    void *attributes;
    unsigned attribute_count;
};

struct sim_context_params { /* CUctxCreateParams */
    void *affinity;
    int affinity_count;
    void *cig;
};

#endif
