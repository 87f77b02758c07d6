/* SPDX-License-Identifier: MIT */
/*
 * cuda_job: a small CUDA program for tests and bench/: says on stdout what it
 * did. Knows nothing of the probe.
 *
 *     cuda_job steps N    N times: pinned copy in, spin 1 ms, one comm kernel, memset; at the
 *                         end a pageable copy out; context destroyed
 *     cuda_job leave N    the same, but exit() without destroying anything
 *     cuda_job vanish N   the same, then _exit()
 *     cuda_job forever    until killed, one line per step
 *     cuda_job forks N    a child that exits normally in the middle
 *     cuda_job taken N    subscribes to CUPTI before cuInit
 *     cuda_job profiler N after N steps subscribes to CUPTI, N more, counts its own records
 *     cuda_job storm N    N launches of 1 ns as fast as they go; prints ns per launch
 *     cuda_job long MS    one kernel of MS milliseconds with short ones on another stream
 */
#include "probe/cuda_abi.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIZE 65536
#define SPIN_NS 1000000

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
#define KERNEL(name)                                                                               \
    ".visible .entry " name "(.param .u64 d)\n{\n.reg .pred %p;\n.reg .u64 %w, %s, %n, %e;\n"      \
    "ld.param.u64 %w, [d];\nmov.u64 %s, %globaltimer;\n" name "_again:\n"                          \
    "mov.u64 %n, %globaltimer;\nsub.u64 %e, %n, %s;\nsetp.lt.u64 %p, %e, %w;\n@%p bra " name       \
    "_again;\nret;\n}\n"
    KERNEL("spin") KERNEL("ncclDevKernel_spin");

struct job {
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*context_create)(void **, unsigned, int);
    int (*context_destroy)(void *);
    int (*module_load)(void **, const void *);
    int (*get_function)(void **, void *, const char *);
    int (*stream_create)(void **, unsigned);
    int (*stream_wait)(void *);
    int (*alloc)(uint64_t *, size_t);
    int (*alloc_host)(void **, size_t);
    int (*copy_in_async)(uint64_t, const void *, size_t, void *);
    int (*copy_out)(void *, uint64_t, size_t);
    int (*set)(uint64_t, unsigned char, size_t, void *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    void *context, *spin, *comm, *stream, *stage;
    uint64_t memory;
};

static void check(int result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "cuda_job: %s: %d\n", what, result);
        exit(3);
    }
}

static void *symbol(void *library, const char *name)
{
    void *f = library ? dlsym(library, name) : NULL;

    if (!f) {
        fprintf(stderr, "cuda_job: no %s: %s\n", name, dlerror());
        exit(3);
    }
    return f;
}

static void load(struct job *j)
{
    const struct {
        const char *name;
        void *at;
    } calls[] = {
        {"cuInit", &j->init},
        {"cuDeviceGet", &j->device_get},
        {"cuCtxCreate_v2", &j->context_create},
        {"cuCtxDestroy_v2", &j->context_destroy},
        {"cuModuleLoadData", &j->module_load},
        {"cuModuleGetFunction", &j->get_function},
        {"cuStreamCreate", &j->stream_create},
        {"cuStreamSynchronize", &j->stream_wait},
        {"cuMemAlloc_v2", &j->alloc},
        {"cuMemAllocHost_v2", &j->alloc_host},
        {"cuMemcpyHtoDAsync_v2", &j->copy_in_async},
        {"cuMemcpyDtoH_v2", &j->copy_out},
        {"cuMemsetD8Async", &j->set},
        {"cuLaunchKernel", &j->launch},
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW);

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *f = symbol(library, calls[i].name);
        memcpy(calls[i].at, &f, sizeof(f));
    }
}

static void start(struct job *j)
{
    void *module;
    int device;

    load(j);
    check(j->init(0), "cuInit");
    check(j->device_get(&device, 0), "cuDeviceGet");
    check(j->context_create(&j->context, 0, device), "cuCtxCreate");
    check(j->module_load(&module, ptx), "cuModuleLoadData");
    check(j->get_function(&j->spin, module, "spin"), "cuModuleGetFunction");
    check(j->get_function(&j->comm, module, "ncclDevKernel_spin"), "cuModuleGetFunction");
    check(j->stream_create(&j->stream, 1), "cuStreamCreate");
    check(j->alloc(&j->memory, SIZE), "cuMemAlloc");
    check(j->alloc_host(&j->stage, SIZE), "cuMemAllocHost");
}

static void spin(struct job *j, void *kernel, uint64_t ns, void *stream)
{
    void *parameters[] = {&ns};

    check(j->launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL), "cuLaunchKernel");
}

static void step(struct job *j)
{
    check(j->copy_in_async(j->memory, j->stage, SIZE, j->stream), "cuMemcpyHtoDAsync");
    spin(j, j->spin, SPIN_NS, j->stream);
    spin(j, j->comm, SPIN_NS / 2, j->stream);
    check(j->set(j->memory, 1, SIZE, j->stream), "cuMemsetD8Async");
    check(j->stream_wait(j->stream), "cuStreamSynchronize");
}

static void steps(struct job *j, int n)
{
    for (int i = 0; i < n; i++)
        step(j);
}

static void copy_out(struct job *j)
{
    static char host[SIZE];

    check(j->copy_out(host, j->memory, SIZE), "cuMemcpyDtoH");
}

/* --- other users of CUPTI -------------------------------------------------------------------- */

static unsigned own_records;
static abi_cupti_result (*own_next)(uint8_t *, size_t, struct abi_activity **);

static void nothing(void *user, int domain, uint32_t cbid, const void *data)
{
    (void)user;
    (void)domain;
    (void)cbid;
    (void)data;
}

static void own_buffer(uint8_t **buffer, size_t *size, size_t *max)
{
    *size = 1 << 20;
    *buffer = aligned_alloc(8, *size);
    *max = 0;
}

static void own_done(abi_cu_context context, uint32_t stream, uint8_t *buffer, size_t size,
                     size_t valid)
{
    struct abi_activity *record = NULL;

    (void)context;
    (void)stream;
    (void)size;
    while (own_next(buffer, valid, &record) == 0)
        own_records += record->kind == ABI_KIND_CONCURRENT_KERNEL;
    free(buffer);
}

static int subscribe(void)
{
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
    abi_subscriber subscriber;
    abi_cupti_result (*f)(abi_subscriber *, abi_callback_fn, void *);
    void *at = symbol(cupti, "cuptiSubscribe");

    memcpy(&f, &at, sizeof(f));
    return f(&subscriber, nothing, NULL);
}

static void profile(struct job *j, int n)
{
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
    int (*enable)(int), (*flush)(uint32_t);
    int (*reg)(abi_buffer_requested_fn, abi_buffer_completed_fn);
    void *at = symbol(cupti, "cuptiActivityEnable");

    memcpy(&enable, &at, sizeof(at));
    at = symbol(cupti, "cuptiActivityFlushAll");
    memcpy(&flush, &at, sizeof(at));
    at = symbol(cupti, "cuptiActivityRegisterCallbacks");
    memcpy(&reg, &at, sizeof(at));
    at = symbol(cupti, "cuptiActivityGetNextRecord");
    memcpy(&own_next, &at, sizeof(at));
    check(subscribe(), "cuptiSubscribe");
    check(reg(own_buffer, own_done), "cuptiActivityRegisterCallbacks");
    check(enable(ABI_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
    steps(j, n);
    check(flush(1), "cuptiActivityFlushAll");
    printf("own %u\n", own_records);
}

/* --- modes ----------------------------------------------------------------------------------- */

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Until standard input is closed; writes down when each step was over. */
static void forever(struct job *j)
{
    struct pollfd in = {.fd = 0, .events = POLLIN};

    while (poll(&in, 1, 0) == 0) {
        step(j);
        printf("%lld\n", (long long)now_ns());
        fflush(stdout);
    }
}

static void forks(struct job *j, int n)
{
    int status = 0;

    steps(j, n);
    pid_t child = fork();
    if (child == 0)
        exit(7); /* with atexit handlers, the probe's among them */
    waitpid(child, &status, 0);
    steps(j, n);
    printf("child %d exit %d\n", (int)child, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void storm(struct job *j, int n)
{
    int64_t inside = 0;

    for (int i = 0; i < n; i++) {
        int64_t t0 = now_ns();
        spin(j, j->spin, 1, j->stream);
        inside += now_ns() - t0;
        if (i % 512 == 511)
            check(j->stream_wait(j->stream), "cuStreamSynchronize");
    }
    check(j->stream_wait(j->stream), "cuStreamSynchronize");
    printf("%.1f ns per launch\n", (double)inside / n);
}

static void one_long(struct job *j, int ms)
{
    void *other;

    check(j->stream_create(&other, 1), "cuStreamCreate");
    spin(j, j->spin, (uint64_t)ms * 1000000, other);
    for (int i = 0; i < 20; i++) {
        step(j);
        usleep(5000);
    }
    check(j->stream_wait(other), "cuStreamSynchronize");
}

int main(int argc, char **argv)
{
    static struct job j;
    const char *mode = argc > 1 ? argv[1] : "steps";
    int n = argc > 2 ? atoi(argv[2]) : 10;

    if (strcmp(mode, "taken") == 0)
        check(subscribe(), "cuptiSubscribe");
    start(&j);
    if (strcmp(mode, "forever") == 0 || strcmp(mode, "vanish") == 0)
        forever(&j);
    else if (strcmp(mode, "forks") == 0)
        forks(&j, n);
    else if (strcmp(mode, "storm") == 0)
        storm(&j, n);
    else if (strcmp(mode, "long") == 0)
        one_long(&j, n);
    else
        steps(&j, n);
    if (strcmp(mode, "profiler") == 0)
        profile(&j, n);
    copy_out(&j);
    fflush(stdout);
    if (strcmp(mode, "leave") == 0)
        exit(0);
    if (strcmp(mode, "vanish") == 0)
        _exit(0);
    check(j.context_destroy(j.context), "cuCtxDestroy");
    return 0;
}
