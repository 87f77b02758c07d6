/* SPDX-License-Identifier: MIT */
/*
 * One importer, FUZZ_FORMAT, on any bytes: it reads them or refuses them with a text that names the
 * file. What it read must make a report whose rows add up.
 */
#include "fuzz.h"

#include "import/formats_list.h"
#include "import/sink_file.h"
#include "record/read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void demand(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static void check_report(struct record *record)
{
    struct record_options o = {.price_per_hour = NAN};
    struct report r;
    struct error e = {0};
    demand(!record_report_memory(record, &o, &r, &e), e.text);
    for (size_t i = 0; i < r.accelerator_count; i++) {
        int64_t ns = 0;
        for (size_t k = 0; k < r.row_count; k++)
            ns += r.rows[k].accelerator == i ? r.rows[k].ns : 0;
        demand(ns == r.accelerators[i].ns, "rows do not add up");
    }
    report_clear(&r);
}

static int read_one(struct source *source, struct sink *sink, struct error *e)
{
    const struct format *f = &FUZZ_FORMAT;
    if (!f->set)
        return f->import(source, sink, e);
    void *set = f->set->open();
    int status = set ? f->set->read(set, source, sink, e) : STATUS_MEMORY;
    if (!status)
        status = f->set->finish(set, sink, e);
    if (set)
        f->set->close(set);
    return status;
}

static void run(const char *path)
{
    struct record_meta meta = {
        .title = "fuzz", .version = "0", .mode = "foreign trace", .window_ns = 1};
    struct sink_job job = {.files = 1, .t0 = INT64_MAX, .t1 = INT64_MIN, .first_start = INT64_MIN};
    struct error e = {0};
    struct source *source;
    if (source_open(path, &source, &e))
        return;
    demand(!record_create_memory(&meta, &job.record, &e), e.text);
    struct sink *sink = sink_open(&job, 0, path);
    int status = read_one(source, sink, &e);
    if (!status)
        status = sink_finish(sink, &e);
    if (status) {
        demand(!strstr(e.text, "unable to open"), e.text); /* else nothing is tried */
        demand(e.text[0] && !strchr(e.text, '\n'), "no line that says why");
    } else {
        struct record_end end = {
            .exit_code = -1, .cpu_seconds = NAN, .peak_rss_bytes = NAN, .slowdown_bound = NAN};
        if (job.events)
            record_span(job.record, job.t0, job.t1, &e);
        demand(!record_finish(job.record, &end, &e), e.text);
        check_report(job.record);
    }
    sink_close(sink);
    source_close(source);
    record_close(job.record);
    sink_job_clear(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* SQLite opens no file that has no name */
    char path[64] = "/dev/shm/gpufeed-fuzz-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        fd = mkstemp(strcpy(path, "/tmp/gpufeed-fuzz-XXXXXX"));
    demand(fd >= 0 && write(fd, data, size) == (ssize_t)size, "no file in memory");
    close(fd);
    run(path);
    unlink(path);
    return 0;
}
