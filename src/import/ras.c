/* SPDX-License-Identifier: MIT */
#include "import/ras.h"

#include "import/scan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COMMS_TOLD 256
#define MISSING_TOLD 256

struct out {
    fact_fn fn;
    void *arg;
    const char *path;
    int status;
};

static void number(struct out *o, const char *kind, const char *subject, const char *name, double v,
                   const char *unit)
{
    struct fact f = {kind, subject, name, NULL, v, unit, o->path};
    if (!o->status && isfinite(v))
        o->status = o->fn(o->arg, &f);
}

static void text(struct out *o, const char *kind, const char *subject, const char *name,
                 const char *v)
{
    struct fact f = {kind, subject, name, v, NAN, "", o->path};
    if (!o->status && v && *v)
        o->status = o->fn(o->arg, &f);
}

bool ras_is_json(const char *head, size_t size)
{
    return scan_begin(head, size) == '{' && memmem(head, size, "\"nccl_version\"", 14) &&
           memmem(head, size, "\"communicators", 14);
}

/* The rank that launched fewest of one kind of collective, by the kind with the largest difference. */
static int64_t most_behind(const struct value *ranks, int64_t *ret_rank)
{
    const struct value *names = value_get(value_at(ranks, 0), "collective_counts");
    int64_t worst = -1;
    for (size_t k = 0; k + 1 < value_count(names) && k < 64; k += 2) {
        const char *name = value_text(value_at(names, k), "");
        int64_t least = INT64_MAX, most = -1, rank = -1;
        for (size_t i = 0; i < value_count(ranks); i++) {
            const struct value *r = value_at(ranks, i);
            int64_t n = value_int(value_get(value_get(r, "collective_counts"), name), -1);
            if (n < 0)
                continue;
            if (n < least)
                rank = value_int(value_get(r, "rank"), -1);
            least = n < least ? n : least;
            most = n > most ? n : most;
        }
        if (rank >= 0 && most - least > worst) {
            worst = most - least;
            *ret_rank = rank;
        }
    }
    return worst;
}

static void hash_of(const struct value *comm, char *buf, size_t size)
{
    const struct value *hash = value_get(comm, "hash");
    const char *t = value_text(hash, NULL);
    if (t)
        snprintf(buf, size, "%s%.60s", strncmp(t, "0x", 2) ? "0x" : "", t);
    else
        snprintf(buf, size, "0x%llx", (unsigned long long)value_int(hash, 0));
}

/* NAN: not told. */
static double flag_of(const struct value *status, const char *name)
{
    const struct value *flag = value_get(status, name);
    return flag ? value_true(flag) : NAN;
}

/* How many ranks of it did not answer: older versions tell the list alone, others may cut it. */
static double missing_of(const struct value *comm)
{
    return value_number(value_get(comm, "missing_ranks_count"),
                        (double)value_count(value_get(comm, "missing_ranks")));
}

static void tell_missing(struct out *o, const char *hash, const struct value *missing)
{
    static const char kind[] = "ras/missing";
    for (size_t i = 0; i < value_count(missing) && i < MISSING_TOLD; i++) {
        char subject[96];
        const struct value *m = value_at(missing, i), *status = value_get(m, "status");
        snprintf(subject, sizeof(subject), "%s %lld", hash,
                 (long long)value_int(value_get(m, "rank"), -1));
        text(o, kind, subject, "host", value_text(value_get(m, "host"), NULL));
        number(o, kind, subject, "pid", value_number(value_get(m, "pid"), NAN), "count");
        number(o, kind, subject, "gpu", value_number(value_get(m, "cuda_dev"), NAN), "count");
        number(o, kind, subject, "dead", flag_of(status, "considered_dead"), "1");
        number(o, kind, subject, "unresponsive", flag_of(status, "unresponsive"), "1");
    }
}

static void tell_comm(struct out *o, const struct value *comm)
{
    static const char kind[] = "ras/comm";
    char hash[72];
    int64_t rank = -1, behind = most_behind(value_get(comm, "ranks"), &rank);
    hash_of(comm, hash, sizeof(hash));
    number(o, kind, hash, "ranks", value_number(value_get(comm, "size"), NAN), "count");
    number(o, kind, hash, "missing", missing_of(comm), "count");
    if (rank >= 0) {
        number(o, kind, hash, "behind_rank", (double)rank, "count");
        number(o, kind, hash, "behind", (double)behind, "count");
    }
    tell_missing(o, hash, value_get(comm, "missing_ranks"));
}

int ras_facts(const struct value *answer, const char *path, fact_fn fn, void *arg, struct error *e)
{
    struct out o = {.fn = fn, .arg = arg, .path = path};
    const struct value *comms = value_get(answer, "communicators");
    double ranks = 0, missing = 0;
    if (!comms || !value_get(answer, "nccl_version"))
        return error_set(e, STATUS_INPUT,
                         "\"%s\" is no answer of NCCL's RAS port: it has no nccl_version and no "
                         "communicators",
                         path);
    for (size_t i = 0; i < value_count(comms); i++) {
        const struct value *c = value_at(comms, i);
        double size = value_number(value_get(c, "size"), 0);
        ranks = size > ranks ? size : ranks;
        missing += missing_of(c);
        if (i < COMMS_TOLD)
            tell_comm(&o, c);
    }
    text(&o, "ras", "", "version", value_text(value_get(answer, "nccl_version"), NULL));
    number(&o, "ras", "", "communicators", (double)value_count(comms), "count");
    if (ranks > 0)
        number(&o, "ras", "", "ranks", ranks, "count");
    number(&o, "ras", "", "missing", missing, "count");
    number(&o, "ras", "", "timeouts",
           value_number(value_get(value_get(answer, "ras"), "timeouts_count"), NAN), "count");
    return o.status;
}
