/* SPDX-License-Identifier: MIT */
/* What depends on the process: injection, visible devices, forks. Each case is a child of its own,
 * since a driver cannot be started twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim_test.h"
#include "../tidy.h"

#define CHECK(truth)                                                                               \
    do {                                                                                           \
        if (!(truth)) {                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #truth);                    \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static struct sim_test t;

static int setup(void **state)
{
    sim_test_environment(2);
    return 0;
}

static int teardown(void **state)
{
    sim_test_cleanup();
    return 0;
}

static int status_of(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void in_child(void (*body)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        body();
        exit(0); /* with the exit handlers of the libraries */
    }
    assert_int_equal(status_of(child), 0);
}

static void device_count_is(const char *visible, int count)
{
    int found = -1;

    setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    sim_test_open(&t, WITH_CUDA);
    CHECK(t.cuInit(0) == (count ? 0 : ABI_CU_NO_DEVICE));
    if (count) {
        CHECK(t.cuDeviceGetCount(&found) == 0);
        CHECK(found == count);
    }
}

static void second_device_only(void)
{
    struct abi_cu_uuid uuid;

    device_count_is("1", 1);
    CHECK(t.cuDeviceGetUuid(&uuid, 0) == 0);
    CHECK(uuid.bytes[15] == 2);
}

static void by_uuid(void)
{
    device_count_is("GPU-73696d75-6c61-7465-6400-000000000002,0", 2);
}

static void none(void)
{
    device_count_is("", 0);
}

static void list_ends_at_a_bad_entry(void)
{
    device_count_is("1,7,0", 1);
}

static void visible_devices_are_honoured(void **state)
{
    in_child(second_device_only);
    in_child(by_uuid);
    in_child(none);
    in_child(list_ends_at_a_bad_entry);
}

static void injected(void)
{
    char proof[] = "/tmp/gpufeed-sim-proof-XXXXXX";

    CHECK(mkdtemp(proof));
    tidy_at_exit(proof);
    char path[64];
    snprintf(path, sizeof(path), "%s/proof", proof);
    setenv("SIM_INJECTION_PROOF", path, 1);
    setenv("CUDA_INJECTION64_PATH", getenv("SIM_INJECTION"), 1);
    sim_test_open(&t, WITH_CUDA);
    CHECK(access(path, F_OK) != 0);
    CHECK(t.cuInit(0) == 0);
    CHECK(access(path, F_OK) == 0);
    CHECK(unlink(path) == 0);
    CHECK(t.cuInit(0) == 0);
    CHECK(access(path, F_OK) != 0); /* once only */
    CHECK(rmdir(proof) == 0);
}

static void bad_injection_is_passed_over(void)
{
    setenv("CUDA_INJECTION64_PATH", "/nowhere/at/all.so", 1);
    sim_test_open(&t, WITH_CUDA);
    CHECK(t.cuInit(0) == 0);
}

static void the_injection_library_is_called(void **state)
{
    in_child(injected);
    in_child(bad_injection_is_passed_over);
}

static void spin_once(uint64_t ns)
{
    sim_test_context(&t, 0);
    abi_cu_function spin = sim_test_kernel(&t, "spin");
    int64_t start = sim_test_now();
    sim_test_spin(&t, spin, NULL, ns);
    CHECK(t.cuCtxSynchronize() == 0);
    CHECK(sim_test_now() - start >= (int64_t)ns);
}

static void fork_before_init(void)
{
    sim_test_open(&t, WITH_CUDA | WITH_CUPTI);
    pid_t child = fork();
    if (child == 0) {
        spin_once(5 * NS_PER_MS);
        exit(0);
    }
    spin_once(5 * NS_PER_MS);
    CHECK(status_of(child) == 0);
}

static void requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *size = 65536;
    *buffer = malloc(*size);
    *max_records = 0;
}

static void completed(abi_cu_context none_given, uint32_t stream, uint8_t *buffer, size_t size,
                      size_t valid)
{
    free(buffer);
}

/* As the real driver: the child may use nothing of it, and does no harm to the parent. */
static void fork_after_init(void)
{
    char path[512];
    int count;

    sim_test_open(&t, WITH_CUDA | WITH_CUPTI);
    CHECK(t.cuptiActivityRegisterCallbacks(requested, completed) == 0);
    CHECK(t.cuptiActivityEnable(ABI_KIND_CONCURRENT_KERNEL) == 0);
    spin_once(NS_PER_MS);
    snprintf(path, sizeof(path), "%s/%d.sim", getenv("GPUFEED_SIM_DIR"), (int)getpid());
    CHECK(access(path, F_OK) == 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK(t.cuInit(0) == ABI_CU_NOT_INITIALIZED);
        CHECK(t.cuDeviceGetCount(&count) == ABI_CU_NOT_INITIALIZED);
        CHECK(t.cuCtxSynchronize() == ABI_CU_NOT_INITIALIZED);
        CHECK(t.cuptiActivityFlushAll(0) == ABI_CUPTI_NOT_INITIALIZED);
        exit(0);
    }
    CHECK(status_of(child) == 0);
    CHECK(access(path, F_OK) == 0);
    spin_once(NS_PER_MS);
    CHECK(t.cuptiActivityFlushAll(0) == 0);
}

static void forks_behave(void **state)
{
    in_child(fork_before_init);
    in_child(fork_after_init);
}

/* Many that come and go: each has its file, and none is left. */
static void share_a_folder(void)
{
    const uid_t user = 3000000000u + (uid_t)getpid(); /* nobody's */
    char folder[64], path[96];
    pid_t children[8];

    unsetenv("GPUFEED_SIM_DIR");
    snprintf(folder, sizeof(folder), "/dev/shm/gpufeed-sim-%u", (unsigned)user);
    sim_test_open(&t, WITH_CUDA);
    CHECK(setuid(user) == 0);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 8; i++)
            if ((children[i] = fork()) == 0) {
                CHECK(t.cuInit(0) == 0);
                snprintf(path, sizeof(path), "%s/%d.sim", folder, (int)getpid());
                CHECK(access(path, F_OK) == 0);
                exit(0);
            }
        for (int i = 0; i < 8; i++)
            CHECK(status_of(children[i]) == 0);
        CHECK(access(folder, F_OK) != 0);
    }
}

static void the_folder_goes_with_the_last(void **state)
{
    if (geteuid() != 0)
        skip(); /* needs a user of its own, whom no other test is */
    in_child(share_a_folder);
}

static void costly_launches(void)
{
    setenv("GPUFEED_SIM_LAUNCH_US", "200", 1);
    sim_test_open(&t, WITH_CUDA);
    sim_test_context(&t, 0);
    abi_cu_function spin = sim_test_kernel(&t, "spin");
    int64_t start = sim_test_now();
    for (int i = 0; i < 50; i++)
        sim_test_spin(&t, spin, NULL, NS_PER_US);
    CHECK(sim_test_now() - start >= 10 * NS_PER_MS);
}

static void slow_link(void)
{
    enum { BYTES = 10 * 1000 * 1000 };
    abi_cu_ptr device;
    void *pinned;

    setenv("GPUFEED_SIM_PCIE_GBPS", "0.5", 1);
    sim_test_open(&t, WITH_CUDA);
    sim_test_context(&t, 0);
    CHECK(t.cuMemAlloc_v2(&device, BYTES) == 0);
    CHECK(t.cuMemHostAlloc(&pinned, BYTES, 0) == 0);
    int64_t start = sim_test_now();
    CHECK(t.cuMemcpyHtoD_v2(device, pinned, BYTES) == 0);
    CHECK(sim_test_now() - start >= 20 * NS_PER_MS);
}

static void settings_are_honoured(void **state)
{
    in_child(costly_launches);
    in_child(slow_link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visible_devices_are_honoured),
        cmocka_unit_test(the_injection_library_is_called),
        cmocka_unit_test(forks_behave),
        cmocka_unit_test(settings_are_honoured),
        cmocka_unit_test(the_folder_goes_with_the_last),
    };
    return cmocka_run_group_tests_name("sim-process", tests, setup, teardown);
}
