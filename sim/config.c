/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/unit.h"

#define MEMORY_GIB_DEFAULT 16
#define PINNED_GBPS_DEFAULT 25
#define PAGEABLE_GBPS_DEFAULT 6
#define NVLINKS_MAX 36
#define GBPS_MAX 1e6
#define LAUNCH_US_MAX 1e6
#define MEMORY_GIB_MAX 4096

static double number(const char *name, double otherwise, double max)
{
    const char *text = getenv(name);
    char *end;

    if (!text || !*text)
        return otherwise;
    double value = strtod(text, &end);
    return *end == '\0' && value > 0 && value <= max ? value : otherwise;
}

void sim_config_read(struct sim_config *config)
{
    const char *dir = getenv("GPUFEED_SIM_DIR");

    config->devices = (int)number("GPUFEED_SIM_DEVICES", 1, SIM_DEVICES_MAX);
    if (config->devices < 1)
        config->devices = 1;
    config->nvlinks = (int)number("GPUFEED_SIM_NVLINKS", 0, NVLINKS_MAX);
    config->pinned_gbps = number("GPUFEED_SIM_PCIE_GBPS", PINNED_GBPS_DEFAULT, GBPS_MAX);
    config->pageable_gbps = number("GPUFEED_SIM_PAGEABLE_GBPS", PAGEABLE_GBPS_DEFAULT, GBPS_MAX);
    if (config->pageable_gbps > config->pinned_gbps)
        config->pageable_gbps = config->pinned_gbps;
    config->launch_ns =
        (int64_t)(number("GPUFEED_SIM_LAUNCH_US", 0, LAUNCH_US_MAX) * (double)NS_PER_US);
    config->memory_bytes =
        (uint64_t)(number("GPUFEED_SIM_MEMORY_GIB", MEMORY_GIB_DEFAULT, MEMORY_GIB_MAX) *
                   (double)GIB);
    if (dir && *dir && strlen(dir) < sizeof(config->dir))
        snprintf(config->dir, sizeof(config->dir), "%s", dir);
    else
        snprintf(config->dir, sizeof(config->dir), SIM_FOLDERS "%u", (unsigned)getuid());
}

void sim_device_uuid(int index, uint8_t uuid[16])
{
    memcpy(uuid, "simulated\0\0\0\0\0\0", 16);
    uuid[15] = (uint8_t)(index + 1);
}

void sim_device_uuid_text(int index, char buf[48])
{
    uint8_t uuid[16];
    int at = 4;

    sim_device_uuid(index, uuid);
    memcpy(buf, "GPU-", 5);
    for (int i = 0; i < 16; i++)
        at += snprintf(buf + at, 48 - (size_t)at, "%s%02x",
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* The device that one entry of CUDA_VISIBLE_DEVICES names, -1 if none: a number, or the beginning
 * of a UUID that fits one device only. */
static int named_device(const struct sim_config *config, const char *name, size_t length)
{
    char *end, text[64], uuid[48];
    int found = -1;

    if (length == 0 || length >= sizeof(text))
        return -1;
    memcpy(text, name, length);
    text[length] = '\0';
    long index = strtol(text, &end, 10);
    if (*end == '\0')
        return index >= 0 && index < config->devices ? (int)index : -1;
    for (int i = 0; i < config->devices && length >= 5; i++) {
        sim_device_uuid_text(i, uuid);
        if (strncmp(uuid, text, length) == 0)
            found = found == -1 ? i : -2;
    }
    return found < 0 ? -1 : found;
}

int sim_visible_devices(const struct sim_config *config, int visible[SIM_DEVICES_MAX])
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0;

    if (!list) {
        for (; count < config->devices; count++)
            visible[count] = count;
        return count;
    }
    while (count < SIM_DEVICES_MAX) {
        list += strspn(list, " ");
        size_t length = strcspn(list, ", ");
        int device = named_device(config, list, length);
        if (device < 0)
            return count;
        for (int i = 0; i < count; i++)
            if (visible[i] == device)
                return 0; /* a device named twice hides all, as in the real one */
        visible[count++] = device;
        list += length;
        list += strspn(list, " ");
        if (*list != ',')
            return count;
        list++;
    }
    return count;
}
