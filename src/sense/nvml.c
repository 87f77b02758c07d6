/* SPDX-License-Identifier: MIT */
/*
 * nvml: what NVIDIA's driver says of the devices: who they are, how they are linked, and
 * utilisation, power, memory, clocks and throttling over the run.
 *
 * "Utilisation" is NVML's: the share of time in which any kernel ran; a communication
 * kernel that spins counts as busy. A thread of its own asks the driver, which may take
 * seconds to wake up and can hang when a device is lost: nobody waits for it.
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "sense/nvml_lib.h"
#include "sense/nvml_links.h"
#include "sense/out.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEVICES_MAX 64
#define SAMPLES_MAX 256
#define PROCESSES_MAX 64
#define EVERY (1 * NS_PER_S)
#define READY_WAIT (200 * NS_PER_MS) /* facts of a short run wait this long for the driver */
#define STOP_WAIT (1 * NS_PER_S)
#define PER_CENT 100.0
#define PER_MILLI 1e-3
#define HZ_PER_MHZ 1e6

/* Bits of nvmlClocksEventReasons; those that are no fault (idle, application clocks) are left out.
 */
static const struct {
    unsigned long long bit;
    const char *name;
} throttles[] = {
    {0x4, "throttled_power_cap_share"},         {0x8, "throttled_hardware_share"},
    {0x10, "throttled_sync_boost_share"},       {0x20, "throttled_thermal_share"},
    {0x40, "throttled_hardware_thermal_share"}, {0x80, "throttled_power_brake_share"},
};
#define THROTTLES (sizeof(throttles) / sizeof(throttles[0]))

struct mean {
    double sum;
    unsigned long count;
};

struct gpu {
    nvml_device device;
    char uuid[NVML_TEXT], name[NVML_TEXT], bus[32];
    char address[24]; /* as /sys writes it */
    double memory_total, memory_peak, power_limit, temperature_max, clock_max;
    double link_gen, link_gen_max, link_width, link_width_max, mig, processes_peak;
    struct nvml_links links;
    struct mean utilisation, power, clock;
    unsigned long throttled[THROTTLES], throttle_looks;
    unsigned long long samples_until;
};

struct nvml {
    struct nvml_lib lib;
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t change;
    bool ready, stop, ended;
    char failure[160], driver[NVML_TEXT];
    double cuda;
    struct gpu gpus[DEVICES_MAX];
    unsigned count;
};

static void add(struct mean *m, double v)
{
    m->sum += v;
    m->count++;
}

static double mean(const struct mean *m)
{
    return m->count ? m->sum / (double)m->count : NAN;
}

/* One unsigned reading; NAN when the function is missing or refuses. */
static double reading(int (*ask)(nvml_device, unsigned *), nvml_device d)
{
    unsigned v;
    return ask && ask(d, &v) == NVML_SUCCESS ? v : NAN;
}

static void describe(const struct nvml_lib *l, struct gpu *g)
{
    struct nvml_pci pci;
    struct nvml_memory m;
    unsigned mhz, current, pending;
    if (!l->uuid || l->uuid(g->device, g->uuid, sizeof(g->uuid)) != NVML_SUCCESS)
        g->uuid[0] = '\0';
    if (!l->name || l->name(g->device, g->name, sizeof(g->name)) != NVML_SUCCESS)
        g->name[0] = '\0';
    if (l->pci && l->pci(g->device, &pci) == NVML_SUCCESS) {
        snprintf(g->bus, sizeof(g->bus), "%.31s", pci.bus_id);
        snprintf(g->address, sizeof(g->address), "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xff,
                 pci.device & 0x1f);
    }
    bool have_memory = l->memory && l->memory(g->device, &m) == NVML_SUCCESS;
    g->memory_total = have_memory ? (double)m.total : NAN;
    g->power_limit = reading(l->power_limit, g->device) * PER_MILLI;
    g->link_gen_max = reading(l->link_gen_max, g->device);
    g->link_width_max = reading(l->link_width_max, g->device);
    bool have_clock = l->max_clock && l->max_clock(g->device, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS;
    g->clock_max = have_clock ? mhz * HZ_PER_MHZ : NAN;
    g->mig = l->mig && l->mig(g->device, &current, &pending) == NVML_SUCCESS ? current : NAN;
    g->memory_peak = g->temperature_max = g->link_gen = g->link_width = g->processes_peak = NAN;
}

/* The driver keeps a buffer of samples; without it the value of this moment stands for all. */
static void add_utilisation(const struct nvml_lib *l, struct gpu *g)
{
    struct nvml_sample list[SAMPLES_MAX];
    struct nvml_utilization now;
    unsigned count = SAMPLES_MAX, type = 0;
    unsigned long long since = g->samples_until;
    bool have = l->samples && l->samples(g->device, NVML_GPU_UTILIZATION_SAMPLES, since, &type,
                                         &count, list) == NVML_SUCCESS;
    if (have && type == NVML_VALUE_UNSIGNED_INT && count <= SAMPLES_MAX) {
        for (unsigned i = 0; i < count; i++) {
            if (list[i].time_us > g->samples_until)
                g->samples_until = list[i].time_us;
            if (since && list[i].value.ui <= (unsigned)PER_CENT) /* the first lot is from before */
                add(&g->utilisation, list[i].value.ui / PER_CENT);
        }
    } else if (!since && l->utilization && l->utilization(g->device, &now) == NVML_SUCCESS &&
               now.gpu <= (unsigned)PER_CENT) {
        add(&g->utilisation, now.gpu / PER_CENT);
    }
}

static void look(const struct nvml_lib *l, struct gpu *g)
{
    struct nvml_memory m;
    struct nvml_process list[PROCESSES_MAX];
    unsigned long long reasons;
    unsigned v, count = PROCESSES_MAX;
    add_utilisation(l, g);
    double watts = reading(l->power, g->device) * PER_MILLI;
    if (isfinite(watts))
        add(&g->power, watts);
    if (l->clock && l->clock(g->device, NVML_CLOCK_SM, &v) == NVML_SUCCESS)
        add(&g->clock, v * HZ_PER_MHZ);
    if (l->memory && l->memory(g->device, &m) == NVML_SUCCESS)
        g->memory_peak = fmax(g->memory_peak, (double)m.used);
    if (l->temperature && l->temperature(g->device, NVML_TEMPERATURE_GPU, &v) == NVML_SUCCESS)
        g->temperature_max = fmax(g->temperature_max, v);
    /* An idle link drops to a lower generation: the highest seen is what it can do. */
    g->link_gen = fmax(g->link_gen, reading(l->link_gen, g->device));
    g->link_width = fmax(g->link_width, reading(l->link_width, g->device));
    int rc = l->processes ? l->processes(g->device, &count, list) : -1;
    if (rc == NVML_SUCCESS || rc == NVML_INSUFFICIENT_SIZE)
        g->processes_peak = fmax(g->processes_peak, count);
    if (l->throttle && l->throttle(g->device, &reasons) == NVML_SUCCESS) {
        g->throttle_looks++;
        for (size_t i = 0; i < THROTTLES; i++)
            g->throttled[i] += (reasons & throttles[i].bit) != 0;
    }
}

static void describe_links(const struct nvml_lib *l, struct gpu *gpus, unsigned count)
{
    nvml_device devices[DEVICES_MAX];
    for (unsigned i = 0; i < count; i++)
        devices[i] = gpus[i].device;
    for (unsigned i = 0; i < count; i++)
        nvml_links_ask(l, devices, count, i, &gpus[i].links);
}

/* Wakes the driver and lists the devices; not under the lock: it may take seconds. */
static void begin(struct nvml *n)
{
    struct nvml_lib *l = &n->lib;
    unsigned count = 0, found = 0;
    int version = 0, rc = l->init();
    if (rc == NVML_SUCCESS)
        rc = l->count(&count);
    struct gpu *gpus = rc == NVML_SUCCESS ? mem_zalloc(DEVICES_MAX * sizeof(*gpus)) : NULL;
    for (unsigned i = 0; gpus && i < count && found < DEVICES_MAX; i++) {
        if (l->by_index(i, &gpus[found].device) != NVML_SUCCESS)
            continue;
        describe(l, &gpus[found++]);
    }
    describe_links(l, gpus, found);
    pthread_mutex_lock(&n->lock);
    if (rc != NVML_SUCCESS)
        snprintf(n->failure, sizeof(n->failure), "NVML: %s",
                 l->error_text ? l->error_text(rc) : "the driver does not answer");
    if (gpus)
        memcpy(n->gpus, gpus, found * sizeof(*gpus));
    n->count = gpus ? found : 0;
    if (rc == NVML_SUCCESS && l->driver_version)
        l->driver_version(n->driver, sizeof(n->driver));
    if (rc == NVML_SUCCESS && l->cuda_version && l->cuda_version(&version) == NVML_SUCCESS)
        n->cuda = version / 1000 + version % 1000 / 10 / 10.0; /* 12040 is 12.4 */
    n->ready = true;
    pthread_cond_broadcast(&n->change);
    pthread_mutex_unlock(&n->lock);
    free(gpus);
}

static struct timespec in(int64_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t at = t.tv_sec * NS_PER_S + t.tv_nsec + ns;
    return (struct timespec){at / NS_PER_S, at % NS_PER_S};
}

/* One device after the other, so that facts wait for one question at the most. */
static void *watch(void *arg)
{
    struct nvml *n = arg;
    begin(n);
    pthread_mutex_lock(&n->lock);
    while (!n->stop) {
        for (unsigned i = 0; i < n->count && !n->stop; i++) {
            struct gpu g = n->gpus[i];
            pthread_mutex_unlock(&n->lock);
            look(&n->lib, &g);
            pthread_mutex_lock(&n->lock);
            n->gpus[i] = g;
        }
        struct timespec until = in(EVERY);
        if (!n->stop)
            pthread_cond_timedwait(&n->change, &n->lock, &until);
    }
    n->ended = true;
    pthread_cond_broadcast(&n->change);
    pthread_mutex_unlock(&n->lock);
    return NULL;
}

static int nvml_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    pthread_condattr_t attr;
    if (o->root && o->root[0])
        return error_set(e, STATUS_MISSING, "NVML tells of the live machine only, not of a dump");
    struct nvml *n = mem_zalloc(sizeof(*n));
    if (!n)
        return error_set(e, STATUS_MEMORY, "out of memory for the accelerators");
    n->cuda = NAN;
    if (nvml_lib_open(&n->lib, o->nvml, e)) {
        free(n);
        return e ? e->status : STATUS_MISSING;
    }
    pthread_mutex_init(&n->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&n->change, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&n->thread, NULL, watch, n)) {
        nvml_lib_close(&n->lib);
        free(n);
        return error_errno(e, "cannot start a thread for NVML");
    }
    *ret = n;
    return STATUS_OK;
}

static void gpu_facts(const struct gpu *g, unsigned index, struct out *o)
{
    o->subject = g->uuid;
    out_text(o, "name", g->name);
    out_text(o, "pci_bus", g->bus);
    out_text(o, "pci", g->address);
    out_number(o, "index", index, "count");
    out_number(o, "utilisation_nvml", mean(&g->utilisation), "1");
    out_number(o, "power_mean_w", mean(&g->power), "W");
    out_number(o, "power_limit_w", g->power_limit, "W");
    out_number(o, "memory_total", g->memory_total, "bytes");
    out_number(o, "memory_used_peak", g->memory_peak, "bytes");
    out_number(o, "temperature_max", g->temperature_max, "C");
    out_number(o, "sm_clock_mean", mean(&g->clock), "Hz");
    out_number(o, "sm_clock_max", g->clock_max, "Hz");
    out_number(o, "pcie_gen", g->link_gen, "count");
    out_number(o, "pcie_gen_max", g->link_gen_max, "count");
    out_number(o, "pcie_width", g->link_width, "count");
    out_number(o, "pcie_width_max", g->link_width_max, "count");
    out_number(o, "mig", g->mig, "1");
    out_number(o, "processes_peak", g->processes_peak, "count");
    for (size_t i = 0; i < THROTTLES && g->throttle_looks; i++)
        out_number(o, throttles[i].name, (double)g->throttled[i] / (double)g->throttle_looks, "1");
    nvml_links_facts(&g->links, o);
}

static int nvml_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct nvml *n = self;
    struct out o = {.fn = fn, .arg = arg, .kind = "gpu", .source = "nvml"};
    struct timespec until = in(READY_WAIT);
    pthread_mutex_lock(&n->lock);
    while (!n->ready && !pthread_cond_timedwait(&n->change, &n->lock, &until))
        ;
    out_text(&o, "failure", n->failure);
    out_text(&o, "driver", n->driver);
    out_number(&o, "cuda_driver", n->cuda, "");
    for (unsigned i = 0; i < n->count && !o.rc; i++)
        gpu_facts(&n->gpus[i], i, &o);
    pthread_mutex_unlock(&n->lock);
    return o.rc;
}

/* A driver that hangs keeps its thread and memory: the program ends without it. */
static void nvml_stop(void *self)
{
    struct nvml *n = self;
    if (!n)
        return;
    struct timespec until = in(STOP_WAIT);
    pthread_mutex_lock(&n->lock);
    n->stop = true;
    pthread_cond_broadcast(&n->change);
    while (!n->ended && !pthread_cond_timedwait(&n->change, &n->lock, &until))
        ;
    bool ended = n->ended;
    pthread_mutex_unlock(&n->lock);
    if (!ended) {
        pthread_detach(n->thread);
        return;
    }
    pthread_join(n->thread, NULL);
    n->lib.shutdown();
    nvml_lib_close(&n->lib);
    pthread_cond_destroy(&n->change);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

const struct source source_nvml = {
    "nvml",     "NVIDIA devices: identity, link, utilisation, power, throttling",
    nvml_start, NULL,
    nvml_facts, nvml_stop,
    true,
};
