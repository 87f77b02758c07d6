/* SPDX-License-Identifier: MIT */
/*
 * gpu_compare: runs a command with the probe and compares what the probe saw
 * with NVML's utilisation over the same time.
 *
 *     gpu_compare [-n NAME] [-c SECONDS] PROBE.so -- COMMAND...
 *
 * -c: kernel seconds the command asks for; the probe must agree within 3 %.
 * Prints one line of JSON. Exit code 0 if the two agree within 10 points of the
 * span (and with -c), 1 if not, 2 on bad use, 3 if the command failed.
 */
#include "base/mem.h"
#include "base/unit.h"
#include "sense/probe_ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS (50 * NS_PER_MS)
#define NVML_LOOKS_BACK NS_PER_S
#define AGREE 0.10
#define AGREE_ASKED 0.03

struct interval {
    int64_t t0, t1;
};

struct account {
    struct interval *kernels; /* owned */
    size_t count, cap;
    int64_t taken, released, kernel_ns, copy_ns;
    uint64_t calls, lost, unjoined;
    bool out_of_memory;
};

struct nvml {
    int (*get)(void *, unsigned *); /* nvmlDeviceGetUtilizationRates: {gpu, memory} percent */
    void *device;
    double sum;
    int samples;
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int on_event(void *arg, const struct event *event)
{
    struct account *a = arg;

    if (event->kind == EVENT_CALL)
        a->calls++;
    if (event->kind == EVENT_LOST)
        a->lost += event->lost.count;
    if (event->kind == EVENT_DEVICE && event->device.taken && a->taken == 0)
        a->taken = event->device.t;
    if (event->kind == EVENT_DEVICE && !event->device.taken)
        a->released = event->device.t;
    if (event->kind != EVENT_SPAN)
        return 0;
    const struct event_span *span = &event->span;
    a->unjoined += span->launch_t0 == 0;
    if (span->kind == SPAN_COPY) {
        a->copy_ns += span->t1 - span->t0;
        return 0;
    }
    a->kernel_ns += span->t1 - span->t0;
    if (!mem_grow((void **)&a->kernels, &a->cap, a->count + 1, sizeof(*a->kernels))) {
        a->out_of_memory = true;
        return STATUS_MEMORY;
    }
    a->kernels[a->count++] = (struct interval){span->t0, span->t1};
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;

    return x->t0 < y->t0 ? -1 : x->t0 > y->t0;
}

/* Time during which at least one kernel ran. */
static int64_t busy_ns(struct account *a)
{
    int64_t busy = 0, until = INT64_MIN;

    if (a->count > 1)
        qsort(a->kernels, a->count, sizeof(*a->kernels), by_start);
    for (size_t i = 0; i < a->count; i++) {
        int64_t from = a->kernels[i].t0 > until ? a->kernels[i].t0 : until;
        if (a->kernels[i].t1 > from)
            busy += a->kernels[i].t1 - from;
        if (a->kernels[i].t1 > until)
            until = a->kernels[i].t1;
    }
    return busy;
}

/* --- NVML ------------------------------------------------------------------------------------ */

static bool nvml_open(struct nvml *n, const char *uuid)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    int (*init)(void), (*by_uuid)(const char *, void **);

    if (!library)
        return false;
    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&by_uuid = dlsym(library, "nvmlDeviceGetHandleByUUID");
    *(void **)&n->get = dlsym(library, "nvmlDeviceGetUtilizationRates");
    return init && by_uuid && n->get && init() == 0 && by_uuid(uuid, &n->device) == 0;
}

static void nvml_sample(struct nvml *n)
{
    unsigned rates[2];

    if (!n->device || n->get(n->device, rates) != 0)
        return;
    n->sum += rates[0] / 100.0;
    n->samples++;
}

/* --- the command ----------------------------------------------------------------------------- */

static pid_t spawn(const char *probe, const char *dir, char **command)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    setenv("CUDA_INJECTION64_PATH", probe, 1);
    setenv("GPUFEED_RING_DIR", dir, 1);
    execvp(command[0], command);
    fprintf(stderr, "gpu_compare: cannot run \"%s\": %s\n", command[0], strerror(errno));
    _exit(127);
}

/* NVML's figure looks back up to a second: it is asked from a second after the first kernel on,
 * while the device is held. */
static bool time_to_ask(const struct account *a)
{
    return a->count > 0 && a->released == 0 && now_ns() - a->kernels[0].t0 > NVML_LOOKS_BACK;
}

/* Until the command ends. */
static int watch(struct probe_rings *rings, pid_t pid, struct account *a, struct nvml *n)
{
    struct timespec nap = {.tv_nsec = POLL_NS};
    struct error e = {0};
    int status = 0;
    bool gone = false;

    for (;;) {
        if (probe_rings_poll(rings, now_ns(), on_event, a, &e) != STATUS_OK)
            fprintf(stderr, "gpu_compare: %s\n", e.text);
        if (gone)
            return status;
        if (!n->device && probe_rings_accelerator_count(rings) > 0)
            nvml_open(n, probe_rings_accelerator(rings, 0)->uuid);
        if (time_to_ask(a))
            nvml_sample(n);
        gone = waitpid(pid, &status, WNOHANG) == pid;
        if (!gone)
            nanosleep(&nap, NULL);
    }
}

static int judge(const char *name, struct account *a, const struct nvml *n, double asked,
                 struct probe_rings *rings)
{
    struct probe_totals totals = probe_rings_totals(rings);
    int64_t busy = busy_ns(a);
    int64_t from = a->count ? a->kernels[0].t0 : a->taken;
    double span = unit_seconds(a->released - from);
    double probe_share = span > 0 ? unit_seconds(busy) / span : NAN;
    double nvml_share = n->samples ? n->sum / n->samples : NAN;
    bool good = a->count > 0 && a->lost == 0 && !(fabs(probe_share - nvml_share) > AGREE);

    if (asked > 0 && fabs(unit_seconds(a->kernel_ns) - asked) > AGREE_ASKED * asked)
        good = false;
    printf("{\"name\": \"%s\", \"span_seconds\": %.3f, \"probe_busy\": %.4f, ", name, span,
           probe_share);
    if (n->samples)
        printf("\"nvml_busy\": %.4f, ", nvml_share);
    else
        printf("\"nvml_busy\": null, ");
    printf("\"kernel_seconds\": %.4f, \"asked_seconds\": %.4f, \"kernels\": %zu, "
           "\"copy_seconds\": %.4f, \"calls\": %llu, \"unjoined\": %llu, \"lost\": %llu, "
           "\"clock_error_ns\": %lld, \"cuda\": %u, \"cupti\": %u, \"agree\": %s}\n",
           unit_seconds(a->kernel_ns), asked, a->count, unit_seconds(a->copy_ns),
           (unsigned long long)a->calls, (unsigned long long)a->unjoined,
           (unsigned long long)a->lost, (long long)totals.clock_error_ns, totals.cuda_version,
           totals.cupti_version, good ? "true" : "false");
    for (size_t i = 0; i < probe_rings_note_count(rings); i++)
        fprintf(stderr, "gpu_compare: %s\n", probe_rings_note(rings, i));
    return good ? 0 : 1;
}

static int compare(const char *name, double asked, const char *probe, char **command)
{
    char dir[] = "/tmp/gpufeed-compare-XXXXXX";
    struct account a = {0};
    struct nvml n = {0};
    struct error e = {0};

    if (!mkdtemp(dir)) {
        perror("gpu_compare: mkdtemp");
        return 2;
    }
    struct probe_rings *rings = probe_rings_new(dir, &e);
    if (!rings) {
        fprintf(stderr, "gpu_compare: %s\n", e.text);
        return 2;
    }
    int status = watch(rings, spawn(probe, dir, command), &a, &n);
    int result = judge(name, &a, &n, asked, rings);
    probe_rings_free(rings);
    rmdir(dir);
    free(a.kernels);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? result : 3;
}

int main(int argc, char **argv)
{
    const char *name = "";
    double asked = 0;
    int letter;

    while ((letter = getopt(argc, argv, "+n:c:")) != -1) {
        if (letter == 'n')
            name = optarg;
        else if (letter == 'c')
            asked = atof(optarg);
        else
            return 2;
    }
    if (optind + 3 > argc || strcmp(argv[optind + 1], "--") != 0) {
        fprintf(stderr, "usage: gpu_compare [-n NAME] [-c SECONDS] PROBE.so -- COMMAND...\n");
        return 2;
    }
    return compare(name, asked, argv[optind], argv + optind + 2);
}
