/* SPDX-License-Identifier: MIT */
/*
 * memory: how much there is, what the job's group may use, and whether the kernel had to
 * reclaim, swap or read the same file pages again during the run.
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/cgroup.h"
#include "sense/mount_size.h"
#include "sense/out.h"
#include "sense/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum counter { MAJOR_FAULTS, DIRECT_SCAN, STALLS, SWAP_IN, SWAP_OUT, REFAULT_FILE, COUNTERS };

struct memory {
    struct source_opts o;
    int64_t t0;
    double first[COUNTERS];
    double lowest_available; /* bytes; NAN unknown */
    double limit, group_peak;
};

static void read_vmstat(const char *root, double v[COUNTERS])
{
    struct str text = {0};
    rootfs_read(root, "/proc/vmstat", &text, NULL);
    const char *t = str_text(&text);
    v[MAJOR_FAULTS] = text_number(t, "pgmajfault");
    v[DIRECT_SCAN] = text_number(t, "pgscan_direct");
    v[STALLS] = text_sum(t, "allocstall");
    v[SWAP_IN] = text_number(t, "pswpin");
    v[SWAP_OUT] = text_number(t, "pswpout");
    v[REFAULT_FILE] = text_number(t, "workingset_refault_file");
    if (isnan(v[REFAULT_FILE]))
        v[REFAULT_FILE] = text_number(t, "workingset_refault"); /* before 5.9 */
    str_clear(&text);
}

static void read_group(struct memory *m)
{
    struct cgroup_dir d;
    char path[PATH_MAX + 64];
    uint64_t limit;
    int64_t used;
    if (!m->o.pid || !cgroup_find(m->o.root, m->o.pid, "memory", &d))
        return;
    if (cgroup_limit(m->o.root, &d, d.v2 ? "memory.max" : "memory.limit_in_bytes", &limit))
        m->limit = (double)limit;
    snprintf(path, sizeof(path), "%s/%s", d.path,
             d.v2 ? "memory.current" : "memory.usage_in_bytes");
    if (rootfs_int(m->o.root, path, &used))
        m->group_peak = fmax(m->group_peak, (double)used);
}

static void see_meminfo(struct memory *m, const char *meminfo)
{
    double v = text_number(meminfo, "MemAvailable") * (double)KIB;
    m->lowest_available = fmin(m->lowest_available, v); /* fmin passes over NAN */
}

static void memory_sample(void *self, int64_t now)
{
    struct memory *m = self;
    struct str text = {0};
    rootfs_read(m->o.root, "/proc/meminfo", &text, NULL);
    see_meminfo(m, str_text(&text));
    str_clear(&text);
    read_group(m);
}

static int memory_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    if (!rootfs_exists(o->root, "/proc/meminfo"))
        return error_set(e, STATUS_MISSING, "\"/proc/meminfo\" is absent: is /proc mounted?");
    struct memory *m = mem_zalloc(sizeof(*m));
    if (!m)
        return error_set(e, STATUS_MEMORY, "out of memory for the memory readings");
    m->o = *o;
    m->t0 = now;
    m->lowest_available = m->limit = m->group_peak = NAN;
    read_vmstat(o->root, m->first);
    memory_sample(m, now);
    *ret = m;
    return STATUS_OK;
}

/* Memory that no program and no page cache can get, and whether nodes shrink their own cache first. */
static void reserve_facts(const struct memory *m, const char *meminfo, struct out *o)
{
    int64_t mode;
    double size = text_number(meminfo, "Hugepagesize") * (double)KIB;
    out_number(o, "hugepages_total", text_number(meminfo, "HugePages_Total") * size, "bytes");
    out_number(o, "hugepages_free", text_number(meminfo, "HugePages_Free") * size, "bytes");
    o->source = "/proc/sys/vm";
    if (rootfs_int(m->o.root, "/proc/sys/vm/zone_reclaim_mode", &mode))
        out_number(o, "zone_reclaim", mode != 0, "1");
    o->source = "/proc/meminfo";
}

static void shm_facts(const struct memory *m, struct out *o)
{
    struct rootfs_size v;
    /* Loader workers hand tensors over in /dev/shm; containers often give it 64 MiB. */
    if (!mount_size(&m->o, "/dev/shm", &v))
        return;
    o->source = "statvfs /dev/shm";
    out_number(o, "shm_size", v.bytes, "bytes");
    out_number(o, "shm_free", v.free_bytes, "bytes");
}

static int memory_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct memory *m = self;
    struct out o = {.fn = fn, .arg = arg, .kind = "memory", .source = "/proc/meminfo"};
    static const char *const names[][2] = {
        {"MemTotal", "total"}, {"MemAvailable", "available"}, {"Cached", "page_cache"},
        {"Dirty", "dirty"},    {"SwapTotal", "swap_total"},   {"SwapFree", "swap_free"},
        {"Shmem", "shared"},
    };
    double v[COUNTERS];
    struct str text = {0}; /* read once, so that a dump holds what these facts are of */
    rootfs_read(m->o.root, "/proc/meminfo", &text, NULL);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        out_number(&o, names[i][1], text_number(str_text(&text), names[i][0]) * (double)KIB,
                   "bytes");
    reserve_facts(m, str_text(&text), &o);
    see_meminfo(m, str_text(&text));
    str_clear(&text);
    read_group(m);
    out_number(&o, "lowest_available", m->lowest_available, "bytes");
    o.source = "/proc/vmstat";
    read_vmstat(m->o.root, v);
    int64_t ns = now - m->t0;
    double page = (double)sysconf(_SC_PAGESIZE);
    out_rate(&o, "major_faults_rate", m->first[MAJOR_FAULTS], v[MAJOR_FAULTS], ns, "1/s");
    out_rate(&o, "direct_reclaim_rate", m->first[DIRECT_SCAN], v[DIRECT_SCAN], ns, "1/s");
    out_rate(&o, "alloc_stall_rate", m->first[STALLS], v[STALLS], ns, "1/s");
    out_rate(&o, "swap_in_rate", m->first[SWAP_IN] * page, v[SWAP_IN] * page, ns, "bytes/s");
    out_rate(&o, "swap_out_rate", m->first[SWAP_OUT] * page, v[SWAP_OUT] * page, ns, "bytes/s");
    out_rate(&o, "refault_rate", m->first[REFAULT_FILE] * page, v[REFAULT_FILE] * page, ns,
             "bytes/s");
    o.source = "cgroup";
    out_number(&o, "cgroup_limit", m->limit, "bytes");
    out_number(&o, "cgroup_used_peak", m->group_peak, "bytes");
    shm_facts(m, &o);
    return o.rc;
}

const struct source source_memory = {
    "memory",     "memory, page cache, swap, reclaim, the group's limit",
    memory_start, memory_sample,
    memory_facts, free,
};
