/* SPDX-License-Identifier: MIT */
/*
 * nvml_samples: what changes about the devices.
 *
 * Utilisation is read from the processes' busy time (share.h). Power, temperature
 * and clock are made up: fixed functions of the utilisation, so that a reader has
 * something plausible to show; nothing may be concluded from them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "nvml.h"

#define NVML_EXPORT(prototype)                                                                     \
    SIM_EXPORT nvml_result prototype;                                                              \
    SIM_EXPORT nvml_result prototype

#define WINDOW_NS (500 * NS_PER_MS) /* of one reading of the utilisation */
#define SAMPLE_NS (20 * NS_PER_MS)  /* of one sample of nvmlDeviceGetSamples */
#define SAMPLES 100
#define PER_CENT 100

#define IDLE_MILLIWATTS 75000u
#define BUSY_MILLIWATTS 550000u
#define IDLE_CELSIUS 31u
#define BUSY_CELSIUS 62u
#define IDLE_MHZ 345u
#define BUSY_MHZ 1980u
#define MEMORY_MHZ 2619u

void nvml_view(struct share_view *view)
{
    const struct sim_config *config = nvml_config();
    const char *dir = getenv("GPUFEED_SIM_DIR");

    /* Unless a folder is given, those of all users that may be read: as the real library sees the
     * work of all. */
    share_view_open(view, dir && *dir && config ? config->dir : SIM_FOLDERS "*");
}

unsigned nvml_busy_percent(const struct share_view *view, const struct share_process *process,
                           int device, enum share_engine engine, int64_t window)
{
    int64_t now = sim_now();
    int64_t busy = share_busy(view, process, device, engine, now - window, now);
    return (unsigned)((busy * PER_CENT + window / 2) / window);
}

static nvml_result utilization(nvml_device device, struct nvml_utilization *out)
{
    struct share_view view;
    int index;
    nvml_result result = nvml_index(device, &index);

    if (result != NVML_OK)
        return result;
    nvml_view(&view);
    out->gpu = nvml_busy_percent(&view, NULL, index, SHARE_KERNEL, WINDOW_NS);
    out->memory = nvml_busy_percent(&view, NULL, index, SHARE_COPY, WINDOW_NS);
    share_view_close(&view);
    return NVML_OK;
}

NVML_EXPORT(nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *out))
{
    return out ? utilization(device, out) : NVML_INVALID_ARGUMENT;
}

/* idle .. busy, by utilisation */
static nvml_result scaled(nvml_device device, unsigned idle, unsigned busy, unsigned *out)
{
    struct nvml_utilization now;
    nvml_result result = out ? utilization(device, &now) : NVML_INVALID_ARGUMENT;
    if (result == NVML_OK)
        *out = idle + (busy - idle) * now.gpu / PER_CENT;
    return result;
}

NVML_EXPORT(nvmlDeviceGetPowerUsage(nvml_device device, unsigned *milliwatts))
{
    return scaled(device, IDLE_MILLIWATTS, BUSY_MILLIWATTS, milliwatts);
}

NVML_EXPORT(nvmlDeviceGetTotalEnergyConsumption(nvml_device device, unsigned long long *energy))
{
    int index;
    nvml_result result = nvml_index(device, &index);
    return result == NVML_OK ? NVML_NOT_SUPPORTED : result;
}

NVML_EXPORT(nvmlDeviceGetTemperature(nvml_device device, unsigned sensor, unsigned *celsius))
{
    return sensor ? NVML_INVALID_ARGUMENT : scaled(device, IDLE_CELSIUS, BUSY_CELSIUS, celsius);
}

static nvml_result clock_mhz(nvml_device device, unsigned type, unsigned *mhz)
{
    enum { GRAPHICS, SM, MEMORY, VIDEO };
    int index;

    if (type > VIDEO || !mhz)
        return NVML_INVALID_ARGUMENT;
    if (type != MEMORY)
        return scaled(device, IDLE_MHZ, BUSY_MHZ, mhz);
    nvml_result result = nvml_index(device, &index);
    if (result == NVML_OK)
        *mhz = MEMORY_MHZ;
    return result;
}

NVML_EXPORT(nvmlDeviceGetClockInfo(nvml_device device, unsigned type, unsigned *mhz))
{
    return clock_mhz(device, type, mhz);
}

NVML_EXPORT(nvmlDeviceGetMaxClockInfo(nvml_device device, unsigned type, unsigned *mhz))
{
    enum { MEMORY = 2, VIDEO = 3 };
    int index;
    nvml_result result = mhz && type <= VIDEO ? nvml_index(device, &index) : NVML_INVALID_ARGUMENT;
    if (result == NVML_OK)
        *mhz = type == MEMORY ? MEMORY_MHZ : BUSY_MHZ;
    return result;
}

static nvml_result throttle_reasons(nvml_device device, unsigned long long *reasons)
{
    enum { GPU_IDLE = 1 };
    struct nvml_utilization now;
    nvml_result result = reasons ? utilization(device, &now) : NVML_INVALID_ARGUMENT;
    if (result == NVML_OK)
        *reasons = now.gpu == 0 ? GPU_IDLE : 0;
    return result;
}

NVML_EXPORT(nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device,
                                                      unsigned long long *reasons))
{
    return throttle_reasons(device, reasons);
}

NVML_EXPORT(nvmlDeviceGetCurrentClocksEventReasons(nvml_device device, unsigned long long *reasons))
{
    return throttle_reasons(device, reasons);
}

NVML_EXPORT(nvmlDeviceGetPerformanceState(nvml_device device, unsigned *pstate))
{
    int index;
    nvml_result result = pstate ? nvml_index(device, &index) : NVML_INVALID_ARGUMENT;
    if (result == NVML_OK)
        *pstate = 0;
    return result;
}

NVML_EXPORT(nvmlDeviceGetPcieThroughput(nvml_device device, unsigned counter, unsigned *value))
{
    int index;
    nvml_result result = nvml_index(device, &index);
    return result == NVML_OK ? NVML_NOT_SUPPORTED : result;
}

/* ---- processes ------------------------------------------------------------------------ */

static bool uses(const struct share_process *process, int device)
{
    return atomic_load(&process->file->devices[device].contexts) > 0;
}

NVML_EXPORT(nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned *count,
                                                    struct nvml_process *infos))
{
    struct share_view view;
    unsigned found = 0;
    int index;
    nvml_result result = count ? nvml_index(device, &index) : NVML_INVALID_ARGUMENT;

    if (result != NVML_OK)
        return result;
    nvml_view(&view);
    for (size_t i = 0; i < view.count; i++) {
        const struct share_process *process = &view.processes[i];
        if (!uses(process, index))
            continue;
        if (infos && found < *count)
            infos[found] = (struct nvml_process){
                .pid = (uint32_t)process->pid,
                .used_memory = atomic_load(&process->file->devices[index].memory_bytes),
                .gpu_instance = UINT32_MAX,
                .compute_instance = UINT32_MAX};
        found++;
    }
    share_view_close(&view);
    if (found > *count || (found && !infos))
        result = NVML_INSUFFICIENT_SIZE;
    *count = found;
    return result;
}

NVML_EXPORT(nvmlDeviceGetComputeRunningProcesses_v2(nvml_device device, unsigned *count,
                                                    struct nvml_process *infos))
{
    return nvmlDeviceGetComputeRunningProcesses_v3(device, count, infos);
}

NVML_EXPORT(nvmlDeviceGetGraphicsRunningProcesses_v3(nvml_device device, unsigned *count,
                                                     struct nvml_process *infos))
{
    int index;
    nvml_result result = count ? nvml_index(device, &index) : NVML_INVALID_ARGUMENT;
    if (result == NVML_OK)
        *count = 0;
    return result;
}

/* The time of day in µs, which is how NVML stamps samples, of a CLOCK_MONOTONIC time. */
static unsigned long long stamp(int64_t monotonic)
{
    int64_t offset = sim_clock_read(CLOCK_REALTIME) - sim_now();
    return (unsigned long long)((monotonic + offset) / NS_PER_US);
}

NVML_EXPORT(nvmlDeviceGetProcessUtilization(nvml_device device, struct nvml_process_sample *out,
                                            unsigned *count, unsigned long long since_us))
{
    struct share_view view;
    unsigned found = 0, room = count ? *count : 0;
    int index;
    nvml_result result = count ? nvml_index(device, &index) : NVML_INVALID_ARGUMENT;

    if (result != NVML_OK)
        return result;
    int64_t now = sim_now(), window = WINDOW_NS;
    int64_t back = (int64_t)(stamp(now) - since_us) * NS_PER_US;
    if (since_us && back > 0 && back < window)
        window = back > NS_PER_MS ? back : NS_PER_MS;
    nvml_view(&view);
    for (size_t i = 0; i < view.count; i++) {
        const struct share_process *process = &view.processes[i];
        unsigned kernel = nvml_busy_percent(&view, process, index, SHARE_KERNEL, window);
        unsigned copy = nvml_busy_percent(&view, process, index, SHARE_COPY, window);
        if (!uses(process, index) || (kernel == 0 && copy == 0))
            continue;
        if (out && found < room)
            out[found] = (struct nvml_process_sample){
                .pid = (uint32_t)process->pid, .time_us = stamp(now), .sm = kernel, .memory = copy};
        found++;
    }
    share_view_close(&view);
    *count = found;
    if (found == 0)
        return NVML_NOT_FOUND;
    return !out || found > room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

/* ---- samples ---------------------------------------------------------------------------- */

NVML_EXPORT(nvmlDeviceGetSamples(nvml_device device, unsigned type, unsigned long long since_us,
                                 unsigned *value_type, unsigned *count,
                                 struct nvml_sample *samples))
{
    enum { POWER, GPU, MEMORY, UNSIGNED_INT = 1 };
    struct share_view view;
    unsigned found = 0;
    int index;
    nvml_result result = count && value_type ? nvml_index(device, &index) : NVML_INVALID_ARGUMENT;

    if (result == NVML_OK && type > MEMORY)
        result = NVML_NOT_SUPPORTED;
    if (result != NVML_OK)
        return result;
    *value_type = UNSIGNED_INT;
    if (!samples) {
        *count = SAMPLES;
        return NVML_OK;
    }
    int64_t last = sim_now() / SAMPLE_NS * SAMPLE_NS;
    enum share_engine engine = type == MEMORY ? SHARE_COPY : SHARE_KERNEL;
    nvml_view(&view);
    for (int i = SAMPLES - 1; i >= 0 && found < *count; i--) {
        int64_t end = last - i * SAMPLE_NS;
        if (stamp(end) <= since_us)
            continue;
        int64_t busy = share_busy(&view, NULL, index, engine, end - SAMPLE_NS, end);
        unsigned percent = (unsigned)(busy * PER_CENT / SAMPLE_NS);
        samples[found].time_us = stamp(end);
        samples[found++].value.ui =
            type == POWER
                ? IDLE_MILLIWATTS + (BUSY_MILLIWATTS - IDLE_MILLIWATTS) * percent / PER_CENT
                : percent;
    }
    share_view_close(&view);
    *count = found;
    return found ? NVML_OK : NVML_NOT_FOUND;
}
