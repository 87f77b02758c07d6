/* SPDX-License-Identifier: MIT */
/*
 * Traces of the PyTorch profiler (Kineto): Chrome's Trace Event Format in JSON, an object with
 * "traceEvents", or that array alone. Events come in any order.
 */
#include "import/kineto.h"

#include "base/mem.h"
#include "import/formats_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has(const char *head, size_t size, const char *word)
{
    return memmem(head, size, word, strlen(word)) != NULL;
}

static bool recognise(const char *head, size_t size)
{
    char begin = scan_begin(head, size);
    if (begin != '{' && begin != '[')
        return false;
    if (has(head, size, "\"traceEvents\""))
        return true;
    if (begin == '[')
        return has(head, size, "\"ph\"") && has(head, size, "\"ts\"");
    return has(head, size, "\"schemaVersion\"") &&
           (has(head, size, "\"deviceProperties\"") || has(head, size, "\"distributedInfo\""));
}

static bool events(struct kineto *k)
{
    struct scan *s = &k->scan;
    enum scan_token t;
    while ((t = scan_next(s)) != SCAN_ARRAY_END) {
        if (t == SCAN_OBJECT) {
            if (!kineto_event(k))
                return false;
        } else if (t == SCAN_ERROR || (t == SCAN_ARRAY && !scan_skip_rest(s))) {
            return false;
        } else {
            sink_skip(k->sink, "entries that are no events", 1);
        }
    }
    return true;
}

static bool top_level(struct kineto *k)
{
    struct scan *s = &k->scan;
    enum scan_token t;
    while ((t = scan_next(s)) == SCAN_KEY) {
        bool ok;
        if (SCAN_IS(s, "traceEvents")) {
            k->has_events = true;
            t = scan_next(s);
            ok = t == SCAN_ARRAY ? events(k)
                                 : scan_wrong(s, "\"traceEvents\" is no array") == STATUS_OK;
        } else if (SCAN_IS(s, "deviceProperties")) {
            ok = kineto_devices(k);
        } else if (SCAN_IS(s, "distributedInfo")) {
            ok = kineto_distributed(k);
        } else if (SCAN_IS(s, "host_name")) {
            char host[64];
            t = scan_next(s);
            if (t == SCAN_STRING) {
                scan_text(s->text, s->len, host, sizeof(host));
                sink_host(k->sink, host);
            }
            ok = t != SCAN_ERROR && (t < SCAN_OBJECT || t > SCAN_ARRAY || scan_skip_rest(s));
        } else if (SCAN_IS(s, "baseTimeNanoseconds")) {
            t = scan_next(s);
            if (t == SCAN_NUMBER && !scan_decimal(s->text, s->len, 0, &k->base_unix_ns))
                k->base_unix_ns = INT64_MIN;
            ok = t != SCAN_ERROR && (t < SCAN_OBJECT || t > SCAN_ARRAY || scan_skip_rest(s));
        } else {
            ok = scan_skip(s);
        }
        if (!ok)
            return false;
    }
    return t == SCAN_OBJECT_END;
}

static void device_facts(struct kineto *k)
{
    char subject[16];
    for (uint32_t i = 0; i < SINK_DEVICES; i++) {
        if (!trace_uses(k->trace, i))
            continue;
        /* Processes that see one device call it 0, whatever its number in the events. */
        sink_accelerator(k->sink, i,
                         *k->device[i].name ? k->device[i].name
                         : k->names_differ  ? NULL
                                            : k->all_named);
        snprintf(subject, sizeof(subject), "%u", i);
        if (k->device[i].sms > 0)
            sink_number(k->sink, "gpu", subject, "sm_count", (double)k->device[i].sms, "count");
        if (k->device[i].memory > 0)
            sink_number(k->sink, "gpu", subject, "memory_total", (double)k->device[i].memory,
                        "bytes");
    }
}

static void facts(struct kineto *k)
{
    device_facts(k);
    collectives_facts(&k->collectives, k->sink);
    if (k->single_loader)
        sink_number(k->sink, "loader", "", "in_main", 1, "1");
    if (k->steps)
        sink_number(k->sink, "job", "", "steps", k->steps, "count");
    if (k->external_ids)
        sink_number(k->sink, "job", "", "external_ids_unused", (double)k->external_ids, "count");
    sink_skip(k->sink, "texts that are no UTF-8", k->scan.bad_utf8);
    sink_skip(k->sink, "numbers that are none (NaN, Infinity)", k->scan.nans);
    sink_skip(k->sink,
              "events of kinds of accelerators that are not read (Gaudi, MTIA or another back end)",
              k->other_device_events);
    if (!trace_spans(k->trace) && !k->other_device_events) {
        sink_note(k->sink,
                  k->cpu_events
                      ? "the trace holds work of the CPU alone: was the profiler asked for "
                        "ProfilerActivity.CUDA?"
                      : "the trace holds no event that tells where time went");
    }
}

static int read_all(struct kineto *k, struct error *e)
{
    enum scan_token t = scan_next(&k->scan);
    bool ok = t == SCAN_OBJECT  ? top_level(k)
              : t == SCAN_ARRAY ? events(k)
                                : scan_wrong(&k->scan, "no trace") == STATUS_OK;
    k->has_events |= t == SCAN_ARRAY;
    if (!ok || scan_next(&k->scan) != SCAN_END)
        return e->status;
    if (!k->has_events)
        return scan_wrong(&k->scan, "the file ends without \"traceEvents\",");
    int64_t base = k->base_unix_ns == INT64_MIN ? 0 : k->base_unix_ns;
    if (k->origin != INT64_MIN && !__builtin_add_overflow(base, k->origin, &base))
        sink_start(k->sink, 0, base);
    facts(k);
    return trace_finish(k->trace, e);
}

static int import_kineto(struct source *source, struct sink *sink, struct error *e)
{
    struct error mine = {0};
    struct kineto *k = mem_zalloc(sizeof(*k));
    int status = STATUS_MEMORY;
    sink_tool(sink, "PyTorch profiler");
    if (k && (k->trace = trace_new(sink))) {
        k->sink = sink;
        k->base_unix_ns = k->origin = INT64_MIN;
        scan_init(&k->scan, source, &mine);
        status = read_all(k, &mine);
        if (status && e)
            *e = mine;
        scan_clear(&k->scan);
        collectives_clear(&k->collectives);
        intern_clear(&k->groups);
        trace_free(k->trace);
    } else {
        error_set(e, STATUS_MEMORY, "\"%s\": out of memory", source_path(source));
    }
    free(k);
    return status;
}

const struct format format_kineto = {"a trace of the PyTorch profiler", recognise, import_kineto};
