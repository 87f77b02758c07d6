/* SPDX-License-Identifier: MIT */
#include "import/collective.h"

#include "base/mem.h"
#include "base/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Distinct ones; a job has a handful. */
#define COLLECTIVES_MAX 200u

/* Names of torch's scalar types (c10/core/ScalarType.h) and of NCCL's. */
static uint64_t bytes_of(const char *dtype)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } types[] = {{"float8", 1}, {"bfloat16", 2}, {"half", 2}, {"float16", 2}, {"short", 2},
                 {"double", 8}, {"float64", 8},  {"long", 8}, {"int64", 8},   {"float", 4},
                 {"int8", 1},   {"uint8", 1},    {"byte", 1}, {"char", 1},    {"bool", 1},
                 {"int", 4},    {"uint32", 4}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (!strncasecmp(dtype, types[i].name, strlen(types[i].name)))
            return types[i].bytes;
    return 0;
}

/* "ncclKernel_AllReduce_RING_LL_Sum_float(...)", "ncclDevKernel_AllGather_RING_LL(...)": the third word. */
static void from_kernel(const char *kernel, char *to, size_t size)
{
    const char *at = strstr(kernel, "Kernel_");
    at = at ? at + 7 : kernel;
    size_t n = strcspn(at, "_(<");
    snprintf(to, size, "%.*s", n > 40 ? 40 : (int)n, at);
}

void collective_name(const char *name, const char *kernel, const char *dtype, int64_t group,
                     char *to, size_t size)
{
    char what[48], of[32] = "", over[40] = "";
    if (*name)
        snprintf(what, sizeof(what), "%.40s", name);
    else
        from_kernel(kernel, what, sizeof(what));
    if (*dtype)
        snprintf(of, sizeof(of), " of %.20s", dtype);
    if (group > 0)
        snprintf(over, sizeof(over), " over %lld ranks", (long long)group);
    snprintf(to, size, "%s%s%s", what, of, over);
}

struct ranks {
    long first, last, count;
    bool dense, cut; /* no number is left out; the list goes on */
};

static struct ranks read_ranks(const char *list)
{
    struct ranks r = {.dense = true, .cut = strstr(list, "...") != NULL};
    while (*(list += strcspn(list, "0123456789"))) {
        char *end;
        long rank = strtol(list, &end, 10);
        r.dense &= !r.count || rank - 1 == r.last; /* of huge ones all are LONG_MAX */
        r.first = r.count ? r.first : rank;
        r.last = rank;
        r.count++;
        list = end;
    }
    return r;
}

/* "0, 8, 16": as they stand, without brackets. */
static void copy_list(const char *list, char *to, size_t size)
{
    list += strspn(list, "[ ");
    size_t n = strcspn(list, "]");
    snprintf(to, size, "%.*s", n < 40 ? (int)n : 40, list);
}

void collective_group(const char *ranks, int64_t size, const char *name, const char *words,
                      char *to, size_t to_size)
{
    struct ranks r = read_ranks(ranks);
    char who[96] = "", list[48];
    copy_list(ranks, list, sizeof(list));
    if (r.count > 1 && r.dense && !r.cut)
        snprintf(who, sizeof(who), "ranks %ld-%ld", r.first, r.last);
    else if (r.count && !r.cut && strlen(list) < 40)
        snprintf(who, sizeof(who), "rank%s %s", r.count > 1 ? "s" : "", list);
    else if (r.count && !r.cut)
        snprintf(who, sizeof(who), "%ld ranks from %ld to %ld", r.count, r.first, r.last);
    else if (r.count && size > 0)
        snprintf(who, sizeof(who), "%lld ranks from %ld on", (long long)size, r.first);
    else if (size > 0 && (*name || *words))
        snprintf(who, sizeof(who), "%lld ranks", (long long)size);
    if (!strcmp(words, "undefined"))
        words = "";
    const char *called = *words ? words : name;
    if (*who && *called)
        snprintf(to, to_size, "%s (%s%.40s)", who, *words ? "" : "group ", called);
    else
        snprintf(to, to_size, "%s", who);
}

bool collectives_add(struct collectives *c, const char *name, const char *dtype, int64_t elements,
                     int64_t ns)
{
    uint32_t number = intern_put_most(&c->names, name, COLLECTIVES_MAX, "other collectives");
    size_t before = c->cap;
    if (!number || !mem_grow((void **)&c->sum, &c->cap, number, sizeof(*c->sum)))
        return false;
    if (c->cap > before)
        memset(c->sum + before, 0, (c->cap - before) * sizeof(*c->sum));
    struct collective *s = &c->sum[number - 1];
    s->count++;
    s->ns += ns;
    if (elements > 0)
        s->bytes += (uint64_t)elements * bytes_of(dtype);
    return true;
}

void collectives_facts(const struct collectives *c, struct sink *sink)
{
    for (size_t i = 0; i < c->names.count; i++) {
        const struct collective *s = &c->sum[i];
        const char *name = c->names.texts[i];
        sink_number(sink, "collective", name, "count", (double)s->count, "count");
        sink_number(sink, "collective", name, "seconds", unit_seconds(s->ns), "s");
        if (s->bytes)
            sink_number(sink, "collective", name, "bytes", (double)s->bytes, "bytes");
    }
}

void collectives_clear(struct collectives *c)
{
    intern_clear(&c->names);
    free(c->sum);
    *c = (struct collectives){0};
}
