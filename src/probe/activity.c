/* SPDX-License-Identifier: MIT */
#include "probe/activity.h"

#include <string.h>
#include <sys/mman.h>

#define BUFFER_BYTES (32u * 1024)
#define BUFFERS_MAX 1024u /* 32 MiB: then CUPTI drops records and says how many */
#define BATCH 64
/* A RING_CLOCK record at every so many flushes. */
#define CLOCK_EVERY 10

#define MICROSECOND_NS 1000
/* The call that lasts until its copy has ended, within the error of the clock pair. */
#define SYNC_SLACK_NS (5 * MICROSECOND_NS)

/* The head that CUpti_ActivityMemcpyPtoP3 and 4 share. */
struct abi_peer_copy {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device_id, context_id, stream_id;
    uint32_t src_device, src_context, dst_device, dst_context;
    uint32_t correlation_id;
} ABI_RECORD;

_Static_assert(offsetof(struct abi_peer_copy, correlation_id) == 60, "layout of CUPTI");

void activity_init(struct activity *a, struct ring_writer *ring, struct join *join,
                   const struct cupti *cupti)
{
    memset(a, 0, sizeof(*a));
    a->ring = ring;
    a->join = join;
    a->cupti = cupti;
    a->flush = 1;
    pthread_mutex_init(&a->lock, NULL);
}

void activity_buffer_get(struct activity *a, uint8_t **buffer, size_t *size, size_t *max_records)
{
    uint8_t *found = NULL;
    bool make = false;

    pthread_mutex_lock(&a->lock);
    if (a->free_buffers) {
        found = a->free_buffers;
        memcpy(&a->free_buffers, found, sizeof(found));
    } else if (a->buffer_count < BUFFERS_MAX) {
        a->buffer_count++;
        make = true;
    }
    pthread_mutex_unlock(&a->lock);
    if (make) {
        void *at =
            mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        found = at == MAP_FAILED ? NULL : at;
    }
    *buffer = found;
    *size = found ? BUFFER_BYTES : 0;
    *max_records = 0;
}

static void keep_buffer(struct activity *a, uint8_t *buffer)
{
    pthread_mutex_lock(&a->lock);
    memcpy(buffer, &a->free_buffers, sizeof(buffer));
    a->free_buffers = buffer;
    pthread_mutex_unlock(&a->lock);
}

/* --- records --------------------------------------------------------------------------------- */

/* What every kind of activity has. */
struct seen {
    uint64_t start, end;
    uint32_t device, stream, correlation;
};

static void add_copy(struct ring_record *out, uint8_t copy_kind, uint8_t src, uint8_t dst,
                     uint8_t flags, uint64_t bytes)
{
    bool from_host = copy_kind == ABI_COPY_HTOD || copy_kind == ABI_COPY_HTOA ||
                     src == ABI_MEMORY_PAGEABLE || src == ABI_MEMORY_PINNED;
    bool to_host = copy_kind == ABI_COPY_DTOH || copy_kind == ABI_COPY_ATOH ||
                   dst == ABI_MEMORY_PAGEABLE || dst == ABI_MEMORY_PINNED;

    out->span_kind = RING_COPY;
    out->bytes = bytes;
    if (from_host || to_host)
        out->flags |= RING_HOST_COPY;
    if ((from_host && src == ABI_MEMORY_PAGEABLE) || (to_host && dst == ABI_MEMORY_PAGEABLE))
        out->flags |= RING_PAGEABLE;
    /* asked for as asynchronous, it can only block where the memory is pageable */
    if (out->flags == RING_HOST_COPY && (flags & ABI_FLAG_MEMCPY_ASYNC))
        return;
    if (out->flags & RING_HOST_COPY)
        out->flags |= RING_SYNC_COPY; /* if the call proves as long as the copy */
}

/* False for records that are no work of a device. */
static bool read_record(struct activity *a, const struct abi_activity *record, struct seen *seen,
                        struct ring_record *out)
{
    switch (record->kind) {
    case ABI_KIND_CONCURRENT_KERNEL:
    case ABI_KIND_KERNEL: {
        const struct abi_kernel *k = (const void *)record;
        *seen = (struct seen){k->start, k->end, k->device_id, k->stream_id, k->correlation_id};
        out->span_kind = kernel_cache_is_comm(&a->names, k->name) ? RING_COMM : RING_COMPUTE;
        return true;
    }
    case ABI_KIND_MEMCPY: {
        const struct abi_memcpy *m = (const void *)record;
        *seen = (struct seen){m->start, m->end, m->device_id, m->stream_id, m->correlation_id};
        add_copy(out, m->copy_kind, m->src_kind, m->dst_kind, m->flags, m->bytes);
        return m->copy_kind != ABI_COPY_HTOH;
    }
    case ABI_KIND_MEMCPY2: {
        const struct abi_peer_copy *m = (const void *)record;
        *seen = (struct seen){m->start, m->end, m->device_id, m->stream_id, m->correlation_id};
        add_copy(out, ABI_COPY_PTOP, m->src_kind, m->dst_kind, m->flags, m->bytes);
        return true;
    }
    case ABI_KIND_MEMSET: {
        const struct abi_memset *m = (const void *)record;
        *seen = (struct seen){m->start, m->end, m->device_id, m->stream_id, m->correlation_id};
        out->span_kind = RING_MEMSET;
        out->bytes = m->bytes;
        return true;
    }
    default:
        *seen = (struct seen){0};
        return false;
    }
}

static void add_launch(struct activity *a, uint32_t correlation, struct ring_record *out)
{
    struct join_call call;

    if (!join_find(a->join, correlation, a->flush, &call)) {
        out->flags &= (uint8_t)~RING_SYNC_COPY;
        return;
    }
    if (call.open) {
        int64_t so_far = clock_now() - call.t0;
        call.ns = so_far > UINT32_MAX ? UINT32_MAX : (uint32_t)so_far;
    }
    out->launch_t0 = call.t0;
    out->launch_ns = call.ns;
    out->tid = call.tid;
    if (call.t0 + call.ns + SYNC_SLACK_NS < out->t1)
        out->flags &= (uint8_t)~RING_SYNC_COPY;
}

static bool convert(struct activity *a, const struct clock_map *clock,
                    const struct abi_activity *record, struct ring_record *out)
{
    struct seen seen;
    struct join_call ignored;

    memset(out, 0, sizeof(*out));
    out->kind = RING_SPAN;
    if (!read_record(a, record, &seen, out)) {
        join_find(a->join, seen.correlation, a->flush, &ignored);
        return false;
    }
    if (seen.start == 0 || seen.end < seen.start || seen.device >= RING_DEVICES ||
        !clock_map_read(clock, seen.start, &out->t0) ||
        !clock_map_read(clock, seen.end, &out->t1)) {
        __atomic_fetch_add(&a->unreadable, 1, __ATOMIC_RELAXED);
        join_find(a->join, seen.correlation, a->flush, &ignored);
        return false;
    }
    if (out->t1 < out->t0)
        out->t1 = out->t0;
    out->device = (uint16_t)seen.device;
    out->stream = seen.stream;
    add_launch(a, seen.correlation, out);
    return true;
}

void activity_buffer_done(struct activity *a, uint8_t *buffer, size_t valid)
{
    struct abi_activity *record = NULL;
    struct ring_record batch[BATCH];
    struct clock_map clock;
    size_t n = 0;

    if (!buffer)
        return;
    pthread_mutex_lock(&a->lock);
    clock = a->clock;
    pthread_mutex_unlock(&a->lock);
    while (valid > 0 && a->cupti->next_record(buffer, valid, &record) == ABI_CUPTI_SUCCESS) {
        if (convert(a, &clock, record, &batch[n]) && ++n == BATCH) {
            ring_writer_push(a->ring, batch, n, clock_now());
            __atomic_fetch_add(&a->spans, n, __ATOMIC_RELAXED);
            n = 0;
        }
    }
    if (n > 0)
        ring_writer_push(a->ring, batch, n, clock_now());
    __atomic_fetch_add(&a->spans, n, __ATOMIC_RELAXED);
    keep_buffer(a, buffer);
}

void activity_begin_flush(struct activity *a)
{
    struct clock_pair pair;
    bool have = clock_pair_take(&pair, a->cupti->timestamp);

    pthread_mutex_lock(&a->lock);
    a->flush = (uint16_t)(a->flush + 1);
    if (a->flush == 0)
        a->flush = 1;
    bool tell = have && (a->flush % CLOCK_EVERY == 0 || a->clock.last.error == 0);
    if (have)
        clock_map_add(&a->clock, &pair);
    pthread_mutex_unlock(&a->lock);
    if (tell) {
        struct ring_record out = {.kind = RING_CLOCK,
                                  .t0 = pair.mono,
                                  .t1 = pair.device,
                                  .bytes = (uint64_t)pair.error,
                                  .device = UINT16_MAX};
        ring_writer_push(a->ring, &out, 1, pair.mono);
    }
}

uint64_t activity_take_lost(struct activity *a)
{
    size_t dropped = 0;

    if (a->cupti->dropped(NULL, 0, &dropped) != ABI_CUPTI_SUCCESS)
        dropped = 0;
    return dropped + __atomic_exchange_n(&a->unreadable, 0, __ATOMIC_RELAXED);
}
