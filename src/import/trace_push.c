/* SPDX-License-Identifier: MIT */
#include "import/trace.h"

#include "base/mem.h"
#include "base/unit.h"
#include "import/call_name.h"
#include "import/trace_store.h"

#include <stdlib.h>

/* The ledger books in such steps: what it holds meanwhile stays small. */
#define STEP_NS (20 * NS_PER_MS)

/* A launch takes the CPU 2 to 20 us; one that takes longer waits for a full queue to drain, or loads
 * its module, which it does once. */
#define LAUNCH_MAX_NS (50 * NS_PER_US)

/* Questions to the runtime are part of what asks them, unless they take long. */
#define CALL_TOLD_NS (250 * NS_PER_US)

/* ---- order ---- */

static int spans_by_time(const void *pa, const void *pb)
{
    const struct span_record *a = pa, *b = pb;
    return a->t0 < b->t0 ? -1 : a->t0 > b->t0;
}

/* What began earlier comes first; of two that began at once, the longer contains the other. */
static int calls_by_time(const void *pa, const void *pb)
{
    const struct call_record *a = pa, *b = pb;
    if (a->t0 != b->t0)
        return a->t0 < b->t0 ? -1 : 1;
    return a->ns > b->ns ? -1 : a->ns < b->ns;
}

static int ops_by_time(const void *pa, const void *pb)
{
    const struct op_record *a = pa, *b = pb;
    if (a->t0 != b->t0)
        return a->t0 < b->t0 ? -1 : 1;
    return a->ns > b->ns ? -1 : a->ns < b->ns;
}

static void sort_ops(struct op_records *ops)
{
    if (ops->unsorted)
        qsort(ops->item, ops->count, sizeof(*ops->item), ops_by_time);
}

static void sort(struct trace *t)
{
    if (t->spans_unsorted)
        qsort(t->spans, t->span_count, sizeof(*t->spans), spans_by_time);
    if (t->calls_unsorted)
        qsort(t->calls, t->call_count, sizeof(*t->calls), calls_by_time);
    for (size_t i = 0; i < t->thread_count; i++) {
        sort_ops(&t->thread[i].code);
        sort_ops(&t->thread[i].range);
    }
}

/* ---- which call asked for which activity ---- */

static bool asks(const struct trace *t, const struct call_record *c)
{
    uint8_t kind = t->call_name[c->name].kind;
    return kind == CALL_LAUNCH || kind == CALL_COPY;
}

/* Correlation ids are mostly consecutive: they are their own hash. */
static bool index_calls(struct trace *t)
{
    size_t cap = 64;
    if (t->call_count >= UINT32_MAX)
        return false;
    while (cap < t->call_count * 2)
        cap *= 2;
    if (!(t->call_of = mem_zalloc(cap * sizeof(*t->call_of))))
        return false;
    t->call_of_cap = cap;
    for (size_t i = 0; i < t->call_count; i++) {
        size_t at = t->calls[i].correlation & (cap - 1);
        if (!t->calls[i].correlation || !asks(t, &t->calls[i]))
            continue;
        while (t->call_of[at])
            at = (at + 1) & (cap - 1);
        t->call_of[at] = (uint32_t)i + 1;
    }
    return true;
}

/* The last call with that number that began before the activity did. */
static const struct call_record *call_of(const struct trace *t, const struct span_record *s)
{
    const struct call_record *best = NULL;
    size_t at = s->correlation & (t->call_of_cap - 1);
    for (; s->correlation && t->call_of[at]; at = (at + 1) & (t->call_of_cap - 1)) {
        const struct call_record *c = &t->calls[t->call_of[at] - 1];
        if (c->correlation == s->correlation && c->t0 <= s->t0)
            best = c;
    }
    return best;
}

/* ---- into the sink ---- */

static void push_span(struct trace *t, const struct span_record *s)
{
    const struct call_record *c = call_of(t, s);
    struct event e = {.kind = EVENT_SPAN,
                      .span = {.t0 = s->t0, .t1 = s->t0 + (int64_t)s->ns, .device = s->device,
                               .kind = s->kind, .host_copy = s->host_copy, .pageable = s->pageable,
                               .bytes = s->bytes ? t->bytes[s->bytes - 1] : 0,
                               .pid = t->thread_count ? t->thread[0].pid : 1}};
    if (c) {
        const struct trace_thread *th = &t->thread[c->thread];
        e.span.pid = th->pid;
        e.span.tid = th->tid;
        e.span.launch_t0 = c->t0;
        e.span.launch_t1 = c->t0 + (int64_t)c->ns;
        e.span.sync_copy = s->kind == SPAN_COPY && e.span.launch_t1 >= e.span.t1;
    }
    sink_event(t->sink, &e);
}

static void push_call(struct trace *t, const struct call_record *c)
{
    const struct trace_thread *th = &t->thread[c->thread];
    const struct trace_call *n = &t->call_name[c->name];
    if (n->kind == CALL_OTHER && c->ns < CALL_TOLD_NS)
        return;
    struct event e = {.kind = EVENT_OP,
                      .op = {.t0 = c->t0, .t1 = c->t0 + (int64_t)c->ns, .pid = th->pid,
                             .tid = th->tid, .resource = n->kind == CALL_LAUNCH ? 0 : n->resource,
                             .kind = OP_CALL,
                             .cause = (uint8_t)call_name_cause((enum call_kind)n->kind),
                             .awaits_device = n->kind == CALL_SYNC || n->kind == CALL_COPY ||
                                              (n->kind == CALL_LAUNCH && c->ns > LAUNCH_MAX_NS)}};
    sink_event(t->sink, &e);
}

static void push_ops(struct trace *t, const struct trace_thread *th, struct op_records *ops,
                     enum op_kind kind, int64_t until)
{
    for (; ops->next < ops->count && ops->item[ops->next].t0 < until; ops->next++) {
        const struct op_record *o = &ops->item[ops->next];
        struct event e = {.kind = EVENT_OP,
                          .op = {.t0 = o->t0, .t1 = o->t0 + o->ns, .pid = th->pid, .tid = th->tid,
                                 .resource = o->resource, .kind = (uint8_t)kind,
                                 .cause = (uint8_t)o->cause}};
        sink_event(t->sink, &e);
    }
}

/* What threads did before the first activity, or after the last, explains nothing. */
static void push_all(struct trace *t)
{
    size_t call = 0, span = 0;
    while (span < t->span_count) {
        int64_t until = t->spans[span].t0 + STEP_NS;
        for (size_t i = 0; i < t->thread_count; i++) {
            push_ops(t, &t->thread[i], &t->thread[i].range, OP_RANGE, until);
            push_ops(t, &t->thread[i], &t->thread[i].code, OP_CODE, until);
        }
        for (; call < t->call_count && t->calls[call].t0 < until; call++)
            push_call(t, &t->calls[call]);
        for (; span < t->span_count && t->spans[span].t0 < until; span++)
            push_span(t, &t->spans[span]);
        sink_advance(t->sink, until);
    }
}

static int64_t end_of(const struct trace *t)
{
    int64_t end = t->spans[0].t0;
    for (size_t i = 0; i < t->span_count; i++) {
        int64_t t1 = t->spans[i].t0 + (int64_t)t->spans[i].ns;
        end = t1 > end ? t1 : end;
    }
    return end;
}

int trace_finish(struct trace *t, struct error *e)
{
    if (!t->failed) {
        sort(t);
        t->failed = !index_calls(t);
    }
    if (t->failed)
        return error_set(e, STATUS_MEMORY, "out of memory reading the trace");
    if (t->span_count)
        sink_extent(t->sink, t->spans[0].t0, end_of(t));
    push_all(t);
    return STATUS_OK;
}
