/* SPDX-License-Identifier: MIT */
#include "import/trace.h"

#include "base/mem.h"
#include "base/unit.h"
#include "import/trace_store.h"

#include <stdlib.h>
#include <string.h>

/* The ledger books in such steps: what it holds meanwhile stays small. */
#define STEP_NS (20 * NS_PER_MS)

/* A launch takes the CPU 2 to 20 us; one that takes longer waits for a full queue to drain, or loads
 * its module, which it does once. */
#define LAUNCH_MAX_NS (50 * NS_PER_US)

/* Only of what begins later it is told whether it is the first of its stream. */
#define BEGIN_NS (500 * NS_PER_US)

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
        qsort(ops->item + ops->next, ops->count - ops->next, sizeof(*ops->item), ops_by_time);
    ops->unsorted = false;
}

static void sort(struct trace *t)
{
    if (t->spans_unsorted)
        qsort(t->spans, t->span_count, sizeof(*t->spans), spans_by_time);
    if (t->calls_unsorted)
        qsort(t->calls, t->call_count, sizeof(*t->calls), calls_by_time);
    t->spans_unsorted = t->calls_unsorted = false;
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

static void index_call(struct trace *t, const struct call_record *c)
{
    uint32_t pid = t->by_process ? t->thread[c->thread].pid : 0;
    struct launch launch = {
        .key = asked_key(pid, c->correlation), .t0 = c->t0, .ns = c->ns, .thread = c->thread};
    if (c->correlation && asks(t, c) && !asked_put(&t->asked, &launch))
        t->failed = true;
}

/* ---- into the sink ---- */

/* Asked only of what began late, which is rare. */
static bool is_first(const struct trace *t, const struct span_record *s)
{
    for (size_t i = 0; i < t->stream_count; i++)
        if (t->streams[i].t0 == s->t0 && t->streams[i].device == s->device)
            return true;
    return false;
}

static void push_span(struct trace *t, const struct span_record *s)
{
    uint32_t pid = s->process ? t->process[s->process - 1] : t->thread_count ? t->thread[0].pid : 1;
    uint64_t key = asked_key(t->by_process ? pid : 0, s->correlation);
    const struct launch *c = s->correlation ? asked_find(&t->asked, key, s->t0) : NULL;
    struct event e = {.kind = EVENT_SPAN,
                      .span = {.t0 = s->t0,
                               .t1 = s->t0 + (int64_t)s->ns,
                               .device = s->device,
                               .kind = s->kind,
                               .host_copy = s->host_copy,
                               .pageable = s->pageable,
                               .pid = pid}};
    if (s->kind == SPAN_COMM)
        e.span.resource = s->bytes;
    else if (s->bytes)
        e.span.bytes = t->bytes[s->bytes - 1];
    if (c) {
        const struct trace_thread *th = &t->thread[c->thread];
        e.span.pid = th->pid;
        e.span.tid = th->tid;
        e.span.launch_t0 = c->t0;
        e.span.launch_t1 = c->t0 + (int64_t)c->ns;
        e.span.first = s->t0 - e.span.launch_t1 > BEGIN_NS && is_first(t, s);
        e.span.sync_copy = s->kind == SPAN_COPY && e.span.launch_t1 >= e.span.t1;
    }
    sink_event(t->sink, &e);
}

static void push_call(struct trace *t, const struct call_record *c)
{
    const struct trace_thread *th = &t->thread[c->thread];
    const struct trace_call *n = &t->call_name[c->name];
    bool loads = n->kind == CALL_OTHER && (n->cause == CAUSE_STORAGE || n->cause == CAUSE_NETWORK);
    if (n->kind == CALL_OTHER && c->ns < CALL_TOLD_NS && !loads)
        return;
    struct event e = {.kind = EVENT_OP,
                      .op = {.t0 = c->t0,
                             .t1 = c->t0 + (int64_t)c->ns,
                             .pid = th->pid,
                             .tid = th->tid,
                             .resource = n->kind == CALL_LAUNCH ? 0 : n->resource,
                             .kind = OP_CALL,
                             .cause = n->cause,
                             .loads = loads,
                             .awaits_device = n->kind == CALL_SYNC || n->kind == CALL_COPY ||
                                              (n->kind == CALL_LAUNCH && c->ns > LAUNCH_MAX_NS)}};
    sink_event(t->sink, &e);
}

static void push_ops(struct trace *t, const struct trace_thread *th, struct op_records *ops,
                     enum op_kind kind, int64_t until)
{
    for (; ops->next < ops->count && ops->item[ops->next].t0 < until; ops->next++) {
        const struct op_record *o = &ops->item[ops->next];
        struct event e = {
            .kind = EVENT_OP,
            .op = {.t0 = o->t0,
                   .t1 = o->t0 + o->ns,
                   .pid = th->pid,
                   .tid = th->tid,
                   .resource = o->resource,
                   .kind = (uint8_t)kind,
                   .cause = (uint8_t)o->cause,
                   .loads = o->cause == CAUSE_PREPARE && o->resource != t->workers_resource}};
        sink_event(t->sink, &e);
    }
}

/* ---- piece by piece ---- */

/* What threads did before the first activity, or after the last, explains nothing. */
static void push_host(struct trace *t, size_t *call, int64_t until)
{
    for (size_t i = 0; i < t->thread_count; i++) {
        push_ops(t, &t->thread[i], &t->thread[i].range, OP_RANGE, until);
        push_ops(t, &t->thread[i], &t->thread[i].code, OP_CODE, until);
    }
    for (; *call < t->call_count && t->calls[*call].t0 < until; ++*call) {
        index_call(t, &t->calls[*call]);
        push_call(t, &t->calls[*call]);
    }
}

static size_t drop(void *items, size_t size, size_t count, size_t done)
{
    memmove(items, (char *)items + done * size, (count - done) * size);
    return count - done;
}

static void drop_ops(struct op_records *ops)
{
    if (ops->next)
        ops->count = drop(ops->item, sizeof(*ops->item), ops->count, ops->next);
    ops->next = 0;
}

static void forget(struct trace *t, size_t spans, size_t calls)
{
    if (spans)
        t->span_count = drop(t->spans, sizeof(*t->spans), t->span_count, spans);
    if (calls)
        t->call_count = drop(t->calls, sizeof(*t->calls), t->call_count, calls);
    if (!t->span_count)
        t->bytes_count = 0;
    for (size_t i = 0; i < t->thread_count; i++) {
        drop_ops(&t->thread[i].code);
        drop_ops(&t->thread[i].range);
    }
}

void trace_advance(struct trace *t, int64_t until)
{
    size_t call = 0, span = 0;
    if (t->failed)
        return;
    sort(t);
    while (span < t->span_count && t->spans[span].t0 < until) {
        int64_t step = t->spans[span].t0 + STEP_NS;
        if (step > until)
            step = until;
        push_host(t, &call, step);
        for (; span < t->span_count && t->spans[span].t0 < step; span++)
            push_span(t, &t->spans[span]);
        sink_advance(t->sink, step);
    }
    push_host(t, &call, until);
    if (!span)
        sink_advance(t->sink, until);
    forget(t, span, call);
}

/* ---- flows ---- */

/* Where and when it begins or ends. */
static uint64_t flow_key(uint32_t at, int64_t t0)
{
    return (uint64_t)t0 * UINT64_C(0x9e3779b97f4a7c15) ^ at;
}

static bool find_flow(const struct map *flows, uint32_t at, int64_t t0, uint32_t *ret)
{
    uint64_t number;
    if (!map_get(flows, flow_key(at, t0), &number) || !number)
        return false;
    *ret = (uint32_t)number;
    return true;
}

/* Of two flows that begin or end at one instant at one place nothing is known: 0. */
static void index_flows(struct trace *t, struct map *m, const struct flow_record *flows,
                        size_t count)
{
    for (size_t i = 0; i < count && !t->failed; i++) {
        uint64_t known, id = (uint32_t)flows[i].id, key = flow_key(flows[i].at, flows[i].t0);
        if (map_get(m, key, &known) && known != id)
            id = 0;
        t->failed = !map_put(m, key, id);
    }
}

/* Flows become correlations, where those are not told. */
static void join_flows(struct trace *t)
{
    struct map begins = {0}, ends = {0};
    if (!t->spans_correlated && t->end_count) {
        index_flows(t, &ends, t->ends, t->end_count);
        index_flows(t, &begins, t->begins, t->calls_correlated ? 0 : t->begin_count);
        for (size_t i = 0; i < t->call_count && begins.count; i++)
            find_flow(&begins, t->calls[i].thread, t->calls[i].t0, &t->calls[i].correlation);
        for (size_t i = 0; i < t->span_count; i++)
            find_flow(&ends, t->spans[i].device, t->spans[i].t0, &t->spans[i].correlation);
    }
    map_clear(&begins);
    map_clear(&ends);
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
    if (!t->failed && t->span_count && t->span_count == t->spans_all) { /* none was pushed before */
        sort(t);
        join_flows(t);
        sink_extent(t->sink, t->spans[0].t0, end_of(t));
    }
    while (!t->failed && t->span_count)
        trace_advance(t, t->spans[t->span_count - 1].t0 + STEP_NS);
    if (t->failed)
        return error_set(e, STATUS_MEMORY, "out of memory reading the trace");
    return STATUS_OK;
}
