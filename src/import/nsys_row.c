/* SPDX-License-Identifier: MIT */
#include "import/nsys.h"

#include "base/unit.h"
#include "import/os_call.h"
#include "probe/kernel_class.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define CACHE_MAX 100000u /* texts remembered by id; a job uses some thousands */
#define RANGES_MAX 10000u /* names of ranges that are kept apart */
#define PHASE_NS NS_PER_S /* a longer range is a phase of the job: naming it tells nothing */

/* Kinds of copies and of memory as CUPTI numbers the former and the exporter the latter
 * (ENUM_CUDA_MEMCPY_OPER, ENUM_CUDA_MEM_KIND). */
enum { HTOD = 1, DTOH = 2, HTOA = 3, ATOH = 4, UVM_HTOD = 11, UVM_DTOH = 12 };
enum { MEMORY_PAGEABLE = 0 };

static void remember(struct nsys *n, struct map *m, int64_t id, uint64_t value)
{
    if (m->count >= CACHE_MAX)
        map_clear(m);
    nsys_put(n, m, (uint64_t)id, value);
}

/* ---- what ran on a device ---- */

/* What all activity has: false when the row cannot be used. */
static bool span_of(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns,
                    enum span_kind kind, struct trace_span *ret)
{
    int64_t device, value;
    uint64_t mapped;
    *ret = (struct trace_span){.t0 = t0, .ns = ns, .kind = (uint8_t)kind};
    if (!nsys_integer(n, t, NSYS_DEVICE, &device)) {
        sink_skip(n->sink, "activities without a device", 1);
        return false;
    }
    if (nsys_integer(n, t, NSYS_PID, &value))
        ret->pid = nsys_pid(value);
    if (map_get(&n->devices, (uint64_t)ret->pid << 32 | (uint32_t)device, &mapped))
        device = (int64_t)mapped;
    if (device < 0 || device >= SINK_DEVICES) {
        sink_skip(n->sink, "activities of a device beyond the 64th", 1);
        return false;
    }
    ret->device = (uint32_t)device;
    if (nsys_integer(n, t, NSYS_STREAM, &value))
        ret->stream = (uint32_t)value;
    if (nsys_integer(n, t, NSYS_CORRELATION, &value))
        ret->correlation = (uint32_t)value;
    return true;
}

/* Names are ids of texts, or texts in exports that others made. */
static const char *kernel_name(struct nsys *n, const struct nsys_table *t)
{
    const char *name = nsys_text_at(n, t, NSYS_SHORT_NAME, NSYS_SHORT_NAME);
    return *name ? name : nsys_text_at(n, t, NSYS_DEMANGLED_NAME, NSYS_DEMANGLED_NAME);
}

static bool has_id(struct nsys *n, const struct nsys_table *t, enum nsys_column c, int64_t *id)
{
    return !nsys_string(t, c) && nsys_integer(n, t, c, id);
}

static bool is_comm(struct nsys *n, const struct nsys_table *t)
{
    int64_t id;
    uint64_t known;
    bool by_id = has_id(n, t, NSYS_SHORT_NAME, &id) || has_id(n, t, NSYS_DEMANGLED_NAME, &id);
    if (by_id && map_get(&n->kernel_of, (uint64_t)id, &known))
        return known;
    bool comm = kernel_is_comm(kernel_name(n, t));
    if (by_id)
        remember(n, &n->kernel_of, id, comm);
    return comm;
}

static void add_collective(struct nsys *n, const struct nsys_table *t, int64_t ns)
{
    char words[128];
    collective_name("", kernel_name(n, t), "", 0, words, sizeof(words));
    if (!collectives_add(&n->collectives, words, "", -1, ns))
        nsys_no_memory(n);
}

void nsys_take_kernel(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns)
{
    struct trace_span s;
    if (!span_of(n, t, t0, ns, is_comm(n, t) ? SPAN_COMM : SPAN_COMPUTE, &s))
        return;
    if (s.kind == SPAN_COMM)
        add_collective(n, t, ns);
    trace_span(n->trace, &s);
}

void nsys_take_graph(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns)
{
    struct trace_span s;
    if (!span_of(n, t, t0, ns, SPAN_COMPUTE, &s))
        return;
    n->graphs++;
    trace_span(n->trace, &s);
}

static bool is_pageable(struct nsys *n, const struct nsys_table *t, enum nsys_column c)
{
    int64_t kind;
    uint64_t pageable;
    if (!nsys_integer(n, t, c, &kind))
        return false;
    if (n->pageable.count)
        return map_get(&n->pageable, (uint64_t)kind, &pageable);
    return kind == MEMORY_PAGEABLE;
}

void nsys_take_copy(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns)
{
    struct trace_span s;
    int64_t kind = 0, bytes = 0;
    if (!span_of(n, t, t0, ns, SPAN_COPY, &s))
        return;
    nsys_integer(n, t, NSYS_COPY_KIND, &kind);
    if (nsys_integer(n, t, NSYS_BYTES, &bytes) && bytes > 0)
        s.bytes = (uint64_t)bytes;
    bool to = kind == HTOD || kind == HTOA, from = kind == DTOH || kind == ATOH;
    s.host_copy = to || from || kind == UVM_HTOD || kind == UVM_DTOH;
    s.pageable = (to && is_pageable(n, t, NSYS_FROM)) || (from && is_pageable(n, t, NSYS_TO));
    trace_span(n->trace, &s);
}

void nsys_take_memset(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns)
{
    struct trace_span s;
    if (span_of(n, t, t0, ns, SPAN_MEMSET, &s))
        trace_span(n->trace, &s);
}

/* ---- what threads did ---- */

/* Only threads that call the runtime explain anything; `add`: this row is such a call. */
static bool thread_of(struct nsys *n, const struct nsys_table *t, bool add, uint32_t *ret)
{
    int64_t global = 0;
    uint64_t known;
    n->host_rows++;
    bool told = nsys_integer(n, t, NSYS_TID, &global);
    if (map_get(&n->threads, (uint64_t)global, &known)) {
        *ret = (uint32_t)known;
        return true;
    }
    if (!add)
        return false;
    uint32_t pid = told ? nsys_pid(global) : 1, tid = told ? nsys_tid(global) : 1;
    *ret = trace_thread(n->trace, pid, tid);
    if (*ret == TRACE_THREADS_MAX) {
        sink_skip(n->sink, "calls of threads beyond the 4096th", 1);
        return false;
    }
    remember(n, &n->processes, pid, 1);
    remember(n, &n->threads, global, *ret);
    return true;
}

/* "cudaLaunchKernel_v7000": the version of the interface that was called is no part of the name. */
static size_t plain_length(const char *name)
{
    size_t n = strlen(name), at = n;
    while (at && isdigit((unsigned char)name[at - 1]))
        at--;
    return at >= 2 && at < n && name[at - 1] == 'v' && name[at - 2] == '_' ? at - 2 : n;
}

static uint32_t call_of(struct nsys *n, const struct nsys_table *t)
{
    /* Without a name any call may be the one that asked for an activity. */
    static const char unnamed[] = "Launch or another call (names were not recorded)";
    int64_t id;
    uint64_t known;
    bool by_id = has_id(n, t, NSYS_NAME, &id);
    if (by_id && map_get(&n->call_of, (uint64_t)id, &known))
        return (uint32_t)known;
    const char *name = nsys_text_at(n, t, NSYS_NAME, NSYS_NAME);
    if (!*name)
        name = unnamed;
    uint32_t call = trace_call_name(n->trace, name, plain_length(name));
    if (by_id)
        remember(n, &n->call_of, id, call);
    return call;
}

void nsys_take_call(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns)
{
    int64_t correlation = 0;
    uint32_t thread;
    if (!thread_of(n, t, true, &thread))
        return;
    nsys_integer(n, t, NSYS_CORRELATION, &correlation);
    trace_call(n->trace, thread, call_of(n, t), t0, ns, (uint32_t)correlation);
}

void nsys_take_os_call(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns)
{
    char text[64];
    int64_t id;
    uint32_t thread;
    uint64_t call;
    if (!thread_of(n, t, false, &thread))
        return;
    bool by_id = has_id(n, t, NSYS_NAME, &id);
    if (!by_id || !map_get(&n->os_call_of, (uint64_t)id, &call)) {
        const char *name = nsys_text_at(n, t, NSYS_NAME, NSYS_NAME);
        enum cause cause = os_call_cause(name);
        snprintf(text, sizeof(text), "%.48s()", *name ? name : "a system call");
        call = trace_system_call(n->trace, text, cause);
        if (by_id)
            remember(n, &n->os_call_of, id, call);
    }
    trace_call(n->trace, thread, (uint32_t)call, t0, ns, 0);
}

/* ---- ranges ---- */

enum range_kind {
    RANGE_CODE,
    RANGE_OPERATOR,
    RANGE_LOADER,
    RANGE_CHECKPOINT,
    RANGE_STEP,
    RANGE_NONE
};

/* Lower case without what people put between words. */
static void squeeze(const char *name, char *to, size_t size)
{
    size_t n = 0;
    for (; *name && n + 1 < size; name++)
        if (!strchr(" _-.:/", *name))
            to[n++] = (char)tolower((unsigned char)*name);
    to[n] = '\0';
}

static bool has_word(const char *text, const char *const *words)
{
    while (*words && !strstr(text, *words))
        words++;
    return *words;
}

static bool is_range_around(const char *name)
{
    static const char *const prefixes[] = {"Optimizer.", "## ",
                                           "nccl:", "DistributedDataParallel."};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

/* Names that people and frameworks give: torch.utils.data, Lightning, Megatron ("batch-generator"). */
static enum range_kind kind_of(const char *name, bool is_operator)
{
    static const char *const loads[] = {"dataload",  "loaddata",       "getbatch",
                                        "nextbatch", "fetchbatch",     "loadbatch",
                                        "fetchdata", "batchgenerator", NULL};
    static const char *const saves[] = {"savecheckpoint",
                                        "checkpointsave",
                                        "savingcheckpoint",
                                        "saveckpt",
                                        "ckptsave",
                                        "torchsave",
                                        NULL};
    char plain[96];
    if (is_operator || !strncmp(name, "aten::", 6))
        return RANGE_OPERATOR;
    squeeze(name, plain, sizeof(plain));
    if (!strncmp(name, TRACE_LOADER, strlen(TRACE_LOADER)) || has_word(plain, loads))
        return RANGE_LOADER;
    if (has_word(plain, saves))
        return RANGE_CHECKPOINT;
    if (!strncmp(name, "ProfilerStep#", 13))
        return RANGE_STEP;
    return is_range_around(name) ? RANGE_NONE : RANGE_CODE;
}

static uint32_t loader_resource(struct nsys *n, const char *name)
{
    char text[128];
    if (!strncmp(name, TRACE_LOADER, strlen(TRACE_LOADER))) {
        bool workers = strstr(name, "MultiProcessing");
        n->single_loader |= !workers;
        return trace_loader(n->trace, workers);
    }
    snprintf(text, sizeof(text), "range \"%.90s\"", name);
    return sink_resource(n->sink, text);
}

/* "aten::view, op_id = 314290", "AllToAll4D, seq = 45440, op_id = 990760": the name alone, and whether it is an operator. */
static bool cut(const char *text, char *to, size_t size)
{
    static const char *const ends[] = {", op_id = ", ", seq = ", ", sizes = "};
    const char *end = NULL;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const char *at = strstr(text, ends[i]);
        end = at && (!end || at < end) ? at : end;
    }
    size_t n = end ? (size_t)(end - text) : strlen(text);
    snprintf(to, size, "%.*s", n < size ? (int)n : (int)size - 1, text);
    return end != NULL;
}

/* Kind << 32 | resource. */
static uint64_t range_of(struct nsys *n, const char *text)
{
    char name[96];
    uint64_t known;
    bool is_operator = cut(text, name, sizeof(name));
    uint32_t number = intern_put_most(&n->ranges, name, RANGES_MAX, "another range");
    if (map_get(&n->range_of, number, &known))
        return known;
    const char *told = intern_text(&n->ranges, number);
    enum range_kind kind = kind_of(told, is_operator);
    uint32_t resource =
        kind == RANGE_LOADER ? loader_resource(n, told) : sink_resource(n->sink, told);
    known = (uint64_t)kind << 32 | resource;
    if (number)
        nsys_put(n, &n->range_of, number, known);
    else
        nsys_no_memory(n);
    return known;
}

/* Where operators are told, the ranges around them are left out: they would hide them. */
void nsys_take_range(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns)
{
    uint32_t thread;
    if (!thread_of(n, t, false, &thread))
        return;
    const char *text = nsys_text_at(n, t, NSYS_TEXT, NSYS_TEXT_ID);
    if (!*text)
        return;
    uint64_t range = range_of(n, text);
    uint32_t resource = (uint32_t)range;
    switch ((enum range_kind)(range >> 32)) {
    case RANGE_LOADER:
        trace_range(n->trace, thread, CAUSE_PREPARE, resource, t0, ns);
        break;
    case RANGE_CHECKPOINT:
        trace_range(n->trace, thread, CAUSE_CHECKPOINT, resource, t0, ns);
        break;
    case RANGE_OPERATOR:
        n->operators = true;
        trace_code(n->trace, thread, resource, t0, ns);
        break;
    case RANGE_CODE:
        if (!n->operators && ns <= PHASE_NS)
            trace_code(n->trace, thread, resource, t0, ns);
        break;
    case RANGE_STEP:
        n->steps++;
        break;
    case RANGE_NONE:
        break;
    }
}
