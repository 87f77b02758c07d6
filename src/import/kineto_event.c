/* SPDX-License-Identifier: MIT */
#include "import/kineto_event.h"

#include "import/python_call.h"

#include <string.h>

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
static enum kineto_category category_of(const struct scan *s)
{
#define ROW(name, category)                                                                        \
    {                                                                                              \
        name, sizeof(name) - 1, KINETO_##category                                                  \
    }
    static const struct {
        const char *name;
        size_t len;
        enum kineto_category category;
    } rows[] = {
        ROW("cpu_op", CODE), ROW("kernel", KERNEL), ROW("cuda_runtime", RUNTIME),
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
    return KINETO_OTHER;
}

static struct kineto_piece piece_of(const struct scan *s)
{
    return (struct kineto_piece){(uint32_t)(s->text - s->pin), (uint32_t)s->len};
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

#define KEY(literal)                                                                               \
    (s->len == sizeof(literal) - 1 && !memcmp(s->text, literal, sizeof(literal) - 1))

/* Which of the event's numbers an argument is; NULL: none. */
static int64_t *number_of(const struct scan *s, struct kineto_event_in *ev)
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

static struct kineto_piece *text_of(const struct scan *s, struct kineto_event_in *ev)
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
static bool take_ranks(struct scan *s, struct kineto_event_in *ev)
{
    enum scan_token t = scan_next(s);
    if (t == SCAN_STRING)
        ev->ranks = piece_of(s);
    if (t == SCAN_ARRAY) {
        size_t at = (size_t)(s->at - s->pin);
        if (!scan_skip_rest(s))
            return false;
        ev->ranks = (struct kineto_piece){(uint32_t)at, (uint32_t)((size_t)(s->at - s->pin) - at)};
    }
    return t != SCAN_ERROR && (t != SCAN_OBJECT || scan_skip_rest(s));
}

static bool take_args(struct kineto *k, struct kineto_event_in *ev)
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
        struct kineto_piece *text = number ? NULL : text_of(s, ev);
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
static bool wants_args(const struct kineto_event_in *ev)
{
    return ev->category >= KINETO_KERNEL && ev->category <= KINETO_RUNTIME;
}

static bool take_field(struct kineto *k, struct kineto_event_in *ev, bool *category_told)
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

/* Flows, instants and ranges that are not looked at: most of a trace with stacks. */
static bool is_nothing(const struct kineto *k, const struct kineto_event_in *ev, bool category_told)
{
    if ((ev->phase == 's' || ev->phase == 'f') && trace_wants_flows(k->trace))
        return false;
    if (ev->phase == 'X' && ev->category == KINETO_PYTHON && ev->name.len)
        return !python_call_of(kineto_text(k, ev->name), ev->name.len);
    return ev->phase && ev->phase != 'M' &&
           (ev->phase != 'X' || (category_told && ev->category == KINETO_OTHER));
}

bool kineto_event(struct kineto *k)
{
    struct scan *s = &k->scan;
    struct kineto_event_in ev = {.category = KINETO_OTHER};
    bool category_told = false;
    enum scan_token t;
    scan_pin(s);
    while ((t = scan_next(s)) == SCAN_KEY) {
        if (!take_field(k, &ev, &category_told))
            return false;
        if (is_nothing(k, &ev, category_told)) {
            scan_unpin(s);
            ev.category = KINETO_OTHER; /* its texts are gone */
            t = scan_skip_rest(s) ? SCAN_OBJECT_END : SCAN_ERROR;
            break;
        }
    }
    bool ok = t == SCAN_OBJECT_END && kineto_take(k, &ev);
    if (!ok && !s->error->status)
        error_set(s->error, STATUS_MEMORY, "\"%s\": out of memory", source_path(s->source));
    scan_unpin(s);
    return ok;
}
