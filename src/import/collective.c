/* SPDX-License-Identifier: MIT */
#include "import/collective.h"

#include "base/mem.h"
#include "base/unit.h"

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
                 {"double", 8}, {"float64", 8}, {"long", 8}, {"int64", 8}, {"float", 4},
                 {"int8", 1}, {"uint8", 1}, {"byte", 1}, {"char", 1}, {"bool", 1}, {"int", 4},
                 {"uint32", 4}};
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
