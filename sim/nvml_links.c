/* SPDX-License-Identifier: MIT */
/*
 * nvml_links: how the simulated devices are linked. With GPUFEED_SIM_NVLINKS all are one NVLink fabric;
 * without it they have neither links nor fabric, and reach each other over PCIe.
 */
#include <string.h>

#include "nvml.h"

#define NVML_EXPORT(prototype)                                                                     \
    SIM_EXPORT nvml_result prototype;                                                              \
    SIM_EXPORT nvml_result prototype

#define LINKS_MAX 36 /* NVML_NVLINK_MAX_LINKS of API 13 */

enum p2p_index { P2P_READ, P2P_WRITE, P2P_NVLINK, P2P_ATOMICS, P2P_PCI, P2P_INDICES };
enum p2p_status { P2P_OK = 0, P2P_NOT_SUPPORTED = 5 };

struct fabric { /* nvmlGpuFabricInfo_v2_t */
    uint32_t version;
    uint8_t cluster[16];
    int32_t status;
    uint32_t clique;
    uint8_t state; /* 3: completed */
    uint32_t health;
};
#define FABRIC_VERSION_2 ((uint32_t)sizeof(struct fabric) | 2u << 24)
#define FABRIC_COMPLETED 3
/* No bandwidth lost, no route recovery, route healthy, no timeout (each 2: false), configuration right (1). */
#define FABRIC_HEALTHY 0x1aau

_Static_assert(sizeof(struct fabric) == 36, "nvmlGpuFabricInfo_v2_t");

NVML_EXPORT(nvmlDeviceGetNvLinkState(nvml_device device, unsigned link, unsigned *active))
{
    int index;
    nvml_result result = active ? nvml_index(device, &index) : NVML_INVALID_ARGUMENT;

    if (result != NVML_OK)
        return result;
    if (link >= LINKS_MAX)
        return NVML_INVALID_ARGUMENT;
    if ((int)link >= nvml_config()->nvlinks)
        return NVML_NOT_SUPPORTED;
    *active = 1;
    return NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetGpuFabricInfoV(nvml_device device, struct fabric *info))
{
    int index;
    nvml_result result = info ? nvml_index(device, &index) : NVML_INVALID_ARGUMENT;

    if (result != NVML_OK)
        return result;
    if (info->version != FABRIC_VERSION_2)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (!nvml_config()->nvlinks)
        return NVML_NOT_SUPPORTED;
    memset(info, 0, sizeof(*info));
    info->version = FABRIC_VERSION_2;
    info->state = FABRIC_COMPLETED;
    info->health = FABRIC_HEALTHY;
    return NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetP2PStatus(nvml_device one, nvml_device other, unsigned what, int *status))
{
    int a, b;
    nvml_result result = status && what < P2P_INDICES ? nvml_index(one, &a) : NVML_INVALID_ARGUMENT;

    if (result == NVML_OK)
        result = nvml_index(other, &b);
    if (result != NVML_OK || a == b)
        return result != NVML_OK ? result : NVML_INVALID_ARGUMENT;
    *status = what == P2P_NVLINK && !nvml_config()->nvlinks ? P2P_NOT_SUPPORTED : P2P_OK;
    return NVML_OK;
}
