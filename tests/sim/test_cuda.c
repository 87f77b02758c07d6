/* SPDX-License-Identifier: MIT */
/* The simulated libcuda as a program sees it: devices, streams, copies, events. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim_test.h"

/*
 * What is to be seen while a kernel runs is decided only where this thread was on its core in time:
 * a try that took longer than its kernel is made again with one twice as long.
 */
#define FIRST_NS (20 * NS_PER_MS)
#define LAST_NS (20 * NS_PER_S)

static struct sim_test t;
static abi_cu_function spin;

static int setup(void **state)
{
    sim_test_environment(2);
    sim_test_open(&t, WITH_CUDA);
    int count;
    assert_int_equal(t.cuDeviceGetCount(&count), ABI_CU_NOT_INITIALIZED);
    sim_test_context(&t, 0);
    spin = sim_test_kernel(&t, "spin");
    return 0;
}

static int teardown(void **state)
{
    sim_test_cleanup();
    return 0;
}

/* The next length to try a kernel of; fails the test where no length was enough. */
static int64_t longer(int64_t ns)
{
    if (ns >= LAST_NS)
        fail_msg("this thread got no core for %ld s", (long)(ns / NS_PER_S));
    return 2 * ns;
}

static void devices_answer(void **state)
{
    int count, version, major;
    char name[64];
    struct abi_cu_uuid one, two;

    assert_int_equal(t.cuDeviceGetCount(&count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(t.cuDriverGetVersion(&version), 0);
    assert_int_equal(version, 13000);
    assert_int_equal(t.cuDeviceGetName(name, sizeof(name), 1), 0);
    assert_string_equal(name, "Simulated GPU");
    assert_int_equal(t.cuDeviceGetUuid(&one, 0), 0);
    assert_int_equal(t.cuDeviceGetUuid(&two, 1), 0);
    assert_memory_not_equal(&one, &two, sizeof(one));
    assert_int_equal(t.cuDeviceGetAttribute(&major, 75, 0), 0);
    assert_int_equal(major, 9);
    assert_int_equal(t.cuDeviceGetName(name, sizeof(name), 2), ABI_CU_INVALID_DEVICE);
}

static void a_spin_kernel_lasts_what_it_is_told(void **state)
{
    abi_cu_event before, after;
    float ms;
    bool seen = false;

    assert_int_equal(t.cuEventCreate(&before, 0), 0);
    assert_int_equal(t.cuEventCreate(&after, 0), 0);
    for (int64_t ns = FIRST_NS; !seen; ns = longer(ns)) {
        int64_t start = sim_test_now();
        sim_test_spin(&t, spin, NULL, (uint64_t)ns);
        int answer = t.cuStreamQuery(NULL);
        seen = sim_test_now() - start < ns;
        if (seen)
            assert_int_equal(answer, ABI_CU_NOT_READY);
        assert_int_equal(t.cuStreamSynchronize(NULL), 0);
        assert_true(sim_test_now() - start >= ns);
        assert_int_equal(t.cuStreamQuery(NULL), 0);
    }
    /* By the device's own clock: behind another kernel it begins at that one's end. */
    sim_test_spin(&t, spin, NULL, FIRST_NS);
    t.cuEventRecord(before, NULL);
    sim_test_spin(&t, spin, NULL, 5 * NS_PER_MS);
    t.cuEventRecord(after, NULL);
    assert_int_equal(t.cuStreamSynchronize(NULL), 0);
    assert_int_equal(t.cuEventElapsedTime(&ms, before, after), 0);
    assert_true(ms >= 5.0f);
    t.cuEventDestroy_v2(before);
    t.cuEventDestroy_v2(after);
}

/* Two kernels of stream a, one of b; true: all were launched while the first ran, so the elapsed
 * times are those of the device. */
static bool queue_and_overlap(abi_cu_stream a, abi_cu_stream b, abi_cu_event events[3], int64_t ns)
{
    float of_a, of_b;

    t.cuEventRecord(events[0], a);
    int64_t start = sim_test_now();
    sim_test_spin(&t, spin, a, (uint64_t)ns);
    sim_test_spin(&t, spin, a, (uint64_t)ns);
    sim_test_spin(&t, spin, b, (uint64_t)(ns + ns / 2));
    t.cuEventRecord(events[1], a);
    t.cuEventRecord(events[2], b);
    int answer = t.cuEventQuery(events[1]);
    int elapsed = t.cuEventElapsedTime(&of_a, events[0], events[1]);
    bool in_time = sim_test_now() - start < ns;
    if (in_time) {
        assert_int_equal(answer, ABI_CU_NOT_READY);
        assert_int_equal(elapsed, ABI_CU_NOT_READY);
    }
    assert_int_equal(t.cuCtxSynchronize(), 0);
    assert_int_equal(t.cuEventElapsedTime(&of_a, events[0], events[1]), 0);
    assert_int_equal(t.cuEventElapsedTime(&of_b, events[0], events[2]), 0);
    assert_true((int64_t)(of_a * 1e6f) >= 2 * ns - NS_PER_MS);
    assert_true((int64_t)(of_b * 1e6f) >= ns + ns / 2 - NS_PER_MS);
    /* Behind the two of the other stream it would have ended after three and a half. */
    if (in_time)
        assert_true((int64_t)(of_b * 1e6f) < 3 * ns);
    return in_time;
}

static void kernels_of_one_stream_queue_and_of_two_overlap(void **state)
{
    abi_cu_stream a, b;
    abi_cu_event events[3];

    assert_int_equal(t.cuStreamCreate(&a, 1), 0);
    assert_int_equal(t.cuStreamCreate(&b, 1), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(t.cuEventCreate(&events[i], 0), 0);
    for (int64_t ns = FIRST_NS; !queue_and_overlap(a, b, events, ns);)
        ns = longer(ns);
    for (int i = 0; i < 3; i++)
        t.cuEventDestroy_v2(events[i]);
    t.cuStreamDestroy_v2(a);
    t.cuStreamDestroy_v2(b);
}

static void a_stream_waits_for_an_event_of_another(void **state)
{
    abi_cu_stream a, b;
    abi_cu_event done_a, done_b;
    bool in_time = false;
    float ms;

    t.cuStreamCreate(&a, 1);
    t.cuStreamCreate(&b, 1);
    t.cuEventCreate(&done_a, 0);
    t.cuEventCreate(&done_b, 0);
    for (int64_t ns = FIRST_NS; !in_time; ns = longer(ns)) {
        int64_t start = sim_test_now();
        sim_test_spin(&t, spin, a, (uint64_t)ns);
        t.cuEventRecord(done_a, a);
        assert_int_equal(t.cuStreamWaitEvent(b, done_a, 0), 0);
        sim_test_spin(&t, spin, b, 5 * NS_PER_MS);
        in_time = sim_test_now() - start < ns;
        t.cuEventRecord(done_b, b);
        assert_int_equal(t.cuEventSynchronize(done_b), 0);
        assert_int_equal(t.cuEventQuery(done_a), 0);
        assert_int_equal(t.cuEventElapsedTime(&ms, done_a, done_b), 0);
        assert_true(ms >= 4.99f); /* launched in time, it began at once */
    }
    assert_true(ms < 6.0f || !in_time);
    t.cuStreamDestroy_v2(a);
    t.cuStreamDestroy_v2(b);
    t.cuEventDestroy_v2(done_a);
    t.cuEventDestroy_v2(done_b);
}

/* The default stream stands behind and before every blocking stream, not the other kind. */
static void the_default_stream_is_a_barrier(void **state)
{
    abi_cu_stream blocking, free_running;

    t.cuStreamCreate(&blocking, 0);
    t.cuStreamCreate(&free_running, 1);
    bool in_time = false;
    for (int64_t ns = FIRST_NS; !in_time; ns = longer(ns)) {
        int64_t start = sim_test_now();
        sim_test_spin(&t, spin, blocking, (uint64_t)ns);
        sim_test_spin(&t, spin, NULL, NS_PER_MS);
        sim_test_spin(&t, spin, free_running, NS_PER_MS);
        assert_int_equal(t.cuStreamSynchronize(free_running), 0);
        int answer = t.cuStreamQuery(blocking);
        in_time = sim_test_now() - start < ns;
        if (in_time)
            assert_int_equal(answer, ABI_CU_NOT_READY);
    }
    sim_test_spin(&t, spin, blocking, NS_PER_MS);
    assert_int_equal(t.cuStreamSynchronize(blocking), 0);
    assert_int_equal(t.cuStreamQuery(NULL), 0);
    t.cuStreamDestroy_v2(blocking);
    t.cuStreamDestroy_v2(free_running);
}

static void per_thread_streams_stand_apart(void **state)
{
    uint64_t ns = 20 * NS_PER_MS;
    void *params[] = {&ns};
    abi_cu_stream other;

    t.cuStreamCreate(&other, 0);
    int64_t start = sim_test_now();
    assert_int_equal(t.cuLaunchKernel_ptsz(spin, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), 0);
    assert_int_equal(t.cuStreamSynchronize_ptsz(NULL), 0);
    assert_true(sim_test_now() - start >= 20 * NS_PER_MS);
    assert_int_equal(t.cuStreamQuery((abi_cu_stream)ABI_CU_STREAM_PER_THREAD), 0);
    t.cuStreamDestroy_v2(other);
}

enum { BYTES = 1 << 20 };

static void fill_with_twos(void *user_data)
{
    memset(user_data, 2, BYTES);
}

static void data_arrive(void **state)
{
    abi_cu_ptr device, other;
    unsigned char *pageable = malloc(BYTES), *pinned;
    abi_cu_stream stream;

    t.cuStreamCreate(&stream, 1);
    assert_int_equal(t.cuMemAlloc_v2(&device, BYTES), 0);
    assert_int_equal(t.cuMemAlloc_v2(&other, BYTES), 0);
    assert_int_equal(t.cuMemHostAlloc((void **)&pinned, BYTES, 0), 0);
    for (int i = 0; i < BYTES; i++)
        pageable[i] = (unsigned char)(i * 7);
    assert_int_equal(t.cuMemcpyHtoD_v2(device, pageable, BYTES), 0);
    assert_int_equal(t.cuMemcpyDtoD_v2(other, device, BYTES), 0);
    assert_int_equal(t.cuCtxSynchronize(), 0); /* the default stream does not order `stream` */
    assert_int_equal(t.cuMemcpyDtoHAsync_v2(pinned, other, BYTES, stream), 0);
    assert_int_equal(t.cuStreamSynchronize(stream), 0);
    assert_memory_equal(pinned, pageable, BYTES);
    assert_int_equal(t.cuMemsetD32Async(device, 0x01020304, 1000, stream), 0);
    assert_int_equal(t.cuMemcpyAsync((uintptr_t)pinned, device, 4004, stream), 0);
    assert_int_equal(t.cuStreamSynchronize(stream), 0);
    assert_int_equal(pinned[3999], 1);
    assert_int_equal(pinned[4000], pageable[4000]);
    /* A pinned copy takes what is in the buffer when its turn comes. */
    memset(pinned, 1, BYTES);
    assert_int_equal(t.cuLaunchHostFunc(stream, fill_with_twos, pinned), 0);
    assert_int_equal(t.cuMemcpyHtoDAsync_v2(device, pinned, BYTES, stream), 0);
    assert_int_equal(t.cuMemcpyDtoHAsync_v2(pageable, device, BYTES, stream), 0);
    assert_int_equal(pageable[0], 2);
    assert_int_equal(pageable[BYTES - 1], 2);
    /* A small pageable one takes what was there at the call. */
    pageable[0] = 3;
    assert_int_equal(t.cuMemcpyHtoDAsync_v2(device, pageable, 1, stream), 0);
    pageable[0] = 4;
    assert_int_equal(t.cuStreamSynchronize(stream), 0);
    assert_int_equal(t.cuMemcpyDtoH_v2(pageable, device, 1), 0);
    assert_int_equal(pageable[0], 3);
    assert_int_equal(t.cuMemFree_v2(device), 0);
    assert_int_equal(t.cuMemFree_v2(device), ABI_CU_INVALID_VALUE);
    assert_int_equal(t.cuMemFree_v2(other), 0);
    assert_int_equal(t.cuMemFreeHost(pinned), 0);
    t.cuStreamDestroy_v2(stream);
    free(pageable);
}

/* Pinned copies return at once and go at 25 GB/s; pageable ones block at 6 GB/s. */
static void pinned_copies_are_asynchronous(void **state)
{
    enum { LARGE = 60 * 1000 * 1000 };
    abi_cu_ptr device;
    void *pageable = calloc(1, LARGE), *pinned;
    abi_cu_stream stream;

    memset(pageable, 1, LARGE);
    t.cuStreamCreate(&stream, 1);
    assert_int_equal(t.cuMemAlloc_v2(&device, LARGE), 0);
    assert_int_equal(t.cuMemHostAlloc(&pinned, LARGE, 0), 0);
    int64_t start = sim_test_now();
    assert_int_equal(t.cuMemcpyHtoDAsync_v2(device, pageable, LARGE, stream), 0);
    int64_t blocked = sim_test_now() - start;
    assert_true(blocked >= 10 * NS_PER_MS);
    sim_test_spin(&t, spin, stream, 20 * NS_PER_MS); /* so that the copy cannot be over */
    start = sim_test_now();
    assert_int_equal(t.cuMemcpyHtoDAsync_v2(device, pinned, LARGE, stream), 0);
    int64_t returned = sim_test_now() - start;
    assert_int_equal(t.cuStreamSynchronize(stream), 0);
    int64_t total = sim_test_now() - start;
    assert_true(total >= (int64_t)(2.4 * NS_PER_MS));
    assert_true(returned < total);
    /* Registering makes the caller's own memory pinned. */
    assert_int_equal(t.cuMemHostRegister_v2(pageable, LARGE, 0), 0);
    assert_int_equal(t.cuMemHostRegister_v2(pageable, LARGE, 0),
                     ABI_CU_HOST_MEMORY_ALREADY_REGISTERED);
    unsigned type = 0;
    assert_int_equal(t.cuPointerGetAttribute(&type, 2, (uintptr_t)pageable), 0);
    assert_int_equal(type, 1);
    assert_int_equal(t.cuMemHostUnregister(pageable), 0);
    assert_int_equal(t.cuPointerGetAttribute(&type, 2, (uintptr_t)pageable), ABI_CU_INVALID_VALUE);
    assert_int_equal(t.cuPointerGetAttribute(&type, 2, device), 0);
    assert_int_equal(type, 2);
    t.cuMemFree_v2(device);
    t.cuMemFreeHost(pinned);
    t.cuStreamDestroy_v2(stream);
    free(pageable);
}

/* A copy that stands behind a long kernel does not hold up one of another stream. */
static void copies_overtake_those_that_are_not_ready(void **state)
{
    enum { BIG = 1 << 20 };
    abi_cu_ptr device;
    void *pinned;
    static char pageable[BIG];
    abi_cu_stream busy, idle;

    t.cuStreamCreate(&busy, 1);
    t.cuStreamCreate(&idle, 1);
    assert_int_equal(t.cuMemAlloc_v2(&device, BIG), 0);
    assert_int_equal(t.cuMemHostAlloc(&pinned, BIG, 0), 0);
    bool in_time = false;
    for (int64_t ns = 10 * FIRST_NS; !in_time; ns = longer(ns)) {
        int64_t start = sim_test_now();
        sim_test_spin(&t, spin, busy, (uint64_t)ns);
        assert_int_equal(t.cuMemcpyHtoDAsync_v2(device, pinned, BIG, busy), 0);
        assert_int_equal(t.cuMemcpyHtoDAsync_v2(device, pinned, BIG, idle), 0);
        assert_int_equal(t.cuStreamSynchronize(idle), 0);
        assert_int_equal(t.cuMemcpyHtoDAsync_v2(device, pageable, BIG, idle), 0);
        /* A copy that was held up comes after the kernel: no later try would be in time either. */
        in_time = sim_test_now() - start < ns;
        assert_int_equal(t.cuStreamSynchronize(busy), 0);
        assert_true(sim_test_now() - start >= ns);
    }
    t.cuMemFree_v2(device);
    t.cuMemFreeHost(pinned);
    t.cuStreamDestroy_v2(busy);
    t.cuStreamDestroy_v2(idle);
}

static void note_time(void *user_data)
{
    *(int64_t *)user_data = sim_test_now();
}

static void host_functions_run_in_their_place(void **state)
{
    int64_t called = 0, start = sim_test_now();
    abi_cu_stream stream;

    t.cuStreamCreate(&stream, 1);
    sim_test_spin(&t, spin, stream, 10 * NS_PER_MS);
    assert_int_equal(t.cuLaunchHostFunc(stream, note_time, &called), 0);
    sim_test_spin(&t, spin, stream, 10 * NS_PER_MS);
    assert_int_equal(t.cuStreamSynchronize(stream), 0);
    assert_true(called - start >= 10 * NS_PER_MS);
    assert_true(sim_test_now() - called >= 10 * NS_PER_MS);
    t.cuStreamDestroy_v2(stream);
}

static void launches_block_when_too_many_are_outstanding(void **state)
{
    abi_cu_stream stream;

    t.cuStreamCreate(&stream, 1);
    int64_t start = sim_test_now();
    for (int i = 0; i < 1024 + 50; i++)
        sim_test_spin(&t, spin, stream, NS_PER_MS / 10);
    assert_true(sim_test_now() - start >= 5 * NS_PER_MS);
    t.cuStreamDestroy_v2(stream);
    assert_int_equal(t.cuCtxSynchronize(), 0);
    assert_true(sim_test_now() - start >= 107 * NS_PER_MS);
}

static void devices_work_side_by_side(void **state)
{
    abi_cu_context first, second;
    abi_cu_device device;

    assert_int_equal(t.cuCtxGetCurrent(&first), 0);
    assert_int_equal(t.cuDevicePrimaryCtxRetain(&second, 1), 0);
    assert_int_equal(t.cuCtxSetCurrent(second), 0);
    assert_int_equal(t.cuCtxGetDevice(&device), 0);
    assert_int_equal(device, 1);
    abi_cu_function other = sim_test_kernel(&t, "ncclDevKernel_AllReduce_spin");
    bool in_time = false;
    for (int64_t ns = FIRST_NS; !in_time; ns = longer(ns)) {
        assert_int_equal(t.cuCtxSetCurrent(first), 0);
        int64_t start = sim_test_now();
        sim_test_spin(&t, spin, NULL, (uint64_t)ns);
        assert_int_equal(t.cuCtxSetCurrent(second), 0);
        sim_test_spin(&t, other, NULL, NS_PER_MS);
        assert_int_equal(t.cuCtxSynchronize(), 0);
        in_time = sim_test_now() - start < ns; /* behind the other device's kernel it never is */
        assert_int_equal(t.cuCtxSetCurrent(first), 0);
        assert_int_equal(t.cuCtxSynchronize(), 0);
        assert_true(sim_test_now() - start >= ns);
    }
    assert_int_equal(t.cuDevicePrimaryCtxRelease_v2(1), 0);
    unsigned flags;
    int active;
    assert_int_equal(t.cuDevicePrimaryCtxGetState(1, &flags, &active), 0);
    assert_int_equal(active, 0);
    assert_int_equal(t.cuCtxSetCurrent(second), 709); /* destroyed */
}

static void bad_arguments_are_refused(void **state)
{
    abi_cu_module module;
    abi_cu_function function;
    abi_cu_context context, own;
    abi_cu_ptr ptr;
    const char *name;
    uint64_t ns = 1;
    void *params[] = {&ns};

    assert_int_equal(t.cuModuleLoadData(&module, "no PTX"), ABI_CU_INVALID_PTX);
    assert_int_equal(t.cuModuleLoadData(&module, "\177ELF and more"), 209);
    assert_int_equal(t.cuModuleLoadData(&module, SPIN_PTX), 0);
    assert_int_equal(t.cuModuleGetFunction(&function, module, "not_this_one"), ABI_CU_NOT_FOUND);
    assert_int_equal(t.cuModuleGetFunction(&function, module, "nor_this"), ABI_CU_NOT_FOUND);
    assert_int_equal(t.cuModuleGetFunction(&function, module, "tiny"), 0);
    assert_int_equal(t.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 0);
    assert_int_equal(t.cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     ABI_CU_INVALID_VALUE);
    assert_int_equal(t.cuLaunchKernel(spin, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL),
                     ABI_CU_INVALID_VALUE);
    assert_int_equal(t.cuModuleUnload(module), 0);
    assert_int_equal(t.cuMemAlloc_v2(&ptr, 0), ABI_CU_INVALID_VALUE);
    assert_int_equal(t.cuMemAlloc_v2(&ptr, (size_t)1 << 40), ABI_CU_OUT_OF_MEMORY);
    assert_int_equal(t.cuMemcpyHtoD_v2((uintptr_t)&ptr, &ptr, 8), ABI_CU_INVALID_VALUE);
    assert_int_equal(t.cuGetErrorName(ABI_CU_INVALID_PTX, &name), 0);
    assert_string_equal(name, "CUDA_ERROR_INVALID_PTX");
    assert_int_equal(t.cuGetErrorName(12345, &name), ABI_CU_INVALID_VALUE);
    assert_int_equal(t.cuCtxCreate_v2(&own, 0, 0), 0);
    assert_int_equal(t.cuCtxDestroy_v2(own), 0);
    assert_int_equal(t.cuCtxDestroy_v2(own), 709);
    assert_int_equal(t.cuCtxPopCurrent_v2(&context), 0);
    assert_int_equal(t.cuMemAlloc_v2(&ptr, 16), ABI_CU_INVALID_CONTEXT);
    assert_int_equal(t.cuCtxSetCurrent(context), 0);
}

static void parameters_may_come_in_one_buffer(void **state)
{
    uint64_t ns = 8 * NS_PER_MS;
    size_t size = sizeof(ns);
    void *extra[] = {(void *)1, &ns, (void *)2, &size, NULL};

    int64_t start = sim_test_now();
    assert_int_equal(t.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), 0);
    assert_int_equal(t.cuStreamSynchronize(NULL), 0);
    assert_true(sim_test_now() - start >= 8 * NS_PER_MS);
}

static void functions_are_found_by_name(void **state)
{
    void *function, *per_thread;
    int status;

    assert_int_equal(t.cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status), 0);
    assert_ptr_equal(function, (void *)(uintptr_t)t.cuMemAlloc_v2);
    assert_int_equal(t.cuGetProcAddress_v2("cuLaunchKernel", &per_thread, 12000, 2, &status), 0);
    assert_ptr_equal(per_thread, (void *)(uintptr_t)t.cuLaunchKernel_ptsz);
    assert_int_equal(t.cuGetProcAddress_v2("cuLaunchKernelEx", &function, 11000, 0, &status),
                     ABI_CU_NOT_FOUND);
    assert_int_equal(status, 2);
    assert_int_equal(t.cuGetProcAddress_v2("cuNoSuch", &function, 13000, 0, &status),
                     ABI_CU_NOT_FOUND);
    assert_int_equal(status, 1);
}

/* ---- many threads at once ------------------------------------------------------ */

enum { THREADS = 4, ROUNDS = 100, ROUND_BYTES = 256 << 10 };

struct worker {
    pthread_t thread;
    abi_cu_context context;
    abi_cu_event fence, other; /* its own, and its neighbour's */
    unsigned seed;
    int bad;
};

static void count_call(void *user_data)
{
    ++*(int *)user_data;
}

/* Sends random lengths to the device, back by way of a second buffer, and compares. */
static void *send_and_compare(void *arg)
{
    struct worker *me = arg;
    abi_cu_stream stream;
    abi_cu_ptr one, two;
    unsigned char *there, *back, pageable_byte;
    int calls = 0;

    me->bad += t.cuCtxSetCurrent(me->context) != 0 || t.cuStreamCreate(&stream, 1) != 0 ||
               t.cuMemAlloc_v2(&one, ROUND_BYTES) != 0 || t.cuMemAlloc_v2(&two, ROUND_BYTES) != 0 ||
               t.cuMemHostAlloc((void **)&there, ROUND_BYTES, 0) != 0 ||
               t.cuMemHostAlloc((void **)&back, ROUND_BYTES, 0) != 0;
    for (int round = 0; round < ROUNDS && !me->bad; round++) {
        size_t bytes = 1 + (size_t)rand_r(&me->seed) % ROUND_BYTES;
        memset(there, round, bytes);
        me->bad += t.cuMemcpyHtoDAsync_v2(one, there, bytes, stream) != 0;
        if (round % 3 == 0) {
            uint64_t ns = (uint64_t)rand_r(&me->seed) % (200 * NS_PER_US);
            void *params[] = {&ns};
            me->bad += t.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL) != 0;
        }
        if (round % 5 == 0)
            me->bad += t.cuStreamWaitEvent(stream, me->other, 0) != 0;
        me->bad += t.cuMemcpyAsync(two, one, bytes, stream) != 0;
        me->bad += t.cuLaunchHostFunc(stream, count_call, &calls) != 0;
        me->bad += t.cuMemcpyDtoHAsync_v2(back, two, bytes, stream) != 0;
        me->bad += t.cuMemcpyDtoHAsync_v2(&pageable_byte, two, 1, stream) != 0;
        me->bad += t.cuEventRecord(me->fence, stream) != 0;
        me->bad += t.cuStreamSynchronize(stream) != 0;
        me->bad += memcmp(there, back, bytes) != 0 || pageable_byte != (unsigned char)round ||
                   calls != round + 1;
    }
    t.cuStreamDestroy_v2(stream);
    t.cuMemFree_v2(one);
    t.cuMemFree_v2(two);
    t.cuMemFreeHost(there);
    t.cuMemFreeHost(back);
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    struct worker workers[THREADS] = {0};

    for (int i = 0; i < THREADS; i++) {
        workers[i].seed = (unsigned)i + 1;
        assert_int_equal(t.cuCtxGetCurrent(&workers[i].context), 0);
        assert_int_equal(t.cuEventCreate(&workers[i].fence, 2), 0);
    }
    for (int i = 0; i < THREADS; i++)
        workers[i].other = workers[(i + 1) % THREADS].fence;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, send_and_compare, &workers[i]),
                         0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].bad, 0);
    }
    for (int i = 0; i < THREADS; i++)
        t.cuEventDestroy_v2(workers[i].fence);
}

static void memory_is_counted(void **state)
{
    size_t before, after, total;
    abi_cu_ptr ptr;

    assert_int_equal(t.cuMemGetInfo_v2(&before, &total), 0);
    assert_int_equal(t.cuMemAlloc_v2(&ptr, GIB), 0);
    assert_int_equal(t.cuMemGetInfo_v2(&after, &total), 0);
    assert_int_equal(before - after, GIB);
    assert_int_equal(t.cuMemFree_v2(ptr), 0);
    assert_int_equal(t.cuMemGetInfo_v2(&after, &total), 0);
    assert_int_equal(before, after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_answer),
        cmocka_unit_test(a_spin_kernel_lasts_what_it_is_told),
        cmocka_unit_test(kernels_of_one_stream_queue_and_of_two_overlap),
        cmocka_unit_test(a_stream_waits_for_an_event_of_another),
        cmocka_unit_test(the_default_stream_is_a_barrier),
        cmocka_unit_test(per_thread_streams_stand_apart),
        cmocka_unit_test(data_arrive),
        cmocka_unit_test(pinned_copies_are_asynchronous),
        cmocka_unit_test(copies_overtake_those_that_are_not_ready),
        cmocka_unit_test(host_functions_run_in_their_place),
        cmocka_unit_test(launches_block_when_too_many_are_outstanding),
        cmocka_unit_test(devices_work_side_by_side),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(parameters_may_come_in_one_buffer),
        cmocka_unit_test(functions_are_found_by_name),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(memory_is_counted),
    };
    return cmocka_run_group_tests_name("sim-cuda", tests, setup, teardown);
}
