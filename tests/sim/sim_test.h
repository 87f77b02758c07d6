/* SPDX-License-Identifier: MIT */
/*
 * sim_test: how the tests of sim/ reach the libraries: by dlopen and the names
 * that a program would use, never by linking. SIM_LIB_DIR says where they lie.
 */
#ifndef GPUFEED_TESTS_SIM_TEST_H
#define GPUFEED_TESTS_SIM_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/unit.h"
#include "probe/cuda_abi.h"

#define SPIN_PTX                                                                                   \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                              \
    "// .entry not_this_one\n"                                                                     \
    ".visible .entry spin(.param .u64 spin_ns)\n{\n ret;\n}\n"                                     \
    ".visible .entry ncclDevKernel_AllReduce_spin(\n .param .u64 a,\n .param .u32 b)\n{\n "        \
    "ret;\n}\n"                                                                                    \
    "/* .entry nor_this */ .entry tiny()\n{\n ret;\n}\n"

/* The driver functions that the tests call, by their true prototypes. */
#define CUDA_FUNCTIONS(X)                                                                          \
    X(cuInit, (unsigned))                                                                          \
    X(cuDriverGetVersion, (int *))                                                                 \
    X(cuDeviceGetCount, (int *))                                                                   \
    X(cuDeviceGetName, (char *, int, abi_cu_device))                                               \
    X(cuDeviceGetUuid, (struct abi_cu_uuid *, abi_cu_device))                                      \
    X(cuDeviceGetAttribute, (int *, int, abi_cu_device))                                           \
    X(cuDevicePrimaryCtxRetain, (abi_cu_context *, abi_cu_device))                                 \
    X(cuDevicePrimaryCtxRelease_v2, (abi_cu_device))                                               \
    X(cuDevicePrimaryCtxGetState, (abi_cu_device, unsigned *, int *))                              \
    X(cuCtxCreate_v2, (abi_cu_context *, unsigned, abi_cu_device))                                 \
    X(cuCtxDestroy_v2, (abi_cu_context))                                                           \
    X(cuCtxSetCurrent, (abi_cu_context))                                                           \
    X(cuCtxGetCurrent, (abi_cu_context *))                                                         \
    X(cuCtxGetDevice, (abi_cu_device *))                                                           \
    X(cuCtxSynchronize, (void))                                                                    \
    X(cuCtxPopCurrent_v2, (abi_cu_context *))                                                      \
    X(cuStreamCreate, (abi_cu_stream *, unsigned))                                                 \
    X(cuStreamDestroy_v2, (abi_cu_stream))                                                         \
    X(cuStreamSynchronize, (abi_cu_stream))                                                        \
    X(cuStreamSynchronize_ptsz, (abi_cu_stream))                                                   \
    X(cuStreamQuery, (abi_cu_stream))                                                              \
    X(cuStreamWaitEvent, (abi_cu_stream, abi_cu_event, unsigned))                                  \
    X(cuEventCreate, (abi_cu_event *, unsigned))                                                   \
    X(cuEventRecord, (abi_cu_event, abi_cu_stream))                                                \
    X(cuEventQuery, (abi_cu_event))                                                                \
    X(cuEventSynchronize, (abi_cu_event))                                                          \
    X(cuEventElapsedTime, (float *, abi_cu_event, abi_cu_event))                                   \
    X(cuEventDestroy_v2, (abi_cu_event))                                                           \
    X(cuMemAlloc_v2, (abi_cu_ptr *, size_t))                                                       \
    X(cuMemFree_v2, (abi_cu_ptr))                                                                  \
    X(cuMemGetInfo_v2, (size_t *, size_t *))                                                       \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                                                 \
    X(cuMemFreeHost, (void *))                                                                     \
    X(cuMemHostRegister_v2, (void *, size_t, unsigned))                                            \
    X(cuMemHostUnregister, (void *))                                                               \
    X(cuPointerGetAttribute, (void *, int, abi_cu_ptr))                                            \
    X(cuMemcpyHtoD_v2, (abi_cu_ptr, const void *, size_t))                                         \
    X(cuMemcpyDtoH_v2, (void *, abi_cu_ptr, size_t))                                               \
    X(cuMemcpyDtoD_v2, (abi_cu_ptr, abi_cu_ptr, size_t))                                           \
    X(cuMemcpyHtoDAsync_v2, (abi_cu_ptr, const void *, size_t, abi_cu_stream))                     \
    X(cuMemcpyDtoHAsync_v2, (void *, abi_cu_ptr, size_t, abi_cu_stream))                           \
    X(cuMemcpyAsync, (abi_cu_ptr, abi_cu_ptr, size_t, abi_cu_stream))                              \
    X(cuMemsetD32Async, (abi_cu_ptr, unsigned, size_t, abi_cu_stream))                             \
    X(cuModuleLoadData, (abi_cu_module *, const void *))                                           \
    X(cuModuleUnload, (abi_cu_module))                                                             \
    X(cuModuleGetFunction, (abi_cu_function *, abi_cu_module, const char *))                       \
    X(cuLaunchKernel, (abi_cu_function, unsigned, unsigned, unsigned, unsigned, unsigned,          \
                       unsigned, unsigned, abi_cu_stream, void **, void **))                       \
    X(cuLaunchKernel_ptsz, (abi_cu_function, unsigned, unsigned, unsigned, unsigned, unsigned,     \
                            unsigned, unsigned, abi_cu_stream, void **, void **))                  \
    X(cuLaunchHostFunc, (abi_cu_stream, void (*)(void *), void *))                                 \
    X(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *))                          \
    X(cuGetErrorName, (abi_cu_result, const char **))

#define CUPTI_FUNCTIONS(X)                                                                         \
    X(cuptiGetVersion, (uint32_t *))                                                               \
    X(cuptiGetTimestamp, (uint64_t *))                                                             \
    X(cuptiSubscribe, (abi_subscriber *, abi_callback_fn, void *))                                 \
    X(cuptiSubscribe_v2,                                                                           \
      (abi_subscriber *, abi_callback_fn, void *, struct abi_subscriber_params *))                 \
    X(cuptiUnsubscribe, (abi_subscriber))                                                          \
    X(cuptiEnableCallback, (uint32_t, abi_subscriber, int, uint32_t))                              \
    X(cuptiEnableDomain, (uint32_t, abi_subscriber, int))                                          \
    X(cuptiActivityRegisterCallbacks, (abi_buffer_requested_fn, abi_buffer_completed_fn))          \
    X(cuptiActivityRegisterTimestampCallback, (abi_timestamp_fn))                                  \
    X(cuptiActivityEnable, (int))                                                                  \
    X(cuptiActivityDisable, (int))                                                                 \
    X(cuptiActivityEnableDriverApi, (uint32_t, uint8_t))                                           \
    X(cuptiActivityFlushAll, (uint32_t))                                                           \
    X(cuptiActivityGetNextRecord, (uint8_t *, size_t, struct abi_activity **))                     \
    X(cuptiActivityGetNumDroppedRecords, (abi_cu_context, uint32_t, size_t *))                     \
    X(cuptiGetDeviceId, (abi_cu_context, uint32_t *))                                              \
    X(cuptiGetContextId, (abi_cu_context, uint32_t *))                                             \
    X(cuptiGetResultString, (abi_cupti_result, const char **))

#define NVML_FUNCTIONS(X)                                                                          \
    X(nvmlInit_v2, (void))                                                                         \
    X(nvmlShutdown, (void))                                                                        \
    X(nvmlDeviceGetCount_v2, (unsigned *))                                                         \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned, void **))                                          \
    X(nvmlDeviceGetHandleByUUID, (const char *, void **))                                          \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *, void **))                                   \
    X(nvmlDeviceGetUUID, (void *, char *, unsigned))                                               \
    X(nvmlDeviceGetName, (void *, char *, unsigned))                                               \
    X(nvmlDeviceGetUtilizationRates, (void *, unsigned *))                                         \
    X(nvmlDeviceGetMemoryInfo, (void *, unsigned long long *))                                     \
    X(nvmlDeviceGetPowerUsage, (void *, unsigned *))                                               \
    X(nvmlDeviceGetMigMode, (void *, unsigned *, unsigned *))                                      \
    X(nvmlDeviceGetNvLinkState, (void *, unsigned, unsigned *))                                    \
    X(nvmlDeviceGetP2PStatus, (void *, void *, unsigned, int *))                                   \
    X(nvmlDeviceGetGpuFabricInfoV, (void *, void *))                                               \
    X(nvmlDeviceGetTopologyCommonAncestor, (void *, void *, unsigned *))                           \
    X(nvmlDeviceGetComputeRunningProcesses_v3, (void *, unsigned *, void *))                       \
    X(nvmlDeviceGetSamples, (void *, unsigned, unsigned long long, unsigned *, unsigned *, void *))

struct sim_test {
    void *cuda, *cupti, *nvml; /* dlopen handles; NULL: not asked for */
#define FIELD(name, parameters) int(*name) parameters;
    CUDA_FUNCTIONS(FIELD)
    CUPTI_FUNCTIONS(FIELD)
    NVML_FUNCTIONS(FIELD)
#undef FIELD
};

enum { WITH_CUDA = 1, WITH_CUPTI = 2, WITH_NVML = 4 };

/* Makes a folder of its own for GPUFEED_SIM_DIR and clears what else could change the outcome. */
void sim_test_environment(int devices);
/* Removes that folder. */
void sim_test_cleanup(void);
void sim_test_open(struct sim_test *t, int libraries);
/* cuInit, the primary context of a device made current, and a kernel of SPIN_PTX. */
abi_cu_context sim_test_context(struct sim_test *t, abi_cu_device device);
abi_cu_function sim_test_kernel(struct sim_test *t, const char *name);
void sim_test_spin(struct sim_test *t, abi_cu_function kernel, abi_cu_stream stream, uint64_t ns);
int64_t sim_test_now(void);

#endif
