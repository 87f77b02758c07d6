/* SPDX-License-Identifier: MIT */
/*
 * config: what the environment asks of the simulated accelerator, and who its
 * devices are. libcuda and libnvidia-ml read the same variables, so both tell
 * the same story in one environment.
 *
 *   GPUFEED_SIM_DEVICES            devices in the machine, 1 to 16 (1)
 *   GPUFEED_SIM_PCIE_GBPS          GB/s of a copy from or to pinned memory (25)
 *   GPUFEED_SIM_PAGEABLE_GBPS      GB/s of a copy from or to pageable memory (6)
 *   GPUFEED_SIM_LAUNCH_US          µs of CPU time that a launch costs on top of our own (0)
 *   GPUFEED_SIM_MEMORY_GIB         memory of each device (16)
 *   GPUFEED_SIM_NVLINKS            NVLinks of each device, up to 36 (none)
 *   GPUFEED_SIM_DIR                folder of the processes' shared state (/dev/shm/gpufeed-sim-UID)
 *
 * A value that is no positive number, or is out of range, counts as unset.
 */
#ifndef GPUFEED_SIM_CONFIG_H
#define GPUFEED_SIM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_EXPORT __attribute__((visibility("default")))

#define SIM_DEVICES_MAX 16
/* with the user's number behind it; where GPUFEED_SIM_DIR names none */
#define SIM_FOLDERS "/dev/shm/gpufeed-sim-"
#define SIM_CUDA_VERSION 13000
#define SIM_DEVICE_NAME "Simulated GPU"
#define SIM_PCI_BUS_FIRST 0x17       /* device N sits on bus SIM_PCI_BUS_FIRST + N */
#define SIM_PCI_DEVICE_ID 0x233010de /* as a board of the same class would say */

struct sim_config {
    int devices, nvlinks;
    double pinned_gbps, pageable_gbps;
    int64_t launch_ns;
    uint64_t memory_bytes;
    char dir[256];
};

void sim_config_read(struct sim_config *config);

/* The 16 bytes of the UUID of physical device `index`. */
void sim_device_uuid(int index, uint8_t uuid[16]);
/* "GPU-73696d75-6c61-7465-6400-000000000001", buf of 48 bytes. */
void sim_device_uuid_text(int index, char buf[48]);
/* The physical devices that CUDA_VISIBLE_DEVICES leaves, in its order; returns how many. The list
 * ends at the first entry that names no device, as the real one does. */
int sim_visible_devices(const struct sim_config *config, int visible[SIM_DEVICES_MAX]);

#endif
