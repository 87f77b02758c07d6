/* SPDX-License-Identifier: MIT */
#include "measure/watcher.h"

#include "base/unit.h"
#include "measure/measure.h"
#include "sense/resource.h"
#include "sense/sampler.h"
#include "sense/wait_bpf.h"

#include <string.h>
#include <unistd.h>

/* The kernel does not wake its reader. */
#define BPF_POLL_NS (50 * NS_PER_MS)
/* From this part of the events on, those that were lost could have told another story. */
#define LOST_PART 8

static void open_sampler(struct watcher *w, uint32_t pid, struct str *note)
{
    struct error e = {0};
    struct sampler_opts o = {
        .root_pid = pid, .reaper_pid = (uint32_t)getpid(), .resources = w->resources};
    if (sampler_open(&w->sampler, &o, &e))
        str_addf(note, "; %s", e.text);
}

void watcher_open(struct watcher *w, uint32_t pid, const char *origin, bool no_bpf,
                  struct intern *names, struct str *note)
{
    struct error e = {0};
    struct resource_opts ro = {.names = names, .origins = &origin, .origin_count = origin ? 1 : 0};
    struct wait_bpf_opts bo = {.pids = &pid, .pid_count = 1};
    if (resources_new(&w->resources, &ro, &e))
        str_addf(note, "%s; ", e.text);
    bo.resources = w->resources;
    if (no_bpf)
        str_add(note,
                "the wait chain was switched off (--sampler): waits come from samples of /proc");
    else if (w->resources && wait_bpf_open(&w->bpf, &bo, &e) == STATUS_OK)
        return;
    else
        str_addf(note, "%s: waits come from samples of /proc", e.text);
    open_sampler(w, pid, note);
}

bool watcher_sees(const struct watcher *w)
{
    return w->bpf || w->sampler;
}

static void on_sampled(void *arg, const struct event *e)
{
    const struct watcher *w = arg;
    w->sink(w->arg, e);
}

static int on_chain(void *arg, const struct event *e)
{
    struct watcher *w = arg;
    w->taken++;
    return w->sink(w->arg, e);
}

/* Takes what the kernel has, and tells where much of it was lost. */
static void take_chain(struct watcher *w)
{
    uint64_t before = w->lost;
    int64_t since = w->looked;
    w->taken = 0;
    wait_bpf_poll(w->bpf, 0, on_chain, w);
    w->lost = watcher_lost(w);
    w->looked = measure_now();
    uint64_t lost = w->lost - before;
    struct event e = {.kind = EVENT_LOST,
                      .lost = {.t0 = since, .t1 = w->looked, .device = UINT32_MAX}};
    if (since && lost * LOST_PART > lost + w->taken)
        w->sink(w->arg, &e);
}

int64_t watcher_tick(struct watcher *w, int64_t now)
{
    int64_t next = now + BPF_POLL_NS;
    if (w->bpf)
        take_chain(w);
    if (w->sampler)
        next = sampler_tick(w->sampler, now, on_sampled, w);
    return next;
}

void watcher_finish(struct watcher *w, int64_t now)
{
    if (w->bpf) {
        take_chain(w);
        wait_bpf_open_waits(w->bpf, w->sink, w->arg);
    }
    if (w->sampler)
        sampler_finish(w->sampler, now, on_sampled, w);
}

void watcher_close(struct watcher *w)
{
    wait_bpf_close(w->bpf);
    if (w->sampler)
        sampler_close(w->sampler);
    resources_free(w->resources);
    w->bpf = NULL;
    w->sampler = NULL;
    w->resources = NULL;
}

int64_t watcher_kernel_ns(const struct watcher *w)
{
    return w->bpf ? wait_bpf_run_time_ns(w->bpf, NULL) : 0;
}

uint64_t watcher_lost(const struct watcher *w)
{
    uint64_t counts[BPF_LOST_COUNT] = {0}, sum = 0;
    if (w->bpf)
        wait_bpf_lost(w->bpf, counts);
    /* a descriptor that could not be followed loses a name, not an event */
    sum = counts[BPF_LOST_RING] + counts[BPF_LOST_MAP];
    return sum;
}
