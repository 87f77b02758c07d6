/* SPDX-License-Identifier: MIT */
#include "import/inspector.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "import/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPERATIONS_MAX 4096
#define BYTES_PER_GB 1e9 /* Inspector's coll_busbw_gbs: bytes / 1e9 / s */

struct operation {
    uint32_t subject; /* "COMM OPERATION" */
    uint64_t count;
    double bytes, seconds, busbw_sum, busbw_min, busbw_max;
    uint64_t busbw_count;
    bool sized; /* any line told its bytes */
};

struct inspector {
    struct intern texts;
    struct map operation_of, host_of;
    struct operation *operations;
    size_t operation_count, operation_cap;
    uint32_t comm, version; /* of the last header */
    int64_t ranks;
    double dropped;
    uint64_t records, skipped, beyond;
    bool dumped; /* any line told what was dropped */
    bool failed;
};

struct inspector *inspector_new(void)
{
    struct inspector *p = mem_zalloc(sizeof(*p));
    if (p)
        p->ranks = -1;
    return p;
}

void inspector_free(struct inspector *p)
{
    if (!p)
        return;
    intern_clear(&p->texts);
    map_clear(&p->operation_of);
    map_clear(&p->host_of);
    free(p->operations);
    free(p);
}

bool inspector_is(const char *head, size_t size)
{
    return scan_begin(head, size) == '{' &&
           (memmem(head, size, "\"inspector_output_format_version\"", 33) ||
            (memmem(head, size, "\"coll_perf\"", 11) &&
             memmem(head, size, "\"coll_busbw_gbs\"", 16)));
}

void inspector_begin(struct inspector *p)
{
    p->comm = 0;
}

/* header{id, comm_name, rank, n_ranks}, metadata{hostname, version}: of this line and of those after it. */
static void take_header(struct inspector *p, const struct value *line)
{
    const struct value *header = value_get(line, "header"), *meta = value_get(line, "metadata");
    const char *name = value_text(value_get(header, "comm_name"), "");
    const char *id = value_text(value_get(header, "id"), NULL);
    const char *version = value_text(value_get(meta, "inspector_output_format_version"), NULL);
    const char *host = value_text(value_get(meta, "hostname"), NULL);
    const struct value *dump = value_get(line, "dump_stats");
    int64_t ranks = value_int(value_get(header, "n_ranks"), -1);
    if (header && (*name || id))
        p->comm = intern_put(&p->texts, *name ? name : id);
    p->ranks = ranks > p->ranks ? ranks : p->ranks;
    if (version && !p->version)
        p->version = intern_put(&p->texts, version);
    if (host)
        p->failed |= !map_put(&p->host_of, intern_put(&p->texts, host), 1);
    p->dumped |= dump != NULL;
    p->dropped += value_number(value_get(dump, "coll_dropped_since_last_dump"), 0) +
                  value_number(value_get(dump, "p2p_dropped_since_last_dump"), 0);
}

static struct operation *operation_of(struct inspector *p, const char *name)
{
    struct str subject = {0};
    uint64_t known;
    str_addf(&subject, "%s%s%s", intern_text(&p->texts, p->comm), p->comm ? " " : "", name);
    uint32_t text = subject.failed ? 0 : intern_put(&p->texts, str_text(&subject));
    str_clear(&subject);
    if (map_get(&p->operation_of, text, &known))
        return &p->operations[known];
    if (!text || p->operation_count >= OPERATIONS_MAX ||
        !mem_grow((void **)&p->operations, &p->operation_cap, p->operation_count + 1,
                  sizeof(*p->operations)) ||
        !map_put(&p->operation_of, text, p->operation_count)) {
        p->failed |= p->operation_count < OPERATIONS_MAX;
        p->beyond++;
        return NULL;
    }
    struct operation *o = &p->operations[p->operation_count++];
    *o = (struct operation){.subject = text, .busbw_min = INFINITY};
    return o;
}

/* `perf` is coll_perf or p2p_perf; keys: of its bytes, microseconds and bus bandwidth. False: it tells no time. */
static bool take_perf(struct inspector *p, const struct value *perf, const char *name,
                      const char *const keys[3])
{
    double us = value_number(value_get(perf, keys[1]), NAN);
    double busbw = value_number(value_get(perf, keys[2]), NAN);
    double bytes = value_number(value_get(perf, keys[0]), NAN);
    if (!name || !(us > 0))
        return false;
    struct operation *o = operation_of(p, name);
    if (!o)
        return true; /* counted as beyond what is kept */
    p->records++;
    o->count++;
    o->seconds += us / (double)(NS_PER_S / NS_PER_US);
    o->sized |= bytes >= 0;
    o->bytes += bytes > 0 ? bytes : 0;
    if (busbw >= 0 && isfinite(busbw)) {
        o->busbw_sum += busbw * BYTES_PER_GB;
        o->busbw_min = fmin(o->busbw_min, busbw * BYTES_PER_GB);
        o->busbw_max = fmax(o->busbw_max, busbw * BYTES_PER_GB);
        o->busbw_count++;
    }
    return true;
}

void inspector_line(struct inspector *p, const struct value *line)
{
    static const char *const coll_keys[] = {"coll_msg_size_bytes", "coll_exec_time_us",
                                            "coll_busbw_gbs"};
    static const char *const p2p_keys[] = {"p2p_msg_size_bytes", "p2p_exec_time_us",
                                           "p2p_busbw_gbs"};
    const struct value *coll = value_get(line, "coll_perf"), *p2p = value_get(line, "p2p_perf");
    take_header(p, line);
    bool taken =
        (coll && take_perf(p, coll, value_text(value_get(coll, "coll"), NULL), coll_keys)) ||
        (p2p && take_perf(p, p2p, value_text(value_get(p2p, "p2p"), NULL), p2p_keys));
    if (!taken && (coll || p2p || !(value_get(line, "header") || value_get(line, "proxy_trace"))))
        p->skipped++;
}

uint64_t inspector_records(const struct inspector *p)
{
    return p->records;
}

uint64_t inspector_skipped(const struct inspector *p)
{
    return p->skipped;
}

uint64_t inspector_beyond(const struct inspector *p)
{
    return p->beyond;
}

struct out {
    fact_fn fn;
    void *arg;
    int status;
};

static void number(struct out *o, const char *subject, const char *name, double v, const char *unit)
{
    struct fact f = {"inspector", subject, name, NULL, v, unit, "NCCL Inspector"};
    if (!o->status)
        o->status = o->fn(o->arg, &f);
}

int inspector_facts(const struct inspector *p, fact_fn fn, void *arg, struct error *e)
{
    struct out o = {.fn = fn, .arg = arg};
    if (p->failed)
        return error_set(e, STATUS_MEMORY, "out of memory reading NCCL Inspector's lines");
    for (size_t i = 0; i < p->operation_count; i++) {
        const struct operation *op = &p->operations[i];
        const char *subject = intern_text(&p->texts, op->subject);
        number(&o, subject, "count", (double)op->count, "count");
        if (op->sized)
            number(&o, subject, "bytes", op->bytes, "bytes");
        number(&o, subject, "seconds", op->seconds, "s");
        if (!op->busbw_count)
            continue;
        number(&o, subject, "busbw_mean", op->busbw_sum / (double)op->busbw_count, "bytes/s");
        number(&o, subject, "busbw_min", op->busbw_min, "bytes/s");
        number(&o, subject, "busbw_max", op->busbw_max, "bytes/s");
    }
    if (p->ranks >= 0)
        number(&o, "", "ranks", (double)p->ranks, "count");
    if (p->host_of.count)
        number(&o, "", "hosts", (double)p->host_of.count, "count");
    if (p->dumped)
        number(&o, "", "dropped", p->dropped, "count");
    if (p->version && !o.status) {
        struct fact f = {"inspector", "", "version",       intern_text(&p->texts, p->version),
                         NAN,         "", "NCCL Inspector"};
        o.status = fn(arg, &f);
    }
    return o.status;
}
