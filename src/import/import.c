/* SPDX-License-Identifier: MIT */
#include "import/import.h"

#include "base/mem.h"
#include "base/str.h"
#include "import/formats.h"
#include "import/sink_file.h"
#include "import/wrapped.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* NULL: none of them, and why. What packs others is asked for first: some formats are known by what they hold. */
static const struct format *find_format(const char *path, const char *head, size_t size,
                                        struct error *e)
{
    struct str known = {0};
    const char *how = wrapped_how(path, head, size);
    const struct format *format = how ? NULL : format_of(head, size);
    if (format)
        return format;
    if (how) {
        error_set(e, STATUS_INPUT, "\"%s\" %s", path, how);
        return NULL;
    }
    if (!size) {
        error_set(e, STATUS_INPUT, "\"%s\" is empty", path);
        return NULL;
    }
    for (size_t i = 0; format_at(i); i++)
        str_addf(&known, "%s %s", i ? "," : "", format_at(i)->name);
    error_set(e, STATUS_INPUT,
              "\"%s\" is neither a recording of gpufeed nor a file that it can "
              "import (it reads:%s)",
              path, str_text(&known));
    str_clear(&known);
    return NULL;
}

enum import_kind import_look(const char *path, struct error *e)
{
    struct source *source;
    const char *head;
    size_t size;
    enum import_kind kind = IMPORT_UNKNOWN;
    if (source_open(path, &source, e))
        return kind;
    if (source_head(source, &head, &size, e) == STATUS_OK) {
        bool recording = record_recognise(head, size);
        if (recording && source_packed(source))
            error_set(e, STATUS_INPUT,
                      "\"%s\" is a recording compressed by gzip: unpack it first (gunzip -k)",
                      path);
        else if (recording)
            kind = IMPORT_RECORDING;
        else if (find_format(path, head, size, e))
            kind = IMPORT_FOREIGN;
    }
    source_close(source);
    return kind;
}

/* The sets of the formats that need one, by the format's row. */
#define SETS_MAX 16
struct sets {
    void *of[SETS_MAX];
};

static void sets_close(struct sets *sets)
{
    for (size_t i = 0; i < SETS_MAX && format_at(i); i++)
        if (sets->of[i])
            format_at(i)->set->close(sets->of[i]);
}

static int read_into_set(struct sets *sets, const struct format *format, struct source *source,
                         struct sink *sink, struct error *e)
{
    size_t i = 0;
    while (i < SETS_MAX && format_at(i) != format)
        i++;
    if (i < SETS_MAX && !sets->of[i])
        sets->of[i] = format->set->open();
    if (i == SETS_MAX || !sets->of[i])
        return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", source_path(source));
    return format->set->read(sets->of[i], source, sink, e);
}

/* What the files of each set tell together. `name` stands for all of them. */
static int finish_sets(struct sets *sets, struct sink_job *job, size_t files, const char *name,
                       struct error *e)
{
    int status = STATUS_OK;
    for (size_t i = 0; i < SETS_MAX && format_at(i) && !status; i++) {
        if (!sets->of[i])
            continue;
        struct sink *sink = sink_open(job, files, name);
        if (!sink)
            return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", name);
        sink_tool(sink, format_at(i)->name);
        status = format_at(i)->set->finish(sets->of[i], sink, e);
        if (!status && !job->events)
            sink_text(sink, "job", "", "device_unseen", "these files hold no device activity");
        if (!status)
            status = sink_finish(sink, e);
        sink_close(sink);
    }
    return status;
}

static int read_file(struct sink_job *job, struct sets *sets, size_t file, const char *path,
                     struct error *e)
{
    struct source *source;
    const char *head;
    size_t size;
    int status = source_open(path, &source, e);
    if (status)
        return status;
    status = source_head(source, &head, &size, e);
    const struct format *format = status ? NULL : find_format(path, head, size, e);
    if (!status && !format)
        status = STATUS_INPUT;
    struct sink *sink = status ? NULL : sink_open(job, file, path);
    if (!status && !sink)
        status = error_set(e, STATUS_MEMORY, "\"%s\": out of memory", path);
    if (!status)
        status = format->set ? read_into_set(sets, format, source, sink, e)
                             : format->import(source, sink, e);
    if (!status)
        status = sink_finish(sink, e);
    sink_close(sink);
    source_close(source);
    return status;
}

static double cpu_seconds(void)
{
    return (double)clock() / (double)CLOCKS_PER_SEC;
}

static int finish(struct sink_job *job, struct error *e)
{
    struct record_end end = {.exit_code = -1,
                             .cpu_seconds = cpu_seconds(),
                             .peak_rss_bytes = mem_peak_bytes(),
                             .events_lost = job->lost,
                             .slowdown_bound = NAN};
    int status = STATUS_OK;
    if (job->window_ns)
        status = record_windows(job->record, job->window_ns, e);
    if (!status && job->first_start != INT64_MIN)
        status = record_start(job->record, 0, job->first_start, e);
    if (!status && job->events)
        status = record_span(job->record, job->t0, job->t1, e);
    return status ? status : record_finish(job->record, &end, e);
}

static void add_title(struct str *title, const char *const *paths, size_t count)
{
    const char *slash = strrchr(paths[0], '/');
    str_add(title, slash ? slash + 1 : paths[0]);
    if (count > 1)
        str_addf(title, " and %zu more", count - 1);
}

/* Each file is a rank: one that is given twice would count twice. */
static int check_once(const char *const *paths, size_t count, struct error *e)
{
    struct stat st;
    int status = STATUS_OK;
    AUTOFREE struct stat *seen = mem_zalloc(count * sizeof(*seen));
    if (!seen)
        return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", paths[0]);
    for (size_t i = 0; i < count && !status; i++) {
        if (stat(paths[i], &st))
            continue; /* reading it says why */
        seen[i] = st;
        for (size_t k = 0; k < i && !status; k++)
            if (seen[k].st_ino == st.st_ino && seen[k].st_dev == st.st_dev)
                status = error_set(e, STATUS_INPUT,
                                   "\"%s\" is the same file as \"%s\": give each "
                                   "rank's file once",
                                   paths[i], paths[k]);
    }
    return status;
}

int import_files(const char *const *paths, size_t count, const char *version, struct record **ret,
                 struct error *e)
{
    struct sink_job job = {
        .files = count, .t0 = INT64_MAX, .t1 = INT64_MIN, .first_start = INT64_MIN};
    struct sets sets = {0};
    struct str title = {0};
    add_title(&title, paths, count);
    struct record_meta meta = {
        .title = str_text(&title), .version = version, .mode = "foreign trace", .window_ns = 1};
    int status = check_once(paths, count, e);
    if (!status)
        status = record_create_memory(&meta, &job.record, e);
    for (size_t i = 0; i < count && !status; i++)
        status = read_file(&job, &sets, i, paths[i], e);
    if (!status)
        status = finish_sets(&sets, &job, count, str_text(&title), e);
    if (!status)
        status = finish(&job, e);
    if (status)
        record_close(job.record);
    else
        *ret = job.record;
    sets_close(&sets);
    str_clear(&title);
    sink_job_clear(&job);
    return status;
}
