/* SPDX-License-Identifier: MIT */
/* The probe's parts that need no CUDA: join, clock, kernel names, hooks, classes of calls. */
#include "base/unit.h"
#include "probe/call_class.h"
#include "probe/clock_pair.h"
#include "probe/cuda_abi.h"
#include "probe/hook.h"
#include "probe/join.h"
#include "probe/kernel_class.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct join *new_join(void)
{
    struct join *j = calloc(1, sizeof(*j));

    assert_non_null(j);
    return j;
}

static void test_join_finds_calls(void **state)
{
    struct join *j = new_join();
    struct join_call call;

    join_enter(j, 5, 77, 1000, false);
    assert_true(join_find(j, 5, 1, &call));
    assert_true(call.open && call.t0 == 1000 && call.tid == 77);
    join_exit(j, 5, 1400, false);
    assert_true(join_find(j, 5, 1, &call));
    assert_true(!call.open && call.ns == 400);
    assert_false(join_find(j, 6, 1, &call));
    assert_false(join_find(j, 5 + JOIN_SLOTS, 1, &call));
    join_enter(j, 5 + JOIN_SLOTS, 78, 9000, false); /* the same slot */
    assert_false(join_find(j, 5, 1, &call));
    assert_true(join_find(j, 5 + JOIN_SLOTS, 1, &call));
    join_exit(j, 5, 9999, false); /* the late exit of the one written over */
    assert_true(join_find(j, 5 + JOIN_SLOTS, 1, &call));
    assert_true(call.open);
    join_enter(j, 11, 1, 1, false);
    join_exit(j, 11, (int64_t)UINT32_MAX * 3, false);
    assert_true(join_find(j, 11, 1, &call));
    assert_true(call.ns == UINT32_MAX - 7);
    free(j);
}

static void test_join_oldest(void **state)
{
    struct join *j = new_join();
    struct join_call call;

    assert_true(join_oldest_missing(j, 0, 100, 1) == INT64_MAX);
    join_enter(j, 1, 7, 1000, false);
    join_exit(j, 1, 1010, false);
    join_enter(j, 2, 7, 2000, false);
    join_exit(j, 2, 2010, false);
    assert_true(join_oldest_missing(j, 1050, 100, 1) == 1000);
    join_find(j, 2, 1, &call); /* the younger first: the older still holds the mark */
    assert_true(join_oldest_missing(j, 1050, 100, 1) == 1000);
    join_find(j, 1, 1, &call);
    assert_true(join_oldest_missing(j, 1050, 100, 1) == INT64_MAX);
    join_enter(j, 3, 7, 3000, false); /* a call that fails leaves no record */
    join_exit(j, 3, 3010, true);
    assert_true(join_oldest_missing(j, 3020, 100, 2) == INT64_MAX);
    join_enter(j, 4, 7, 4000, false); /* one that never leaves a record: patience */
    join_exit(j, 4, 4016, false);
    assert_true(join_oldest_missing(j, 4116, 100, 3) == 4000);
    assert_true(join_oldest_missing(j, 4117, 100, 3) == INT64_MAX);
    join_enter(j, 5, 7, 5000, false); /* inside its call: no patience runs */
    assert_true(join_oldest_missing(j, 99999, 100, 4) == 5000);
    join_exit(j, 5, 99999, true);
    join_enter(j, 6, 7, 100000, true); /* a graph: complete when a flush brought nothing more */
    join_exit(j, 6, 100010, false);
    join_find(j, 6, 5, &call);
    assert_true(join_oldest_missing(j, 100020, 1000, 5) == 100000);
    assert_true(join_oldest_missing(j, 100020, 1000, 6) == 100000);
    assert_true(join_oldest_missing(j, 100020, 1000, 7) == INT64_MAX);
    free(j);
}

/* More calls between two looks than there are slots. */
static void test_join_overrun(void **state)
{
    struct join *j = new_join();

    for (uint32_t id = 1; id <= 3 * JOIN_SLOTS; id++)
        join_enter(j, id, 1, id, false);
    int64_t oldest = join_oldest_missing(j, 10, 1, 1);
    assert_true(oldest == 2 * JOIN_SLOTS + 1);
    free(j);
}

static int makers;

static void *make_calls(void *arg)
{
    struct join *j = arg;
    static uint32_t next;

    for (int i = 0; i < 200000; i++) {
        uint32_t id = __atomic_add_fetch(&next, 1, __ATOMIC_RELAXED);
        join_enter(j, id, id, (int64_t)id * 10, false);
        join_exit(j, id, (int64_t)id * 10 + 8, false);
    }
    __atomic_sub_fetch(&makers, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* What is found is never a mix of two calls. */
static void test_join_threads(void **state)
{
    struct join *j = new_join();
    pthread_t threads[3];
    struct join_call call;
    unsigned found = 0;

    makers = 3;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_calls, j), 0);
    do {
        for (uint32_t slot = 0; slot < JOIN_SLOTS; slot++) {
            uint32_t id = (uint32_t)(__atomic_load_n(&j->slots[slot].word, __ATOMIC_RELAXED) >> 32);
            if (!join_find(j, id, 1, &call))
                continue;
            found++;
            assert_int_equal(call.tid, id);
            assert_true(call.t0 == (int64_t)id * 10);
            assert_true(call.open || call.ns == 8);
        }
    } while (__atomic_load_n(&makers, __ATOMIC_RELAXED) > 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_true(found > 0);
    assert_true(join_oldest_missing(j, 0, 1, 3) > 0);
    free(j);
}

static void test_clock_map(void **state)
{
    struct clock_map m = {0};
    int64_t t = 0;

    assert_false(clock_map_read(&m, 5, &t));
    clock_map_add(&m, &(struct clock_pair){.mono = 1000, .device = 501000, .error = 10});
    assert_true(clock_map_read(&m, 501500, &t) && t == 1500);
    clock_map_add(&m, &(struct clock_pair){.mono = 2000, .device = 502100, .error = 10});
    assert_true(clock_map_read(&m, 501000, &t) && t == 1000);
    assert_true(clock_map_read(&m, 501550, &t) && t == 1500); /* half way: half the drift */
    assert_true(clock_map_read(&m, 502100, &t) && t == 2000);
    assert_true(clock_map_read(&m, 503100, &t) && t == 3000);
    assert_true(clock_map_read(&m, 500000, &t) && t == 0);
    /* a step is not drawn out over the time between */
    clock_map_add(&m, &(struct clock_pair){.mono = 3000, .device = 503100 + NS_PER_S, .error = 1});
    assert_true(clock_map_read(&m, 503000 + (uint64_t)NS_PER_S, &t) && t == 2900);
}

static uint64_t fake_time;
static abi_cupti_result fake_timestamp(uint64_t *ret)
{
    *ret = fake_time;
    return fake_time ? ABI_CUPTI_SUCCESS : ABI_CUPTI_NOT_INITIALIZED;
}

static void test_clock_pair(void **state)
{
    struct clock_pair pair;

    assert_false(clock_pair_take(&pair, fake_timestamp));
    fake_time = 12345;
    int64_t before = clock_now();
    assert_true(clock_pair_take(&pair, fake_timestamp));
    assert_true(pair.mono >= before && pair.mono <= clock_now());
    assert_true(pair.device == 12345 && pair.error > 0 && pair.error < NS_PER_S);
}

static void test_kernel_names(void **state)
{
    struct kernel_cache cache = {0};
    static const char *const comm[] = {
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "_Z40ncclKernel_AllReduce_RING_LL_Sum_int8_tP11ncclDevCommmP8ncclWork",
        "rcclDevKernel_Generic",
        "void vllm::cross_device_reduce_1stage<float, 2>(RankData*)",
        "nvshmemi_transfer",
    };
    static const char *const compute[] = {
        "spin",
        "ampere_sgemm_128x64_tn",
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>",
        "",
    };

    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(comm) / sizeof(comm[0]); i++)
            assert_true(kernel_cache_is_comm(&cache, comm[i]));
        for (size_t i = 0; i < sizeof(compute) / sizeof(compute[0]); i++)
            assert_false(kernel_cache_is_comm(&cache, compute[i]));
    }
    assert_false(kernel_cache_is_comm(&cache, NULL));
    /* the same address, another kernel */
    char name[32] = "spin";
    assert_false(kernel_cache_is_comm(&cache, name));
    strcpy(name, "ncclKernel");
    assert_true(kernel_cache_is_comm(&cache, name));
    char *long_name = malloc(100000);
    memset(long_name, 'x', 99999);
    long_name[99999] = '\0';
    assert_false(kernel_is_comm(long_name));
    free(long_name);
}

static void test_call_classes(void **state)
{
    assert_int_equal(call_class(ABI_CBID_cuLaunchKernel), CLASS_LAUNCH);
    assert_int_equal(call_class(ABI_CBID_cuLaunchKernel_ptsz), CLASS_LAUNCH);
    assert_int_equal(call_class(ABI_CBID_cuLaunchKernelEx), CLASS_LAUNCH);
    assert_int_equal(call_class(ABI_CBID_cuGraphLaunch_ptsz), CLASS_LAUNCH | CLASS_MANY);
    assert_int_equal(call_class(ABI_CBID_cuMemcpyHtoDAsync_v2), CLASS_COPY);
    assert_int_equal(call_class(ABI_CBID_cuMemsetD8_v2), CLASS_SET);
    assert_int_equal(call_class(ABI_CBID_cuStreamSynchronize), CLASS_SYNC);
    assert_int_equal(call_class(ABI_CBID_cuLaunchHostFunc), CLASS_NONE);
    assert_int_equal(call_class(ABI_CBID_cuEventRecord), CLASS_NONE);
    assert_int_equal(call_class(ABI_CBID_cuMemcpy3DBatchAsync), CLASS_COPY | CLASS_MANY);
    assert_int_equal(call_class(ABI_CBID_cuCtxDestroy_v2), CLASS_CONTEXT | CLASS_LAST);
    assert_int_equal(call_class(0), CLASS_NONE);
    assert_int_equal(call_class(UINT32_MAX), CLASS_NONE);
}

/* --- a function with a hook before it -------------------------------------------------------- */

__attribute__((noipa)) int hooked_function(int a, int b); /* global: its size is in the symbols */
int hooked_function(int a, int b)
{
    int sum = 0;

    for (int i = 0; i < a; i++)
        sum += i * b + a;
    return sum;
}

static struct hook hook;
static int times_before;

static int before_it(int a, int b)
{
    times_before++;
    hook_remove(&hook);
    return hooked_function(a, b) + 1000;
}

static void test_hook(void **state)
{
    int expected = hooked_function(4, 3);

    if (!hook_set(&hook, (void *)hooked_function, (void *)before_it))
        skip(); /* memory may not be made writable here, or the processor is unknown */
    assert_int_equal(hooked_function(4, 3), expected + 1000);
    assert_int_equal(hooked_function(4, 3), expected); /* as it was */
    assert_int_equal(times_before, 1);
    hook_remove(&hook);
    assert_false(hook_set(&hook, NULL, (void *)before_it));
    int on_stack;
    assert_false(hook_set(&hook, &on_stack, (void *)before_it)); /* no known function */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join_finds_calls),
        cmocka_unit_test(test_join_oldest),
        cmocka_unit_test(test_join_overrun),
        cmocka_unit_test(test_join_threads),
        cmocka_unit_test(test_clock_map),
        cmocka_unit_test(test_clock_pair),
        cmocka_unit_test(test_kernel_names),
        cmocka_unit_test(test_call_classes),
        cmocka_unit_test(test_hook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
