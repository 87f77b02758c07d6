/* SPDX-License-Identifier: MIT */
#include "report/sum.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_cause(const struct report_row *row)
{
    return row->state == STATE_WAIT || row->state == STATE_COMM || row->state == STATE_COPY;
}

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int by_name(const void *a, const void *b)
{
    const struct sum_wait *x = a, *y = b;
    if (x->cause != y->cause)
        return x->cause < y->cause ? -1 : 1;
    return compare_text(x->resource, y->resource);
}

static int by_length(const void *a, const void *b)
{
    const struct sum_wait *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return by_name(a, b);
}

static bool collect(const struct report *r, struct sum *s)
{
    for (size_t i = 0; i < r->row_count; i++) {
        const struct report_row *row = &r->rows[i];
        if (!has_cause(row) || row->ns <= 0)
            continue;
        if (!mem_grow((void **)&s->waits, &s->wait_cap, s->wait_count + 1, sizeof(*s->waits)))
            return false;
        enum cause cause = row->cause == CAUSE_NONE ? CAUSE_UNKNOWN : row->cause;
        s->waits[s->wait_count++] = (struct sum_wait){
            .cause = cause, .resource = row->resource, .ns = row->ns, .evidence = row->evidence};
        s->cause_ns[cause] += row->ns;
        s->waited_ns += row->ns;
    }
    return true;
}

static void merge(struct sum *s)
{
    size_t n = 0;
    if (!s->wait_count)
        return;
    qsort(s->waits, s->wait_count, sizeof(*s->waits), by_name);
    for (size_t i = 1; i < s->wait_count; i++) {
        struct sum_wait *last = &s->waits[n], *w = &s->waits[i];
        if (by_name(last, w)) {
            s->waits[++n] = *w;
            continue;
        }
        last->ns += w->ns;
        if (w->evidence > last->evidence)
            last->evidence = w->evidence;
    }
    s->wait_count = n + 1;
    qsort(s->waits, s->wait_count, sizeof(*s->waits), by_length);
}

static bool has_advice(const struct report *r)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (r->findings[i].severity > SEVERITY_INFO)
            return true;
    return false;
}

static double share_of(const struct sum *s, int64_t ns)
{
    return s->ns > 0 ? (double)ns / (double)s->ns : NAN;
}

bool sum_of(const struct report *r, struct sum *ret)
{
    *ret = (struct sum){0};
    for (size_t i = 0; i < r->accelerator_count; i++) {
        ret->ns += r->accelerators[i].ns;
        for (int s = 0; s < STATE_COUNT; s++)
            ret->state_ns[s] += r->accelerators[i].state_ns[s];
    }
    if (!collect(r, ret)) {
        sum_clear(ret);
        return false;
    }
    merge(ret);
    for (size_t i = 0; i < ret->wait_count; i++) {
        struct sum_wait *w = &ret->waits[i];
        w->share = share_of(ret, w->ns);
        w->money = r->money.by_cause[w->cause] * (double)w->ns / (double)ret->cause_ns[w->cause];
    }
    ret->unknown_share = share_of(ret, ret->cause_ns[CAUSE_UNKNOWN]);
    ret->unseen_share = share_of(ret, ret->state_ns[STATE_UNSEEN]);
    ret->quiet = ret->ns > 0 && !has_advice(r) &&
                 share_of(ret, ret->waited_ns + ret->state_ns[STATE_UNSEEN]) < SUM_QUIET_MAX;
    return true;
}

void sum_clear(struct sum *s)
{
    free(s->waits);
    *s = (struct sum){0};
}
