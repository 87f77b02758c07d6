/* SPDX-License-Identifier: MIT */
/* The simulated libnvidia-ml: identity, and utilisation of other processes' work. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim_test.h"

struct process_info {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

struct sample {
    unsigned long long time_us;
    unsigned value;
    unsigned pad;
};

static struct sim_test t;

static int setup(void **state)
{
    sim_test_environment(2);
    sim_test_open(&t, WITH_NVML);
    unsigned count;
    assert_int_equal(t.nvmlDeviceGetCount_v2(&count), 1);
    assert_int_equal(t.nvmlInit_v2(), 0);
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(t.nvmlShutdown(), 0);
    assert_int_equal(t.nvmlShutdown(), 1);
    sim_test_cleanup();
    return 0;
}

static void devices_are_the_same_as_cuda_s(void **state)
{
    unsigned count, level;
    void *one, *two, *found;
    char uuid[96], name[96], small[4];

    assert_int_equal(t.nvmlDeviceGetCount_v2(&count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(t.nvmlDeviceGetHandleByIndex_v2(0, &one), 0);
    assert_int_equal(t.nvmlDeviceGetHandleByIndex_v2(1, &two), 0);
    assert_int_equal(t.nvmlDeviceGetHandleByIndex_v2(2, &found), 2);
    assert_int_equal(t.nvmlDeviceGetUUID(two, uuid, sizeof(uuid)), 0);
    assert_string_equal(uuid, "GPU-73696d75-6c61-7465-6400-000000000002");
    assert_int_equal(t.nvmlDeviceGetHandleByUUID(uuid, &found), 0);
    assert_ptr_equal(found, two);
    assert_int_equal(t.nvmlDeviceGetHandleByPciBusId_v2("00000000:17:00.0", &found), 0);
    assert_ptr_equal(found, one);
    assert_int_equal(t.nvmlDeviceGetName(one, name, sizeof(name)), 0);
    assert_string_equal(name, "Simulated GPU");
    assert_int_equal(t.nvmlDeviceGetName(one, small, sizeof(small)), 7);
    assert_int_equal(t.nvmlDeviceGetTopologyCommonAncestor(one, two, &level), 0);
    assert_int_equal(level, 30);
    assert_int_equal(t.nvmlDeviceGetMigMode(one, &count, &level), 3);
    assert_int_equal(t.nvmlDeviceGetNvLinkState(one, 0, &level), 3); /* none are simulated here */
    assert_int_equal(t.nvmlDeviceGetNvLinkState(one, 99, &level), 2);
    int status = -1;
    assert_int_equal(t.nvmlDeviceGetP2PStatus(one, two, 0, &status), 0);
    assert_int_equal(status, 0);
    assert_int_equal(t.nvmlDeviceGetP2PStatus(one, one, 0, &status), 2);
    uint32_t fabric[9] = {36 | 2u << 24};
    assert_int_equal(t.nvmlDeviceGetGpuFabricInfoV(one, fabric), 3);
    fabric[0] = 1;
    assert_int_equal(t.nvmlDeviceGetGpuFabricInfoV(one, fabric), 25);
    assert_int_equal(t.nvmlDeviceGetName(&count, name, sizeof(name)), 2);
}

/* What the job writes down: before and after each launch of a kernel of KERNEL_NS. */
#define KERNEL_NS (10 * NS_PER_MS)
#define KERNELS_MAX 10000
#define LATENCY_NS (10 * NS_PER_US) /* from a launch to the kernel's begin, at most */
#define GRANULE_NS NS_PER_MS        /* of what a reading looks at */

struct launches {
    _Atomic int count; /* begun */
    struct {
        int64_t before;
        _Atomic int64_t after; /* 0: not yet */
    } at[KERNELS_MAX];
};

/* Keeps device 1 busy for about half of the time until killed; says over the pipe when it has
 * begun, by when it has run for longer than a reading looks back. */
static void half_busy_job(int ready, struct launches *launches)
{
    sim_test_open(&t, WITH_CUDA);
    sim_test_context(&t, 1);
    abi_cu_function spin = sim_test_kernel(&t, "spin");
    abi_cu_ptr memory;
    if (t.cuMemAlloc_v2(&memory, GIB) != 0)
        _exit(1);
    for (int i = 0; i < KERNELS_MAX; i++) {
        launches->at[i].before = sim_test_now();
        launches->count = i + 1;
        sim_test_spin(&t, spin, NULL, KERNEL_NS);
        launches->at[i].after = sim_test_now();
        t.cuCtxSynchronize();
        int64_t left = launches->at[i].before + 2 * KERNEL_NS - sim_test_now();
        if (left > 0)
            usleep((useconds_t)(left / NS_PER_US));
        if (i == 40 && write(ready, "", 1) != 1)
            _exit(1);
    }
    _exit(0);
}

/* Time of [t0, t1] in which a kernel that ran from `from` to `to` was running. */
static int64_t inside(int64_t t0, int64_t t1, int64_t from, int64_t to)
{
    int64_t ns = (to < t1 ? to : t1) - (from > t0 ? from : t0);
    return ns > 0 ? ns : 0;
}

/* Time of [t0, t1] in which a kernel ran for sure, or perhaps, by what the job wrote down: it began
 * after the first of the two readings around its launch, and no later than the second. */
static int64_t busy(const struct launches *l, int64_t t0, int64_t t1, bool surely)
{
    int64_t sum = 0;
    for (int i = 0; i < l->count; i++) {
        int64_t early = l->at[i].before, late = l->at[i].after;
        late = late ? late + LATENCY_NS : t1;
        sum += surely ? inside(t0, t1, late, early + KERNEL_NS)
                      : inside(t0, t1, early, late + KERNEL_NS);
    }
    return sum;
}

/* The utilisation of device 1 against the launches of the 500 ms before it was read. */
static void check_rate(void *device, const struct launches *launches)
{
    int64_t window = 500 * NS_PER_MS;
    unsigned rates[2];
    int64_t before = sim_test_now();
    assert_int_equal(t.nvmlDeviceGetUtilizationRates(device, rates), 0);
    int64_t after = sim_test_now();
    double least = 100.0 * (double)busy(launches, after - window, before - GRANULE_NS, true);
    double most = 100.0 * (double)busy(launches, before - window - GRANULE_NS, after, false);
    double rate = rates[0];
    if (rate < least / (double)window - 1 || rate > most / (double)window + 1)
        fail_msg("utilisation %u %%, %.1f to %.1f %% is true", rates[0], least / (double)window,
                 most / (double)window);
    assert_true(rates[0] > 0);
}

static void check_busy(void *one, void *two, pid_t child, const struct launches *launches)
{
    unsigned rates[2], count = 8, type, busy_watts, idle_watts;
    unsigned long long memory[3];
    struct process_info infos[8];
    struct sample samples[100];

    check_rate(two, launches);
    assert_int_equal(t.nvmlDeviceGetUtilizationRates(one, rates), 0);
    assert_int_equal(rates[0], 0);
    assert_int_equal(t.nvmlDeviceGetMemoryInfo(two, memory), 0);
    assert_int_equal(memory[2], GIB);
    assert_int_equal(t.nvmlDeviceGetPowerUsage(two, &busy_watts), 0);
    assert_int_equal(t.nvmlDeviceGetPowerUsage(one, &idle_watts), 0);
    assert_true(busy_watts > idle_watts);
    assert_int_equal(t.nvmlDeviceGetComputeRunningProcesses_v3(two, &count, infos), 0);
    assert_int_equal(count, 1);
    assert_int_equal(infos[0].pid, child);
    assert_int_equal(infos[0].used, GIB);
    count = 0;
    assert_int_equal(t.nvmlDeviceGetComputeRunningProcesses_v3(two, &count, NULL), 7);
    count = 100;
    assert_int_equal(t.nvmlDeviceGetSamples(two, 1, 0, &type, &count, samples), 0);
    assert_true(count > 20);
    for (unsigned i = 1; i < count; i++)
        assert_true(samples[i].time_us > samples[i - 1].time_us);
}

static void another_process_s_work_is_seen_until_it_dies(void **state)
{
    unsigned rates[2], count = 8;
    struct process_info infos[8];
    void *one, *two;
    int ready[2];
    char byte;

    assert_int_equal(t.nvmlDeviceGetHandleByIndex_v2(0, &one), 0);
    assert_int_equal(t.nvmlDeviceGetHandleByIndex_v2(1, &two), 0);
    assert_int_equal(pipe(ready), 0);
    struct launches *launches =
        mmap(NULL, sizeof(*launches), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(launches, MAP_FAILED);
    pid_t child = fork();
    if (child == 0)
        half_busy_job(ready[1], launches);
    close(ready[1]);
    ssize_t got = read(ready[0], &byte, 1);
    if (got == 1)
        check_busy(one, two, child, launches);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    munmap(launches, sizeof(*launches));
    assert_int_equal(got, 1);
    /* It left its file behind, and still counts for nothing. */
    assert_int_equal(t.nvmlDeviceGetUtilizationRates(two, rates), 0);
    assert_int_equal(rates[0], 0);
    assert_int_equal(t.nvmlDeviceGetComputeRunningProcesses_v3(two, &count, infos), 0);
    assert_int_equal(count, 0);
    char path[512];
    snprintf(path, sizeof(path), "%s/%d.sim", getenv("GPUFEED_SIM_DIR"), (int)child);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_the_same_as_cuda_s),
        cmocka_unit_test(another_process_s_work_is_seen_until_it_dies),
    };
    return cmocka_run_group_tests_name("sim-nvml", tests, setup, teardown);
}
