/* SPDX-License-Identifier: MIT */
/*
 * cuda_abi: what probe/ and sim/ need of the binary interface of CUDA's driver
 * library and of CUPTI, declared here so that both build without vendor headers.
 *
 * Names carry the prefix abi_ and never clash with the vendor's, so a test can
 * include both and compare sizes, offsets and numbers (tests/sim/vendor_abi.c).
 * Layouts are those of CUDA 13.0 (Kernel10, Memcpy6, Memset4, Synchronization2).
 * Older libraries hand out shorter records: CUDA 11.8 ends a kernel record with
 * channel_type, a copy record with channel_type. Every field up to and including
 * `graph_id` has the same offset in Kernel7-10, Memcpy4-6 and Memset3-4, so read
 * only those unless the CUPTI version says that the newer form is there. Kernel
 * and copy records are never to be indexed as arrays: cuptiActivityGetNextRecord
 * knows their true length.
 *
 * All times are ns of CUPTI's own clock (cuptiGetTimestamp, or the callback given
 * to cuptiActivityRegisterTimestampCallback); 0 means unknown.
 */
#ifndef GPUFEED_PROBE_CUDA_ABI_H
#define GPUFEED_PROBE_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "probe/cuda_cbid.h"

#define ABI_RECORD __attribute__((packed, aligned(8)))
#define ABI_INVALID_ID UINT32_MAX /* context, stream, channel: none */

/* ---- the driver library ------------------------------------------------ */

typedef int abi_cu_result;   /* CUresult */
typedef int abi_cu_device;   /* CUdevice */
typedef uint64_t abi_cu_ptr; /* CUdeviceptr */
typedef struct abi_cu_context *abi_cu_context;
typedef struct abi_cu_stream *abi_cu_stream;
typedef struct abi_cu_event *abi_cu_event;
typedef struct abi_cu_module *abi_cu_module;
typedef struct abi_cu_function *abi_cu_function;

struct abi_cu_uuid {
    char bytes[16];
};

enum abi_cu_error {
    ABI_CU_SUCCESS = 0,
    ABI_CU_INVALID_VALUE = 1,
    ABI_CU_OUT_OF_MEMORY = 2,
    ABI_CU_NOT_INITIALIZED = 3,
    ABI_CU_DEINITIALIZED = 4,
    ABI_CU_NO_DEVICE = 100,
    ABI_CU_INVALID_DEVICE = 101,
    ABI_CU_INVALID_IMAGE = 200,
    ABI_CU_INVALID_CONTEXT = 201,
    ABI_CU_INVALID_PTX = 218,
    ABI_CU_FILE_NOT_FOUND = 301,
    ABI_CU_INVALID_HANDLE = 400,
    ABI_CU_NOT_FOUND = 500,
    ABI_CU_NOT_READY = 600,
    ABI_CU_PEER_ACCESS_ALREADY_ENABLED = 704,
    ABI_CU_PEER_ACCESS_NOT_ENABLED = 705,
    ABI_CU_PRIMARY_CONTEXT_ACTIVE = 708,
    ABI_CU_HOST_MEMORY_ALREADY_REGISTERED = 712,
    ABI_CU_HOST_MEMORY_NOT_REGISTERED = 713,
    ABI_CU_NOT_SUPPORTED = 801,
    ABI_CU_UNKNOWN = 999,
};

enum abi_cu_stream_handle { ABI_CU_STREAM_LEGACY = 1, ABI_CU_STREAM_PER_THREAD = 2 };

/* ---- CUPTI: results, domains, callbacks --------------------------------- */

typedef int abi_cupti_result;                  /* CUptiResult */
typedef struct abi_subscriber *abi_subscriber; /* CUpti_SubscriberHandle */

enum abi_cupti_error {
    ABI_CUPTI_SUCCESS = 0,
    ABI_CUPTI_INVALID_PARAMETER = 1,
    ABI_CUPTI_INVALID_DEVICE = 2,
    ABI_CUPTI_INVALID_CONTEXT = 3,
    ABI_CUPTI_INVALID_OPERATION = 7,
    ABI_CUPTI_OUT_OF_MEMORY = 8,
    ABI_CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT = 10,
    ABI_CUPTI_NOT_IMPLEMENTED = 11,
    ABI_CUPTI_MAX_LIMIT_REACHED = 12,
    ABI_CUPTI_NOT_READY = 13,
    ABI_CUPTI_NOT_COMPATIBLE = 14,
    ABI_CUPTI_NOT_INITIALIZED = 15,
    ABI_CUPTI_QUEUE_EMPTY = 18,
    ABI_CUPTI_INVALID_STREAM = 20,
    ABI_CUPTI_INVALID_KIND = 21,
    ABI_CUPTI_NOT_SUPPORTED = 27,
    ABI_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    ABI_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    ABI_CUPTI_UNKNOWN = 999,
};

enum abi_domain {
    ABI_DOMAIN_DRIVER = 1,
    ABI_DOMAIN_RUNTIME = 2,
    ABI_DOMAIN_RESOURCE = 3,
    ABI_DOMAIN_SYNCHRONIZE = 4,
    ABI_DOMAIN_NVTX = 5,
    ABI_DOMAIN_STATE = 6,
    ABI_DOMAINS = 7,
};

enum abi_resource_cbid {
    ABI_RESOURCE_CONTEXT_CREATED = 1,
    ABI_RESOURCE_CONTEXT_DESTROY_STARTING = 2,
    ABI_RESOURCE_STREAM_CREATED = 3,
    ABI_RESOURCE_STREAM_DESTROY_STARTING = 4,
    ABI_RESOURCE_INIT_FINISHED = 5,
    ABI_RESOURCE_MODULE_LOADED = 6,
    ABI_RESOURCE_MODULE_UNLOAD_STARTING = 7,
};

enum abi_synchronize_cbid { ABI_SYNCHRONIZE_STREAM = 1, ABI_SYNCHRONIZE_CONTEXT = 2 };
enum abi_site { ABI_SITE_ENTER = 0, ABI_SITE_EXIT = 1 };

struct abi_callback_data { /* CUpti_CallbackData: driver and runtime domains */
    int site;              /* enum abi_site */
    const char *function_name;
    const void *params;      /* the arguments in order, as a plain struct */
    void *return_value;      /* CUresult *, valid at exit only */
    const char *symbol_name; /* kernel name at launches, else NULL */
    abi_cu_context context;
    uint32_t context_uid;
    uint64_t *correlation_data; /* carried from enter to exit */
    uint32_t correlation_id;
};

struct abi_resource_data { /* CUpti_ResourceData */
    abi_cu_context context;
    abi_cu_stream stream;
    void *descriptor;
};

struct abi_synchronize_data { /* CUpti_SynchronizeData */
    abi_cu_context context;
    abi_cu_stream stream;
};

struct abi_subscriber_params { /* CUpti_SubscriberParams, since 12.6 */
    size_t struct_size;
    const char *subscriber_name;
    char *old_subscriber_name;
    size_t old_subscriber_size;
};

typedef void (*abi_callback_fn)(void *user, int domain, uint32_t cbid, const void *data);

/* ---- CUPTI: activity records -------------------------------------------- */

enum abi_kind {
    ABI_KIND_INVALID = 0,
    ABI_KIND_MEMCPY = 1,
    ABI_KIND_MEMSET = 2,
    ABI_KIND_KERNEL = 3, /* serialises kernels: do not enable */
    ABI_KIND_DRIVER = 4,
    ABI_KIND_RUNTIME = 5,
    ABI_KIND_DEVICE = 8,
    ABI_KIND_CONTEXT = 9,
    ABI_KIND_CONCURRENT_KERNEL = 10,
    ABI_KIND_OVERHEAD = 17,
    ABI_KIND_MEMCPY2 = 22, /* between peers */
    ABI_KIND_UNIFIED_MEMORY_COUNTER = 25,
    ABI_KIND_STREAM = 37,
    ABI_KIND_SYNCHRONIZATION = 38,
    ABI_KIND_EXTERNAL_CORRELATION = 39,
    ABI_KIND_MEMORY2 = 49,
    ABI_KIND_GRAPH_TRACE = 51,
    ABI_KINDS = 56,
};

enum abi_copy_kind {
    ABI_COPY_UNKNOWN,
    ABI_COPY_HTOD,
    ABI_COPY_DTOH,
    ABI_COPY_HTOA,
    ABI_COPY_ATOH,
    ABI_COPY_ATOA,
    ABI_COPY_ATOD,
    ABI_COPY_DTOA,
    ABI_COPY_DTOD,
    ABI_COPY_HTOH,
    ABI_COPY_PTOP,
};

enum abi_memory_kind {
    ABI_MEMORY_UNKNOWN,
    ABI_MEMORY_PAGEABLE,
    ABI_MEMORY_PINNED,
    ABI_MEMORY_DEVICE,
    ABI_MEMORY_ARRAY,
    ABI_MEMORY_MANAGED,
    ABI_MEMORY_DEVICE_STATIC,
    ABI_MEMORY_MANAGED_STATIC,
};

enum abi_sync_type {
    ABI_SYNC_UNKNOWN,
    ABI_SYNC_EVENT,
    ABI_SYNC_STREAM_WAIT_EVENT,
    ABI_SYNC_STREAM,
    ABI_SYNC_CONTEXT,
};

enum abi_activity_flag {
    ABI_FLAG_MEMCPY_ASYNC = 1,
    ABI_FLAG_MEMSET_ASYNC = 1,
    ABI_FLAG_FLUSH_FORCED = 1, /* argument of the flush functions */
};

struct abi_activity { /* CUpti_Activity: the head of every record */
    uint32_t kind;
} ABI_RECORD;

struct abi_kernel { /* CUpti_ActivityKernel10 */
    uint32_t kind;
    uint8_t cache_config;
    uint8_t shared_memory_config;
    uint16_t registers_per_thread;
    uint32_t partitioned_cache_requested;
    uint32_t partitioned_cache_executed;
    uint64_t start;
    uint64_t end;
    uint64_t completed;
    uint32_t device_id;
    uint32_t context_id;
    uint32_t stream_id;
    int32_t grid[3];
    int32_t block[3];
    int32_t static_shared_memory;
    int32_t dynamic_shared_memory;
    uint32_t local_memory_per_thread;
    uint32_t local_memory_total;
    uint32_t correlation_id;
    int64_t grid_id;
    const char *name;
    void *reserved0;
    uint64_t queued;
    uint64_t submitted;
    uint8_t launch_type;
    uint8_t carveout_requested_set;
    uint8_t carveout_requested;
    uint8_t padding;
    uint32_t shared_memory_executed;
    uint64_t graph_node_id;
    uint32_t shmem_limit_config;
    uint32_t graph_id; /* 0: not part of a graph */
    void *access_policy_window;
    uint32_t channel_id;
    uint32_t channel_type; /* Kernel7 ends here */
    uint32_t cluster[3];
    uint32_t cluster_scheduling_policy;
    uint64_t local_memory_total_v2; /* Kernel8 ends here */
    uint32_t max_potential_cluster_size;
    uint32_t max_active_clusters; /* Kernel9 ends here */
    uint8_t is_device_launched;
    uint8_t padding3[7];
} ABI_RECORD;

struct abi_memcpy { /* CUpti_ActivityMemcpy6 */
    uint32_t kind;
    uint8_t copy_kind; /* enum abi_copy_kind */
    uint8_t src_kind;  /* enum abi_memory_kind */
    uint8_t dst_kind;
    uint8_t flags;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t device_id;
    uint32_t context_id;
    uint32_t stream_id;
    uint32_t correlation_id;
    uint32_t runtime_correlation_id;
    uint32_t pad;
    void *reserved0;
    uint64_t graph_node_id;
    uint32_t graph_id;
    uint32_t channel_id; /* Memcpy4 has padding here and ends */
    uint32_t channel_type;
    uint8_t is_device_launched;
    uint8_t pad2[3]; /* Memcpy5 ends here */
    uint64_t copy_count;
} ABI_RECORD;

struct abi_memset { /* CUpti_ActivityMemset4 */
    uint32_t kind;
    uint32_t value;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t device_id;
    uint32_t context_id;
    uint32_t stream_id;
    uint32_t correlation_id;
    uint16_t flags;
    uint16_t memory_kind;
    uint32_t pad;
    void *reserved0;
    uint64_t graph_node_id;
    uint32_t graph_id;
    uint32_t channel_id;
    uint32_t channel_type;
    uint8_t is_device_launched;
    uint8_t pad2[3];
} ABI_RECORD;

struct abi_sync { /* CUpti_ActivitySynchronization2 */
    uint32_t kind;
    uint32_t type; /* enum abi_sync_type */
    uint64_t start;
    uint64_t end;
    uint32_t correlation_id;
    uint32_t context_id;
    uint32_t stream_id;
    uint32_t cuda_event_id; /* the older CUpti_ActivitySynchronization ends here */
    uint64_t cuda_event_sync_id;
    uint32_t return_value;
    uint32_t pad;
} ABI_RECORD;

struct abi_api { /* CUpti_ActivityAPI: kinds DRIVER and RUNTIME */
    uint32_t kind;
    uint32_t cbid;
    uint64_t start;
    uint64_t end;
    uint32_t process_id;
    uint32_t thread_id;
    uint32_t correlation_id;
    uint32_t return_value;
} ABI_RECORD;

/* A buffer and its size are asked for; *max_records 0: as many as fit. */
typedef void (*abi_buffer_requested_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
/* context and stream_id are always NULL and 0 since CUDA 6. */
typedef void (*abi_buffer_completed_fn)(abi_cu_context context, uint32_t stream_id, uint8_t *buffer,
                                        size_t size, size_t valid_size);
typedef uint64_t (*abi_timestamp_fn)(void);

#endif
