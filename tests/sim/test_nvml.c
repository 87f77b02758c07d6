/* SPDX-License-Identifier: MIT */
/* The simulated libnvidia-ml: identity, and utilisation of other processes' work. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Keeps device 1 busy for half of each 20 ms until killed; says over the pipe when it has begun. */
static void half_busy_job(int ready)
{
    sim_test_open(&t, WITH_CUDA);
    sim_test_context(&t, 1);
    abi_cu_function spin = sim_test_kernel(&t, "spin");
    abi_cu_ptr memory;
    if (t.cuMemAlloc_v2(&memory, GIB) != 0)
        _exit(1);
    for (int i = 0; i < 1000; i++) {
        int64_t round = sim_test_now() + 20 * NS_PER_MS;
        sim_test_spin(&t, spin, NULL, 10 * NS_PER_MS);
        t.cuCtxSynchronize();
        int64_t left = round - sim_test_now();
        if (left > 0)
            usleep((useconds_t)(left / NS_PER_US));
        if (i == 40 && write(ready, "", 1) != 1)
            _exit(1);
    }
    _exit(0);
}

static void check_busy(void *one, void *two, pid_t child)
{
    unsigned rates[2], count = 8, type, busy_watts, idle_watts;
    unsigned long long memory[3];
    struct process_info infos[8];
    struct sample samples[100];

    assert_int_equal(t.nvmlDeviceGetUtilizationRates(two, rates), 0);
    if (rates[0] < 30 || rates[0] > 60) /* a slow machine stretches the gaps */
        fail_msg("utilisation %u %%, half is true", rates[0]);
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
    pid_t child = fork();
    if (child == 0)
        half_busy_job(ready[1]);
    close(ready[1]);
    ssize_t got = read(ready[0], &byte, 1);
    if (got == 1)
        check_busy(one, two, child);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
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
