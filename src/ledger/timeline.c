/* SPDX-License-Identifier: MIT */
#include "ledger/timeline.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void timeline_init(struct timeline *t)
{
    *t = (struct timeline){.at = INT64_MIN, .last_end = INT64_MIN, .sorted = true};
    for (int i = 0; i < SEGMENT_CLASSES; i++)
        t->busy_until[i] = INT64_MIN;
}

void timeline_clear(struct timeline *t)
{
    free(t->spans);
    timeline_init(t);
}

void timeline_begin(struct timeline *t, int64_t at)
{
    t->at = at;
}

bool timeline_push(struct timeline *t, const struct event_span *span)
{
    if (!mem_grow((void **)&t->spans, &t->cap, t->count + 1, sizeof(*t->spans)))
        return false;
    if (t->count && t->spans[t->count - 1].t0 > span->t0)
        t->sorted = false;
    t->spans[t->count++] = *span;
    if (span->t1 > t->last_end)
        t->last_end = span->t1;
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct event_span *x = a, *y = b;
    return x->t0 < y->t0 ? -1 : x->t0 > y->t0;
}

static enum segment_class class_of(const struct event_span *s)
{
    switch (s->kind) {
    case SPAN_COMM:
        return SEGMENT_COMM;
    case SPAN_COPY:
        return s->host_copy && s->pageable ? SEGMENT_PAGEABLE : SEGMENT_COPY;
    default:
        return SEGMENT_COMPUTE;
    }
}

static int64_t busy_end(const struct timeline *t)
{
    int64_t end = t->busy_until[0];
    for (int c = 1; c < SEGMENT_CLASSES; c++)
        end = t->busy_until[c] > end ? t->busy_until[c] : end;
    return end;
}

/* Hands out the busy part of [t->at, until): strongest class first, then the next. */
static void walk_busy(struct timeline *t, int64_t until, segment_fn fn, void *arg)
{
    for (int c = 0; c < SEGMENT_CLASSES && t->at < until; c++) {
        int64_t end = t->busy_until[c] < until ? t->busy_until[c] : until;
        if (end > t->at) {
            fn(arg, (enum segment_class)c, t->at, end, NULL);
            t->at = end;
        }
    }
}

static void walk_to(struct timeline *t, int64_t until, const struct event_span *next, segment_fn fn,
                    void *arg)
{
    walk_busy(t, until, fn, arg);
    if (t->at < until) {
        fn(arg, SEGMENT_IDLE, t->at, until, next);
        t->at = until;
    }
}

void timeline_advance(struct timeline *t, int64_t until, bool end_gap, segment_fn fn,
                      walked_fn walked, void *arg)
{
    size_t i = 0;
    if (t->at == INT64_MIN)
        return;
    if (!t->sorted)
        qsort(t->spans, t->count, sizeof(*t->spans), by_start);
    t->sorted = true;
    for (; i < t->count && t->spans[i].t0 < until; i++) {
        const struct event_span *s = &t->spans[i];
        enum segment_class c = class_of(s);
        if (s->t0 < t->at)
            t->late_ns += (s->t1 < t->at ? s->t1 : t->at) - s->t0;
        else
            walk_to(t, s->t0, s, fn, arg);
        int64_t busy = busy_end(t), from = s->t0 > busy ? s->t0 : busy;
        walked(arg, s, s->t1 > from ? s->t1 - from : 0);
        if (s->t1 > t->busy_until[c]) {
            t->busy_until[c] = s->t1;
            if (c == SEGMENT_COMM)
                t->comm_resource = s->resource;
        }
    }
    if (end_gap)
        walk_to(t, until, NULL, fn, arg);
    else
        walk_busy(t, until, fn, arg);
    if (i)
        memmove(t->spans, t->spans + i, (t->count - i) * sizeof(*t->spans));
    t->count -= i;
}
