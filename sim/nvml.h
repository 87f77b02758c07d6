/* SPDX-License-Identifier: MIT */
/*
 * nvml: what of NVML's binary interface the simulated library answers, declared
 * here because its header is nowhere needed.
 */
#ifndef GPUFEED_SIM_NVML_H
#define GPUFEED_SIM_NVML_H

#include <stdint.h>

#include "config.h"
#include "share.h"

typedef int nvml_result; /* nvmlReturn_t */
typedef struct nvml_device *nvml_device;

enum nvml_error {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_ALREADY_INITIALIZED = 5,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_UNKNOWN = 999,
};

struct nvml_pci { /* nvmlPciInfo_t */
    char bus_id_legacy[16];
    uint32_t domain, bus, device;
    uint32_t pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

struct nvml_utilization {
    uint32_t gpu, memory; /* per cent */
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_memory_v2 {
    uint32_t version; /* size | 2 << 24 */
    unsigned long long total, reserved, free, used;
};

struct nvml_process { /* nvmlProcessInfo_t, as _v3 fills it */
    uint32_t pid;
    unsigned long long used_memory;
    uint32_t gpu_instance, compute_instance; /* UINT32_MAX: none */
};

struct nvml_process_sample { /* nvmlProcessUtilizationSample_t */
    uint32_t pid;
    unsigned long long time_us;
    uint32_t sm, memory, encoder, decoder;
};

struct nvml_sample {
    unsigned long long time_us;
    union {
        double d;
        uint32_t ui;
        unsigned long ul;
        unsigned long long ull;
    } value;
};

_Static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(struct nvml_process) == 24, "nvmlProcessInfo_t");
_Static_assert(sizeof(struct nvml_process_sample) == 32, "nvmlProcessUtilizationSample_t");
_Static_assert(sizeof(struct nvml_sample) == 16, "nvmlSample_t");

struct sim_config;

/* The configuration once nvmlInit was called, else NULL. */
const struct sim_config *nvml_config(void);
/* NVML_OK and the device's number when the library is initialised and the handle is one of ours. */
nvml_result nvml_index(nvml_device device, int *ret_index);
/* All living processes that use simulated devices; close it after. */
void nvml_view(struct share_view *view);
/* Share of the last `window` ns during which kernels ran, in per cent; process NULL: of all. */
unsigned nvml_busy_percent(const struct share_view *view, const struct share_process *process,
                           int device, enum share_engine engine, int64_t window);

#endif
