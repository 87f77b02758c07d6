/* SPDX-License-Identifier: MIT */
#include "import/trace.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/unit.h"
#include "import/call_name.h"
#include "import/trace_store.h"
#include "model/call.h"

#include <stdlib.h>
#include <string.h>

/* Far more than CUDA and HIP have; the last one stands for all beyond. */
#define CALL_NAMES_MAX 4000u

struct trace *trace_new(struct sink *sink)
{
    struct trace *t = mem_zalloc(sizeof(*t));
    if (t)
        t->sink = sink;
    return t;
}

void trace_free(struct trace *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->thread_count; i++) {
        free(t->thread[i].code.item);
        free(t->thread[i].range.item);
    }
    free(t->thread);
    free(t->call_name);
    free(t->bytes);
    free(t->spans);
    free(t->calls);
    asked_clear(&t->asked);
    map_clear(&t->thread_of);
    map_clear(&t->stream_of);
    free(t->streams);
    free(t->begins);
    free(t->ends);
    intern_clear(&t->call_names);
    free(t);
}

uint32_t trace_thread(struct trace *t, uint32_t pid, uint32_t tid)
{
    uint64_t key = (uint64_t)pid << 32 | tid, at;
    if (t->last_thread < t->thread_count && t->thread[t->last_thread].pid == pid &&
        t->thread[t->last_thread].tid == tid)
        return t->last_thread;
    if (!map_get(&t->thread_of, key, &at)) {
        at = t->thread_count;
        if (at == TRACE_THREADS_MAX)
            return TRACE_THREADS_MAX;
        if (!mem_grow((void **)&t->thread, &t->thread_cap, at + 1, sizeof(*t->thread)) ||
            !map_put(&t->thread_of, key, at)) {
            t->failed = true;
            return TRACE_THREADS_MAX;
        }
        t->thread[t->thread_count++] = (struct trace_thread){.pid = pid, .tid = tid};
    }
    t->last_thread = (uint32_t)at;
    return (uint32_t)at;
}

void trace_by_process(struct trace *t)
{
    t->by_process = true;
}

/* Index + 1; 0 for unknown ones and those beyond the last place. */
static unsigned process_of(struct trace *t, uint32_t pid)
{
    unsigned i = 0;
    if (!pid)
        return 0;
    while (i < t->processes && t->process[i] != pid)
        i++;
    if (i == TRACE_PROCESSES_MAX)
        return 0;
    if (i == t->processes)
        t->process[t->processes++] = pid;
    return i + 1;
}

/* When each stream began. */
static void see_stream(struct trace *t, const struct trace_span *s, unsigned process)
{
    uint64_t at, key = (uint64_t)process << 42 | (uint64_t)s->device << 32 | s->stream;
    if (t->stream_count && t->last_stream_key == key) {
        at = t->last_stream;
    } else if (!map_get(&t->stream_of, key, &at)) {
        at = t->stream_count;
        if (at == TRACE_STREAMS_MAX)
            return;
        if (!mem_grow((void **)&t->streams, &t->stream_cap, at + 1, sizeof(*t->streams)) ||
            !map_put(&t->stream_of, key, at)) {
            t->failed = true;
            return;
        }
        t->streams[t->stream_count++] = (struct trace_stream){.t0 = s->t0, .device = s->device};
    }
    t->last_stream_key = key;
    t->last_stream = at;
    if (s->t0 < t->streams[at].t0)
        t->streams[at].t0 = s->t0;
}

void trace_span(struct trace *t, const struct trace_span *s)
{
    uint32_t bytes = 0;
    unsigned process = process_of(t, s->pid);
    see_stream(t, s, process);
    if (t->failed)
        return;
    if (s->bytes && s->kind == SPAN_COPY) {
        if (!mem_grow((void **)&t->bytes, &t->bytes_cap, t->bytes_count + 1, sizeof(*t->bytes))) {
            t->failed = true;
            return;
        }
        t->bytes[t->bytes_count++] = s->bytes;
        bytes = (uint32_t)t->bytes_count;
    }
    if (!mem_grow((void **)&t->spans, &t->span_cap, t->span_count + 1, sizeof(*t->spans))) {
        t->failed = true;
        return;
    }
    t->spans_correlated |= s->correlation != 0;
    t->devices |= UINT64_C(1) << s->device;
    t->spans_unsorted |= t->span_count && t->spans[t->span_count - 1].t0 > s->t0;
    t->spans[t->span_count++] =
        (struct span_record){.t0 = s->t0,
                             .ns = (uint64_t)s->ns,
                             .device = s->device,
                             .kind = s->kind,
                             .host_copy = s->host_copy,
                             .pageable = s->pageable,
                             .process = process & 1023,
                             .correlation = s->correlation,
                             .bytes = s->kind == SPAN_COMM ? s->resource : bytes};
    t->spans_all++;
}

bool trace_wants_flows(const struct trace *t)
{
    return !t->spans_correlated;
}

void trace_flow_begin(struct trace *t, uint64_t id, uint32_t thread, int64_t t0)
{
    if (t->failed || t->spans_correlated || t->calls_correlated || thread >= TRACE_THREADS_MAX)
        return;
    if (!mem_grow((void **)&t->begins, &t->begin_cap, t->begin_count + 1, sizeof(*t->begins)))
        t->failed = true;
    else
        t->begins[t->begin_count++] = (struct flow_record){.t0 = t0, .id = id, .at = thread};
}

void trace_flow_end(struct trace *t, uint64_t id, uint32_t device, int64_t t0)
{
    if (t->failed || t->spans_correlated || device >= SINK_DEVICES)
        return;
    if (!mem_grow((void **)&t->ends, &t->end_cap, t->end_count + 1, sizeof(*t->ends)))
        t->failed = true;
    else
        t->ends[t->end_count++] = (struct flow_record){.t0 = t0, .id = id, .at = device};
}

/* Number of a name that is in call_names; what it is, if it is new. */
static uint32_t call_name(struct trace *t, const char *text, enum call_kind kind, enum cause cause)
{
    uint32_t number = intern_put_most(&t->call_names, text, CALL_NAMES_MAX, "other calls");
    if (!number) {
        t->failed = true;
        return 0;
    }
    if (t->call_name_count >= number)
        return number - 1;
    if (!mem_grow((void **)&t->call_name, &t->call_name_cap, number, sizeof(*t->call_name))) {
        t->failed = true;
        return 0;
    }
    t->call_name[t->call_name_count++] =
        (struct trace_call){.resource = sink_resource(t->sink, intern_text(&t->call_names, number)),
                            .kind = (uint8_t)kind,
                            .cause = (uint8_t)cause};
    return number - 1;
}

uint32_t trace_call_name(struct trace *t, const char *name, size_t len)
{
    char text[96];
    size_t n = len < sizeof(text) - 1 ? len : sizeof(text) - 1;
    memcpy(text, name, n);
    text[n] = '\0';
    enum call_kind kind = call_name_kind(text, n);
    return call_name(t, text, kind, call_cause(kind));
}

uint32_t trace_system_call(struct trace *t, const char *name, enum cause cause)
{
    return call_name(t, name, CALL_OTHER, cause);
}

void trace_call(struct trace *t, uint32_t thread, uint32_t name, int64_t t0, int64_t ns,
                uint32_t correlation)
{
    if (t->failed || thread >= TRACE_THREADS_MAX)
        return;
    if (!mem_grow((void **)&t->calls, &t->call_cap, t->call_count + 1, sizeof(*t->calls))) {
        t->failed = true;
        return;
    }
    t->calls_correlated |= correlation != 0;
    t->calls_unsorted |= t->call_count && t->calls[t->call_count - 1].t0 > t0;
    t->calls[t->call_count++] = (struct call_record){.t0 = t0,
                                                     .ns = (uint64_t)ns,
                                                     .thread = thread,
                                                     .name = (uint16_t)name,
                                                     .correlation = correlation};
}

/* Operators end inside those that contain them, whichever is told first: only the outermost stay. */
static bool add_op(struct op_records *ops, const struct op_record *op)
{
    int64_t end = op->t0 + op->ns;
    while (ops->count && ops->item[ops->count - 1].t0 >= op->t0 &&
           ops->item[ops->count - 1].t0 + ops->item[ops->count - 1].ns <= end)
        ops->count--;
    if (ops->count) {
        const struct op_record *last = &ops->item[ops->count - 1];
        if (last->t0 <= op->t0 && last->t0 + last->ns >= end)
            return true;
        ops->unsorted |= last->t0 > op->t0;
    }
    if (!mem_grow((void **)&ops->item, &ops->cap, ops->count + 1, sizeof(*ops->item)))
        return false;
    ops->item[ops->count++] = *op;
    return true;
}

void trace_code(struct trace *t, uint32_t thread, uint32_t resource, int64_t t0, int64_t ns)
{
    struct op_record op = {.t0 = t0, .ns = ns, .resource = resource};
    if (thread < t->thread_count && !t->failed)
        t->failed = !add_op(&t->thread[thread].code, &op);
}

void trace_range(struct trace *t, uint32_t thread, enum cause cause, uint32_t resource, int64_t t0,
                 int64_t ns)
{
    struct op_record op = {.t0 = t0, .ns = ns, .resource = resource, .cause = (uint32_t)cause};
    if (thread < t->thread_count && !t->failed)
        t->failed = !add_op(&t->thread[thread].range, &op);
}

uint32_t trace_loader(struct trace *t, bool workers)
{
    if (!workers)
        return sink_resource(t->sink, "the DataLoader in the training thread");
    if (!t->workers_resource)
        t->workers_resource = sink_resource(t->sink, "the DataLoader's workers");
    return t->workers_resource;
}

size_t trace_spans(const struct trace *t)
{
    return t->spans_all;
}

bool trace_uses(const struct trace *t, uint32_t device)
{
    return device < SINK_DEVICES && t->devices >> device & 1;
}
