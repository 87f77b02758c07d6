/* SPDX-License-Identifier: MIT */
/*
 * cpu: how many cores the job may use, how many were left idle, what held it back.
 *
 * cores_spare is the idle time of the allowed cores over the run, in cores, and never
 * more than the CPU quota leaves beside what its group used.
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/cgroup.h"
#include "sense/out.h"
#include "sense/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU_WORDS 64 /* 4096 cores */
#define CPU_MAX (CPU_WORDS * 64)
#define HZ_PER_KHZ 1e3
#define USEC_PER_S ((double)NS_PER_S / (double)NS_PER_US)

/* Ticks of one core; idle holds iowait too. */
struct core {
    double idle, busy, steal;
};

struct reading {
    struct core cores[CPU_MAX]; /* NAN idle: not there */
    unsigned count;             /* highest core + 1 */
    double group_seconds;       /* CPU used by the job's control group */
    double throttled_seconds;
    double switches;
};

/* What the job may use. */
struct limits {
    uint64_t allowed[CPU_WORDS];
    double affinity; /* cores in the affinity mask; NAN unknown */
    double quota;    /* NAN none */
};

struct cpu {
    struct source_opts o;
    int64_t t0;
    struct reading first;
    double last_group_seconds, last_throttled_seconds; /* when last sampled; NAN unknown */
    double runnable_sum;
    unsigned runnable_count;
    struct limits limits;
};

/* "cpu3 user nice system idle iowait irq softirq steal ..." */
static void read_core(struct reading *r, const char *line)
{
    char word[32];
    double v[8] = {0};
    if (!text_word(&line, word, sizeof(word)) || word[3] < '0' || word[3] > '9')
        return;
    unsigned long n = strtoul(word + 3, NULL, 10);
    if (n >= CPU_MAX)
        return;
    for (int i = 0; i < 8 && text_word(&line, word, sizeof(word)); i++)
        v[i] = strtod(word, NULL);
    r->cores[n] = (struct core){v[3] + v[4], v[0] + v[1] + v[2] + v[5] + v[6], v[7]};
    if (n + 1 > r->count)
        r->count = (unsigned)n + 1;
}

static void read_group(double *ret_used, double *ret_throttled, const struct source_opts *o)
{
    struct cgroup_dir d;
    struct str text = {0};
    char path[PATH_MAX + 64];
    int64_t usage;
    *ret_used = *ret_throttled = NAN;
    if (!o->pid || !cgroup_find(o->root, o->pid, "cpu", &d))
        return;
    snprintf(path, sizeof(path), "%s/cpu.stat", d.path);
    if (!rootfs_read(o->root, path, &text, NULL)) {
        const char *t = str_text(&text);
        *ret_used = text_number(t, "usage_usec") / USEC_PER_S;
        *ret_throttled = d.v2 ? text_number(t, "throttled_usec") / USEC_PER_S
                              : text_number(t, "throttled_time") / (double)NS_PER_S;
    }
    str_clear(&text);
    if (!d.v2 && cgroup_find(o->root, o->pid, "cpuacct", &d)) {
        snprintf(path, sizeof(path), "%s/cpuacct.usage", d.path);
        if (rootfs_int(o->root, path, &usage))
            *ret_used = (double)usage / (double)NS_PER_S;
    }
}

static bool read_all(struct reading *r, const struct source_opts *o, struct error *e)
{
    struct str text = {0};
    size_t len;
    const char *line;
    r->count = 0;
    for (unsigned i = 0; i < CPU_MAX; i++)
        r->cores[i].idle = NAN;
    int rc = rootfs_read(o->root, "/proc/stat", &text, e);
    for (const char *p = str_text(&text); !rc && text_line(&p, &line, &len);)
        if (len > 4 && !memcmp(line, "cpu", 3))
            read_core(r, line);
    r->switches = text_number(str_text(&text), "ctxt");
    str_clear(&text);
    if (!rc && !r->count)
        error_set(e, STATUS_INPUT, "\"/proc/stat\" lists no cores");
    read_group(&r->group_seconds, &r->throttled_seconds, o);
    return !rc && r->count > 0;
}

static void read_limits(struct limits *l, const struct source_opts *o)
{
    char path[64], list[4096] = "";
    struct str text = {0};
    struct cgroup_dir d;
    memset(l, 0, sizeof(*l));
    l->affinity = l->quota = NAN;
    snprintf(path, sizeof(path), "/proc/%u/status", o->pid);
    if (o->pid && !rootfs_read(o->root, path, &text, NULL)) {
        const char *p = strstr(str_text(&text), "\nCpus_allowed_list:");
        if (p && (p += strlen("\nCpus_allowed_list:")) && text_word(&p, list, sizeof(list))) {
            unsigned n = text_cpu_list(list, l->allowed, CPU_WORDS);
            l->affinity = n ? n : NAN;
        }
    }
    str_clear(&text);
    if (isnan(l->affinity))
        memset(l->allowed, 0xff, sizeof(l->allowed));
    if (o->pid && cgroup_find(o->root, o->pid, "cpu", &d))
        if (!cgroup_quota(o->root, &d, &l->quota))
            l->quota = NAN;
}

static int cpu_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    struct cpu *c = mem_zalloc(sizeof(*c));
    if (!c)
        return error_set(e, STATUS_MEMORY, "out of memory for the cores");
    c->o = *o;
    c->t0 = now;
    if (!read_all(&c->first, o, e)) {
        free(c);
        return e ? e->status : STATUS_MISSING;
    }
    read_limits(&c->limits, o);
    c->last_group_seconds = c->last_throttled_seconds = NAN;
    *ret = c;
    return STATUS_OK;
}

/* /proc/loadavg "0.1 0.2 0.3 2/345 999": threads that run or could, without this one. */
static void cpu_sample(void *self, int64_t now)
{
    struct cpu *c = self;
    char line[128];
    double one, five, fifteen, runnable;
    if (!rootfs_line(c->o.root, "/proc/loadavg", line, sizeof(line)) ||
        sscanf(line, "%lf %lf %lf %lf/", &one, &five, &fifteen, &runnable) != 4)
        return;
    c->runnable_sum += runnable > 1 ? runnable - 1 : 0;
    c->runnable_count++;
    /* The job may have set its affinity, or moved to its group, after it began. */
    struct limits seen;
    read_limits(&seen, &c->o);
    if (isfinite(seen.affinity)) {
        c->limits = seen;
        read_group(&c->last_group_seconds, &c->last_throttled_seconds, &c->o);
    }
}

/* Sums of the allowed cores that are in both readings, as shares of their time. */
struct sums {
    double cores, idle, busy, steal, busiest;
};

static struct sums sum_cores(const struct cpu *c, const struct reading *b, bool allowed_only)
{
    struct sums s = {0};
    for (unsigned i = 0; i < b->count; i++) {
        const struct core *x = &c->first.cores[i], *y = &b->cores[i];
        if (isnan(x->idle) || isnan(y->idle))
            continue;
        if (allowed_only && !(c->limits.allowed[i / 64] >> (i % 64) & 1))
            continue;
        double idle = y->idle - x->idle, busy = y->busy - x->busy, steal = y->steal - x->steal;
        double all = idle + busy + steal;
        s.cores++;
        if (!(all > 0) || idle < 0 || busy < 0)
            continue;
        s.idle += idle / all;
        s.busy += busy / all;
        s.steal += steal / all;
        s.busiest = fmax(s.busiest, busy / all);
    }
    return s;
}

/* Until the job is gone its group is read again; after that the last reading stands. */
static void finish_group(struct cpu *c, struct reading *now)
{
    if (isnan(now->group_seconds) || now->group_seconds < c->first.group_seconds) {
        now->group_seconds = c->last_group_seconds;
        now->throttled_seconds = c->last_throttled_seconds;
    }
}

static void job_facts(struct cpu *c, struct out *o, const struct reading *b, int64_t ns)
{
    struct sums s = sum_cores(c, b, true);
    double allowed =
        fmin(isnan(c->limits.affinity) ? s.cores : c->limits.affinity, s.cores > 0 ? s.cores : 1);
    double spare = s.idle + s.busy > 0 ? s.idle : NAN;
    o->kind = "job";
    o->source = "/proc/stat, affinity, cgroup";
    if (isfinite(c->limits.quota)) {
        double used = (b->group_seconds - c->first.group_seconds) / unit_seconds(ns);
        double left = ns > 0 && used >= 0 ? fmax(c->limits.quota - used, 0) : NAN;
        allowed = fmin(allowed, c->limits.quota);
        spare = isfinite(left) ? fmin(spare, left) : fmin(spare, c->limits.quota);
        out_number(o, "cgroup_quota_cores", c->limits.quota, "count");
    }
    out_number(o, "cores_allowed", allowed, "count");
    if (ns > 0)
        out_number(o, "cores_spare", spare, "count");
    out_number(o, "affinity_cores", c->limits.affinity, "count");
    double throttled = b->throttled_seconds - c->first.throttled_seconds;
    if (throttled >= 0)
        out_number(o, "throttled_seconds", throttled, "s");
}

static void machine_facts(struct cpu *c, struct out *o, const struct reading *b, int64_t ns)
{
    char line[128];
    double load;
    struct sums s = sum_cores(c, b, false);
    o->kind = "cpu";
    o->source = "/proc/stat";
    out_number(o, "cores", s.cores > 0 ? s.cores : NAN, "count");
    if (s.idle + s.busy > 0) {
        out_number(o, "busy_share", s.busy / s.cores, "1");
        out_number(o, "busiest_core_share", s.busiest, "1");
        out_number(o, "steal_share", s.steal / s.cores, "1");
    }
    out_rate(o, "switches_rate", c->first.switches, b->switches, ns, "1/s");
    o->source = "/proc/loadavg";
    if (rootfs_line(c->o.root, "/proc/loadavg", line, sizeof(line)) &&
        sscanf(line, "%lf", &load) == 1)
        out_number(o, "load1", load, "count");
    if (c->runnable_count)
        out_number(o, "runnable_mean", c->runnable_sum / c->runnable_count, "count");
    o->source = "/sys/devices/system/cpu";
    if (rootfs_line(c->o.root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", line,
                    sizeof(line)))
        out_text(o, "governor", line);
}

/* Clocks: who sets them, and how far they may go. */
static void clock_facts(struct cpu *c, struct out *o)
{
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cpufreq";
    static const struct {
        const char *file, *name;
    } texts[] = {{"scaling_driver", "scaling_driver"},
                 {"energy_performance_preference", "energy_preference"}},
      khz[] = {{"scaling_max_freq", "clock_allowed"}, {"cpuinfo_max_freq", "clock_max"}},
      cores[] = {{"present", "cores_present"}, {"online", "cores_online"}};
    char path[128], line[64], list[4096];
    int64_t v;
    o->source = "/sys/devices/system/cpu";
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, texts[i].file);
        if (rootfs_line(c->o.root, path, line, sizeof(line)))
            out_text(o, texts[i].name, line);
    }
    for (size_t i = 0; i < sizeof(khz) / sizeof(khz[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, khz[i].file);
        if (rootfs_int(c->o.root, path, &v) && v > 0)
            out_number(o, khz[i].name, (double)v * HZ_PER_KHZ, "Hz");
    }
    for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
        unsigned count = 0; /* of a list that makes no sense, too */
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s", cores[i].file);
        if (rootfs_line(c->o.root, path, list, sizeof(list)))
            count = text_cpu_list(list, NULL, 0);
        if (count)
            out_number(o, cores[i].name, count, "count");
    }
    if (rootfs_line(c->o.root, "/sys/devices/system/cpu/smt/control", line, sizeof(line)))
        out_text(o, "smt", line);
}

static void model_fact(struct cpu *c, struct out *o)
{
    struct str text = {0};
    char model[128];
    o->source = "/proc/cpuinfo";
    if (!rootfs_read(c->o.root, "/proc/cpuinfo", &text, NULL)) {
        const char *p = strstr(str_text(&text), "model name");
        if (p && (p = strchr(p, ':'))) {
            p += strspn(p, ": \t");
            size_t n = strcspn(p, "\n");
            snprintf(model, sizeof(model), "%.*s", (int)(n < sizeof(model) ? n : sizeof(model) - 1),
                     p);
            out_text(o, "model", model);
        }
    }
    str_clear(&text);
}

static int cpu_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct cpu *c = self;
    struct out o = {.fn = fn, .arg = arg};
    struct reading *b = mem_zalloc(sizeof(*b));
    if (!b)
        return STATUS_MEMORY;
    if (read_all(b, &c->o, NULL)) {
        finish_group(c, b);
        job_facts(c, &o, b, now - c->t0);
        machine_facts(c, &o, b, now - c->t0);
    }
    clock_facts(c, &o);
    model_fact(c, &o);
    free(b);
    return o.rc;
}

const struct source source_cpu = {
    "cpu", "cores allowed, spare and busy; quota, load, governor", cpu_start, cpu_sample, cpu_facts,
    free,
};
