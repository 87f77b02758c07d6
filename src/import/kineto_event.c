/* SPDX-License-Identifier: MIT */
#include "import/kineto.h"

#include "base/unit.h"
#include "import/python_call.h"
#include "probe/kernel_class.h"

#include <stdio.h>
#include <string.h>

/* What of an event matters, by its category. */
enum category { OTHER, KERNEL, MEMCPY, MEMSET, RUNTIME, CODE, ANNOTATION, FLOW, OTHER_DEVICE, PYTHON };

/* A text of the event: offset from scan.pin. */
struct piece {
    uint32_t at, len;
};

struct event_in {
    char phase; /* 0: none told */
    enum category category;
    struct piece name, ts, dur;
    struct piece collective, dtype, argument; /* args: "name" */
    struct piece ranks, group_name, group_words;
    bool has_ts, has_dur;
    int64_t pid, tid, device, stream, correlation, bytes;
    int64_t elements_in, elements_out, group, flow;
    bool has_device;
};

/* ---- words ---- */

/* Capitals count as small letters. */
static bool word_is(const struct scan *s, const char *word)
{
    for (size_t i = 0; i < s->len; i++) {
        char c = s->text[i];
        if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != word[i])
            return false;
    }
    return true;
}

/* Spellings of 2021 ("Kernel", "Runtime", "Operator") and since; of NVIDIA, AMD and Intel. */
static enum category category_of(const struct scan *s)
{
#define ROW(name, category) {name, sizeof(name) - 1, category}
    static const struct {
        const char *name;
        size_t len;
        enum category category;
    } rows[] = {ROW("cpu_op", CODE), ROW("kernel", KERNEL), ROW("cuda_runtime", RUNTIME),
                ROW("user_annotation", ANNOTATION), ROW("operator", CODE), ROW("runtime", RUNTIME),
                ROW("gpu_memcpy", MEMCPY), ROW("gpu_memset", MEMSET), ROW("memcpy", MEMCPY),
                ROW("memset", MEMSET), ROW("cuda_driver", RUNTIME), ROW("hip_runtime", RUNTIME),
                ROW("xpu_runtime", RUNTIME), ROW("xpu_driver", RUNTIME), ROW("ac2g", FLOW),
                ROW("async_cpu_to_gpu", FLOW), ROW("async", FLOW), ROW("python_function", PYTHON),
                /* libkineto's ActivityType.cpp: Gaudi, MTIA, Glow, and back ends outside of PyTorch */
                ROW("hpu_op", OTHER_DEVICE), ROW("mtia_runtime", OTHER_DEVICE),
                ROW("mtia_ccp_events", OTHER_DEVICE), ROW("glow_runtime", OTHER_DEVICE),
                ROW("privateuse1_runtime", OTHER_DEVICE), ROW("privateuse1_driver", OTHER_DEVICE)};
#undef ROW
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].len == s->len && word_is(s, rows[i].name))
            return rows[i].category;
    return OTHER;
}

static struct piece piece_of(const struct scan *s)
{
    return (struct piece){(uint32_t)(s->text - s->pin), (uint32_t)s->len};
}

/* Numbers, and numbers in quotes ("25738", "thread 7"): 0 where there is none. */
static int64_t integer(const struct scan *s, enum scan_token t)
{
    const char *p = s->text;
    size_t n = s->len;
    int64_t v;
    if (t != SCAN_NUMBER && t != SCAN_STRING)
        return 0;
    if (t == SCAN_STRING)
        while (n && (*p < '0' || *p > '9') && *p != '-') {
            p++;
            n--;
        }
    return n && scan_decimal(p, n, 0, &v) ? v : 0;
}

/* ---- reading one ---- */

/* A value that should be a text or number; others are taken whole. */
static enum scan_token take_scalar(struct scan *s)
{
    enum scan_token t = scan_next(s);
    if ((t == SCAN_OBJECT || t == SCAN_ARRAY) && !scan_skip_rest(s))
        return SCAN_ERROR;
    return t;
}

#define KEY(literal) (s->len == sizeof(literal) - 1 && !memcmp(s->text, literal, sizeof(literal) - 1))

/* Which of the event's numbers an argument is; NULL: none. */
static int64_t *number_of(const struct scan *s, struct event_in *ev)
{
    if (KEY("correlation"))
        return &ev->correlation;
    if (KEY("device")) {
        ev->has_device = true;
        return &ev->device;
    }
    if (KEY("stream"))
        return &ev->stream;
    if (KEY("bytes"))
        return &ev->bytes;
    if (KEY("In msg nelems"))
        return &ev->elements_in;
    if (KEY("Out msg nelems"))
        return &ev->elements_out;
    if (KEY("Group size"))
        return &ev->group;
    return NULL;
}

static struct piece *text_of(const struct scan *s, struct event_in *ev)
{
    if (KEY("Collective name"))
        return &ev->collective;
    if (KEY("dtype"))
        return &ev->dtype;
    if (KEY("Process Group Name"))
        return &ev->group_name;
    if (KEY("Process Group Description"))
        return &ev->group_words;
    return KEY("name") ? &ev->argument : NULL;
}

/* "[0, 1, ...]" as a text, or the array itself: what stands between its brackets. */
static bool take_ranks(struct scan *s, struct event_in *ev)
{
    enum scan_token t = scan_next(s);
    if (t == SCAN_STRING)
        ev->ranks = piece_of(s);
    if (t == SCAN_ARRAY) {
        size_t at = (size_t)(s->at - s->pin);
        if (!scan_skip_rest(s))
            return false;
        ev->ranks = (struct piece){(uint32_t)at, (uint32_t)((size_t)(s->at - s->pin) - at)};
    }
    return t != SCAN_ERROR && (t != SCAN_OBJECT || scan_skip_rest(s));
}

static bool take_args(struct kineto *k, struct event_in *ev)
{
    struct scan *s = &k->scan;
    enum scan_token t = scan_next(s);
    if (t != SCAN_OBJECT)
        return t != SCAN_ERROR && (t != SCAN_ARRAY || scan_skip_rest(s));
    while ((t = scan_next(s)) == SCAN_KEY) {
        if (KEY("Process Group Ranks")) {
            if (!take_ranks(s, ev))
                return false;
            continue;
        }
        k->external_ids += KEY("External id") || KEY("external id");
        int64_t *number = number_of(s, ev);
        struct piece *text = number ? NULL : text_of(s, ev);
        if (!number && !text) {
            if (!scan_skip(s))
                return false;
            continue;
        }
        if ((t = take_scalar(s)) == SCAN_ERROR)
            return false;
        if (number)
            *number = integer(s, t);
        else if (t == SCAN_STRING)
            *text = piece_of(s);
    }
    return t == SCAN_OBJECT_END;
}

/* Arguments of what is not looked at are checked and skipped. Where the category comes last, all are read. */
static bool wants_args(const struct event_in *ev)
{
    return ev->category >= KERNEL && ev->category <= RUNTIME;
}

static bool take_field(struct kineto *k, struct event_in *ev, bool *category_told)
{
    struct scan *s = &k->scan;
    if (KEY("args"))
        return *category_told && !wants_args(ev) ? scan_skip(s) : take_args(k, ev);
    char c = s->len >= 2 ? s->text[0] : 0;
    bool ph = KEY("ph"), cat = KEY("cat"), name = KEY("name"), ts = KEY("ts"), dur = KEY("dur");
    bool pid = c == 'p' && KEY("pid"), tid = KEY("tid"), id = KEY("id");
    enum scan_token t = take_scalar(s);
    if (ph && t == SCAN_STRING && s->len == 1) {
        ev->phase = s->text[0];
    } else if (cat && t == SCAN_STRING) {
        ev->category = category_of(s);
        *category_told = true;
    } else if (name && t == SCAN_STRING) {
        ev->name = piece_of(s);
    } else if (ts && (t == SCAN_NUMBER || t == SCAN_STRING)) {
        ev->ts = piece_of(s);
        ev->has_ts = true;
    } else if (dur && (t == SCAN_NUMBER || t == SCAN_STRING)) {
        ev->dur = piece_of(s);
        ev->has_dur = true;
    } else if (pid) {
        ev->pid = integer(s, t);
    } else if (tid) {
        ev->tid = integer(s, t);
    } else if (id) {
        ev->flow = integer(s, t);
    }
    return t != SCAN_ERROR;
}

/* ---- what it means ---- */

static const char *text_at(const struct kineto *k, struct piece p)
{
    return k->scan.pin + p.at;
}

static bool contains(const char *text, size_t len, const char *word)
{
    return memmem(text, len, word, strlen(word)) != NULL;
}

/* Times count from the first that is told: Unix times in ns come near the end of int64. */
static bool from_origin(struct kineto *k, int64_t *t0)
{
    if (k->origin == INT64_MIN)
        k->origin = *t0;
    return !__builtin_sub_overflow(*t0, k->origin, t0) && *t0 < TRACE_TIME_MAX && *t0 > -TRACE_TIME_MAX;
}

/* Microseconds as decimal text, to ns. False: skipped and counted. */
static bool times(struct kineto *k, const struct event_in *ev, int64_t *t0, int64_t *ns)
{
    const char *reason = NULL;
    if (!ev->has_ts)
        reason = "events without a time";
    else if (!ev->has_dur)
        reason = "events without a duration";
    else if (!scan_decimal(text_at(k, ev->ts), ev->ts.len, 3, t0) || !from_origin(k, t0))
        reason = "events with an impossible time";
    else if (!scan_decimal(text_at(k, ev->dur), ev->dur.len, 3, ns) || *ns > TRACE_NS_MAX)
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
static struct kineto_name *remembered(struct kineto *k, struct piece p, enum known what, bool *known)
{
    uint64_t key = hash_of(text_at(k, p), p.len);
    struct kineto_name *n = &k->names[key >> 8 & (KINETO_NAMES - 1)];
    if (n->key != key)
        *n = (struct kineto_name){.key = key};
    *known = n->known & what;
    n->known |= (uint8_t)what;
    return n;
}

static bool is_comm(struct kineto *k, const struct event_in *ev)
{
    bool known;
    char name[257];
    struct kineto_name *n = remembered(k, ev->name, KNOWN_KERNEL, &known);
    if (!known) { /* the class looks at the first bytes only */
        size_t len = ev->name.len < sizeof(name) - 1 ? ev->name.len : sizeof(name) - 1;
        memcpy(name, text_at(k, ev->name), len);
        name[len] = '\0';
        n->comm = kernel_is_comm(name);
    }
    return n->comm;
}

static bool add_collective(struct kineto *k, const struct event_in *ev, int64_t ns)
{
    char name[64], kernel[257], dtype[32], words[128];
    scan_text(text_at(k, ev->collective), ev->collective.len, name, sizeof(name));
    scan_text(text_at(k, ev->name), ev->name.len, kernel, sizeof(kernel));
    scan_text(text_at(k, ev->dtype), ev->dtype.len, dtype, sizeof(dtype));
    collective_name(name, kernel, dtype, ev->group, words, sizeof(words));
    int64_t elements = ev->elements_in > ev->elements_out ? ev->elements_in : ev->elements_out;
    return collectives_add(&k->collectives, words, dtype, elements, ns);
}

/* Who takes part, for the ledger's rows; 0: the trace does not tell. */
static uint32_t group_of(struct kineto *k, const struct event_in *ev)
{
    char ranks[512], name[64], words[64], text[160];
    scan_text(text_at(k, ev->ranks), ev->ranks.len, ranks, sizeof(ranks));
    scan_text(text_at(k, ev->group_name), ev->group_name.len, name, sizeof(name));
    scan_text(text_at(k, ev->group_words), ev->group_words.len, words, sizeof(words));
    collective_group(ranks, ev->group, name, words, text, sizeof(text));
    if (!*text)
        return 0;
    uint32_t number = intern_put_most(&k->groups, text, KINETO_GROUPS, "other groups of ranks");
    return sink_resource(k->sink, intern_text(&k->groups, number));
}

/* "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pinned)", AMD "CopyHostToDevice", Intel
 * "zeCommandListAppendMemoryCopy(M2D)". */
static void describe_copy(struct kineto *k, const struct event_in *ev, struct trace_span *s)
{
    const char *name = text_at(k, ev->name);
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

static bool take_span(struct kineto *k, const struct event_in *ev, int64_t t0, int64_t ns)
{
    int64_t device = ev->has_device ? ev->device : ev->pid;
    struct trace_span s = {.t0 = t0, .ns = ns, .correlation = (uint32_t)ev->correlation,
                           .device = (uint32_t)device, .stream = (uint32_t)ev->stream, .kind = SPAN_COMPUTE};
    if (device < 0 || device >= SINK_DEVICES) {
        sink_skip(k->sink, "events of a device beyond the 64th", 1);
        return true;
    }
    if (ev->category == MEMCPY) {
        s.kind = SPAN_COPY;
        describe_copy(k, ev, &s);
    } else if (ev->category == MEMSET) {
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
static uint32_t name_of(struct kineto *k, struct piece p)
{
    char text[96];
    bool known;
    struct kineto_name *n = remembered(k, p, KNOWN_OPERATOR, &known);
    if (!known && k->operators < KINETO_OPERATORS) {
        scan_text(text_at(k, p), p.len, text, sizeof(text));
        uint32_t before = k->last_operator;
        n->resource = sink_resource(k->sink, text);
        if (n->resource > before) {
            k->last_operator = n->resource;
            k->operators++;
        }
    }
    return n->resource;
}

static uint32_t call_of(struct kineto *k, struct piece p)
{
    bool known;
    struct kineto_name *n = remembered(k, p, KNOWN_CALL, &known);
    if (!known)
        n->call = trace_call_name(k->trace, text_at(k, p), p.len);
    return n->call;
}

static bool begins(const struct kineto *k, const struct event_in *ev, const char *prefix)
{
    size_t n = strlen(prefix);
    return ev->name.len >= n && !memcmp(text_at(k, ev->name), prefix, n);
}

static void take_loader(struct kineto *k, const struct event_in *ev, uint32_t thread, int64_t t0,
                        int64_t ns)
{
    const char *name = text_at(k, ev->name);
    if (!begins(k, ev, TRACE_LOADER))
        return;
    bool workers = contains(name, ev->name.len, "MultiProcessing");
    k->single_loader |= !workers;
    trace_range(k->trace, thread, CAUSE_PREPARE, trace_loader(k->trace, workers), t0, ns);
}

/* Traces of 2021 call annotations operators: ranges around many of them that tell of no work themselves. */
static bool is_annotation(const struct kineto *k, const struct event_in *ev)
{
    static const char *const prefixes[] = {"ProfilerStep#", "Optimizer.", "## ", "nccl:",
                                           "DistributedDataParallel.", "enumerate("};
    if (ev->category == ANNOTATION)
        return true;
    char c = ev->name.len ? *text_at(k, ev->name) : 0;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (c == *prefixes[i] && begins(k, ev, prefixes[i]))
            return true;
    return false;
}

static void take_thread_event(struct kineto *k, const struct event_in *ev, int64_t t0, int64_t ns)
{
    uint32_t pid = (uint32_t)ev->pid, tid = (uint32_t)ev->tid;
    uint32_t thread = trace_thread(k->trace, pid ? pid : 1, tid ? tid : 1);
    k->cpu_events++;
    if (thread == TRACE_THREADS_MAX) {
        sink_skip(k->sink, "events of threads beyond the 4096th", 1);
    } else if (ev->category == RUNTIME) {
        trace_call(k->trace, thread, call_of(k, ev->name), t0, ns, (uint32_t)ev->correlation);
    } else if (is_annotation(k, ev)) {
        take_loader(k, ev, thread, t0, ns);
        k->steps += begins(k, ev, "ProfilerStep#");
    } else {
        trace_code(k->trace, thread, name_of(k, ev->name), t0, ns);
    }
}

/* Of the functions on the stack only those count that wait; what they are called from is around operators. */
static bool take_python(struct kineto *k, const struct event_in *ev)
{
    int64_t t0, ns;
    const struct python_call *c = python_call_of(text_at(k, ev->name), ev->name.len);
    if (!c || !times(k, ev, &t0, &ns))
        return true;
    uint32_t thread = trace_thread(k->trace, ev->pid ? (uint32_t)ev->pid : 1, ev->tid ? (uint32_t)ev->tid : 1);
    if (thread < TRACE_THREADS_MAX)
        trace_call(k->trace, thread, trace_system_call(k->trace, c->text, c->cause), t0, ns, 0);
    return true;
}

/* Kineto names devices' "processes" too; those have numbers that no process has for long. */
static void take_process_name(struct kineto *k, const struct event_in *ev)
{
    char name[64], text[96];
    if (!begins(k, ev, "process_name") || ev->pid <= SINK_DEVICES || ev->pid > UINT32_MAX ||
        !ev->argument.len)
        return;
    scan_text(text_at(k, ev->argument), ev->argument.len, name, sizeof(name));
    snprintf(text, sizeof(text), "%s (%lld)", name, (long long)ev->pid);
    sink_workload(k->sink, (uint32_t)ev->pid, text);
}

/* From a call to what it asked of a device: needed only where no correlations are told. */
static void take_flow(struct kineto *k, const struct event_in *ev)
{
    int64_t t0;
    if (ev->category != FLOW || !ev->has_ts || ev->flow <= 0 ||
        !scan_decimal(text_at(k, ev->ts), ev->ts.len, 3, &t0) || !from_origin(k, &t0))
        return;
    if (ev->phase == 'f' && ev->pid >= 0 && ev->pid < SINK_DEVICES)
        trace_flow_end(k->trace, (uint64_t)ev->flow, (uint32_t)ev->pid, t0);
    if (ev->phase == 's')
        trace_flow_begin(k->trace, (uint64_t)ev->flow,
                         trace_thread(k->trace, ev->pid ? (uint32_t)ev->pid : 1, ev->tid ? (uint32_t)ev->tid : 1), t0);
}

/* Phases of the Trace Event Format; complete events (X) are all that Kineto uses for what took time. */
static bool phase_known(char c)
{
    return c && strchr("XMiIstfCbneNODPRcBEaTSpFv(){}", c);
}

static bool interpret(struct kineto *k, const struct event_in *ev)
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
    if (ev->phase == 'X' && ev->category == PYTHON)
        return take_python(k, ev);
    k->other_device_events += ev->category == OTHER_DEVICE;
    if (ev->phase != 'X' || ev->category == OTHER || ev->category > ANNOTATION)
        return true;
    if (!times(k, ev, &t0, &ns))
        return true;
    if (ev->category <= MEMSET)
        return take_span(k, ev, t0, ns);
    take_thread_event(k, ev, t0, ns);
    return true;
}

/* Flows, instants and ranges that are not looked at: most of a trace with stacks. */
static bool is_nothing(const struct kineto *k, const struct event_in *ev, bool category_told)
{
    if ((ev->phase == 's' || ev->phase == 'f') && trace_wants_flows(k->trace))
        return false;
    if (ev->phase == 'X' && ev->category == PYTHON && ev->name.len)
        return !python_call_of(text_at(k, ev->name), ev->name.len);
    return ev->phase && ev->phase != 'M' && (ev->phase != 'X' || (category_told && ev->category == OTHER));
}

bool kineto_event(struct kineto *k)
{
    struct scan *s = &k->scan;
    struct event_in ev = {.category = OTHER};
    bool category_told = false;
    enum scan_token t;
    scan_pin(s);
    while ((t = scan_next(s)) == SCAN_KEY) {
        if (!take_field(k, &ev, &category_told))
            return false;
        if (is_nothing(k, &ev, category_told)) {
            scan_unpin(s);
            ev.category = OTHER; /* its texts are gone */
            t = scan_skip_rest(s) ? SCAN_OBJECT_END : SCAN_ERROR;
            break;
        }
    }
    bool ok = t == SCAN_OBJECT_END && interpret(k, &ev);
    if (!ok && !s->error->status)
        error_set(s->error, STATUS_MEMORY, "\"%s\": out of memory", source_path(s->source));
    scan_unpin(s);
    return ok;
}
