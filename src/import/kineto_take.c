/* SPDX-License-Identifier: MIT */
#include "import/kineto_event.h"

#include "import/python_call.h"
#include "probe/kernel_class.h"

#include <stdio.h>
#include <string.h>

static bool contains(const char *text, size_t len, const char *word)
{
    return memmem(text, len, word, strlen(word)) != NULL;
}

/* Times count from the first that is told: Unix times in ns come near the end of int64. */
static bool from_origin(struct kineto *k, int64_t *t0)
{
    if (k->origin == INT64_MIN)
        k->origin = *t0;
    return !__builtin_sub_overflow(*t0, k->origin, t0) &&
           *t0<TRACE_TIME_MAX && * t0> - TRACE_TIME_MAX;
}

/* Microseconds as decimal text, to ns. False: skipped and counted. */
static bool times(struct kineto *k, const struct kineto_event_in *ev, int64_t *t0, int64_t *ns)
{
    const char *reason = NULL;
    if (!ev->has_ts)
        reason = "events without a time";
    else if (!ev->has_dur)
        reason = "events without a duration";
    else if (!scan_decimal(kineto_text(k, ev->ts), ev->ts.len, 3, t0) || !from_origin(k, t0))
        reason = "events with an impossible time";
    else if (!scan_decimal(kineto_text(k, ev->dur), ev->dur.len, 3, ns) || *ns > TRACE_NS_MAX)
        reason = "events with an impossible duration";
    else if (*ns < 0)
        reason = "events with a negative duration";
    if (reason)
        sink_skip(k->sink, reason, 1);
    return !reason;
}

/* Eight bytes at a time; what is beyond the text in memory is masked off. */
static uint64_t hash_of(const char *text, size_t len)
{
    uint64_t h = len * UINT64_C(0x9e3779b97f4a7c15) + 1, word;
    for (; len >= 8; text += 8, len -= 8) {
        memcpy(&word, text, 8);
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, text, len);
    h = (h ^ word) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (h ^ h >> 29) | 1;
}

enum known { KNOWN_OPERATOR = 1, KNOWN_KERNEL = 2, KNOWN_COPY = 4, KNOWN_CALL = 8 };

/* Names are long, few and repeated. What was found out of one stays in its slot, until another takes it. */
static struct kineto_name *remembered(struct kineto *k, struct kineto_piece p, enum known what,
                                      bool *known)
{
    uint64_t key = hash_of(kineto_text(k, p), p.len);
    struct kineto_name *n = &k->names[key >> 8 & (KINETO_NAMES - 1)];
    if (n->key != key)
        *n = (struct kineto_name){.key = key};
    *known = n->known & what;
    n->known |= (uint8_t)what;
    return n;
}

static bool is_comm(struct kineto *k, const struct kineto_event_in *ev)
{
    bool known;
    char name[257];
    struct kineto_name *n = remembered(k, ev->name, KNOWN_KERNEL, &known);
    if (!known) { /* the class looks at the first bytes only */
        size_t len = ev->name.len < sizeof(name) - 1 ? ev->name.len : sizeof(name) - 1;
        memcpy(name, kineto_text(k, ev->name), len);
        name[len] = '\0';
        n->comm = kernel_is_comm(name);
    }
    return n->comm;
}

static bool add_collective(struct kineto *k, const struct kineto_event_in *ev, int64_t ns)
{
    char name[64], kernel[257], dtype[32], words[128];
    scan_text(kineto_text(k, ev->collective), ev->collective.len, name, sizeof(name));
    scan_text(kineto_text(k, ev->name), ev->name.len, kernel, sizeof(kernel));
    scan_text(kineto_text(k, ev->dtype), ev->dtype.len, dtype, sizeof(dtype));
    collective_name(name, kernel, dtype, ev->group, words, sizeof(words));
    int64_t elements = ev->elements_in > ev->elements_out ? ev->elements_in : ev->elements_out;
    return collectives_add(&k->collectives, words, dtype, elements, ns);
}

/* Who takes part, for the ledger's rows; 0: the trace does not tell. */
static uint32_t group_of(struct kineto *k, const struct kineto_event_in *ev)
{
    char ranks[512], name[64], words[64], text[160];
    scan_text(kineto_text(k, ev->ranks), ev->ranks.len, ranks, sizeof(ranks));
    scan_text(kineto_text(k, ev->group_name), ev->group_name.len, name, sizeof(name));
    scan_text(kineto_text(k, ev->group_words), ev->group_words.len, words, sizeof(words));
    collective_group(ranks, ev->group, name, words, text, sizeof(text));
    if (!*text)
        return 0;
    uint32_t number = intern_put_most(&k->groups, text, KINETO_GROUPS, "other groups of ranks");
    return sink_resource(k->sink, intern_text(&k->groups, number));
}

/* "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pinned)", AMD "CopyHostToDevice", Intel
 * "zeCommandListAppendMemoryCopy(M2D)". */
static void describe_copy(struct kineto *k, const struct kineto_event_in *ev, struct trace_span *s)
{
    const char *name = kineto_text(k, ev->name);
    size_t len = ev->name.len;
    bool known;
    struct kineto_name *n = remembered(k, ev->name, KNOWN_COPY, &known);
    if (!known) {
        n->host_copy = contains(name, len, "HtoD") || contains(name, len, "DtoH") ||
                       contains(name, len, "HostToDevice") || contains(name, len, "DeviceToHost") ||
                       contains(name, len, "(M2D)") || contains(name, len, "(D2M)");
        n->pageable = n->host_copy && contains(name, len, "Pageable");
    }
    s->host_copy = n->host_copy;
    s->pageable = n->pageable;
    s->bytes = ev->bytes > 0 ? (uint64_t)ev->bytes : 0;
}

static bool take_span(struct kineto *k, const struct kineto_event_in *ev, int64_t t0, int64_t ns)
{
    int64_t device = ev->has_device ? ev->device : ev->pid;
    struct trace_span s = {.t0 = t0,
                           .ns = ns,
                           .correlation = (uint32_t)ev->correlation,
                           .device = (uint32_t)device,
                           .stream = (uint32_t)ev->stream,
                           .kind = SPAN_COMPUTE};
    if (device < 0 || device >= SINK_DEVICES) {
        sink_skip(k->sink, "events of a device beyond the 64th", 1);
        return true;
    }
    if (ev->category == KINETO_MEMCPY) {
        s.kind = SPAN_COPY;
        describe_copy(k, ev, &s);
    } else if (ev->category == KINETO_MEMSET) {
        s.kind = SPAN_MEMSET;
    } else if (is_comm(k, ev)) {
        s.kind = SPAN_COMM;
        s.resource = group_of(k, ev);
        if (!add_collective(k, ev, ns))
            return false;
    }
    trace_span(k->trace, &s);
    return true;
}

/* A number for an operator's name; 0 once there are more than any framework has. */
static uint32_t name_of(struct kineto *k, struct kineto_piece p)
{
    char text[96];
    bool known;
    struct kineto_name *n = remembered(k, p, KNOWN_OPERATOR, &known);
    if (!known && k->operators < KINETO_OPERATORS) {
        scan_text(kineto_text(k, p), p.len, text, sizeof(text));
        uint32_t before = k->last_operator;
        n->resource = sink_resource(k->sink, text);
        if (n->resource > before) {
            k->last_operator = n->resource;
            k->operators++;
        }
    }
    return n->resource;
}

static uint32_t call_of(struct kineto *k, struct kineto_piece p)
{
    bool known;
    struct kineto_name *n = remembered(k, p, KNOWN_CALL, &known);
    if (!known)
        n->call = trace_call_name(k->trace, kineto_text(k, p), p.len);
    return n->call;
}

static bool begins(const struct kineto *k, const struct kineto_event_in *ev, const char *prefix)
{
    size_t n = strlen(prefix);
    return ev->name.len >= n && !memcmp(kineto_text(k, ev->name), prefix, n);
}

static void take_loader(struct kineto *k, const struct kineto_event_in *ev, uint32_t thread,
                        int64_t t0, int64_t ns)
{
    const char *name = kineto_text(k, ev->name);
    if (!begins(k, ev, TRACE_LOADER))
        return;
    bool workers = contains(name, ev->name.len, "MultiProcessing");
    k->single_loader |= !workers;
    trace_range(k->trace, thread, CAUSE_PREPARE, trace_loader(k->trace, workers), t0, ns);
}

/* Traces of 2021 call annotations operators: ranges around many of them that tell of no work themselves. */
static bool is_annotation(const struct kineto *k, const struct kineto_event_in *ev)
{
    static const char *const prefixes[] = {
        "ProfilerStep#", "Optimizer.", "## ", "nccl:", "DistributedDataParallel.", "enumerate("};
    if (ev->category == KINETO_ANNOTATION)
        return true;
    char c = ev->name.len ? *kineto_text(k, ev->name) : 0;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (c == *prefixes[i] && begins(k, ev, prefixes[i]))
            return true;
    return false;
}

static void take_thread_event(struct kineto *k, const struct kineto_event_in *ev, int64_t t0,
                              int64_t ns)
{
    uint32_t pid = (uint32_t)ev->pid, tid = (uint32_t)ev->tid;
    uint32_t thread = trace_thread(k->trace, pid ? pid : 1, tid ? tid : 1);
    k->cpu_events++;
    if (thread == TRACE_THREADS_MAX) {
        sink_skip(k->sink, "events of threads beyond the 4096th", 1);
    } else if (ev->category == KINETO_RUNTIME) {
        trace_call(k->trace, thread, call_of(k, ev->name), t0, ns, (uint32_t)ev->correlation);
    } else if (is_annotation(k, ev)) {
        take_loader(k, ev, thread, t0, ns);
        k->steps += begins(k, ev, "ProfilerStep#");
    } else {
        trace_code(k->trace, thread, name_of(k, ev->name), t0, ns);
    }
}

/* Of the functions on the stack only those count that wait; what they are called from is around operators. */
static bool take_python(struct kineto *k, const struct kineto_event_in *ev)
{
    int64_t t0, ns;
    const struct python_call *c = python_call_of(kineto_text(k, ev->name), ev->name.len);
    if (!c || !times(k, ev, &t0, &ns))
        return true;
    uint32_t thread =
        trace_thread(k->trace, ev->pid ? (uint32_t)ev->pid : 1, ev->tid ? (uint32_t)ev->tid : 1);
    if (thread < TRACE_THREADS_MAX)
        trace_call(k->trace, thread, trace_system_call(k->trace, c->text, c->cause), t0, ns, 0);
    return true;
}

/* Kineto names devices' "processes" too; those have numbers that no process has for long. */
static void take_process_name(struct kineto *k, const struct kineto_event_in *ev)
{
    char name[64], text[96];
    if (!begins(k, ev, "process_name") || ev->pid <= SINK_DEVICES || ev->pid > UINT32_MAX ||
        !ev->argument.len)
        return;
    scan_text(kineto_text(k, ev->argument), ev->argument.len, name, sizeof(name));
    snprintf(text, sizeof(text), "%s (%lld)", name, (long long)ev->pid);
    sink_workload(k->sink, (uint32_t)ev->pid, text);
}

/* From a call to what it asked of a device: needed only where no correlations are told. */
static void take_flow(struct kineto *k, const struct kineto_event_in *ev)
{
    int64_t t0;
    if (ev->category != KINETO_FLOW || !ev->has_ts || ev->flow <= 0 ||
        !scan_decimal(kineto_text(k, ev->ts), ev->ts.len, 3, &t0) || !from_origin(k, &t0))
        return;
    if (ev->phase == 'f' && ev->pid >= 0 && ev->pid < SINK_DEVICES)
        trace_flow_end(k->trace, (uint64_t)ev->flow, (uint32_t)ev->pid, t0);
    if (ev->phase == 's')
        trace_flow_begin(k->trace, (uint64_t)ev->flow,
                         trace_thread(k->trace, ev->pid ? (uint32_t)ev->pid : 1,
                                      ev->tid ? (uint32_t)ev->tid : 1),
                         t0);
}

/* Phases of the Trace Event Format; complete events (X) are all that Kineto uses for what took time. */
static bool phase_known(char c)
{
    return c && strchr("XMiIstfCbneNODPRcBEaTSpFv(){}", c);
}

bool kineto_take(struct kineto *k, const struct kineto_event_in *ev)
{
    int64_t t0 = 0, ns = 0;
    if (ev->phase != 'X' && !phase_known(ev->phase))
        sink_skip(k->sink, ev->phase ? "events of an unknown phase" : "events without a phase", 1);
    if (ev->phase == 'B' || ev->phase == 'E')
        sink_skip(k->sink, "begin and end events", 1);
    if (ev->phase == 'M')
        take_process_name(k, ev);
    if (ev->phase == 's' || ev->phase == 'f')
        take_flow(k, ev);
    if (ev->phase == 'X' && ev->category == KINETO_PYTHON)
        return take_python(k, ev);
    k->other_device_events += ev->category == KINETO_OTHER_DEVICE;
    if (ev->phase != 'X' || ev->category == KINETO_OTHER || ev->category > KINETO_ANNOTATION)
        return true;
    if (!times(k, ev, &t0, &ns))
        return true;
    if (ev->category <= KINETO_MEMSET)
        return take_span(k, ev, t0, ns);
    take_thread_event(k, ev, t0, ns);
    return true;
}
