/* SPDX-License-Identifier: MIT */
/* The simulated libcupti: activity records, callbacks and the single subscriber. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim_test.h"

#define BUFFER_BYTES 4096 /* small, so that buffers fill in the tests */
#define KEPT 8192

union kept {
    struct abi_activity head;
    struct abi_kernel kernel;
    struct abi_memcpy copy;
    struct abi_memset set;
    struct abi_sync sync;
    struct abi_api api;
};

static struct sim_test t;
static abi_cu_context context;
static abi_cu_function spin;

/* What came through the buffers so far. The worker's thread delivers too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static union kept kept[KEPT];
static int kept_count, buffers_out;

static void requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *max_records = 0;
    __atomic_add_fetch(&buffers_out, 1, __ATOMIC_RELAXED);
}

static size_t size_of(uint32_t kind)
{
    return kind == ABI_KIND_CONCURRENT_KERNEL ? sizeof(struct abi_kernel)
           : kind == ABI_KIND_MEMCPY          ? sizeof(struct abi_memcpy)
           : kind == ABI_KIND_MEMSET          ? sizeof(struct abi_memset)
           : kind == ABI_KIND_DRIVER          ? sizeof(struct abi_api)
                                              : sizeof(struct abi_sync);
}

static void completed(abi_cu_context none, uint32_t stream, uint8_t *buffer, size_t size,
                      size_t valid)
{
    struct abi_activity *record = NULL;

    pthread_mutex_lock(&lock);
    while (t.cuptiActivityGetNextRecord(buffer, valid, &record) == ABI_CUPTI_SUCCESS)
        if (kept_count < KEPT)
            memcpy(&kept[kept_count++], record, size_of(record->kind));
    pthread_mutex_unlock(&lock);
    free(buffer);
    __atomic_sub_fetch(&buffers_out, 1, __ATOMIC_RELAXED);
}

static uint64_t now_in_cupti(void)
{
    uint64_t now;
    assert_int_equal(t.cuptiGetTimestamp(&now), 0);
    return now;
}

static int setup(void **state)
{
    sim_test_environment(2);
    sim_test_open(&t, WITH_CUDA | WITH_CUPTI);
    assert_int_equal(t.cuptiActivityFlushAll(0), ABI_CUPTI_INVALID_OPERATION);
    assert_int_equal(t.cuptiActivityRegisterCallbacks(requested, completed), 0);
    assert_int_equal(t.cuptiActivityEnable(ABI_KIND_CONCURRENT_KERNEL), 0);
    assert_int_equal(t.cuptiActivityEnable(ABI_KIND_KERNEL), ABI_CUPTI_NOT_COMPATIBLE);
    assert_int_equal(t.cuptiActivityEnable(ABI_KIND_MEMCPY), 0);
    assert_int_equal(t.cuptiActivityEnable(ABI_KIND_MEMSET), 0);
    assert_int_equal(t.cuptiActivityEnable(ABI_KIND_SYNCHRONIZATION), 0);
    assert_int_equal(t.cuptiActivityEnable(ABI_KINDS), ABI_CUPTI_INVALID_KIND);
    context = sim_test_context(&t, 0);
    spin = sim_test_kernel(&t, "spin");
    return 0;
}

static int teardown(void **state)
{
    sim_test_cleanup();
    return 0;
}

static int start_empty(void **state)
{
    t.cuCtxSynchronize();
    t.cuptiActivityFlushAll(0);
    pthread_mutex_lock(&lock);
    kept_count = 0;
    pthread_mutex_unlock(&lock);
    return 0;
}

/* The n-th record of a kind, NULL if there are fewer. */
static union kept *nth(uint32_t kind, int n)
{
    for (int i = 0; i < kept_count; i++)
        if (kept[i].head.kind == kind && n-- == 0)
            return &kept[i];
    return NULL;
}

static void kernels_are_recorded_as_they_ran(void **state)
{
    abi_cu_stream stream;
    uint32_t context_id;

    t.cuStreamCreate(&stream, 1);
    uint64_t before = now_in_cupti();
    sim_test_spin(&t, spin, stream, 5 * NS_PER_MS);
    sim_test_spin(&t, spin, stream, 2 * NS_PER_MS);
    assert_int_equal(t.cuptiActivityFlushAll(0), 0);
    bool second = nth(ABI_KIND_CONCURRENT_KERNEL, 1) != NULL;
    assert_true(!second || now_in_cupti() - before >= 7 * (uint64_t)NS_PER_MS); /* it has ended */
    assert_int_equal(t.cuStreamSynchronize(stream), 0);
    uint64_t after = now_in_cupti();
    assert_int_equal(t.cuptiActivityFlushAll(0), 0);
    union kept *one = nth(ABI_KIND_CONCURRENT_KERNEL, 0), *two = nth(ABI_KIND_CONCURRENT_KERNEL, 1);
    assert_non_null(one);
    assert_non_null(two);
    assert_string_equal(one->kernel.name, "spin");
    assert_int_equal(one->kernel.end - one->kernel.start, 5 * NS_PER_MS);
    assert_int_equal(two->kernel.end - two->kernel.start, 2 * NS_PER_MS);
    assert_true(one->kernel.start > before &&
                two->kernel.end < after); /* by one and the same offset */
    assert_int_equal(two->kernel.start, one->kernel.end);
    assert_true(two->kernel.correlation_id > one->kernel.correlation_id);
    assert_int_equal(one->kernel.device_id, 0);
    assert_int_equal(t.cuptiGetContextId(context, &context_id), 0);
    assert_int_equal(one->kernel.context_id, context_id);
    assert_int_equal(one->kernel.block[0], 32);
    assert_null(nth(ABI_KIND_CONCURRENT_KERNEL, 2));
    union kept *sync = nth(ABI_KIND_SYNCHRONIZATION, 0);
    assert_non_null(sync);
    assert_int_equal(sync->sync.type, ABI_SYNC_STREAM);
    assert_int_equal(sync->sync.stream_id, one->kernel.stream_id);
    assert_true(sync->sync.end >= two->kernel.end);
    t.cuStreamDestroy_v2(stream);
}

static void the_clock_is_not_monotonic_time(void **state)
{
    struct timespec before, after;
    int64_t apart = (int64_t)now_in_cupti() - sim_test_now();

    assert_true(llabs(apart) > NS_PER_S);
    clock_gettime(CLOCK_REALTIME, &before);
    int64_t day = (int64_t)now_in_cupti();
    clock_gettime(CLOCK_REALTIME, &after);
    /* a clock of another origin is years away */
    assert_true(day > ((int64_t)before.tv_sec - 1) * NS_PER_S);
    assert_true(day < ((int64_t)after.tv_sec + 2) * NS_PER_S);
}

static void copies_tell_their_memory(void **state)
{
    enum { BYTES = 25 * 1000 * 1000 };
    abi_cu_ptr device;
    void *pageable = calloc(1, BYTES), *pinned;

    assert_int_equal(t.cuMemAlloc_v2(&device, BYTES), 0);
    assert_int_equal(t.cuMemHostAlloc(&pinned, BYTES, 0), 0);
    t.cuMemcpyHtoDAsync_v2(device, pageable, BYTES, NULL);
    t.cuMemcpyHtoDAsync_v2(device, pinned, BYTES, NULL);
    t.cuMemcpyDtoH_v2(pageable, device, BYTES);
    t.cuMemcpyDtoD_v2(device, device, 1000);
    t.cuMemsetD32Async(device, 7, 1000, NULL);
    assert_int_equal(t.cuStreamSynchronize(NULL), 0);
    assert_int_equal(t.cuptiActivityFlushAll(0), 0);
    struct abi_memcpy *copy[4];
    for (int i = 0; i < 4; i++) {
        assert_non_null(nth(ABI_KIND_MEMCPY, i));
        copy[i] = &nth(ABI_KIND_MEMCPY, i)->copy;
        assert_true(i == 0 || copy[i]->start >= copy[i - 1]->end);
    }
    assert_int_equal(copy[0]->copy_kind, ABI_COPY_HTOD);
    assert_int_equal(copy[0]->src_kind, ABI_MEMORY_PAGEABLE);
    assert_int_equal(copy[0]->dst_kind, ABI_MEMORY_DEVICE);
    assert_int_equal(copy[0]->flags, ABI_FLAG_MEMCPY_ASYNC);
    assert_int_equal(copy[0]->bytes, BYTES);
    assert_true(copy[0]->end - copy[0]->start >= BYTES / 6); /* 6 GB/s */
    assert_int_equal(copy[1]->src_kind, ABI_MEMORY_PINNED);
    assert_true(copy[1]->end - copy[1]->start >= BYTES / 25);
    assert_int_equal(copy[2]->copy_kind, ABI_COPY_DTOH);
    assert_int_equal(copy[2]->dst_kind, ABI_MEMORY_PAGEABLE);
    assert_int_equal(copy[2]->flags, 0);
    assert_int_equal(copy[3]->copy_kind, ABI_COPY_DTOD);
    struct abi_memset *set = &nth(ABI_KIND_MEMSET, 0)->set;
    assert_int_equal(set->value, 7);
    assert_int_equal(set->bytes, 4000);
    assert_true(set->start >= copy[3]->end);
    t.cuMemFree_v2(device);
    t.cuMemFreeHost(pinned);
    free(pageable);
}

static void full_buffers_come_by_themselves(void **state)
{
    enum { KERNELS = 3000 };

    for (int i = 0; i < KERNELS; i++)
        sim_test_spin(&t, spin, NULL, NS_PER_US);
    assert_int_equal(t.cuCtxSynchronize(), 0);
    for (int wait = 0; wait < 6000; wait++) { /* the worker looks once a second at least */
        pthread_mutex_lock(&lock);
        int have = kept_count;
        pthread_mutex_unlock(&lock);
        if (have >= KERNELS / 2)
            break;
        usleep(10000);
    }
    assert_true(kept_count >= KERNELS / 2); /* else it hangs: a minute has passed */
    assert_int_equal(t.cuptiActivityFlushAll(0), 0);
    assert_int_equal(__atomic_load_n(&buffers_out, __ATOMIC_RELAXED), 0);
    assert_non_null(nth(ABI_KIND_CONCURRENT_KERNEL, KERNELS - 1));
    assert_null(nth(ABI_KIND_CONCURRENT_KERNEL, KERNELS));
    for (int i = 1; i < KERNELS; i++)
        assert_true(nth(ABI_KIND_CONCURRENT_KERNEL, i)->kernel.start >=
                    nth(ABI_KIND_CONCURRENT_KERNEL, i - 1)->kernel.end);
    size_t dropped;
    assert_int_equal(t.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), 0);
    assert_int_equal(dropped, 0);
}

/* A long kernel does not hold back what ended meanwhile on another stream. */
static void what_ended_is_not_held_back(void **state)
{
    abi_cu_stream slow, quick;

    t.cuStreamCreate(&slow, 1);
    t.cuStreamCreate(&quick, 1);
    sim_test_spin(&t, spin, slow, 300 * NS_PER_MS);
    sim_test_spin(&t, spin, quick, NS_PER_MS);
    assert_int_equal(t.cuStreamSynchronize(quick), 0);
    assert_int_equal(t.cuptiActivityFlushAll(0), 0);
    union kept *first = nth(ABI_KIND_CONCURRENT_KERNEL, 0);
    assert_non_null(first);
    if (t.cuStreamQuery(slow) == ABI_CU_NOT_READY) {
        assert_int_equal(first->kernel.end - first->kernel.start, NS_PER_MS);
        assert_null(nth(ABI_KIND_CONCURRENT_KERNEL, 1));
    }
    assert_int_equal(t.cuStreamSynchronize(slow), 0);
    t.cuStreamDestroy_v2(slow);
    t.cuStreamDestroy_v2(quick);
}

/* ---- callbacks -------------------------------------------------------------- */

static struct {
    int enters, exits, created, destroyed, result;
    uint32_t correlation, cbid, device;
    uint64_t carried;
    char symbol[32];
} seen;

static void on_callback(void *user, int domain, uint32_t cbid, const void *data)
{
    const struct abi_callback_data *call = data;
    const struct abi_resource_data *resource = data;

    assert_ptr_equal(user, &seen);
    if (domain == ABI_DOMAIN_RESOURCE) {
        seen.created += cbid == ABI_RESOURCE_CONTEXT_CREATED;
        seen.destroyed += cbid == ABI_RESOURCE_CONTEXT_DESTROY_STARTING;
        t.cuptiGetDeviceId(resource->context, &seen.device);
    } else if (call->site == ABI_SITE_ENTER) {
        seen.enters++;
        *call->correlation_data = 4711;
        seen.cbid = cbid;
        seen.correlation = call->correlation_id;
        if (call->symbol_name)
            strncpy(seen.symbol, call->symbol_name, sizeof(seen.symbol) - 1);
    } else {
        seen.exits++;
        seen.carried = *call->correlation_data;
        seen.result = *(int *)call->return_value;
        assert_int_equal(seen.correlation, call->correlation_id);
    }
}

static void callbacks_tell_of_calls_and_contexts(void **state)
{
    abi_subscriber subscriber, second;
    abi_cu_context other;
    char holder[64] = "";
    struct abi_subscriber_params params = {sizeof(params), "test", holder, sizeof(holder)};

    assert_int_equal(t.cuptiSubscribe_v2(&subscriber, on_callback, &seen, &params), 0);
    assert_int_equal(t.cuptiSubscribe(&second, on_callback, &seen), ABI_CUPTI_MULTIPLE_SUBSCRIBERS);
    assert_int_equal(t.cuptiSubscribe_v2(&second, on_callback, &seen, &params),
                     ABI_CUPTI_MULTIPLE_SUBSCRIBERS);
    assert_string_equal(holder, "CUPTI for test");
    assert_int_equal(
        t.cuptiEnableCallback(1, subscriber, ABI_DOMAIN_DRIVER, ABI_CBID_cuLaunchKernel), 0);
    assert_int_equal(t.cuptiEnableDomain(1, subscriber, ABI_DOMAIN_RESOURCE), 0);
    sim_test_spin(&t, spin, NULL, NS_PER_US);
    assert_int_equal(t.cuStreamSynchronize(NULL), 0);
    assert_int_equal(seen.enters, 1);
    assert_int_equal(seen.exits, 1);
    assert_int_equal(seen.cbid, ABI_CBID_cuLaunchKernel);
    assert_int_equal(seen.carried, 4711);
    assert_string_equal(seen.symbol, "spin");
    assert_int_equal(t.cuptiActivityFlushAll(0), 0);
    assert_int_equal(nth(ABI_KIND_CONCURRENT_KERNEL, 0)->kernel.correlation_id, seen.correlation);
    uint64_t ns = 1;
    void *args[] = {&ns};
    assert_int_equal(t.cuLaunchKernel(spin, 0, 1, 1, 1, 1, 1, 0, NULL, args, NULL),
                     ABI_CU_INVALID_VALUE);
    assert_int_equal(seen.result, ABI_CU_INVALID_VALUE);
    assert_int_equal(t.cuCtxCreate_v2(&other, 0, 1), 0);
    assert_int_equal(seen.created, 1);
    assert_int_equal(seen.device, 1);
    assert_int_equal(t.cuCtxDestroy_v2(other), 0);
    assert_int_equal(seen.destroyed, 1);
    assert_int_equal(t.cuptiUnsubscribe(subscriber), 0);
    sim_test_spin(&t, spin, NULL, NS_PER_US);
    assert_int_equal(seen.enters, 2);
    setenv("GPUFEED_SIM_CUPTI_TAKEN", "1", 1);
    assert_int_equal(t.cuptiSubscribe(&second, on_callback, &seen), ABI_CUPTI_MULTIPLE_SUBSCRIBERS);
    unsetenv("GPUFEED_SIM_CUPTI_TAKEN");
}

static void driver_calls_are_recorded_where_asked(void **state)
{
    assert_int_equal(t.cuptiActivityEnableDriverApi(ABI_CBID_cuLaunchKernel, 1), 0);
    sim_test_spin(&t, spin, NULL, NS_PER_US);
    t.cuStreamSynchronize(NULL);
    assert_int_equal(t.cuptiActivityEnableDriverApi(ABI_CBID_cuLaunchKernel, 0), 0);
    sim_test_spin(&t, spin, NULL, NS_PER_US);
    t.cuStreamSynchronize(NULL);
    assert_int_equal(t.cuptiActivityFlushAll(0), 0);
    struct abi_api *api = &nth(ABI_KIND_DRIVER, 0)->api;
    assert_int_equal(api->cbid, ABI_CBID_cuLaunchKernel);
    assert_int_equal(api->process_id, getpid());
    assert_int_equal(api->thread_id, gettid());
    assert_true(api->end > api->start);
    assert_int_equal(api->correlation_id,
                     nth(ABI_KIND_CONCURRENT_KERNEL, 0)->kernel.correlation_id);
    assert_null(nth(ABI_KIND_DRIVER, 1));
}

static uint64_t monotonic(void)
{
    return (uint64_t)sim_test_now();
}

/* Last: there is no way back to the library's own clock. */
static void the_client_may_bring_its_clock(void **state)
{
    assert_int_equal(t.cuptiActivityRegisterTimestampCallback(monotonic), 0);
    int64_t before = sim_test_now();
    sim_test_spin(&t, spin, NULL, 3 * NS_PER_MS);
    t.cuStreamSynchronize(NULL);
    int64_t after = sim_test_now();
    assert_int_equal(t.cuptiActivityFlushAll(0), 0);
    struct abi_kernel *kernel = &nth(ABI_KIND_CONCURRENT_KERNEL, 0)->kernel;
    int64_t error = NS_PER_S; /* of the pair of clocks; the library's own is years away */
    assert_true((int64_t)kernel->start > before - error && (int64_t)kernel->end < after + error);
    assert_int_equal(kernel->end - kernel->start, 3 * NS_PER_MS);
}

static void a_disabled_kind_leaves_no_record(void **state)
{
    const char *text;
    uint32_t version;

    assert_int_equal(t.cuptiActivityDisable(ABI_KIND_CONCURRENT_KERNEL), 0);
    sim_test_spin(&t, spin, NULL, NS_PER_US);
    t.cuStreamSynchronize(NULL);
    assert_int_equal(t.cuptiActivityFlushAll(0), 0);
    assert_null(nth(ABI_KIND_CONCURRENT_KERNEL, 0));
    assert_int_equal(t.cuptiActivityEnable(ABI_KIND_CONCURRENT_KERNEL), 0);
    assert_int_equal(t.cuptiGetResultString(ABI_CUPTI_INVALID_KIND, &text), 0);
    assert_string_equal(text, "CUPTI_ERROR_INVALID_KIND");
    assert_int_equal(t.cuptiGetVersion(&version), 0);
    assert_int_equal(version, 130001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(kernels_are_recorded_as_they_ran, start_empty),
        cmocka_unit_test_setup(the_clock_is_not_monotonic_time, start_empty),
        cmocka_unit_test_setup(copies_tell_their_memory, start_empty),
        cmocka_unit_test_setup(full_buffers_come_by_themselves, start_empty),
        cmocka_unit_test_setup(what_ended_is_not_held_back, start_empty),
        cmocka_unit_test_setup(callbacks_tell_of_calls_and_contexts, start_empty),
        cmocka_unit_test_setup(driver_calls_are_recorded_where_asked, start_empty),
        cmocka_unit_test_setup(a_disabled_kind_leaves_no_record, start_empty),
        cmocka_unit_test_setup(the_client_may_bring_its_clock, start_empty),
    };
    return cmocka_run_group_tests_name("sim-cupti", tests, setup, teardown);
}
