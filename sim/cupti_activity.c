/* SPDX-License-Identifier: MIT */
/*
 * cupti_activity: records of what the device and the driver did, and their way
 * to the client.
 *
 * libcuda hands a record over as soon as its times are known, often before they
 * come. It waits in `waiting` until its end has passed; a flush, or the worker
 * when enough wait, moves what has ended into the client's buffers. A buffer goes
 * to the client when full, or at a flush. Two locks: `waiting_lock`, innermost, is
 * all that libcuda's threads ever take; `delivery_lock` is held while the client's
 * functions run, so those must not flush.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cupti.h"

#define WORKER_BATCH 1024      /* records waiting at which the worker looks */
#define WORKER_IDLE_MS 1000    /* and how often it looks otherwise */
#define WAITING_MAX (1u << 20) /* beyond this records are dropped and counted */

struct waiting {
    int64_t end_ns;
    union sim_record record;
};

struct record_list {
    struct waiting *rows;
    size_t count, room;
};

static struct {
    pthread_mutex_t waiting_lock;
    struct record_list waiting;
    size_t look_at; /* as many waiting wake the worker */
    size_t dropped;
    pthread_cond_t work;
    bool worker, told;
    uint32_t period_ms;

    pthread_mutex_t delivery_lock;
    abi_buffer_requested_fn requested;
    abi_buffer_completed_fn completed;
    uint8_t *buffer; /* the client's, being filled */
    size_t size, used, records, max_records;

    abi_timestamp_fn _Atomic timestamp;
    _Atomic int64_t offset_ns; /* CUPTI's clock - CLOCK_MONOTONIC */
    atomic_bool offset_known;
} state = {
    .waiting_lock = PTHREAD_MUTEX_INITIALIZER,
    .look_at = WORKER_BATCH,
    .delivery_lock = PTHREAD_MUTEX_INITIALIZER,
};

/* ---- the clock -------------------------------------------------------------------- */

/* The pair read in the shortest of a few tries. */
static int64_t measure_offset(abi_timestamp_fn timestamp)
{
    int64_t best = 0, shortest = INT64_MAX;

    for (int i = 0; i < 5; i++) {
        int64_t before = sim_now();
        int64_t there = timestamp ? (int64_t)timestamp() : sim_clock_read(CLOCK_REALTIME);
        int64_t after = sim_now();
        if (after - before < shortest) {
            shortest = after - before;
            best = there - (before + (after - before) / 2);
        }
    }
    return best;
}

static int64_t clock_offset(void)
{
    if (!atomic_load_explicit(&state.offset_known, memory_order_acquire)) {
        atomic_store(&state.offset_ns, measure_offset(NULL));
        atomic_store_explicit(&state.offset_known, true, memory_order_release);
    }
    return atomic_load_explicit(&state.offset_ns, memory_order_relaxed);
}

uint64_t cupti_time(int64_t monotonic)
{
    return (uint64_t)(monotonic + clock_offset());
}

SIM_EXPORT abi_cupti_result cuptiGetTimestamp(uint64_t *timestamp);
SIM_EXPORT abi_cupti_result cuptiGetTimestamp(uint64_t *timestamp)
{
    abi_timestamp_fn client = atomic_load(&state.timestamp);

    if (!timestamp)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    *timestamp = client ? client() : cupti_time(sim_now());
    return ABI_CUPTI_SUCCESS;
}

SIM_EXPORT abi_cupti_result cuptiActivityRegisterTimestampCallback(abi_timestamp_fn timestamp);
SIM_EXPORT abi_cupti_result cuptiActivityRegisterTimestampCallback(abi_timestamp_fn timestamp)
{
    if (!timestamp)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    atomic_store(&state.offset_ns, measure_offset(timestamp));
    atomic_store_explicit(&state.offset_known, true, memory_order_release);
    atomic_store(&state.timestamp, timestamp);
    return ABI_CUPTI_SUCCESS;
}

/* ---- records that wait for their end ------------------------------------------------- */

static bool list_add(struct record_list *list, const struct waiting *row)
{
    if (list->count == list->room && list->room < WAITING_MAX) {
        size_t room = list->room ? 2 * list->room : WORKER_BATCH;
        struct waiting *grown = realloc(list->rows, room * sizeof(*grown));
        if (grown) {
            list->rows = grown;
            list->room = room;
        }
    }
    if (list->count == list->room)
        return false;
    list->rows[list->count++] = *row;
    return true;
}

void cupti_record(const union sim_record *record, int64_t end_ns)
{
    struct waiting row = {end_ns, *record};

    pthread_mutex_lock(&state.waiting_lock);
    if (!list_add(&state.waiting, &row))
        state.dropped++;
    if (state.waiting.count >= state.look_at && !state.told) {
        state.told = true;
        pthread_cond_signal(&state.work);
    }
    pthread_mutex_unlock(&state.waiting_lock);
}

/* Takes all that waits; the client's functions then run without waiting_lock. */
static struct record_list take_waiting(void)
{
    pthread_mutex_lock(&state.waiting_lock);
    struct record_list taken = state.waiting;
    state.waiting = (struct record_list){0};
    pthread_mutex_unlock(&state.waiting_lock);
    return taken;
}

/* Puts back, before what came meanwhile, what has not ended. */
static void put_back(struct record_list *kept)
{
    pthread_mutex_lock(&state.waiting_lock);
    for (size_t i = 0; i < state.waiting.count; i++)
        if (!list_add(kept, &state.waiting.rows[i]))
            state.dropped++;
    struct record_list old = state.waiting;
    state.waiting = *kept;
    /* What has not ended yet is no reason to look again soon. */
    state.look_at = kept->count + WORKER_BATCH;
    pthread_mutex_unlock(&state.waiting_lock);
    free(old.rows);
}

/* ---- delivery ------------------------------------------------------------------------- */

static size_t record_size(uint32_t kind)
{
    switch (kind) {
    case ABI_KIND_MEMCPY:
        return sizeof(struct abi_memcpy);
    case ABI_KIND_MEMSET:
        return sizeof(struct abi_memset);
    case ABI_KIND_KERNEL:
    case ABI_KIND_CONCURRENT_KERNEL:
        return sizeof(struct abi_kernel);
    case ABI_KIND_DRIVER:
        return sizeof(struct abi_api);
    case ABI_KIND_SYNCHRONIZATION:
        return sizeof(struct abi_sync);
    default:
        return 0;
    }
}

static void convert_times(union sim_record *record)
{
    int64_t offset = clock_offset();
    uint64_t *start, *end;

    switch (record->head.kind) {
    case ABI_KIND_MEMCPY:
        start = &record->copy.start, end = &record->copy.end;
        break;
    case ABI_KIND_MEMSET:
        start = &record->set.start, end = &record->set.end;
        break;
    case ABI_KIND_DRIVER:
        start = &record->api.start, end = &record->api.end;
        break;
    case ABI_KIND_SYNCHRONIZATION:
        start = &record->sync.start, end = &record->sync.end;
        break;
    default:
        start = &record->kernel.start, end = &record->kernel.end;
        record->kernel.completed = record->kernel.end + (uint64_t)offset;
        break;
    }
    *start += (uint64_t)offset;
    *end += (uint64_t)offset;
}

static void complete_buffer(void)
{
    uint8_t *buffer = state.buffer;
    size_t size = state.size, used = state.used;

    if (!buffer)
        return;
    state.buffer = NULL;
    state.size = state.used = state.records = 0;
    state.completed(NULL, 0, buffer, size, used);
}

static void write_record(union sim_record *record)
{
    size_t size = record_size(record->head.kind);

    if (state.buffer && (state.used + size > state.size ||
                         (state.max_records && state.records == state.max_records)))
        complete_buffer();
    if (!state.buffer) {
        state.requested(&state.buffer, &state.size, &state.max_records);
        if (state.buffer && state.size < size)
            complete_buffer();
    }
    if (!state.buffer) {
        pthread_mutex_lock(&state.waiting_lock);
        state.dropped++;
        pthread_mutex_unlock(&state.waiting_lock);
        return;
    }
    convert_times(record);
    memcpy(state.buffer + state.used, record, size);
    state.used += size;
    state.records++;
}

static abi_cupti_result deliver(bool partial)
{
    size_t kept = 0;

    pthread_mutex_lock(&state.delivery_lock);
    if (!state.requested) {
        pthread_mutex_unlock(&state.delivery_lock);
        return ABI_CUPTI_INVALID_OPERATION;
    }
    abi_timestamp_fn timestamp = atomic_load(&state.timestamp);
    if (timestamp)
        atomic_store(&state.offset_ns, measure_offset(timestamp));
    int64_t now = sim_now();
    struct record_list list = take_waiting();
    for (size_t i = 0; i < list.count; i++) {
        if (list.rows[i].end_ns <= now)
            write_record(&list.rows[i].record);
        else
            list.rows[kept++] = list.rows[i];
    }
    list.count = kept;
    put_back(&list);
    if (partial)
        complete_buffer();
    pthread_mutex_unlock(&state.delivery_lock);
    return ABI_CUPTI_SUCCESS;
}

static void *worker_main(void *arg)
{
    pthread_setname_np(pthread_self(), "sim-cupti");
    pthread_mutex_lock(&state.waiting_lock);
    for (;;) {
        int64_t pause = (state.period_ms ? state.period_ms : WORKER_IDLE_MS) * NS_PER_MS;
        if (!state.told)
            sim_wait_condition(&state.work, &state.waiting_lock, sim_now() + pause);
        bool look = state.told || state.waiting.count;
        pthread_mutex_unlock(&state.waiting_lock);
        if (look)
            deliver(false);
        pthread_mutex_lock(&state.waiting_lock);
        state.told = false;
    }
    return NULL;
}

void cupti_start_worker(void)
{
    pthread_attr_t detached;
    pthread_t thread;

    pthread_mutex_lock(&state.waiting_lock);
    bool start = !state.worker;
    state.worker = true;
    if (start)
        sim_condition_init(&state.work);
    pthread_mutex_unlock(&state.waiting_lock);
    if (!start)
        return;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &detached, worker_main, NULL); /* without it only flushes deliver */
    pthread_attr_destroy(&detached);
}

/* ---- what the client calls -------------------------------------------------------------- */

SIM_EXPORT abi_cupti_result cuptiActivityRegisterCallbacks(abi_buffer_requested_fn requested,
                                                           abi_buffer_completed_fn completed);
SIM_EXPORT abi_cupti_result cuptiActivityRegisterCallbacks(abi_buffer_requested_fn requested,
                                                           abi_buffer_completed_fn completed)
{
    abi_cupti_result result = cupti_ready();

    if (!requested || !completed)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    if (result != ABI_CUPTI_SUCCESS)
        return cupti_fail(result);
    pthread_mutex_lock(&state.delivery_lock);
    state.requested = requested;
    state.completed = completed;
    pthread_mutex_unlock(&state.delivery_lock);
    return ABI_CUPTI_SUCCESS;
}

/* Full buffers have been delivered before, so both forms hand out all that has ended; a record
 * that has not is never in a buffer here, so FLUSH_FORCED has none to force out. */
SIM_EXPORT abi_cupti_result cuptiActivityFlushAll(uint32_t flag);
SIM_EXPORT abi_cupti_result cuptiActivityFlushAll(uint32_t flag)
{
    abi_cupti_result result = cupti_ready();
    return cupti_fail(result == ABI_CUPTI_SUCCESS ? deliver(true) : result);
}

SIM_EXPORT abi_cupti_result cuptiActivityFlush(abi_cu_context context, uint32_t stream,
                                               uint32_t flag);
SIM_EXPORT abi_cupti_result cuptiActivityFlush(abi_cu_context context, uint32_t stream,
                                               uint32_t flag)
{
    return cuptiActivityFlushAll(flag);
}

SIM_EXPORT abi_cupti_result cuptiActivityFlushPeriod(uint32_t milliseconds);
SIM_EXPORT abi_cupti_result cuptiActivityFlushPeriod(uint32_t milliseconds)
{
    abi_cupti_result result = cupti_ready();

    if (result != ABI_CUPTI_SUCCESS)
        return cupti_fail(result);
    pthread_mutex_lock(&state.waiting_lock);
    state.period_ms = milliseconds;
    if (state.worker)
        pthread_cond_signal(&state.work);
    pthread_mutex_unlock(&state.waiting_lock);
    return ABI_CUPTI_SUCCESS;
}

SIM_EXPORT abi_cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                                       struct abi_activity **record);
SIM_EXPORT abi_cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                                       struct abi_activity **record)
{
    if (!buffer || !record)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    uint8_t *at = buffer;
    if (*record) {
        size_t size = record_size((*record)->kind);
        if (size == 0)
            return cupti_fail(ABI_CUPTI_INVALID_KIND);
        at = (uint8_t *)*record + size;
    }
    if (at >= buffer + valid)
        return ABI_CUPTI_MAX_LIMIT_REACHED;
    if (record_size(((struct abi_activity *)(void *)at)->kind) == 0)
        return cupti_fail(ABI_CUPTI_INVALID_KIND);
    *record = (struct abi_activity *)(void *)at;
    return ABI_CUPTI_SUCCESS;
}

SIM_EXPORT abi_cupti_result cuptiActivityGetNumDroppedRecords(abi_cu_context context,
                                                              uint32_t stream, size_t *dropped);
SIM_EXPORT abi_cupti_result cuptiActivityGetNumDroppedRecords(abi_cu_context context,
                                                              uint32_t stream, size_t *dropped)
{
    if (!dropped)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    pthread_mutex_lock(&state.waiting_lock);
    *dropped = state.dropped;
    state.dropped = 0;
    pthread_mutex_unlock(&state.waiting_lock);
    return ABI_CUPTI_SUCCESS;
}
