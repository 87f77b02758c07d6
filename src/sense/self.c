/* SPDX-License-Identifier: MIT */
/*
 * self: what gpufeed itself has cost, its helper threads included.
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/unit.h"
#include "sense/out.h"

#include <stdlib.h>
#include <sys/resource.h>

struct self {
    struct rusage first;
};

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * (double)NS_PER_US / (double)NS_PER_S;
}

static double cpu_seconds(const struct rusage *r)
{
    return seconds(r->ru_utime) + seconds(r->ru_stime);
}

static int self_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    struct self *s = mem_zalloc(sizeof(*s));
    if (!s)
        return error_set(e, STATUS_MEMORY, "out of memory for our own cost");
    getrusage(RUSAGE_SELF, &s->first);
    *ret = s;
    return STATUS_OK;
}

static int self_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct self *s = self;
    struct rusage r;
    struct out o = {
        .fn = fn, .arg = arg, .kind = "tool", .source = "getrusage and /proc/self/status"};
    getrusage(RUSAGE_SELF, &r);
    out_number(&o, "cpu_seconds", cpu_seconds(&r) - cpu_seconds(&s->first), "s");
    out_number(&o, "peak_rss", mem_peak_bytes(), "bytes");
    return o.rc;
}

const struct source source_self = {
    "self", "CPU time and memory of gpufeed itself", self_start, NULL, self_facts, free,
};
