/* SPDX-License-Identifier: MIT */
#include "import/sink_int.h"

#include "base/mem.h"
#include "base/unit.h"
#include "ledger/ledger.h"
#include "model/gpu_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOWS 200       /* of the chart, about */
#define WINDOWS_MAX 20000 /* at 1 s each: beyond 5.5 hours they are longer */
#define WINDOW_MIN_NS (100 * NS_PER_US)

void sink_check(struct sink *s, int rc)
{
    if (rc && !s->status)
        s->status = rc;
}

void sink_no_memory(struct sink *s)
{
    sink_check(s, error_set(&s->error, STATUS_MEMORY, "\"%s\": out of memory", s->path));
}

/* Clocks far apart cannot overflow. */
static int64_t to_recording(const struct sink *s, int64_t t)
{
    int64_t sum;
    return __builtin_add_overflow(t, s->shift, &sum) ? t : sum;
}

struct sink *sink_open(struct sink_job *job, size_t file, const char *path)
{
    struct sink *s = mem_zalloc(sizeof(*s));
    if (!s)
        return NULL;
    *s = (struct sink){.job = job, .path = path, .file = file, .tool = "file", .rank = -1};
    return s;
}

void sink_close(struct sink *s)
{
    if (!s)
        return;
    ledger_free(s->ledger);
    free(s);
}

/* ---- who and when ---- */

void sink_tool(struct sink *s, const char *tool)
{
    s->tool = tool;
}

void sink_rank(struct sink *s, int rank, int world)
{
    char subject[16];
    uint64_t first = s->file;
    if (rank < 0)
        return;
    s->rank = rank;
    s->world = world;
    if (!map_get(&s->job->ranks, (uint64_t)rank, &first) &&
        !map_put(&s->job->ranks, (uint64_t)rank, first = s->file))
        sink_no_memory(s);
    s->rank_again = first != s->file;
    snprintf(subject, sizeof(subject), "%d", rank);
    if (world > 0)
        sink_number(s, "rank", subject, "world_size", world, "count");
}

void sink_host(struct sink *s, const char *name)
{
    char subject[16];
    str_copy(s->told.host, sizeof(s->told.host), name);
    snprintf(subject, sizeof(subject), "%zu", s->file + 1);
    sink_text(s, "import", subject, "host", name);
}

/* "rank3:2", "rank3.file2:2", "file1:0": unique over the files, and ends in the device's number. */
static void write_accelerator(struct sink *s, uint32_t device, const char *name)
{
    char id[64];
    if (s->rank_again)
        snprintf(id, sizeof(id), "rank%d.file%zu:%u", s->rank, s->file + 1, device);
    else if (s->rank >= 0)
        snprintf(id, sizeof(id), "rank%d:%u", s->rank, device);
    else if (s->file >= s->job->files) /* what several files tell together */
        snprintf(id, sizeof(id), "counters:%u", device);
    else if (s->job->files > 1)
        snprintf(id, sizeof(id), "file%zu:%u", s->file + 1, device);
    else
        snprintf(id, sizeof(id), "trace:%u", device);
    sink_check(s, record_accelerator(s->job->record, s->device[device].number, id, name ? name : "",
                                     false, &s->error));
}

/* What links it to the host, where its name says that. */
static void write_link(struct sink *s, uint32_t device, const char *name)
{
    char subject[16];
    const struct gpu_link *link = gpu_link_of(name);
    if (!link || link->bytes_s <= 0)
        return;
    snprintf(subject, sizeof(subject), "%u", s->device[device].number);
    sink_text(s, "copy", subject, "link", link->link);
    sink_number(s, "copy", subject, "link_rate", link->bytes_s, "bytes/s");
}

static struct device_of *device(struct sink *s, uint32_t number, const char *name)
{
    if (number >= SINK_DEVICES)
        return NULL;
    struct device_of *d = &s->device[number];
    bool known = d->used;
    if (!known) {
        *d = (struct device_of){.used = true, .number = s->job->accelerators++, .t1 = INT64_MIN};
    }
    if (!known || name)
        write_accelerator(s, number, name);
    if (name)
        write_link(s, number, name);
    return d;
}

void sink_accelerator(struct sink *s, uint32_t number, const char *name)
{
    if (!device(s, number, name))
        sink_skip(s, "devices beyond the 64th", 1);
}

void sink_workload(struct sink *s, uint32_t pid, const char *text)
{
    sink_check(s, record_workload(s->job->record, pid, text, &s->error));
}

void sink_start(struct sink *s, int64_t ns, int64_t unix_ns)
{
    struct sink_job *j = s->job;
    int64_t zero, shift;
    if (s->shifted || __builtin_sub_overflow(unix_ns, ns, &zero))
        return;
    if (j->first_start == INT64_MIN)
        j->first_start = zero;
    if (__builtin_sub_overflow(zero, j->first_start, &shift))
        return;
    s->shift = shift;
    s->shifted = true;
}

/* Ranks of one job run at the same time; files of other times are moved to the start of the first. */
static void move_beside(struct sink *s, int64_t t0, int64_t t1)
{
    struct sink_job *j = s->job;
    if (j->t0 > j->t1 || (to_recording(s, t0) < j->t1 && to_recording(s, t1) > j->t0))
        return;
    s->told.moved = true;
    if (__builtin_sub_overflow(j->t0, t0, &s->shift))
        s->shift = 0;
}

void sink_extent(struct sink *s, int64_t t0, int64_t t1)
{
    int64_t each = t1 > t0 ? (t1 - t0) / WINDOWS : 0, least = t1 > t0 ? (t1 - t0) / WINDOWS_MAX : 0;
    s->told.clocked = s->shifted;
    s->told.t0 = to_recording(s, t0);
    s->told.t1 = to_recording(s, t1);
    move_beside(s, t0, t1);
    each = each < WINDOW_MIN_NS ? WINDOW_MIN_NS : each > NS_PER_S ? NS_PER_S : each;
    if (!s->job->window_ns)
        s->job->window_ns = each > least ? each : least;
}

void sink_windows(struct sink *s, int64_t each_ns)
{
    if (!s->job->window_ns)
        s->job->window_ns = each_ns;
}

/* ---- events ---- */

static void on_row(void *arg, const struct ledger_row *row)
{
    sink_row(arg, row);
}

/* From the file's number of a device and its clock to the recording's; NULL: a device beyond the last. */
static struct device_of *place(struct sink *s, uint32_t *accelerator, int64_t *t0)
{
    struct device_of *d = device(s, *accelerator, NULL);
    if (!d)
        return NULL;
    *accelerator = d->number;
    *t0 = to_recording(s, *t0);
    return d;
}

static void on_chain(void *arg, const struct chain_example *chain)
{
    struct sink *s = arg;
    struct chain_example mine = *chain;
    if (!place(s, &mine.accelerator, &mine.t0))
        return;
    sink_check(s, record_chain(s->job->record, &mine,
                               intern_text(&s->job->resources, chain->resource), &s->error));
}

void sink_row(struct sink *s, const struct ledger_row *row)
{
    struct ledger_row mine = *row;
    struct device_of *d = place(s, &mine.accelerator, &mine.t0);
    if (!d)
        return;
    d->unknown.ns += row->cause == CAUSE_UNKNOWN ? row->ns : 0;
    sink_check(s, record_row(s->job->record, &mine, &s->error));
}

void sink_span(struct sink *s, int64_t t0, int64_t t1)
{
    struct sink_job *j = s->job;
    t0 = to_recording(s, t0);
    t1 = to_recording(s, t1);
    j->events = true;
    j->t0 = t0 < j->t0 ? t0 : j->t0;
    j->t1 = t1 > j->t1 ? t1 : j->t1;
}

uint32_t sink_resource(struct sink *s, const char *text)
{
    if (!text || !*text)
        return 0;
    size_t before = s->job->resources.count;
    uint32_t n = intern_put(&s->job->resources, text);
    if (!n)
        sink_no_memory(s);
    else if (s->job->resources.count > before)
        sink_check(s, record_resource(s->job->record, n, text, &s->error));
    return n;
}

static bool begin_ledger(struct sink *s)
{
    if (s->ledger)
        return true;
    if (!s->job->window_ns)
        s->job->window_ns = NS_PER_S;
    struct ledger_options o = {.window_ns = s->job->window_ns,
                               .delay_ns = 1,
                               .names = &s->job->resources,
                               .arg = s,
                               .row = on_row,
                               .chain = on_chain};
    s->ledger = ledger_new(&o);
    if (!s->ledger)
        sink_no_memory(s);
    return s->ledger != NULL;
}

static void take(struct sink *s, struct device_of *d, const struct event_span *span)
{
    struct event e = {
        .kind = EVENT_DEVICE,
        .device = {.t = span->t0, .device = span->device, .pid = span->pid, .taken = true}};
    d->held = true;
    d->pid = span->pid;
    ledger_push(s->ledger, &e);
}

void sink_event(struct sink *s, const struct event *e)
{
    if (s->status || !begin_ledger(s))
        return;
    if (e->kind == EVENT_SPAN) {
        struct device_of *d = device(s, e->span.device, NULL);
        if (!d) {
            sink_skip(s, "events of devices beyond the 64th", 1);
            return;
        }
        if (!d->held)
            take(s, d, &e->span);
        d->t1 = e->span.t1 > d->t1 ? e->span.t1 : d->t1;
    }
    ledger_push(s->ledger, e);
}

void sink_advance(struct sink *s, int64_t t)
{
    if (s->ledger && !s->status)
        ledger_advance(s->ledger, t);
}

/* ---- the end ---- */

/* Each device was held from its first to its last activity. */
static void release_devices(struct sink *s)
{
    for (uint32_t i = 0; i < SINK_DEVICES; i++) {
        struct device_of *d = &s->device[i];
        struct event e = {.kind = EVENT_DEVICE,
                          .device = {.t = d->t1, .device = i, .pid = d->pid, .taken = false}};
        if (d->held)
            ledger_push(s->ledger, &e);
    }
}

/* A device number of the file, as a fact's subject, becomes the recording's. */
static int on_ledger_fact(void *arg, const struct fact *fact)
{
    struct sink *s = arg;
    struct fact mine = *fact;
    char subject[16];
    mine.source = s->tool;
    if (!strcmp(fact->kind, "launch") || !strcmp(fact->kind, "copy")) {
        struct device_of *d = device(s, (uint32_t)strtoul(fact->subject, NULL, 10), NULL);
        if (d)
            sink_keep_unknown(d, fact);
        snprintf(subject, sizeof(subject), "%u", d ? d->number : 0);
        mine.subject = subject;
    }
    sink_fact(s, &mine);
    return STATUS_OK;
}

/* That the ledger comes from a trace: rules tell it from a live one by this. */
static void tell_tool(struct sink *s)
{
    char subject[16];
    snprintf(subject, sizeof(subject), "%zu", s->file + 1);
    sink_text(s, "trace", subject, "tool", s->tool);
}

static void finish_ledger(struct sink *s)
{
    int64_t t0, t1;
    release_devices(s);
    ledger_finish(s->ledger, INT64_MIN);
    ledger_facts(s->ledger, on_ledger_fact, s);
    s->job->lost += ledger_lost(s->ledger);
    if (!ledger_span(s->ledger, &t0, &t1))
        return;
    tell_tool(s);
    sink_span(s, t0, t1);
}

void sink_job_clear(struct sink_job *job)
{
    free(job->told);
    intern_clear(&job->resources);
    map_clear(&job->ranks);
}

int sink_finish(struct sink *s, struct error *e)
{
    if (s->ledger && !s->status)
        finish_ledger(s);
    sink_tell_same_job(s);
    sink_tell_unknown(s);
    sink_tell_skips(s);
    if (!s->status)
        sink_check(s, record_commit(s->job->record, &s->error));
    if (s->status && e)
        *e = s->error;
    return s->status;
}
