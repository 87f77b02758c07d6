/* SPDX-License-Identifier: MIT */
#include "sim_test.h"

#include "../tidy.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t sim_test_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void sim_test_environment(int devices)
{
    char dir[] = "/tmp/gpufeed-sim-test-XXXXXX", count[16];

    assert_non_null(mkdtemp(dir));
    tidy_at_exit(dir);
    snprintf(count, sizeof(count), "%d", devices);
    setenv("GPUFEED_SIM_DIR", dir, 1);
    setenv("GPUFEED_SIM_DEVICES", count, 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_INJECTION64_PATH");
    unsetenv("GPUFEED_SIM_CUPTI_TAKEN");
    unsetenv("GPUFEED_SIM_PCIE_GBPS");
    unsetenv("GPUFEED_SIM_PAGEABLE_GBPS");
    unsetenv("GPUFEED_SIM_LAUNCH_US");
}

void sim_test_cleanup(void)
{
    const char *path = getenv("GPUFEED_SIM_DIR");
    DIR *dir = path ? opendir(path) : NULL;

    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(path);
}

static void *open_library(const char *name)
{
    char path[4096];
    const char *dir = getenv("SIM_LIB_DIR");

    assert_non_null(dir);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    return library;
}

static void *find(void *library, const char *name)
{
    void *function = dlsym(library, name);
    if (!function)
        fail_msg("no %s", name);
    return function;
}

void sim_test_open(struct sim_test *t, int libraries)
{
    memset(t, 0, sizeof(*t));
#define LOAD(name, parameters) *(void **)&t->name = find(library, #name);
    if (libraries & WITH_CUDA) {
        void *library = t->cuda = open_library("libcuda.so.1");
        CUDA_FUNCTIONS(LOAD)
    }
    if (libraries & WITH_CUPTI) {
        void *library = t->cupti = open_library("libcupti.so.13");
        CUPTI_FUNCTIONS(LOAD)
    }
    if (libraries & WITH_NVML) {
        void *library = t->nvml = open_library("libnvidia-ml.so.1");
        NVML_FUNCTIONS(LOAD)
    }
#undef LOAD
}

abi_cu_context sim_test_context(struct sim_test *t, abi_cu_device device)
{
    abi_cu_context context;

    assert_int_equal(t->cuInit(0), ABI_CU_SUCCESS);
    assert_int_equal(t->cuDevicePrimaryCtxRetain(&context, device), ABI_CU_SUCCESS);
    assert_int_equal(t->cuCtxSetCurrent(context), ABI_CU_SUCCESS);
    return context;
}

abi_cu_function sim_test_kernel(struct sim_test *t, const char *name)
{
    abi_cu_module module;
    abi_cu_function function;

    assert_int_equal(t->cuModuleLoadData(&module, SPIN_PTX), ABI_CU_SUCCESS);
    assert_int_equal(t->cuModuleGetFunction(&function, module, name), ABI_CU_SUCCESS);
    return function;
}

void sim_test_spin(struct sim_test *t, abi_cu_function kernel, abi_cu_stream stream, uint64_t ns)
{
    void *params[] = {&ns};
    assert_int_equal(t->cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL),
                     ABI_CU_SUCCESS);
}
