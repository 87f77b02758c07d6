/* SPDX-License-Identifier: MIT */
#include "sense/nvml_lib.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* The newest name first; NULL where there is no older one. */
static const struct {
    size_t at;
    const char *name, *older;
    bool needed;
} functions[] = {
#define F(member, name, older, needed)                                                             \
    {                                                                                              \
        offsetof(struct nvml_lib, member), name, older, needed                                     \
    }
    F(init, "nvmlInit_v2", "nvmlInit", true),
    F(shutdown, "nvmlShutdown", NULL, true),
    F(error_text, "nvmlErrorString", NULL, false),
    F(driver_version, "nvmlSystemGetDriverVersion", NULL, false),
    F(cuda_version, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion", false),
    F(count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", true),
    F(by_index, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", true),
    F(name, "nvmlDeviceGetName", NULL, false),
    F(uuid, "nvmlDeviceGetUUID", NULL, true),
    F(pci, "nvmlDeviceGetPciInfo_v3", NULL, false),
    F(utilization, "nvmlDeviceGetUtilizationRates", NULL, false),
    F(samples, "nvmlDeviceGetSamples", NULL, false),
    F(memory, "nvmlDeviceGetMemoryInfo", NULL, false),
    F(power, "nvmlDeviceGetPowerUsage", NULL, false),
    F(power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL, false),
    F(energy, "nvmlDeviceGetTotalEnergyConsumption", NULL, false),
    F(temperature, "nvmlDeviceGetTemperature", NULL, false),
    F(clock, "nvmlDeviceGetClockInfo", NULL, false),
    F(max_clock, "nvmlDeviceGetMaxClockInfo", NULL, false),
    F(throttle, "nvmlDeviceGetCurrentClocksEventReasons",
      "nvmlDeviceGetCurrentClocksThrottleReasons", false),
    F(link_gen, "nvmlDeviceGetCurrPcieLinkGeneration", NULL, false),
    F(link_gen_max, "nvmlDeviceGetMaxPcieLinkGeneration", NULL, false),
    F(link_width, "nvmlDeviceGetCurrPcieLinkWidth", NULL, false),
    F(link_width_max, "nvmlDeviceGetMaxPcieLinkWidth", NULL, false),
    F(mig, "nvmlDeviceGetMigMode", NULL, false),
    F(processes, "nvmlDeviceGetComputeRunningProcesses_v3", NULL, false),
    F(persistence, "nvmlDeviceGetPersistenceMode", NULL, false),
    F(link_state, "nvmlDeviceGetNvLinkState", NULL, false),
    F(fabric, "nvmlDeviceGetGpuFabricInfoV", NULL, false),
    F(p2p, "nvmlDeviceGetP2PStatus", NULL, false),
#undef F
};

int nvml_lib_open(struct nvml_lib *l, const char *path, struct error *e)
{
    struct nvml_lib found = {0};
    const char *file = path ? path : NVML_LIBRARY;
    found.handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!found.handle)
        return error_set(e, STATUS_MISSING,
                         "cannot open \"%s\": %s (it comes with NVIDIA's driver)", file, dlerror());
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *f = dlsym(found.handle, functions[i].name);
        if (!f && functions[i].older)
            f = dlsym(found.handle, functions[i].older);
        if (!f && functions[i].needed) {
            dlclose(found.handle);
            return error_set(e, STATUS_MISSING, "\"%s\" has no %s: is it NVIDIA's library?", file,
                             functions[i].name);
        }
        memcpy((char *)&found + functions[i].at, &f, sizeof(f));
    }
    *l = found;
    return STATUS_OK;
}

void nvml_lib_close(struct nvml_lib *l)
{
    if (l->handle)
        dlclose(l->handle);
    *l = (struct nvml_lib){0};
}
