/* SPDX-License-Identifier: MIT */
/*
 * Compiled only where the vendor's headers are installed: our own declarations
 * of CUDA's and CUPTI's binary interface against theirs. It fails to build when
 * one differs; running it does nothing.
 */
#include <cuda.h>
#include <cupti.h>

#include "../../sim/cu_types.h"
#include "driver_args.h"

#define SAME_NUMBER(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours)
#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_PLACE(ours, field, theirs, their_field)                                               \
    _Static_assert(offsetof(ours, field) == offsetof(theirs, their_field) &&                       \
                       sizeof(((ours *)0)->field) == sizeof(((theirs *)0)->their_field),           \
                   #ours "." #field " in " #theirs)

#define CBID(name, number) SAME_NUMBER(number, CUPTI_DRIVER_TRACE_CBID_##name);
ABI_DRIVER_CBIDS(CBID)
_Static_assert((int)CUPTI_DRIVER_TRACE_CBID_SIZE < (int)ABI_CBID_LIMIT, "limit of cbids");

SAME_NUMBER(ABI_CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME_NUMBER(ABI_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME_NUMBER(ABI_CU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME_NUMBER(ABI_CU_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME_NUMBER(ABI_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME_NUMBER(ABI_CU_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME_NUMBER(ABI_CU_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
SAME_NUMBER(ABI_CU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME_NUMBER(ABI_CU_INVALID_PTX, CUDA_ERROR_INVALID_PTX);
SAME_NUMBER(ABI_CU_FILE_NOT_FOUND, CUDA_ERROR_FILE_NOT_FOUND);
SAME_NUMBER(ABI_CU_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME_NUMBER(ABI_CU_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME_NUMBER(ABI_CU_NOT_READY, CUDA_ERROR_NOT_READY);
SAME_NUMBER(ABI_CU_PEER_ACCESS_ALREADY_ENABLED, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME_NUMBER(ABI_CU_PEER_ACCESS_NOT_ENABLED, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
SAME_NUMBER(ABI_CU_PRIMARY_CONTEXT_ACTIVE, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
SAME_NUMBER(ABI_CU_HOST_MEMORY_ALREADY_REGISTERED, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME_NUMBER(ABI_CU_HOST_MEMORY_NOT_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
SAME_NUMBER(ABI_CU_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME_NUMBER(ABI_CU_UNKNOWN, CUDA_ERROR_UNKNOWN);
SAME_SIZE(abi_cu_ptr, CUdeviceptr);
SAME_SIZE(struct abi_cu_uuid, CUuuid);

SAME_NUMBER(ABI_CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME_NUMBER(ABI_CUPTI_INVALID_DEVICE, CUPTI_ERROR_INVALID_DEVICE);
SAME_NUMBER(ABI_CUPTI_INVALID_CONTEXT, CUPTI_ERROR_INVALID_CONTEXT);
SAME_NUMBER(ABI_CUPTI_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
SAME_NUMBER(ABI_CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
SAME_NUMBER(ABI_CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT, CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
SAME_NUMBER(ABI_CUPTI_NOT_IMPLEMENTED, CUPTI_ERROR_API_NOT_IMPLEMENTED);
SAME_NUMBER(ABI_CUPTI_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME_NUMBER(ABI_CUPTI_NOT_READY, CUPTI_ERROR_NOT_READY);
SAME_NUMBER(ABI_CUPTI_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
SAME_NUMBER(ABI_CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME_NUMBER(ABI_CUPTI_QUEUE_EMPTY, CUPTI_ERROR_QUEUE_EMPTY);
SAME_NUMBER(ABI_CUPTI_INVALID_STREAM, CUPTI_ERROR_INVALID_STREAM);
SAME_NUMBER(ABI_CUPTI_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
SAME_NUMBER(ABI_CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME_NUMBER(ABI_CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME_NUMBER(ABI_CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME_NUMBER(ABI_CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);

SAME_NUMBER(ABI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME_NUMBER(ABI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME_NUMBER(ABI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME_NUMBER(ABI_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_SYNCHRONIZE);
SAME_NUMBER(ABI_DOMAIN_NVTX, CUPTI_CB_DOMAIN_NVTX);
SAME_NUMBER(ABI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);
SAME_NUMBER(ABI_DOMAINS, CUPTI_CB_DOMAIN_SIZE);
SAME_NUMBER(ABI_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
SAME_NUMBER(ABI_RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME_NUMBER(ABI_RESOURCE_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_CREATED);
SAME_NUMBER(ABI_RESOURCE_STREAM_DESTROY_STARTING, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
SAME_NUMBER(ABI_RESOURCE_INIT_FINISHED, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
SAME_NUMBER(ABI_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME_NUMBER(ABI_RESOURCE_MODULE_UNLOAD_STARTING, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
SAME_NUMBER(ABI_SYNCHRONIZE_STREAM, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED);
SAME_NUMBER(ABI_SYNCHRONIZE_CONTEXT, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED);
SAME_NUMBER(ABI_SITE_ENTER, CUPTI_API_ENTER);
SAME_NUMBER(ABI_SITE_EXIT, CUPTI_API_EXIT);

SAME_NUMBER(ABI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME_NUMBER(ABI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME_NUMBER(ABI_KIND_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME_NUMBER(ABI_KIND_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
SAME_NUMBER(ABI_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
SAME_NUMBER(ABI_KIND_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
SAME_NUMBER(ABI_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT);
SAME_NUMBER(ABI_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME_NUMBER(ABI_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
SAME_NUMBER(ABI_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME_NUMBER(ABI_KIND_UNIFIED_MEMORY_COUNTER, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
SAME_NUMBER(ABI_KIND_STREAM, CUPTI_ACTIVITY_KIND_STREAM);
SAME_NUMBER(ABI_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
SAME_NUMBER(ABI_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
SAME_NUMBER(ABI_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2);
SAME_NUMBER(ABI_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
SAME_NUMBER(ABI_COPY_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
SAME_NUMBER(ABI_COPY_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
SAME_NUMBER(ABI_COPY_DTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
SAME_NUMBER(ABI_COPY_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
SAME_NUMBER(ABI_COPY_PTOP, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
SAME_NUMBER(ABI_MEMORY_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
SAME_NUMBER(ABI_MEMORY_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
SAME_NUMBER(ABI_MEMORY_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
SAME_NUMBER(ABI_MEMORY_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
SAME_NUMBER(ABI_MEMORY_MANAGED_STATIC, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC);
SAME_NUMBER(ABI_SYNC_EVENT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
SAME_NUMBER(ABI_SYNC_STREAM_WAIT_EVENT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
SAME_NUMBER(ABI_SYNC_STREAM, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
SAME_NUMBER(ABI_SYNC_CONTEXT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
SAME_NUMBER(ABI_FLAG_MEMCPY_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
SAME_NUMBER(ABI_FLAG_MEMSET_ASYNC, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);
SAME_NUMBER(ABI_FLAG_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

#define DATA(field, theirs) SAME_PLACE(struct abi_callback_data, field, CUpti_CallbackData, theirs)
SAME_SIZE(struct abi_callback_data, CUpti_CallbackData);
DATA(site, callbackSite);
DATA(function_name, functionName);
DATA(params, functionParams);
DATA(return_value, functionReturnValue);
DATA(symbol_name, symbolName);
DATA(context, context);
DATA(context_uid, contextUid);
DATA(correlation_data, correlationData);
DATA(correlation_id, correlationId);
SAME_SIZE(struct abi_resource_data, CUpti_ResourceData);
SAME_PLACE(struct abi_resource_data, stream, CUpti_ResourceData, resourceHandle);
SAME_PLACE(struct abi_resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME_SIZE(struct abi_synchronize_data, CUpti_SynchronizeData);
SAME_PLACE(struct abi_synchronize_data, stream, CUpti_SynchronizeData, stream);
SAME_SIZE(struct abi_subscriber_params, CUpti_SubscriberParams);
SAME_PLACE(struct abi_subscriber_params, old_subscriber_size, CUpti_SubscriberParams,
           oldSubscriberSize);
SAME_SIZE(struct abi_activity, CUpti_Activity);

#define KERNEL_IN(type, field, theirs) SAME_PLACE(struct abi_kernel, field, type, theirs)
#define KERNEL(field, theirs)                                                                      \
    KERNEL_IN(CUpti_ActivityKernel7, field, theirs);                                               \
    KERNEL_IN(CUpti_ActivityKernel8, field, theirs);                                               \
    KERNEL_IN(CUpti_ActivityKernel9, field, theirs);                                               \
    KERNEL_IN(CUpti_ActivityKernel10, field, theirs)
KERNEL(kind, kind);
KERNEL(cache_config, cacheConfig);
KERNEL(shared_memory_config, sharedMemoryConfig);
KERNEL(registers_per_thread, registersPerThread);
KERNEL(start, start);
KERNEL(end, end);
KERNEL(completed, completed);
KERNEL(device_id, deviceId);
KERNEL(context_id, contextId);
KERNEL(stream_id, streamId);
KERNEL(grid[0], gridX);
KERNEL(grid[2], gridZ);
KERNEL(block[0], blockX);
KERNEL(block[2], blockZ);
KERNEL(static_shared_memory, staticSharedMemory);
KERNEL(dynamic_shared_memory, dynamicSharedMemory);
KERNEL(correlation_id, correlationId);
KERNEL(grid_id, gridId);
KERNEL(name, name);
KERNEL(queued, queued);
KERNEL(submitted, submitted);
KERNEL(launch_type, launchType);
KERNEL(graph_node_id, graphNodeId);
KERNEL(graph_id, graphId);
KERNEL(channel_id, channelID);
KERNEL(channel_type, channelType);
KERNEL_IN(CUpti_ActivityKernel10, cluster[2], clusterZ);
KERNEL_IN(CUpti_ActivityKernel10, local_memory_total_v2, localMemoryTotal_v2);
KERNEL_IN(CUpti_ActivityKernel10, max_active_clusters, maxActiveClusters);
KERNEL_IN(CUpti_ActivityKernel10, is_device_launched, isDeviceLaunched);
SAME_SIZE(struct abi_kernel, CUpti_ActivityKernel10);

#define COPY(field, theirs)                                                                        \
    SAME_PLACE(struct abi_memcpy, field, CUpti_ActivityMemcpy4, theirs);                           \
    SAME_PLACE(struct abi_memcpy, field, CUpti_ActivityMemcpy5, theirs);                           \
    SAME_PLACE(struct abi_memcpy, field, CUpti_ActivityMemcpy6, theirs)
COPY(copy_kind, copyKind);
COPY(src_kind, srcKind);
COPY(dst_kind, dstKind);
COPY(flags, flags);
COPY(bytes, bytes);
COPY(start, start);
COPY(end, end);
COPY(device_id, deviceId);
COPY(context_id, contextId);
COPY(stream_id, streamId);
COPY(correlation_id, correlationId);
COPY(graph_id, graphId);
SAME_PLACE(struct abi_memcpy, copy_count, CUpti_ActivityMemcpy6, copyCount);
SAME_SIZE(struct abi_memcpy, CUpti_ActivityMemcpy6);

#define SET(field, theirs)                                                                         \
    SAME_PLACE(struct abi_memset, field, CUpti_ActivityMemset3, theirs);                           \
    SAME_PLACE(struct abi_memset, field, CUpti_ActivityMemset4, theirs)
SET(value, value);
SET(bytes, bytes);
SET(start, start);
SET(end, end);
SET(device_id, deviceId);
SET(context_id, contextId);
SET(stream_id, streamId);
SET(correlation_id, correlationId);
SET(flags, flags);
SET(memory_kind, memoryKind);
SET(graph_id, graphId);
SAME_SIZE(struct abi_memset, CUpti_ActivityMemset4);

#define SYNC(field, theirs)                                                                        \
    SAME_PLACE(struct abi_sync, field, CUpti_ActivitySynchronization, theirs);                     \
    SAME_PLACE(struct abi_sync, field, CUpti_ActivitySynchronization2, theirs)
SYNC(type, type);
SYNC(start, start);
SYNC(end, end);
SYNC(correlation_id, correlationId);
SYNC(context_id, contextId);
SYNC(stream_id, streamId);
SYNC(cuda_event_id, cudaEventId);
SAME_PLACE(struct abi_sync, return_value, CUpti_ActivitySynchronization2, returnValue);
SAME_SIZE(struct abi_sync, CUpti_ActivitySynchronization2);

SAME_SIZE(struct abi_api, CUpti_ActivityAPI);
SAME_PLACE(struct abi_api, cbid, CUpti_ActivityAPI, cbid);
SAME_PLACE(struct abi_api, start, CUpti_ActivityAPI, start);
SAME_PLACE(struct abi_api, process_id, CUpti_ActivityAPI, processId);
SAME_PLACE(struct abi_api, return_value, CUpti_ActivityAPI, returnValue);

SAME_SIZE(struct sim_launch_config, CUlaunchConfig);
SAME_PLACE(struct sim_launch_config, grid[2], CUlaunchConfig, gridDimZ);
SAME_PLACE(struct sim_launch_config, block[2], CUlaunchConfig, blockDimZ);
SAME_PLACE(struct sim_launch_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME_PLACE(struct sim_launch_config, stream, CUlaunchConfig, hStream);
SAME_PLACE(struct sim_launch_config, attribute_count, CUlaunchConfig, numAttrs);
SAME_SIZE(struct sim_context_params, CUctxCreateParams);

/* The arguments of every function that we export, as a struct. */
#define ARGS(name) SAME_SIZE(struct sim_args_##name, name##_params);
SIM_ARGS(ARGS)

int main(void)
{
    return 0;
}
