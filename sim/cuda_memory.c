/* SPDX-License-Identifier: MIT */
/*
 * cuda_memory: device memory is host memory that the driver remembers.
 *
 * All allocations stand in one array ordered by address, so that any pointer can
 * be told: device, pinned, managed, or pageable (not found). Pages of large
 * device allocations take room only once something was copied there; the others
 * are there from the start, so that no copy pays for page faults.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda.h"

#define PITCH_ALIGN 512u
#define HOST_FLAGS_MASK 7u
#define POPULATED_BYTES (64 * MIB)

enum pointer_attribute { /* CUpointer_attribute */
                         POINTER_CONTEXT = 1,
                         POINTER_MEMORY_TYPE = 2,
                         POINTER_DEVICE = 3,
                         POINTER_HOST = 4,
                         POINTER_BUFFER_ID = 7,
                         POINTER_IS_MANAGED = 8,
                         POINTER_DEVICE_ORDINAL = 9,
                         POINTER_RANGE_START = 11,
                         POINTER_RANGE_SIZE = 12,
                         POINTER_MAPPED = 13,
};

static struct {
    pthread_mutex_t lock;
    struct sim_allocation *rows; /* by base, without overlap */
    size_t count, room;
    uint64_t made;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Index of the first row whose end lies above the address. */
static size_t place_locked(uintptr_t address)
{
    size_t low = 0, high = table.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table.rows[middle].base + table.rows[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool sim_memory_find(uintptr_t address, struct sim_allocation *ret_allocation)
{
    bool found = false;

    pthread_mutex_lock(&table.lock);
    size_t at = place_locked(address);
    if (at < table.count && table.rows[at].base <= address) {
        *ret_allocation = table.rows[at];
        found = true;
    }
    pthread_mutex_unlock(&table.lock);
    return found;
}

static abi_cu_result remember(const struct sim_allocation *row)
{
    abi_cu_result result = ABI_CU_OUT_OF_MEMORY;

    pthread_mutex_lock(&table.lock);
    if (table.count == table.room) {
        size_t room = table.room ? 2 * table.room : 64;
        struct sim_allocation *grown = realloc(table.rows, room * sizeof(*grown));
        if (!grown)
            goto out;
        table.rows = grown;
        table.room = room;
    }
    size_t at = place_locked(row->base);
    result = ABI_CU_HOST_MEMORY_ALREADY_REGISTERED;
    if (at < table.count && table.rows[at].base < row->base + row->bytes)
        goto out;
    memmove(&table.rows[at + 1], &table.rows[at], (table.count - at) * sizeof(*table.rows));
    table.rows[at] = *row;
    table.rows[at].id = ++table.made;
    table.count++;
    result = ABI_CU_SUCCESS;
out:
    pthread_mutex_unlock(&table.lock);
    return result;
}

static void count_memory(struct sim_device *device, int64_t bytes)
{
    pthread_mutex_lock(&sim.lock);
    device->memory_used += (uint64_t)bytes;
    pthread_mutex_unlock(&sim.lock);
    atomic_fetch_add(&device->shared->memory_bytes, (uint64_t)bytes);
}

/* Takes the row that begins at `base` out; its memory is the caller's to give back. */
static bool forget(uintptr_t base, bool device, bool registered, struct sim_allocation *ret_row)
{
    bool found = false;

    pthread_mutex_lock(&table.lock);
    size_t at = place_locked(base);
    if (at < table.count && table.rows[at].base == base &&
        (table.rows[at].kind != SIM_PINNED) == device && table.rows[at].registered == registered) {
        *ret_row = table.rows[at];
        table.count--;
        memmove(&table.rows[at], &table.rows[at + 1], (table.count - at) * sizeof(*table.rows));
        found = true;
    }
    pthread_mutex_unlock(&table.lock);
    return found;
}

static void give_back(const struct sim_allocation *row)
{
    if (!row->registered)
        munmap((void *)row->base, row->mapped);
    if (row->kind != SIM_PINNED)
        count_memory(row->device, -(int64_t)row->bytes);
}

void sim_memory_drop_context(abi_cu_context context)
{
    struct sim_allocation row;
    bool more = true;

    while (more) {
        more = false;
        pthread_mutex_lock(&table.lock);
        for (size_t i = 0; i < table.count && !more; i++)
            if (table.rows[i].context == context) {
                row = table.rows[i];
                more = true;
            }
        pthread_mutex_unlock(&table.lock);
        if (more && forget(row.base, row.kind != SIM_PINNED, row.registered, &row))
            give_back(&row);
    }
}

static abi_cu_result allocate(enum sim_memory_kind kind, size_t bytes, unsigned flags,
                              uintptr_t *ret_base)
{
    abi_cu_context context;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    abi_cu_result result = bytes ? sim_context_need(&context) : ABI_CU_INVALID_VALUE;
    if (result != ABI_CU_SUCCESS)
        return result;
    struct sim_device *device = context->device;
    if (bytes > SIZE_MAX - page ||
        (kind != SIM_PINNED && device->memory_used + bytes > sim.config.memory_bytes))
        return ABI_CU_OUT_OF_MEMORY;
    size_t mapped = (bytes + page - 1) / page * page;
    bool touch = kind == SIM_PINNED || bytes <= POPULATED_BYTES;
    int how = MAP_PRIVATE | MAP_ANONYMOUS | (touch ? MAP_POPULATE : MAP_NORESERVE);
    void *memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, how, -1, 0);
    if (memory == MAP_FAILED)
        return ABI_CU_OUT_OF_MEMORY;
    result = remember(&(struct sim_allocation){.base = (uintptr_t)memory,
                                               .bytes = bytes,
                                               .mapped = mapped,
                                               .kind = kind,
                                               .device = device,
                                               .context = context,
                                               .flags = flags});
    if (result != ABI_CU_SUCCESS) {
        munmap(memory, mapped);
        return ABI_CU_OUT_OF_MEMORY;
    }
    if (kind != SIM_PINNED)
        count_memory(device, (int64_t)bytes);
    *ret_base = (uintptr_t)memory;
    return ABI_CU_SUCCESS;
}

/* ---- device memory -------------------------------------------------------------- */

abi_cu_result do_cuMemAlloc_v2(struct sim_call *call, abi_cu_ptr *dptr, size_t bytes)
{
    uintptr_t base;
    abi_cu_result result = dptr ? allocate(SIM_DEVICE, bytes, 0, &base) : ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *dptr = base;
    return result;
}

abi_cu_result do_cuMemAllocPitch_v2(struct sim_call *call, abi_cu_ptr *dptr, size_t *pitch,
                                    size_t width, size_t height, unsigned element)
{
    if (!dptr || !pitch || !width || !height || width > SIZE_MAX / 2 / height)
        return ABI_CU_INVALID_VALUE;
    size_t row = (width + PITCH_ALIGN - 1) / PITCH_ALIGN * PITCH_ALIGN;
    abi_cu_result result = do_cuMemAlloc_v2(call, dptr, row * height);
    if (result == ABI_CU_SUCCESS)
        *pitch = row;
    return result;
}

abi_cu_result do_cuMemAllocManaged(struct sim_call *call, abi_cu_ptr *dptr, size_t bytes,
                                   unsigned flags)
{
    uintptr_t base;
    abi_cu_result result =
        dptr && flags ? allocate(SIM_MANAGED, bytes, flags, &base) : ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *dptr = base;
    return result;
}

/* As in the real driver, freeing waits for the work that may still use the memory. */
abi_cu_result do_cuMemFree_v2(struct sim_call *call, abi_cu_ptr dptr)
{
    struct sim_allocation row;

    if (dptr == 0)
        return ABI_CU_SUCCESS;
    if (!sim_memory_find((uintptr_t)dptr, &row) || row.base != dptr || row.kind == SIM_PINNED)
        return ABI_CU_INVALID_VALUE;
    sim_context_drain(row.context, sim_context_wait_mode(row.context));
    if (!forget((uintptr_t)dptr, true, false, &row))
        return ABI_CU_INVALID_VALUE;
    give_back(&row);
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuMemAllocAsync(struct sim_call *call, abi_cu_ptr *dptr, size_t bytes,
                                 abi_cu_stream handle)
{
    abi_cu_stream stream;
    abi_cu_result result = sim_stream_find(call, handle, &stream);
    return result == ABI_CU_SUCCESS ? do_cuMemAlloc_v2(call, dptr, bytes) : result;
}

static void free_later(void *user_data)
{
    struct sim_allocation *row = user_data;
    give_back(row);
    free(row);
}

abi_cu_result do_cuMemFreeAsync(struct sim_call *call, abi_cu_ptr dptr, abi_cu_stream handle)
{
    abi_cu_stream stream;
    struct sim_allocation found;

    abi_cu_result result = sim_stream_find(call, handle, &stream);
    if (result != ABI_CU_SUCCESS)
        return result;
    struct sim_allocation *row = malloc(sizeof(*row));
    if (!row)
        return ABI_CU_OUT_OF_MEMORY;
    if (!forget((uintptr_t)dptr, true, false, &found)) {
        free(row);
        return ABI_CU_INVALID_VALUE;
    }
    *row = found;
    return do_cuLaunchHostFunc(call, handle, free_later, row);
}

abi_cu_result do_cuMemGetInfo_v2(struct sim_call *call, size_t *available, size_t *total)
{
    abi_cu_context context;
    abi_cu_result result = available && total ? sim_context_need(&context) : ABI_CU_INVALID_VALUE;
    if (result != ABI_CU_SUCCESS)
        return result;
    pthread_mutex_lock(&sim.lock);
    *available = sim.config.memory_bytes - context->device->memory_used;
    pthread_mutex_unlock(&sim.lock);
    *total = sim.config.memory_bytes;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuMemGetAddressRange_v2(struct sim_call *call, abi_cu_ptr *base, size_t *size,
                                         abi_cu_ptr dptr)
{
    struct sim_allocation row;

    if (!sim_memory_find((uintptr_t)dptr, &row))
        return ABI_CU_NOT_FOUND;
    if (base)
        *base = row.base;
    if (size)
        *size = row.bytes;
    return ABI_CU_SUCCESS;
}

/* ---- pinned memory ------------------------------------------------------------------ */

abi_cu_result do_cuMemHostAlloc(struct sim_call *call, void **out, size_t bytes, unsigned flags)
{
    uintptr_t base;
    abi_cu_result result = out && !(flags & ~HOST_FLAGS_MASK)
                               ? allocate(SIM_PINNED, bytes, flags, &base)
                               : ABI_CU_INVALID_VALUE;
    if (result == ABI_CU_SUCCESS)
        *out = (void *)base;
    return result;
}

abi_cu_result do_cuMemAllocHost_v2(struct sim_call *call, void **out, size_t bytes)
{
    return do_cuMemHostAlloc(call, out, bytes, 0);
}

abi_cu_result do_cuMemFreeHost(struct sim_call *call, void *memory)
{
    struct sim_allocation row;

    if (!sim_memory_find((uintptr_t)memory, &row) || row.base != (uintptr_t)memory ||
        row.kind != SIM_PINNED || row.registered)
        return ABI_CU_INVALID_VALUE;
    sim_context_drain(row.context, sim_context_wait_mode(row.context));
    if (!forget((uintptr_t)memory, false, false, &row))
        return ABI_CU_INVALID_VALUE;
    give_back(&row);
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuMemHostRegister(struct sim_call *call, void *memory, size_t bytes,
                                   unsigned flags)
{
    abi_cu_context context;
    abi_cu_result result = memory && bytes ? sim_context_need(&context) : ABI_CU_INVALID_VALUE;
    if (result != ABI_CU_SUCCESS)
        return result;
    return remember(&(struct sim_allocation){.base = (uintptr_t)memory,
                                             .bytes = bytes,
                                             .kind = SIM_PINNED,
                                             .registered = true,
                                             .device = context->device,
                                             .context = context,
                                             .flags = flags});
}

abi_cu_result do_cuMemHostRegister_v2(struct sim_call *call, void *memory, size_t bytes,
                                      unsigned flags)
{
    return do_cuMemHostRegister(call, memory, bytes, flags);
}

abi_cu_result do_cuMemHostUnregister(struct sim_call *call, void *memory)
{
    struct sim_allocation row;

    if (!sim_memory_find((uintptr_t)memory, &row) || row.base != (uintptr_t)memory ||
        !row.registered)
        return ABI_CU_HOST_MEMORY_NOT_REGISTERED;
    sim_context_drain(row.context, sim_context_wait_mode(row.context));
    return forget((uintptr_t)memory, false, true, &row) ? ABI_CU_SUCCESS
                                                        : ABI_CU_HOST_MEMORY_NOT_REGISTERED;
}

abi_cu_result do_cuMemHostGetDevicePointer_v2(struct sim_call *call, abi_cu_ptr *dptr, void *memory,
                                              unsigned flags)
{
    struct sim_allocation row;

    if (!dptr || flags || !sim_memory_find((uintptr_t)memory, &row) || row.kind != SIM_PINNED)
        return ABI_CU_INVALID_VALUE;
    *dptr = (uintptr_t)memory;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuMemHostGetFlags(struct sim_call *call, unsigned *flags, void *memory)
{
    struct sim_allocation row;

    if (!flags || !sim_memory_find((uintptr_t)memory, &row) || row.kind != SIM_PINNED)
        return ABI_CU_INVALID_VALUE;
    *flags = row.flags;
    return ABI_CU_SUCCESS;
}

abi_cu_result do_cuPointerGetAttribute(struct sim_call *call, void *data, int attribute,
                                       abi_cu_ptr ptr)
{
    enum { TYPE_HOST = 1, TYPE_DEVICE = 2 };
    struct sim_allocation row;

    if (!data || !sim_memory_find((uintptr_t)ptr, &row))
        return ABI_CU_INVALID_VALUE;
    switch ((enum pointer_attribute)attribute) {
    case POINTER_CONTEXT:
        *(abi_cu_context *)data = row.context;
        return ABI_CU_SUCCESS;
    case POINTER_MEMORY_TYPE:
        *(unsigned *)data = row.kind == SIM_PINNED ? TYPE_HOST : TYPE_DEVICE;
        return ABI_CU_SUCCESS;
    case POINTER_DEVICE:
        *(abi_cu_ptr *)data = ptr;
        return ABI_CU_SUCCESS;
    case POINTER_HOST:
        if (row.kind == SIM_DEVICE)
            return ABI_CU_INVALID_VALUE;
        *(void **)data = (void *)(uintptr_t)ptr;
        return ABI_CU_SUCCESS;
    case POINTER_BUFFER_ID:
        *(unsigned long long *)data = row.id;
        return ABI_CU_SUCCESS;
    case POINTER_IS_MANAGED:
        *(unsigned *)data = row.kind == SIM_MANAGED;
        return ABI_CU_SUCCESS;
    case POINTER_DEVICE_ORDINAL:
        *(int *)data = row.context->ordinal;
        return ABI_CU_SUCCESS;
    case POINTER_RANGE_START:
        *(abi_cu_ptr *)data = row.base;
        return ABI_CU_SUCCESS;
    case POINTER_RANGE_SIZE:
        *(size_t *)data = row.bytes;
        return ABI_CU_SUCCESS;
    case POINTER_MAPPED:
        *(unsigned *)data = 1;
        return ABI_CU_SUCCESS;
    }
    return ABI_CU_NOT_SUPPORTED;
}
