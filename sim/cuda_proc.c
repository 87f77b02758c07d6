/* SPDX-License-Identifier: MIT */
/*
 * cuda_proc: functions by name, and errors in words.
 */
#include <string.h>

#include "cuda.h"

/* Answers of CUdriverProcAddressQueryResult and flags of cuGetProcAddress. */
enum { PROC_FOUND = 0, PROC_NOT_FOUND = 1, PROC_TOO_NEW = 2 };
enum { PROC_LEGACY_STREAM = 1, PROC_PER_THREAD_STREAM = 2 };

abi_cu_result do_cuGetProcAddress_v2(struct sim_call *call, const char *symbol, void **pfn,
                                     int version, uint64_t flags, int *status)
{
    const struct sim_proc *best = NULL;
    bool known = false;

    if (!symbol || !pfn || flags > PROC_PER_THREAD_STREAM)
        return ABI_CU_INVALID_VALUE;
    for (size_t i = 0; i < sim_proc_count; i++) {
        const struct sim_proc *proc = &sim_procs[i];
        if (strcmp(proc->base, symbol) != 0 && strcmp(proc->name, symbol) != 0)
            continue;
        known = true;
        if (proc->since <= version && (!best || proc->since >= best->since))
            best = proc;
    }
    if (status)
        *status = best ? PROC_FOUND : known ? PROC_TOO_NEW : PROC_NOT_FOUND;
    if (!best) {
        *pfn = NULL;
        return ABI_CU_NOT_FOUND;
    }
    void (*function)(void) = flags & PROC_PER_THREAD_STREAM ? best->per_thread : best->function;
    *pfn = (void *)(uintptr_t)function;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuGetProcAddress(struct sim_call *call, const char *symbol, void **pfn,
                                  int version, uint64_t flags)
{
    return do_cuGetProcAddress_v2(call, symbol, pfn, version, flags, NULL);
}

static const struct {
    int error;
    const char *name, *text;
} errors[] = {
    {ABI_CU_SUCCESS, "CUDA_SUCCESS", "no error"},
    {ABI_CU_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {ABI_CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {ABI_CU_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {ABI_CU_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {ABI_CU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {ABI_CU_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {ABI_CU_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {ABI_CU_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "limit is not supported on this architecture"},
    {ABI_CU_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {ABI_CU_FILE_NOT_FOUND, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {ABI_CU_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {ABI_CU_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {ABI_CU_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ABI_CU_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {ABI_CU_PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
     "peer access has not been enabled"},
    {ABI_CU_PRIMARY_CONTEXT_ACTIVE, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
     "cannot set while device is active in this process"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {ABI_CU_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {ABI_CU_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {ABI_CU_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {ABI_CU_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static abi_cu_result error_text(int error, bool name, const char **out)
{
    if (!out)
        return ABI_CU_INVALID_VALUE;
    *out = NULL;
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (errors[i].error == error)
            *out = name ? errors[i].name : errors[i].text;
    return *out ? ABI_CU_SUCCESS : ABI_CU_INVALID_VALUE;
}

abi_cu_result do_cuGetErrorName(struct sim_call *call, abi_cu_result error, const char **out)
{
    return error_text(error, true, out);
}

abi_cu_result do_cuGetErrorString(struct sim_call *call, abi_cu_result error, const char **out)
{
    return error_text(error, false, out);
}
