/* SPDX-License-Identifier: MIT */
/*
 * Exports of NVIDIA Nsight Systems (`nsys export --type sqlite`), read with one cursor a table, merged by
 * start in steps, so that memory does not grow with the file.
 */
#include "import/nsys.h"

#include "base/str.h"
#include "import/formats_list.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "SQLite format 3" /* and a NUL */
#define HEADER 100
#define STEP_NS (INT64_C(50) * 1000 * 1000)
/* Instructions of SQLite: 4e9 (some 40 s) and 50 for each byte of the file; a row of 60 bytes takes 100. */
#define BUDGET 4000000L
#define BUDGET_BYTES 20

enum { RUNTIME, DRIVER, RANGES, OS_RUNTIME, KERNELS, GRAPHS, COPIES, MEMSETS, TABLES };

/* What threads did comes before what devices did: it says which threads count. */
static const struct nsys_table tables[TABLES] = {
    [RUNTIME] = {.name = "CUPTI_ACTIVITY_KIND_RUNTIME", .take = nsys_take_call},
    [DRIVER] = {.name = "CUPTI_ACTIVITY_KIND_DRIVER", .take = nsys_take_call},
    [RANGES] = {.name = "NVTX_EVENTS", .take = nsys_take_range},
    [OS_RUNTIME] = {.name = "OSRT_API", .take = nsys_take_os_call},
    [KERNELS] = {.name = "CUPTI_ACTIVITY_KIND_KERNEL", .take = nsys_take_kernel, .device = true},
    [GRAPHS] = {.name = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", .take = nsys_take_graph, .device = true},
    [COPIES] = {.name = "CUPTI_ACTIVITY_KIND_MEMCPY", .take = nsys_take_copy, .device = true},
    [MEMSETS] = {.name = "CUPTI_ACTIVITY_KIND_MEMSET", .take = nsys_take_memset, .device = true},
};

/* Recordings of our own were told apart before. What any other database is, its tables say. */
static bool recognise(const char *head, size_t size)
{
    return size >= sizeof(MAGIC) && !memcmp(head, MAGIC, sizeof(MAGIC));
}

/* ---- opening ---- */

/* A WAL beside the file holds what was written last, and is not read. */
static void look_beside(struct nsys *n, struct str *name)
{
    struct stat st;
    str_addf(name, "%s-wal", n->path);
    if (!name->failed && !stat(str_text(name), &st) && st.st_size > 0)
        sink_note(n->sink, "a log lies beside it (\"-wal\"): what it holds is not read");
}

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* What the header says of the file's size, where its writer kept that up (fileformat2.html, 1.3.7). */
static int check_header(struct nsys *n, const unsigned char *head, ssize_t got, int64_t size)
{
    if (got < (ssize_t)sizeof(MAGIC) || memcmp(head, MAGIC, sizeof(MAGIC)))
        return error_set(n->error, STATUS_INPUT,
                         "\"%s\" is a compressed SQLite database: unpack it first (gunzip -k)",
                         n->path);
    int64_t page = (int64_t)head[16] << 8 | head[17];
    int64_t bytes = (page == 1 ? 65536 : page) * get32(head + 28);
    if (got < HEADER || (get32(head + 24) == get32(head + 92) && bytes > size))
        return error_set(n->error, STATUS_INPUT,
                         "\"%s\" is cut short: it ends at byte %lld of %lld", n->path,
                         (long long)size, (long long)(got < HEADER ? HEADER : bytes));
    return STATUS_OK;
}

static int open_database(struct nsys *n)
{
    struct str name = {0};
    struct stat st;
    unsigned char head[HEADER] = "";
    int fd = open(n->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st)) {
        if (fd >= 0)
            close(fd);
        return error_errno(n->error, "cannot read \"%s\"", n->path);
    }
    ssize_t got = pread(fd, head, sizeof(head), 0);
    close(fd);
    if (check_header(n, head, got, st.st_size))
        return n->error->status;
    n->budget.steps_left = BUDGET + (long)(st.st_size / BUDGET_BYTES);
    look_beside(n, &name);
    str_clear(&name);
    if (distrust_open(n->path, &n->db) || distrust_database(n->db, &n->budget))
        return error_set(n->error, n->db ? STATUS_INPUT : STATUS_MEMORY,
                         "\"%s\": cannot open it: %s", n->path,
                         n->db ? sqlite3_errmsg(n->db) : "out of memory");
    return STATUS_OK;
}

static int look(struct nsys *n, struct nsys_table *t)
{
    bool any = false, texts;
    int status = STATUS_OK;
    for (int i = 0; i < TABLES && !status; i++) {
        status = nsys_table_look(n, &t[i]);
        any |= t[i].present;
    }
    if (!status)
        status = nsys_is_table(n, "StringIds", &texts);
    if (!status && !any && !texts)
        return error_set(n->error, STATUS_INPUT,
                         "\"%s\" is an SQLite database, but no recording of gpufeed "
                         "and no export of Nsight Systems: it has none of its tables",
                         n->path);
    for (int i = 0; i < TABLES && !status; i++)
        if (t[i].present)
            status = nsys_table_survey(n, &t[i]);
    return status;
}

/* ---- rows by time ---- */

static int64_t clamp(int64_t t, int64_t origin)
{
    int64_t max = TRACE_TIME_MAX;
    return __builtin_sub_overflow(t, origin, &t) ? (t < 0 ? max : -max)
           : t > max                             ? max
           : t < -max                            ? -max
                                                 : t;
}

/* The trace's zero is the first activity in the file; false: there is none. */
static bool set_origin(struct nsys *n, const struct nsys_table *t)
{
    for (int i = 0; i < TABLES; i++)
        if (t[i].present && t[i].device) {
            n->origin = t[i].first;
            return true;
        }
    return false;
}

static void tell_extent(struct nsys *n, const struct nsys_table *t)
{
    int64_t t0 = INT64_MAX, t1 = INT64_MIN;
    for (int i = 0; i < TABLES; i++) {
        if (!t[i].present || !t[i].device)
            continue;
        int64_t min = clamp(t[i].min, n->origin), max = clamp(t[i].max, n->origin);
        t0 = min < t0 ? min : t0;
        t1 = max > t1 ? max : t1;
    }
    sink_extent(n->sink, t0, t1 + 1);
}

/* Rows of a table up to what makes all before `until` known. */
static int take_until(struct nsys *n, struct nsys_table *t, int64_t until)
{
    int status = STATUS_OK;
    while (!t->done && t->latest - t->lag < until && !status) {
        int64_t end = sqlite3_column_int64(t->stmt, t->at[NSYS_END]);
        t->take(n, t, t->next, end - n->origin - t->next);
        status = n->error->status ? n->error->status : nsys_table_next(n, t);
    }
    return status;
}

/* The earliest row that was not taken; false: all were. */
static bool earliest(const struct nsys_table *t, int64_t *ret)
{
    bool any = false;
    *ret = INT64_MAX;
    for (int i = 0; i < TABLES; i++)
        if (t[i].present && !t[i].done) {
            any = true;
            *ret = t[i].next < *ret ? t[i].next : *ret;
        }
    return any;
}

static int read_rows(struct nsys *n, struct nsys_table *t)
{
    int64_t at;
    int status = STATUS_OK;
    for (int i = 0; i < TABLES && !status; i++)
        if (t[i].present)
            status = nsys_table_begin(n, &t[i]);
    while (!status && earliest(t, &at)) {
        for (int i = 0; i < TABLES && !status; i++)
            if (t[i].present)
                status = take_until(n, &t[i], at + STEP_NS);
        if (!status)
            trace_advance(n->trace, at + STEP_NS);
    }
    return status;
}

/* ---- the whole ---- */

static void tell(struct nsys *n)
{
    collectives_facts(&n->collectives, n->sink);
    if (n->single_loader)
        sink_number(n->sink, "loader", "", "in_main", 1, "1");
    if (n->steps)
        sink_number(n->sink, "job", "", "steps", n->steps, "count");
    if (n->graphs)
        sink_note(n->sink,
                  "%llu CUDA graphs were recorded as a whole: all of their time counts as compute "
                  "(nsys profile --cuda-graph-trace=node tells their parts)",
                  (unsigned long long)n->graphs);
    if (!trace_spans(n->trace)) {
        sink_text(n->sink, "job", "", "device_unseen", "the export has no activity of a device");
        sink_note(n->sink, n->host_rows
                               ? "the export holds work of the CPU alone: was it recorded with "
                                 "--trace=cuda?"
                               : "the export holds no event that tells where time went");
    }
}

static int read_all(struct nsys *n)
{
    struct nsys_table table[TABLES];
    memcpy(table, tables, sizeof(table));
    int status = look(n, table);
    if (!status && !set_origin(n, table)) {
        for (int i = 0; i < TABLES; i++)
            n->host_rows += table[i].present ? table[i].rows : 0;
    } else if (!status) {
        if (table[KERNELS].present && table[KERNELS].at[NSYS_PID] >= 0)
            trace_by_process(n->trace);
        status = nsys_text_open(n);
        if (!status)
            status = nsys_about_before(n);
        if (!status)
            tell_extent(n, table);
        if (!status)
            status = read_rows(n, table);
        for (int i = 0; i < TABLES; i++)
            nsys_table_end(&table[i]);
        if (!status)
            status = nsys_about_after(n);
    }
    if (status)
        return status;
    tell(n);
    return trace_finish(n->trace, n->error);
}

static void clear(struct nsys *n)
{
    struct map *maps[] = {&n->call_of, &n->os_call_of, &n->kernel_of, &n->range_of,
                          &n->threads, &n->processes,  &n->devices,   &n->pageable};
    sqlite3_finalize(n->text);
    sqlite3_close(n->db);
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
        map_clear(maps[i]);
    intern_clear(&n->ranges);
    collectives_clear(&n->collectives);
    trace_free(n->trace);
}

static int import_nsys(struct source *source, struct sink *sink, struct error *e)
{
    struct error mine = {0};
    struct nsys n = {.path = source_path(source), .sink = sink, .error = &mine};
    int status = STATUS_MEMORY;
    sink_tool(sink, "Nsight Systems");
    if ((n.trace = trace_new(sink)))
        status = open_database(&n);
    else
        nsys_no_memory(&n);
    if (!status)
        status = read_all(&n);
    if (status && e)
        *e = mine;
    clear(&n);
    return status;
}

const struct format format_nsys = {
    .name = "an SQLite export of Nsight Systems", .recognise = recognise, .import = import_nsys};
