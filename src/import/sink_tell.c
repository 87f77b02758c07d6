/* SPDX-License-Identifier: MIT */
#include "import/sink_int.h"

#include "base/mem.h"
#include "base/unit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sink_fact(struct sink *s, const struct fact *fact)
{
    sink_check(s, record_fact(s->job->record, fact, &s->error));
}

int sink_take_fact(void *sink, const struct fact *fact)
{
    sink_fact(sink, fact);
    return STATUS_OK;
}

void sink_number(struct sink *s, const char *kind, const char *subject, const char *name,
                 double number, const char *unit)
{
    struct fact f = {kind, subject, name, NULL, number, unit, s->tool};
    sink_fact(s, &f);
}

void sink_text(struct sink *s, const char *kind, const char *subject, const char *name,
               const char *text)
{
    struct fact f = {kind, subject, name, text, NAN, "", s->tool};
    sink_fact(s, &f);
}

static void write_note(struct sink *s, const struct str *line)
{
    if (line->failed)
        sink_no_memory(s);
    else
        sink_check(s, record_note(s->job->record, str_text(line), &s->error));
}

void sink_note(struct sink *s, const char *fmt, ...)
{
    struct str line = {0};
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    str_addf(&line, "\"%s\": %s", s->path, text);
    write_note(s, &line);
    str_clear(&line);
}

void sink_unknown(struct sink *s, const char *why)
{
    s->unknown = why;
}

void sink_skip(struct sink *s, const char *reason, uint64_t count)
{
    size_t i = 0;
    if (!count)
        return;
    while (i < s->skips && strcmp(s->skip[i].reason, reason))
        i++;
    if (i == SKIPS) {
        s->skip[SKIPS - 1].reason = "other things";
        i = SKIPS - 1;
    } else if (i == s->skips) {
        s->skip[s->skips++].reason = reason;
    }
    s->skip[i].count += count;
}

void sink_tell_skips(struct sink *s)
{
    struct str line = {0};
    if (!s->skips)
        return;
    str_addf(&line, "\"%s\": left out ", s->path);
    for (size_t i = 0; i < s->skips; i++)
        str_addf(&line, "%s%llu %s", i ? ", " : "", (unsigned long long)s->skip[i].count,
                 s->skip[i].reason);
    write_note(s, &line);
    str_clear(&line);
}

void sink_keep_unknown(struct device_of *d, const struct fact *fact)
{
    double *to = !strcmp(fact->name, "late_seconds")         ? &d->unknown.late
                 : !strcmp(fact->name, "late_first_seconds") ? &d->unknown.late_first
                 : !strcmp(fact->name, "orphan_seconds")     ? &d->unknown.orphan
                                                             : NULL;
    if (to)
        *to = fact->number;
}

/* What most of it goes back to. */
static const char *why_unknown(const struct sink *s, const struct device_of *d)
{
    double rest = unit_seconds(d->unknown.ns) - d->unknown.late - d->unknown.orphan;
    if (s->unknown)
        return s->unknown;
    if (d->unknown.orphan > d->unknown.late && d->unknown.orphan > rest)
        return "it does not tell which calls launched the work";
    if (d->unknown.late <= rest)
        return "the launching thread was in calls that may wait for anything, as poll() may";
    if (d->unknown.late_first * 2 > d->unknown.late)
        return "launched work did not begin; it is the first of its stream here, which may still "
               "have been at work "
               "that was launched before the trace began and is not in it";
    return "launched work did not begin, and what its stream waited for is not told";
}

void sink_tell_unknown(struct sink *s)
{
    for (uint32_t i = 0; i < SINK_DEVICES; i++) {
        const struct device_of *d = &s->device[i];
        char subject[16];
        struct str line = {0};
        if (!d->used || !d->unknown.ns)
            continue;
        snprintf(subject, sizeof(subject), "%u", d->number);
        str_addf(&line, "\"%s\": %s", s->path, why_unknown(s, d));
        if (line.failed)
            sink_no_memory(s);
        else
            sink_text(s, "unknown", subject, "reason", str_text(&line));
        str_clear(&line);
    }
}

void sink_tell_same_job(struct sink *s)
{
    struct sink_job *j = s->job;
    struct same_job_file *f = &s->told;
    struct str line = {0};
    f->path = s->path;
    f->tool = s->tool;
    f->rank = s->rank;
    f->world = s->world;
    for (uint32_t i = 0; i < SINK_DEVICES && f->pids < SAME_JOB_PIDS; i++)
        if (s->device[i].held)
            f->pid[f->pids++] = s->device[i].pid;
    if (!f->pids)
        return;
    if (same_job_line(j->told, j->told_count, f, &line))
        sink_note(s, "%s", str_text(&line));
    if (line.failed ||
        !mem_grow((void **)&j->told, &j->told_cap, j->told_count + 1, sizeof(*j->told)))
        sink_no_memory(s);
    else
        j->told[j->told_count++] = *f;
    str_clear(&line);
}
