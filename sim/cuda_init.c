/* SPDX-License-Identifier: MIT */
/*
 * cuda_init: the start of the driver in a process, its devices, and its end.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda.h"

struct sim_process sim = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;

/* Threads and queues did not come along into the child: nothing can work there any more. */
static void after_fork(void)
{
    atomic_store(&sim.forked, true);
}

static void at_exit(void)
{
    if (sim.share_path[0] && sim.share_pid == getpid())
        share_remove(sim.config.dir, sim.share_path);
}

static abi_cu_result init_devices(void)
{
    int visible[SIM_DEVICES_MAX];

    sim_config_read(&sim.config);
    sim.device_count = sim_visible_devices(&sim.config, visible);
    if (sim.device_count == 0)
        return ABI_CU_NO_DEVICE;
    sim.share = share_create(sim.config.dir, sim.share_path);
    sim.share_pid = getpid();
    if (!sim.share)
        return ABI_CU_OUT_OF_MEMORY;
    sim_condition_init(&sim.done);
    for (int i = 0; i < sim.device_count; i++) {
        struct sim_device *device = &sim.devices[i];
        device->physical = visible[i];
        device->shared = &sim.share->devices[visible[i]];
        sim_timeline_init_device(device);
    }
    pthread_atfork(NULL, NULL, after_fork);
    atexit(at_exit);
    return ABI_CU_SUCCESS;
}

/* As the driver does at the end of its first initialisation. A library that cannot be loaded is
 * passed over. */
static void load_injection(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (!path || !*path)
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    int (*initialize)(void) = (int (*)(void))(uintptr_t)dlsym(library, "InitializeInjection");
    if (initialize)
        initialize();
}

abi_cu_result do_cuInit(struct sim_call *call, unsigned flags)
{
    bool first = false;

    if (flags != 0)
        return ABI_CU_INVALID_VALUE;
    if (atomic_load(&sim.forked))
        return ABI_CU_NOT_INITIALIZED;
    pthread_mutex_lock(&init_lock);
    if (!atomic_load(&sim.ready) && !sim.failed_init) {
        sim.init_result = init_devices();
        sim.failed_init = sim.init_result != ABI_CU_SUCCESS;
        first = !sim.failed_init;
        atomic_store_explicit(&sim.ready, first, memory_order_release);
    }
    abi_cu_result result = sim.init_result;
    pthread_mutex_unlock(&init_lock);
    if (first) {
        load_injection();
        sim_call_resource(ABI_RESOURCE_INIT_FINISHED, NULL, NULL);
    }
    return result;
}

abi_cu_result do_cuDriverGetVersion(struct sim_call *call, int *version)
{
    if (!version)
        return ABI_CU_INVALID_VALUE;
    *version = SIM_CUDA_VERSION;
    return ABI_CU_SUCCESS;
}

static bool is_device(abi_cu_device dev)
{
    return dev >= 0 && dev < sim.device_count;
}

abi_cu_result do_cuDeviceGet(struct sim_call *call, abi_cu_device *device, int ordinal)
{
    if (!device)
        return ABI_CU_INVALID_VALUE;
    if (!is_device(ordinal))
        return ABI_CU_INVALID_DEVICE;
    *device = ordinal;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuDeviceGetCount(struct sim_call *call, int *count)
{
    if (!count)
        return ABI_CU_INVALID_VALUE;
    *count = sim.device_count;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuDeviceGetName(struct sim_call *call, char *name, int len, abi_cu_device dev)
{
    if (!name || len <= 0)
        return ABI_CU_INVALID_VALUE;
    if (!is_device(dev))
        return ABI_CU_INVALID_DEVICE;
    snprintf(name, (size_t)len, "%s", SIM_DEVICE_NAME);
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuDeviceTotalMem_v2(struct sim_call *call, size_t *bytes, abi_cu_device dev)
{
    if (!bytes)
        return ABI_CU_INVALID_VALUE;
    if (!is_device(dev))
        return ABI_CU_INVALID_DEVICE;
    *bytes = sim.config.memory_bytes;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuDeviceGetUuid(struct sim_call *call, struct abi_cu_uuid *uuid, abi_cu_device dev)
{
    uint8_t bytes[16];

    if (!uuid)
        return ABI_CU_INVALID_VALUE;
    if (!is_device(dev))
        return ABI_CU_INVALID_DEVICE;
    sim_device_uuid(sim.devices[dev].physical, bytes);
    memcpy(uuid->bytes, bytes, sizeof(bytes));
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuDeviceGetUuid_v2(struct sim_call *call, struct abi_cu_uuid *uuid,
                                    abi_cu_device dev)
{
    return do_cuDeviceGetUuid(call, uuid, dev);
}

abi_cu_result do_cuDeviceGetPCIBusId(struct sim_call *call, char *text, int len, abi_cu_device dev)
{
    if (!text || len <= 0)
        return ABI_CU_INVALID_VALUE;
    if (!is_device(dev))
        return ABI_CU_INVALID_DEVICE;
    snprintf(text, (size_t)len, "0000:%02X:00.0", SIM_PCI_BUS_FIRST + sim.devices[dev].physical);
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuDeviceGetByPCIBusId(struct sim_call *call, abi_cu_device *dev, const char *text)
{
    unsigned domain = 0, bus, device;

    if (!dev || !text)
        return ABI_CU_INVALID_VALUE;
    if (sscanf(text, "%x:%x:%x", &domain, &bus, &device) != 3) {
        domain = 0;
        if (sscanf(text, "%x:%x", &bus, &device) != 2)
            return ABI_CU_INVALID_VALUE;
    }
    for (int i = 0; i < sim.device_count; i++)
        if (domain == 0 && device == 0 && (int)bus == SIM_PCI_BUS_FIRST + sim.devices[i].physical) {
            *dev = i;
            return ABI_CU_SUCCESS;
        }
    return ABI_CU_INVALID_DEVICE;
}

abi_cu_result do_cuDeviceComputeCapability(struct sim_call *call, int *major, int *minor,
                                           abi_cu_device dev)
{
    if (!major || !minor)
        return ABI_CU_INVALID_VALUE;
    if (!is_device(dev))
        return ABI_CU_INVALID_DEVICE;
    *major = 9;
    *minor = 0;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuDeviceCanAccessPeer(struct sim_call *call, int *can, abi_cu_device dev,
                                       abi_cu_device peer)
{
    if (!can)
        return ABI_CU_INVALID_VALUE;
    if (!is_device(dev) || !is_device(peer))
        return ABI_CU_INVALID_DEVICE;
    *can = dev != peer;
    return ABI_CU_SUCCESS;
}

/* Attribute numbers of CUdevice_attribute that programs ask for; any other is 0. */
static const struct {
    int attribute, value;
} attributes[] = {
    {1, 1024},                                   /* threads per block */
    {2, 1024},                                   /* block x, y, z */
    {3, 1024},       {4, 64},    {5, INT32_MAX}, /* grid x, y, z */
    {6, 65535},      {7, 65535}, {8, 49152},     /* shared memory per block */
    {9, 65536},                                  /* constant memory */
    {10, 32},                                    /* warp size */
    {11, INT32_MAX},                             /* pitch */
    {12, 65536},                                 /* registers per block */
    {13, 1980000},                               /* clock, kHz */
    {14, 512},                                   /* texture alignment */
    {15, 1},                                     /* copies overlap kernels */
    {16, 132},                                   /* multiprocessors */
    {19, 1},                                     /* maps host memory */
    {31, 1},                                     /* concurrent kernels */
    {32, 1},                                     /* ECC */
    {36, 2619000},                               /* memory clock, kHz */
    {37, 5120},                                  /* memory bus width */
    {38, 52428800},                              /* L2 cache */
    {39, 2048},                                  /* threads per multiprocessor */
    {40, 2},                                     /* copy engines */
    {41, 1},                                     /* unified addressing */
    {75, 9},                                     /* compute capability */
    {76, 0},         {78, 1},                    /* stream priorities */
    {79, 1},         {80, 1},    {81, 233472},   /* shared memory per multiprocessor */
    {82, 65536},     {83, 1},                    /* managed memory */
    {90, 1},         {91, 1},                    /* host pointer usable for registered memory */
    {95, 1},                                     /* cooperative launch */
    {97, 232448},                                /* shared memory per block, opt in */
    {99, 1},                                     /* host memory may be registered */
    {106, 32},                                   /* blocks per multiprocessor */
};

abi_cu_result do_cuDeviceGetAttribute(struct sim_call *call, int *value, int attribute,
                                      abi_cu_device dev)
{
    enum { BUS = 33, LAST = 200 };

    if (!value || attribute <= 0 || attribute > LAST)
        return ABI_CU_INVALID_VALUE;
    if (!is_device(dev))
        return ABI_CU_INVALID_DEVICE;
    *value = attribute == BUS ? SIM_PCI_BUS_FIRST + sim.devices[dev].physical : 0;
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
        if (attributes[i].attribute == attribute)
            *value = attributes[i].value;
    return ABI_CU_SUCCESS;
}
