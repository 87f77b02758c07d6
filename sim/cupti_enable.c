/* SPDX-License-Identifier: MIT */
/*
 * cupti_enable: which activity is recorded, and settings.
 *
 * Recorded are kernels, copies, memsets, synchronisations and driver calls. Other
 * kinds that the real library knows may be switched on and yield nothing.
 */
#include <string.h>

#include "cupti.h"

#define ATTRIBUTES 11

static void record_all_calls(bool on)
{
    struct sim_hooks *hooks = cupti_hooks();

    for (int i = 1; i < ABI_CBID_LIMIT; i++)
        atomic_store_explicit(&hooks->api_records[i], on, memory_order_relaxed);
}

SIM_EXPORT abi_cupti_result cuptiActivityEnable(int kind);
SIM_EXPORT abi_cupti_result cuptiActivityEnable(int kind)
{
    struct sim_hooks *hooks = cupti_hooks();
    abi_cupti_result result = cupti_ready();

    if (kind <= ABI_KIND_INVALID || kind >= ABI_KINDS)
        return cupti_fail(ABI_CUPTI_INVALID_KIND);
    if (result != ABI_CUPTI_SUCCESS)
        return cupti_fail(result);
    uint64_t kinds = atomic_load(&hooks->kinds);
    if ((kind == ABI_KIND_KERNEL && kinds >> ABI_KIND_CONCURRENT_KERNEL & 1) ||
        (kind == ABI_KIND_CONCURRENT_KERNEL && kinds >> ABI_KIND_KERNEL & 1))
        return cupti_fail(ABI_CUPTI_NOT_COMPATIBLE);
    cupti_start_worker();
    if (kind == ABI_KIND_DRIVER)
        record_all_calls(true);
    atomic_fetch_or(&hooks->kinds, UINT64_C(1) << kind);
    return ABI_CUPTI_SUCCESS;
}

SIM_EXPORT abi_cupti_result cuptiActivityDisable(int kind);
SIM_EXPORT abi_cupti_result cuptiActivityDisable(int kind)
{
    abi_cupti_result result = cupti_ready();

    if (kind <= ABI_KIND_INVALID || kind >= ABI_KINDS)
        return cupti_fail(ABI_CUPTI_INVALID_KIND);
    if (result != ABI_CUPTI_SUCCESS)
        return cupti_fail(result);
    if (kind == ABI_KIND_DRIVER)
        record_all_calls(false);
    atomic_fetch_and(&cupti_hooks()->kinds, ~(UINT64_C(1) << kind));
    return ABI_CUPTI_SUCCESS;
}

/* Here a kind is on for all contexts or for none. */
SIM_EXPORT abi_cupti_result cuptiActivityEnableContext(abi_cu_context context, int kind);
SIM_EXPORT abi_cupti_result cuptiActivityEnableContext(abi_cu_context context, int kind)
{
    uint32_t uid, device;
    const struct sim_driver *driver = cupti_driver();

    if (!driver || !driver->context_info(context, &uid, &device))
        return cupti_fail(ABI_CUPTI_INVALID_CONTEXT);
    return cuptiActivityEnable(kind);
}

SIM_EXPORT abi_cupti_result cuptiActivityDisableContext(abi_cu_context context, int kind);
SIM_EXPORT abi_cupti_result cuptiActivityDisableContext(abi_cu_context context, int kind)
{
    uint32_t uid, device;
    const struct sim_driver *driver = cupti_driver();

    if (!driver || !driver->context_info(context, &uid, &device))
        return cupti_fail(ABI_CUPTI_INVALID_CONTEXT);
    return cuptiActivityDisable(kind);
}

SIM_EXPORT abi_cupti_result cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
SIM_EXPORT abi_cupti_result cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable)
{
    abi_cupti_result result = cupti_ready();

    if (cbid == 0 || cbid >= ABI_CBID_LIMIT)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    if (result != ABI_CUPTI_SUCCESS)
        return cupti_fail(result);
    if (enable)
        cupti_start_worker();
    atomic_store(&cupti_hooks()->api_records[cbid], enable != 0);
    return ABI_CUPTI_SUCCESS;
}

/* There is no simulated runtime: programs above the driver bring their own. */
SIM_EXPORT abi_cupti_result cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
SIM_EXPORT abi_cupti_result cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable)
{
    return cupti_fail(cupti_ready());
}

SIM_EXPORT abi_cupti_result cuptiActivityEnableLatencyTimestamps(uint8_t enable);
SIM_EXPORT abi_cupti_result cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
    return cupti_fail(enable ? ABI_CUPTI_NOT_SUPPORTED : cupti_ready());
}

SIM_EXPORT abi_cupti_result cuptiActivityEnableHWTrace(uint8_t enable);
SIM_EXPORT abi_cupti_result cuptiActivityEnableHWTrace(uint8_t enable)
{
    return cupti_fail(enable ? ABI_CUPTI_NOT_SUPPORTED : cupti_ready());
}

SIM_EXPORT abi_cupti_result cuptiActivityEnableLaunchAttributes(uint8_t enable);
SIM_EXPORT abi_cupti_result cuptiActivityEnableLaunchAttributes(uint8_t enable)
{
    return cupti_fail(cupti_ready());
}

/* Sizes of CUPTI's own buffers and pools: kept, and without effect. */
static _Atomic size_t attributes[ATTRIBUTES];

SIM_EXPORT abi_cupti_result cuptiActivitySetAttribute(int attribute, size_t *size, void *value);
SIM_EXPORT abi_cupti_result cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
    size_t number = 0;

    if (!size || !value || attribute < 0 || attribute >= ATTRIBUTES)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    if (*size == 0 || *size > sizeof(number))
        return cupti_fail(ABI_CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT);
    memcpy(&number, value, *size);
    atomic_store(&attributes[attribute], number);
    return ABI_CUPTI_SUCCESS;
}

SIM_EXPORT abi_cupti_result cuptiActivityGetAttribute(int attribute, size_t *size, void *value);
SIM_EXPORT abi_cupti_result cuptiActivityGetAttribute(int attribute, size_t *size, void *value)
{
    if (!size || !value || attribute < 0 || attribute >= ATTRIBUTES)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    size_t number = atomic_load(&attributes[attribute]);
    if (*size > sizeof(number))
        *size = sizeof(number);
    memcpy(value, &number, *size);
    return ABI_CUPTI_SUCCESS;
}

SIM_EXPORT abi_cupti_result cuptiSetThreadIdType(int type);
SIM_EXPORT abi_cupti_result cuptiSetThreadIdType(int type)
{
    enum { TYPE_SYSTEM = 1 };
    return cupti_fail(type == TYPE_SYSTEM ? cupti_ready() : ABI_CUPTI_NOT_SUPPORTED);
}

SIM_EXPORT abi_cupti_result cuptiGetThreadIdType(int *type);
SIM_EXPORT abi_cupti_result cuptiGetThreadIdType(int *type)
{
    if (!type)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    *type = 1; /* the system's thread ids */
    return ABI_CUPTI_SUCCESS;
}
