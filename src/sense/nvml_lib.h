/* SPDX-License-Identifier: MIT */
/*
 * nvml_lib: NVIDIA's management library, found at run time and never linked.
 *
 * Types and numbers are declared here with the ABI of NVML 11 and later (docs.nvidia.com,
 * "NVML API Reference Guide"); no vendor header is needed. A function that this
 * library lacks is NULL. NVML is thread-safe.
 */
#ifndef GPUFEED_SENSE_NVML_LIB_H
#define GPUFEED_SENSE_NVML_LIB_H

#include "base/error.h"

#include <stddef.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define NVML_TEXT 96

enum nvml_return { NVML_SUCCESS = 0, NVML_INSUFFICIENT_SIZE = 7 };
enum nvml_sampling { NVML_TOTAL_POWER_SAMPLES = 0, NVML_GPU_UTILIZATION_SAMPLES = 1 };
enum nvml_value { NVML_VALUE_UNSIGNED_INT = 1 };
#define NVML_TEMPERATURE_GPU 0
#define NVML_CLOCK_SM 1

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device;
    unsigned pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

struct nvml_utilization {
    unsigned gpu, memory; /* per cent */
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_process {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};

struct nvml_sample {
    unsigned long long time_us;
    union {
        double d;
        unsigned ui;
        unsigned long long ull;
    } value;
};

_Static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct nvml_process) == 24, "nvmlProcessInfo_t");
_Static_assert(sizeof(struct nvml_sample) == 16, "nvmlSample_t");

/* nvmlGpuFabricInfoV_t as of version 2; version 3 adds a byte behind it. */
struct nvml_fabric {
    unsigned version; /* size | number << 24 */
    unsigned char cluster[16];
    int status; /* NVML's result of joining the fabric */
    unsigned clique;
    unsigned char state; /* enum nvml_fabric_state */
    unsigned health;     /* NVML_HEALTH_* */
};
#define NVML_FABRIC_VERSION ((unsigned)sizeof(struct nvml_fabric) | 2u << 24)
enum nvml_fabric_state {
    NVML_FABRIC_UNSUPPORTED,
    NVML_FABRIC_NOT_STARTED,
    NVML_FABRIC_IN_PROGRESS,
    NVML_FABRIC_COMPLETED
};
enum nvml_p2p { NVML_P2P_READ = 0, NVML_P2P_NVLINK = 2 };
enum nvml_p2p_status { NVML_P2P_OK = 0, NVML_P2P_DISABLED_BY_REGKEY = 4 };
#define NVML_LINKS_MAX 36 /* NVML_NVLINK_MAX_LINKS of API 13 */

_Static_assert(sizeof(struct nvml_fabric) == 36, "nvmlGpuFabricInfo_v2_t");

typedef void *nvml_device;

struct nvml_lib {
    void *handle;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_text)(int result);
    int (*driver_version)(char *text, unsigned size);
    int (*cuda_version)(int *version);
    int (*count)(unsigned *count);
    int (*by_index)(unsigned index, nvml_device *device);
    int (*name)(nvml_device d, char *text, unsigned size);
    int (*uuid)(nvml_device d, char *text, unsigned size);
    int (*pci)(nvml_device d, struct nvml_pci *pci);
    int (*utilization)(nvml_device d, struct nvml_utilization *u);
    int (*samples)(nvml_device d, unsigned type, unsigned long long since_us, unsigned *value_type,
                   unsigned *count, struct nvml_sample *samples);
    int (*memory)(nvml_device d, struct nvml_memory *m);
    int (*power)(nvml_device d, unsigned *milliwatts);
    int (*power_limit)(nvml_device d, unsigned *milliwatts);
    int (*energy)(nvml_device d, unsigned long long *millijoules);
    int (*temperature)(nvml_device d, unsigned sensor, unsigned *celsius);
    int (*clock)(nvml_device d, unsigned type, unsigned *mhz);
    int (*max_clock)(nvml_device d, unsigned type, unsigned *mhz);
    int (*throttle)(nvml_device d, unsigned long long *reasons);
    int (*link_gen)(nvml_device d, unsigned *v);
    int (*link_gen_max)(nvml_device d, unsigned *v);
    int (*link_width)(nvml_device d, unsigned *v);
    int (*link_width_max)(nvml_device d, unsigned *v);
    int (*mig)(nvml_device d, unsigned *current, unsigned *pending);
    int (*processes)(nvml_device d, unsigned *count, struct nvml_process *list);
    int (*persistence)(nvml_device d, unsigned *mode);
    int (*link_state)(nvml_device d, unsigned link, unsigned *active); /* NVLink */
    int (*fabric)(nvml_device d, struct nvml_fabric *info);
    int (*p2p)(nvml_device one, nvml_device other, unsigned index, int *status);
};

/* path NULL: NVML_LIBRARY. Opens, but does not initialise (that may take seconds). */
int nvml_lib_open(struct nvml_lib *l, const char *path, struct error *e);
void nvml_lib_close(struct nvml_lib *l);

#endif
