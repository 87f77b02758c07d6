/* SPDX-License-Identifier: MIT */
#include "sense/wait_bpf.h"

#include "base/mem.h"
#include "base/unit.h"
#include "sense/syscalls.h"
#include "sense/wait_event.h"
#include "sense/wait_load.h"
#include "sense/wait_probes.h"
#include "sense/wait_threads.h"

#include "wait.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIND_ROUNDS 16 /* generations of processes that one watch may find */

struct wait_bpf {
    struct wait_load load;
    struct wait_probes probes;
    struct ring_buffer *ring;
    struct wait_threads threads;
    struct map daemons;          /* of FUSE: see wait_event.h */
    struct resources *resources; /* borrowed */
    wait_bpf_fn fn;              /* of the poll that runs */
    void *arg;
    int stopped; /* what fn returned */
    uint64_t delivered;
    int stats; /* while it is open the kernel times its programs; -1: not permitted */
};

static int run_iterator(struct bpf_link *link)
{
    char buf[64];
    ssize_t n;
    int fd = bpf_iter_create(bpf_link__fd(link));
    if (fd < 0)
        return -1;
    do
        n = read(fd, buf, sizeof(buf));
    while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
    close(fd);
    return n < 0 ? -1 : 0;
}

/* Adopts what is in the map of watched processes, and the job's descendants. */
static int find_threads(struct wait_bpf *w)
{
    int counts = bpf_map__fd(w->load.skel->maps.counts);
    uint32_t slot = WAIT_COUNT_ADDED;
    for (int round = 0; round < FIND_ROUNDS; round++) {
        uint64_t added = 0;
        bpf_map_update_elem(counts, &slot, &added, BPF_ANY);
        if (run_iterator(w->load.find))
            return -1;
        if (bpf_map_lookup_elem(counts, &slot, &added) || !added)
            break;
    }
    return 0;
}

static int watch(struct wait_bpf *w, uint32_t tgid, uint32_t outside)
{
    int map = bpf_map__fd(w->load.skel->maps.watched);
    if (bpf_map_update_elem(map, &tgid, &outside, BPF_ANY))
        return -1;
    return find_threads(w);
}

int wait_bpf_watch(struct wait_bpf *w, uint32_t pid, struct error *e)
{
    if (kill((pid_t)pid, 0) && errno == ESRCH)
        return error_set(e, STATUS_MISSING, "there is no process %u", pid);
    if (watch(w, pid, 0))
        return error_errno(e, "cannot watch process %u", pid);
    return STATUS_OK;
}

/* ---- records ---- */

static int deliver(struct wait_bpf *w, const struct event *event)
{
    w->delivered++;
    w->stopped = w->fn(w->arg, event);
    return w->stopped;
}

static int on_off(struct wait_bpf *w, const struct bpf_off *o)
{
    struct event event = {.kind = EVENT_THREAD};
    if (wait_threads_name(&w->threads, o, &event.thread) && deliver(w, &event))
        return w->stopped;
    event = (struct event){.kind = EVENT_WAIT};
    wait_event_fill(&event.wait, o, w->resources, &w->daemons);
    if (wait_threads_follow(&w->threads, o))
        watch(w, o->waker_tgid, 1);
    wait_probes_seen(&w->probes, &w->load, o->tgid);
    return deliver(w, &event);
}

static int on_task(struct wait_bpf *w, const struct bpf_task *r)
{
    struct event event = {.kind = EVENT_THREAD};
    if (r->kind == BPF_EXEC)
        wait_probes_exec(&w->probes, r->tgid);
    if (r->kind == BPF_EXITED && r->tid == r->tgid)
        wait_probes_exit(&w->probes, r->tgid);
    if (!wait_threads_task(&w->threads, r, &event.thread))
        return 0;
    return deliver(w, &event);
}

static int on_call(struct wait_bpf *w, const struct bpf_call *r)
{
    struct event event = {.kind = EVENT_CALL,
                          .call = {.t0 = (int64_t)r->t0,
                                   .t1 = (int64_t)r->t1,
                                   .device = UINT32_MAX,
                                   .pid = r->tgid,
                                   .tid = r->tid,
                                   .kind = (uint8_t)r->call}};
    return deliver(w, &event);
}

static int on_record(void *arg, void *data, size_t size)
{
    struct wait_bpf *w = arg;
    uint32_t kind;
    memcpy(&kind, data, sizeof(kind));
    switch (kind) {
    case BPF_OFFCORE:
        return size >= sizeof(struct bpf_off) ? on_off(w, data) : 0;
    case BPF_FORK:
    case BPF_EXEC:
    case BPF_EXITED:
        return size >= sizeof(struct bpf_task) ? on_task(w, data) : 0;
    case BPF_CALLED:
        return size >= sizeof(struct bpf_call) ? on_call(w, data) : 0;
    case BPF_HOST:
        if (size >= sizeof(struct bpf_host)) {
            const struct bpf_host *h = data;
            resource_learn_host(w->resources, h->addr, h->name);
        }
        return 0;
    default:
        return 0;
    }
}

static int consume(struct wait_bpf *w, wait_bpf_fn fn, void *arg)
{
    w->fn = fn;
    w->arg = arg;
    w->stopped = 0;
    w->delivered = 0;
    int n = ring_buffer__consume(w->ring);
    if (w->stopped)
        return w->stopped;
    return n < 0 ? STATUS_SYSTEM : STATUS_OK;
}

int wait_bpf_poll(struct wait_bpf *w, int timeout_ms, wait_bpf_fn fn, void *arg)
{
    int rc = consume(w, fn, arg);
    if (rc || w->delivered || timeout_ms <= 0)
        return rc;
    int64_t ns = timeout_ms * NS_PER_MS;
    struct timespec pause = {ns / NS_PER_S, ns % NS_PER_S};
    nanosleep(&pause, NULL); /* a signal ends it early: the caller wants to know */
    return consume(w, fn, arg);
}

int wait_bpf_open_waits(struct wait_bpf *w, wait_bpf_fn fn, void *arg)
{
    int rc = consume(w, fn, arg);
    if (rc)
        return rc;
    if (run_iterator(w->load.open))
        return STATUS_SYSTEM;
    return consume(w, fn, arg);
}

/* ---- life ---- */

static int start(struct wait_bpf *w, const struct wait_bpf_opts *o, struct error *e)
{
    int rc = wait_load_open(&w->load, o, e);
    if (rc)
        return rc;
    w->ring = ring_buffer__new(bpf_map__fd(w->load.skel->maps.ring), on_record, w, NULL);
    if (!w->ring)
        return error_errno(e, "cannot map the ring of the wait chain");
    wait_probes_init(&w->probes, &w->load);
    for (size_t i = 0; i < o->pid_count && !rc; i++)
        rc = wait_bpf_watch(w, o->pids[i], e);
    return rc;
}

int wait_bpf_open(struct wait_bpf **ret, const struct wait_bpf_opts *o, struct error *e)
{
    struct wait_bpf *w = mem_zalloc(sizeof(*w));
    if (!w)
        return error_set(e, STATUS_MEMORY, "out of memory");
    w->resources = o->resources;
    w->stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
    w->threads.own_tgid = (uint32_t)getpid();
    int rc = start(w, o, e);
    if (rc) {
        wait_bpf_close(w);
        return rc;
    }
    *ret = w;
    return STATUS_OK;
}

void wait_bpf_close(struct wait_bpf *w)
{
    if (!w)
        return;
    wait_probes_clear(&w->probes);
    ring_buffer__free(w->ring);
    wait_load_close(&w->load);
    wait_threads_clear(&w->threads);
    map_clear(&w->daemons);
    if (w->stats >= 0)
        close(w->stats);
    free(w);
}

int wait_bpf_attach_cuda(struct wait_bpf *w, const char *path, uint32_t pid, struct error *e)
{
    return wait_probes_cuda(&w->probes, &w->load, path, pid, e);
}

void wait_bpf_lost(const struct wait_bpf *w, uint64_t *counts)
{
    wait_load_lost(&w->load, counts);
}

int64_t wait_bpf_run_time_ns(const struct wait_bpf *w, uint64_t *runs)
{
    return wait_load_run_time(&w->load, NULL, runs);
}

int64_t wait_bpf_program_ns(const struct wait_bpf *w, const char *name, uint64_t *runs)
{
    return wait_load_run_time(&w->load, name, runs);
}

bool wait_bpf_irq_by_stack(const struct wait_bpf *w)
{
    return w->load.skel->bss->irq_by_stack;
}
