/* SPDX-License-Identifier: MIT */
/*
 * nvml_device: the life of the library, and what stands fast about its devices.
 */
#include "nvml.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DRIVER_VERSION "580.65.06"
#define NVML_VERSION "13.580.65.06"
#define MEMORY_VERSION_2 ((unsigned)sizeof(struct nvml_memory_v2) | 2u << 24)
#define RESERVED_BYTES UINT64_C(0)

/* Exported functions are declared where they are defined: nobody else includes them. */
#define NVML_EXPORT(prototype)                                                                     \
    SIM_EXPORT nvml_result prototype;                                                              \
    SIM_EXPORT nvml_result prototype

struct nvml_device {
    int index;
};

static struct {
    pthread_mutex_t lock;
    int users;
    struct sim_config config;
    struct nvml_device devices[SIM_DEVICES_MAX];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static nvml_result copy_text(char *out, unsigned length, const char *text)
{
    if (!out)
        return NVML_INVALID_ARGUMENT;
    if (strlen(text) >= length)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(out, text, strlen(text) + 1);
    return NVML_OK;
}

const struct sim_config *nvml_config(void)
{
    pthread_mutex_lock(&state.lock);
    const struct sim_config *config = state.users ? &state.config : NULL;
    pthread_mutex_unlock(&state.lock);
    return config;
}

nvml_result nvml_index(nvml_device device, int *ret_index)
{
    const struct sim_config *config = nvml_config();

    if (!config)
        return NVML_UNINITIALIZED;
    for (int i = 0; i < config->devices; i++)
        if (device == &state.devices[i]) {
            *ret_index = i;
            return NVML_OK;
        }
    return NVML_INVALID_ARGUMENT;
}

/* ---- life ---------------------------------------------------------------------- */

NVML_EXPORT(nvmlInit_v2(void))
{
    pthread_mutex_lock(&state.lock);
    if (state.users++ == 0) {
        sim_config_read(&state.config);
        for (int i = 0; i < SIM_DEVICES_MAX; i++)
            state.devices[i].index = i;
    }
    pthread_mutex_unlock(&state.lock);
    return NVML_OK;
}

NVML_EXPORT(nvmlInit(void))
{
    return nvmlInit_v2();
}

NVML_EXPORT(nvmlInitWithFlags(unsigned flags))
{
    return nvmlInit_v2();
}

NVML_EXPORT(nvmlShutdown(void))
{
    pthread_mutex_lock(&state.lock);
    nvml_result result = state.users ? NVML_OK : NVML_UNINITIALIZED;
    if (state.users)
        state.users--;
    pthread_mutex_unlock(&state.lock);
    return result;
}

SIM_EXPORT const char *nvmlErrorString(nvml_result result);
SIM_EXPORT const char *nvmlErrorString(nvml_result result)
{
    switch ((enum nvml_error)result) {
    case NVML_OK:
        return "Success";
    case NVML_UNINITIALIZED:
        return "Uninitialized";
    case NVML_INVALID_ARGUMENT:
        return "Invalid Argument";
    case NVML_NOT_SUPPORTED:
        return "Not Supported";
    case NVML_NO_PERMISSION:
        return "Insufficient Permissions";
    case NVML_ALREADY_INITIALIZED:
        return "Already Initialized";
    case NVML_NOT_FOUND:
        return "Not Found";
    case NVML_INSUFFICIENT_SIZE:
        return "Insufficient Size";
    case NVML_DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    case NVML_FUNCTION_NOT_FOUND:
        return "Function Not Found";
    case NVML_ARGUMENT_VERSION_MISMATCH:
        return "Argument Version Mismatch";
    case NVML_UNKNOWN:
        break;
    }
    return "Unknown Error";
}

NVML_EXPORT(nvmlSystemGetDriverVersion(char *version, unsigned length))
{
    return nvml_config() ? copy_text(version, length, DRIVER_VERSION) : NVML_UNINITIALIZED;
}

NVML_EXPORT(nvmlSystemGetNVMLVersion(char *version, unsigned length))
{
    return nvml_config() ? copy_text(version, length, NVML_VERSION) : NVML_UNINITIALIZED;
}

NVML_EXPORT(nvmlSystemGetCudaDriverVersion_v2(int *version))
{
    if (!version)
        return NVML_INVALID_ARGUMENT;
    *version = SIM_CUDA_VERSION;
    return NVML_OK;
}

NVML_EXPORT(nvmlSystemGetCudaDriverVersion(int *version))
{
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

/* ---- finding devices ---------------------------------------------------------------- */

NVML_EXPORT(nvmlDeviceGetCount_v2(unsigned *count))
{
    const struct sim_config *config = nvml_config();

    if (!config)
        return NVML_UNINITIALIZED;
    if (!count)
        return NVML_INVALID_ARGUMENT;
    *count = (unsigned)config->devices;
    return NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetCount(unsigned *count))
{
    return nvmlDeviceGetCount_v2(count);
}

NVML_EXPORT(nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device))
{
    const struct sim_config *config = nvml_config();

    if (!config)
        return NVML_UNINITIALIZED;
    if (!device || index >= (unsigned)config->devices)
        return NVML_INVALID_ARGUMENT;
    *device = &state.devices[index];
    return NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetHandleByIndex(unsigned index, nvml_device *device))
{
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

NVML_EXPORT(nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device))
{
    const struct sim_config *config = nvml_config();
    char own[48];

    if (!config)
        return NVML_UNINITIALIZED;
    if (!uuid || !device)
        return NVML_INVALID_ARGUMENT;
    for (int i = 0; i < config->devices; i++) {
        sim_device_uuid_text(i, own);
        if (strcasecmp(own, uuid) == 0) {
            *device = &state.devices[i];
            return NVML_OK;
        }
    }
    return NVML_NOT_FOUND;
}

NVML_EXPORT(nvmlDeviceGetHandleByPciBusId_v2(const char *text, nvml_device *device))
{
    const struct sim_config *config = nvml_config();
    unsigned domain, bus, slot;

    if (!config)
        return NVML_UNINITIALIZED;
    if (!text || !device || sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3)
        return NVML_INVALID_ARGUMENT;
    for (int i = 0; i < config->devices; i++)
        if (domain == 0 && slot == 0 && (int)bus == SIM_PCI_BUS_FIRST + i) {
            *device = &state.devices[i];
            return NVML_OK;
        }
    return NVML_NOT_FOUND;
}

NVML_EXPORT(nvmlDeviceGetHandleByPciBusId(const char *text, nvml_device *device))
{
    return nvmlDeviceGetHandleByPciBusId_v2(text, device);
}

/* ---- identity ------------------------------------------------------------------------- */

NVML_EXPORT(nvmlDeviceGetName(nvml_device device, char *name, unsigned length))
{
    int index;
    nvml_result result = nvml_index(device, &index);
    return result == NVML_OK ? copy_text(name, length, SIM_DEVICE_NAME) : result;
}

NVML_EXPORT(nvmlDeviceGetUUID(nvml_device device, char *uuid, unsigned length))
{
    char own[48];
    int index;
    nvml_result result = nvml_index(device, &index);

    if (result != NVML_OK)
        return result;
    sim_device_uuid_text(index, own);
    return copy_text(uuid, length, own);
}

NVML_EXPORT(nvmlDeviceGetIndex(nvml_device device, unsigned *number))
{
    int index;
    nvml_result result = nvml_index(device, &index);

    if (result == NVML_OK && !number)
        result = NVML_INVALID_ARGUMENT;
    if (result == NVML_OK)
        *number = (unsigned)index;
    return result;
}

NVML_EXPORT(nvmlDeviceGetMinorNumber(nvml_device device, unsigned *number))
{
    return nvmlDeviceGetIndex(device, number);
}

NVML_EXPORT(nvmlDeviceGetBrand(nvml_device device, unsigned *brand))
{
    int index;
    nvml_result result = brand ? nvml_index(device, &index) : NVML_INVALID_ARGUMENT;
    if (result == NVML_OK)
        *brand = 14; /* the plain vendor's brand */
    return result;
}

NVML_EXPORT(nvmlDeviceGetSerial(nvml_device device, char *serial, unsigned length))
{
    int index;
    nvml_result result = nvml_index(device, &index);
    return result == NVML_OK ? NVML_NOT_SUPPORTED : result;
}

NVML_EXPORT(nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *pci))
{
    int index;
    nvml_result result = pci ? nvml_index(device, &index) : NVML_INVALID_ARGUMENT;

    if (result != NVML_OK)
        return result;
    *pci = (struct nvml_pci){.bus = (uint32_t)(SIM_PCI_BUS_FIRST + index),
                             .pci_device_id = SIM_PCI_DEVICE_ID};
    snprintf(pci->bus_id_legacy, sizeof(pci->bus_id_legacy), "0000:%02X:00.0", pci->bus & 0xff);
    snprintf(pci->bus_id, sizeof(pci->bus_id), "00000000:%02X:00.0", pci->bus);
    return NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetPciInfo_v2(nvml_device device, struct nvml_pci *pci))
{
    return nvmlDeviceGetPciInfo_v3(device, pci);
}

NVML_EXPORT(nvmlDeviceGetCudaComputeCapability(nvml_device device, int *major, int *minor))
{
    int index;
    nvml_result result = major && minor ? nvml_index(device, &index) : NVML_INVALID_ARGUMENT;

    if (result == NVML_OK) {
        *major = 9;
        *minor = 0;
    }
    return result;
}

/* ---- what never changes ------------------------------------------------------------------ */

static nvml_result constant(nvml_device device, unsigned *out, unsigned value)
{
    int index;
    nvml_result result = out ? nvml_index(device, &index) : NVML_INVALID_ARGUMENT;
    if (result == NVML_OK)
        *out = value;
    return result;
}

static nvml_result unsupported(nvml_device device)
{
    int index;
    nvml_result result = nvml_index(device, &index);
    return result == NVML_OK ? NVML_NOT_SUPPORTED : result;
}

/* Lanes of the fourth generation that give the rate of a pinned copy: copies reach four fifths of
 * the 1.969 GB/s a lane (16 GT/s, 128b/130b). */
#define LINK_GENERATION 4
#define LANE_COPY_GBPS (0.8 * 1.969)
#define LANES_MAX 16

static unsigned link_lanes(void)
{
    const struct sim_config *config = nvml_config();
    unsigned lanes = 1;
    while (config && lanes < LANES_MAX && lanes * LANE_COPY_GBPS < 0.99 * config->pinned_gbps)
        lanes *= 2;
    return lanes;
}

NVML_EXPORT(nvmlDeviceGetMaxPcieLinkGeneration(nvml_device device, unsigned *generation))
{
    return constant(device, generation, LINK_GENERATION);
}

NVML_EXPORT(nvmlDeviceGetCurrPcieLinkGeneration(nvml_device device, unsigned *generation))
{
    return constant(device, generation, LINK_GENERATION);
}

NVML_EXPORT(nvmlDeviceGetMaxPcieLinkWidth(nvml_device device, unsigned *width))
{
    return constant(device, width, link_lanes());
}

NVML_EXPORT(nvmlDeviceGetCurrPcieLinkWidth(nvml_device device, unsigned *width))
{
    return constant(device, width, link_lanes());
}

NVML_EXPORT(nvmlDeviceGetPersistenceMode(nvml_device device, unsigned *mode))
{
    return constant(device, mode, 1);
}

NVML_EXPORT(nvmlDeviceGetComputeMode(nvml_device device, unsigned *mode))
{
    return constant(device, mode, 0);
}

NVML_EXPORT(nvmlDeviceGetPowerManagementLimit(nvml_device device, unsigned *milliwatts))
{
    return constant(device, milliwatts, 700000);
}

NVML_EXPORT(nvmlDeviceGetEnforcedPowerLimit(nvml_device device, unsigned *milliwatts))
{
    return constant(device, milliwatts, 700000);
}

NVML_EXPORT(nvmlDeviceGetMigMode(nvml_device device, unsigned *current, unsigned *pending))
{
    return unsupported(device);
}

NVML_EXPORT(nvmlDeviceGetFanSpeed(nvml_device device, unsigned *speed))
{
    return unsupported(device);
}

/* 0 where it is one device; else they meet at the host bridge. */
NVML_EXPORT(nvmlDeviceGetTopologyCommonAncestor(nvml_device one, nvml_device other,
                                                unsigned *level))
{
    enum { INTERNAL = 0, HOSTBRIDGE = 30 };
    int a, b;
    nvml_result result = level ? nvml_index(one, &a) : NVML_INVALID_ARGUMENT;

    if (result == NVML_OK)
        result = nvml_index(other, &b);
    if (result == NVML_OK)
        *level = a == b ? INTERNAL : HOSTBRIDGE;
    return result;
}

/* ---- memory -------------------------------------------------------------------------------- */

static nvml_result memory(nvml_device device, uint64_t *total, uint64_t *used)
{
    struct share_view view;
    int index;
    nvml_result result = nvml_index(device, &index);

    if (result != NVML_OK)
        return result;
    *total = nvml_config()->memory_bytes;
    *used = RESERVED_BYTES;
    nvml_view(&view);
    for (size_t i = 0; i < view.count; i++)
        *used += atomic_load(&view.processes[i].file->devices[index].memory_bytes);
    share_view_close(&view);
    if (*used > *total)
        *used = *total; /* each process counts to the total by itself */
    return NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *info))
{
    uint64_t total, used;
    nvml_result result = info ? memory(device, &total, &used) : NVML_INVALID_ARGUMENT;
    if (result == NVML_OK)
        *info = (struct nvml_memory){total, total - used, used};
    return result;
}

NVML_EXPORT(nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *info))
{
    uint64_t total, used;

    if (!info)
        return NVML_INVALID_ARGUMENT;
    if (info->version != MEMORY_VERSION_2)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    nvml_result result = memory(device, &total, &used);
    if (result == NVML_OK)
        *info =
            (struct nvml_memory_v2){MEMORY_VERSION_2, total, RESERVED_BYTES, total - used, used};
    return result;
}
