/* SPDX-License-Identifier: MIT */
#include "ledger/learnt.h"

#include "base/mem.h"
#include "base/unit.h"
#include "ledger/admit.h"
#include "ledger/ledger.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A launching thread that waited this long for reads after its first launch, and for this part of all that the
 * job did, loads by itself: programs and libraries are read late, too. */
#define OWN_READ_MIN_NS (100 * NS_PER_MS)
#define OWN_READ_PART 4

/* A disk that was read so often while the job launches is one that it uses: what is read before are
 * programs and libraries. */
#define USED_READS 16

void learnt_clear(struct learnt *l)
{
    for (size_t i = 0; i < l->count; i++)
        flow_free(l->resource[i].flow);
    free(l->resource);
    map_clear(&l->index);
    *l = (struct learnt){0};
}

static struct learnt_resource *resource_of(struct learnt *l, uint32_t resource)
{
    uint64_t at;
    if (map_get(&l->index, resource, &at))
        return &l->resource[at];
    if (!mem_grow((void **)&l->resource, &l->cap, l->count + 1, sizeof(*l->resource)) ||
        !map_put(&l->index, resource, l->count))
        return NULL;
    l->resource[l->count] = (struct learnt_resource){.resource = resource};
    return &l->resource[l->count++];
}

/* A child that lived shorter was a command that was run, no worker. */
#define WORKER_LIFE_NS (100 * NS_PER_MS)

void learnt_thread(struct learnt *l, const struct threads *threads, const struct event_thread *e)
{
    if (e->tid != e->tgid || !e->job)
        return;
    const struct thread *x = threads_find(threads, e->tid);
    uint32_t parent_pid = e->parent_tgid ? e->parent_tgid : x ? x->parent_tgid : 0;
    const struct thread *parent = threads_find(threads, parent_pid);
    if (!parent || !parent->launches || parent->first_launch > e->t)
        return;
    if (e->change == THREAD_EXIT && x && x->start != INT64_MIN &&
        e->t - x->start > WORKER_LIFE_NS) {
        l->ended = true;
    } else if (e->change == THREAD_START && l->ended) {
        l->restarts++;
        l->ended = false;
    }
}

static void learn_flow(struct learnt_resource *r, const struct event_wait *w)
{
    if (w->target != TARGET_SOCKET || w->flags & WAIT_SAMPLED)
        return;
    if (!r->flow)
        r->flow = flow_new();
    if (r->flow)
        flow_wait(r->flow, w);
}

void learnt_wait(struct learnt *l, const struct threads *threads, const struct event_wait *w)
{
    bool reads =
        w->target == TARGET_FILE || w->target == TARGET_FAULT || w->target == TARGET_SOCKET;
    const struct thread *th = threads_find(threads, w->tid);
    l->sampled |= (w->flags & WAIT_SAMPLED) != 0;
    l->launches |= th && th->job && th->launches && th->first_launch <= w->t_out;
    if (!w->resource || !(reads || w->target == TARGET_WRITE) || !th || !th->job)
        return;
    struct learnt_resource *r = resource_of(l, w->resource);
    if (!r)
        return; /* a statistic; the rows do not depend on it */
    if (!r->reads && !r->writes)
        r->first = w->t_out;
    r->last = w->t_wake;
    r->kind = w->target == TARGET_SOCKET ? "peer" : (w->flags & WAIT_REMOTE_FS) ? "remote" : "disk";
    if (reads) {
        if (th->launches)
            l->own_read_ns = admit_sum(l->own_read_ns, w->t_wake - w->t_out);
        r->reads++;
        r->read_ns = admit_sum(r->read_ns, w->t_wake - w->t_out);
        r->rx_bytes += w->rx_during;
        r->running += l->launches;
        learn_flow(r, w);
    } else {
        r->writes++;
        r->write_ns = admit_sum(r->write_ns, w->t_wake - w->t_out);
        if (th->launches)
            r->own_write_ns = admit_sum(r->own_write_ns, w->t_wake - w->t_out);
    }
}

struct telling {
    fact_fn fn;
    void *arg;
    int rc; /* the first failure */
    bool sampled;
    bool own_reads;    /* launching threads read their data themselves */
    uint32_t restarts; /* of children, where samples do not show who delivers; else 0 */
};

static void tell(struct telling *t, const char *kind, const char *subject, const char *name,
                 double number, const char *unit)
{
    struct fact f = {kind, subject, name, NULL, number, unit, FACT_LEARNT};
    if (!t->rc)
        t->rc = t->fn(t->arg, &f);
}

static void tell_flow(struct telling *t, const struct flow *f, const char *name)
{
    struct flow_told told;
    if (!f)
        return;
    flow_told(f, &told);
    if (isfinite(told.bandwidth_bound))
        tell(t, "storage", name, "bandwidth_bound", told.bandwidth_bound, "1");
    if (isfinite(told.transfer_share))
        tell(t, "storage", name, "transfer_share", told.transfer_share, "1");
}

/* "disk nvme0n1 (/data)": the disk is used. */
static void tell_disk(struct telling *t, const struct learnt_resource *r, const char *name)
{
    char disk[64];
    if (r->running >= USED_READS && sscanf(name, "disk %63[^ ]", disk) == 1)
        tell(t, "disk", disk, "used_by_job", 1, "1");
}

/* launches: it is known which threads do; without that, who writes is unknown. */
static void tell_resource(struct telling *t, const struct learnt_resource *r, const char *name,
                          bool launches)
{
    double wall = unit_seconds(r->last - r->first), seconds = unit_seconds(r->read_ns);
    if (r->reads) {
        struct fact kind = {"storage", name, "kind", r->kind, NAN, "", FACT_LEARNT};
        if (!t->rc)
            t->rc = t->fn(t->arg, &kind);
        tell(t, "storage", name, "reads", (double)r->reads, "count");
        tell(t, "storage", name, "read_seconds", seconds, "s");
        tell(t, "storage", name, "mean_read_ms", seconds * 1000.0 / (double)r->reads, "ms");
        if (wall > 0)
            tell(t, "storage", name, "in_flight", seconds / wall, "count");
        if (r->rx_bytes && wall > 0) {
            tell(t, "storage", name, "bytes", (double)r->rx_bytes, "bytes");
            tell(t, "storage", name, "throughput_bytes_s", (double)r->rx_bytes / wall, "bytes/s");
        }
        tell_flow(t, r->flow, name);
        tell_disk(t, r, name);
    }
    if (r->writes) {
        tell(t, "checkpoint", name, "count", (double)r->writes, "count");
        tell(t, "checkpoint", name, "seconds", unit_seconds(r->write_ns), "s");
        if (launches)
            tell(t, "checkpoint", name, "own_seconds", unit_seconds(r->own_write_ns), "s");
    }
}

static void tell_device(struct telling *t, const struct device *d)
{
    const struct device_sums *s = &d->sums;
    char subject[16];
    snprintf(subject, sizeof(subject), "%u", d->number);
    if (s->launches) {
        tell(t, "launch", subject, "count", (double)s->launches, "count");
        tell(t, "launch", subject, "mean_kernel_us",
             (double)s->kernel_ns / (double)NS_PER_US / (double)s->launches, "us");
    }
    if (s->launches && d->threads->awaits) /* without one in the trace it is not known, not zero */
        tell(t, "launch", subject, "awaited_seconds", unit_seconds(s->awaited_ns), "s");
    if (s->late_ns)
        tell(t, "launch", subject, "late_seconds", unit_seconds(s->late_ns), "s");
    if (s->late_first_ns)
        tell(t, "launch", subject, "late_first_seconds", unit_seconds(s->late_first_ns), "s");
    if (s->orphan_ns)
        tell(t, "launch", subject, "orphan_seconds", unit_seconds(s->orphan_ns), "s");
    if (s->gaps)
        tell(t, "launch", subject, "mean_gap_us",
             (double)s->gap_ns / (double)NS_PER_US / (double)s->gaps, "us");
    if (s->large_ns) {
        tell(t, "copy", subject, "large_bytes", (double)s->large_bytes, "bytes");
        tell(t, "copy", subject, "large_seconds", unit_seconds(s->large_ns), "s");
    }
    if (s->pageable_bytes || s->pinned_bytes) {
        tell(t, "copy", subject, "pageable_bytes", (double)s->pageable_bytes, "bytes");
        tell(t, "copy", subject, "pinned_bytes", (double)s->pinned_bytes, "bytes");
        tell(t, "copy", subject, "pageable_copies", (double)s->pageable_copies, "count");
        tell(t, "copy", subject, "pageable_seconds", unit_seconds(s->pageable_ns), "s");
        if (s->pageable_copy_ns > 0)
            tell(t, "copy", subject, "pageable_rate",
                 (double)s->pageable_bytes / unit_seconds(s->pageable_copy_ns), "bytes/s");
    }
}

/* The device that a thread launches on; -1: none. */
static int device_of(struct device *const *devices, int count, uint32_t tid)
{
    for (int i = 0; i < count; i++)
        for (int s = 0; devices[i] && s < devices[i]->steppers; s++)
            if (steps_tid(devices[i]->stepper[s]) == tid)
                return i;
    return -1;
}

/* What the ranks did that others waited for, of all devices that did. */
static void tell_late(struct telling *t, struct device *const *devices, int count)
{
    struct shares did[LEDGER_DEVICES_MAX] = {0};
    for (int i = 0; i < count; i++)
        for (int r = 0; devices[i] && r < devices[i]->late_ranks; r++) {
            const struct late_rank *l = &devices[i]->late[r];
            int late = device_of(devices, count, l->tid);
            for (int p = 0; late >= 0 && p < l->did.count; p++)
                shares_add(&did[late], l->did.part[p].cause, 0, l->did.part[p].ns);
        }
    for (int i = 0; i < count; i++)
        for (int p = 0; p < did[i].count; p++) {
            char subject[16];
            enum cause c = did[i].part[p].cause;
            snprintf(subject, sizeof(subject), "%d", i);
            tell(t, "late", subject, c == CAUSE_NONE ? "compute" : cause_name(c),
                 unit_seconds(did[i].part[p].ns), "s");
        }
}

static bool reads_itself(const struct learnt *l)
{
    int64_t all = 0;
    for (size_t i = 0; i < l->count; i++)
        all = admit_sum(all, l->resource[i].read_ns);
    return l->own_read_ns >= OWN_READ_MIN_NS && l->own_read_ns >= all / OWN_READ_PART;
}

/* One loader per launching thread; ranks have alike ones: the largest speaks. */
static void tell_loader(struct telling *t, struct device *const *devices, int count)
{
    struct steps_totals most = {0}, now;
    for (int i = 0; i < count; i++)
        for (int s = 0; devices[i] && s < devices[i]->steppers; s++) {
            steps_totals(devices[i]->stepper[s], &now);
            if (now.awaited > most.awaited)
                most = now;
        }
    if (t->restarts > most.generations)
        tell(t, "loader", "", "restarts", t->restarts, "count");
    if (!most.awaited) { /* no delivery was seen: absent, not zero, unless it loads by itself */
        if (t->own_reads)
            tell(t, "loader", "", "in_main", 1, "1");
        return;
    }
    tell(t, "loader", "", "workers", most.workers, "count");
    tell(t, "loader", "", "processes", most.processes ? 1 : 0, "1");
    if (t->restarts <= most.generations)
        tell(t, "loader", "", "restarts", most.generations, "count");
    if (t->sampled) /* most deliveries fall between two samples */
        return;
    tell(t, "loader", "", "deliveries", (double)most.deliveries, "count");
    tell(t, "loader", "", "awaited", (double)most.awaited, "count");
}

int learnt_facts(const struct learnt *l, const struct intern *names, struct device *const *devices,
                 int count, fact_fn fn, void *arg)
{
    struct telling t = {fn, arg, 0, l->sampled, reads_itself(l), l->sampled ? l->restarts : 0};
    for (size_t i = 0; i < l->count; i++)
        tell_resource(&t, &l->resource[i], intern_text(names, l->resource[i].resource),
                      l->launches);
    for (int i = 0; i < count; i++)
        if (devices[i])
            tell_device(&t, devices[i]);
    tell_late(&t, devices, count);
    tell_loader(&t, devices, count);
    return t.rc;
}
