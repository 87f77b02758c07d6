/* SPDX-License-Identifier: MIT */
/*
 * nsys: what the parts of the importer of Nsight Systems' SQLite exports share. Internal to the room.
 *
 * nsys.c has the flow, nsys_table.c reads rows of one table in order of their start, nsys_row.c says what a
 * row means, nsys_text.c looks up texts, nsys_about.c reads what the file tells of devices and processes.
 *
 * Any table or column may be absent, and none is what its name says until it was looked at: a value of
 * another type than it should have makes its row one that is left out and counted.
 * Schema: docs.nvidia.com/nsight-systems/UserGuide, "SQLite Schema Reference".
 */
#ifndef GPUFEED_IMPORT_NSYS_H
#define GPUFEED_IMPORT_NSYS_H

#include "base/map.h"
#include "import/collective.h"
#include "import/trace.h"
#include "record/distrust.h"

/* ---- tables ---- */

enum nsys_column {
    NSYS_START,
    NSYS_END,
    NSYS_DEVICE,
    NSYS_STREAM,
    NSYS_CORRELATION,
    NSYS_PID,
    NSYS_TID,
    NSYS_NAME,
    NSYS_SHORT_NAME,
    NSYS_DEMANGLED_NAME,
    NSYS_BYTES,
    NSYS_COPY_KIND,
    NSYS_FROM,
    NSYS_TO,
    NSYS_TEXT,
    NSYS_TEXT_ID,
    NSYS_COLUMNS
};

struct nsys;
struct nsys_table;
typedef void (*nsys_row_fn)(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns);

struct nsys_table {
    const char *name;
    nsys_row_fn take;
    bool device;          /* its rows are device activity */
    bool present;         /* an ordinary table with rows and times */
    int at[NSYS_COLUMNS]; /* in the statement; -1: no such column */
    uint64_t rows;
    int64_t first, min, max; /* of start */
    int64_t lag;             /* how far a row's start lies behind the latest before it, at most */
    sqlite3_stmt *stmt;      /* owned; on a row unless `done` */
    bool done;
    int64_t next;   /* start of that row, on the trace's clock */
    int64_t latest; /* of all rows so far */
};

struct nsys {
    const char *path; /* borrowed */
    sqlite3 *db;      /* owned */
    struct distrust budget;
    struct sink *sink;   /* borrowed */
    struct trace *trace; /* owned */
    struct error *error; /* filled by the first failure */
    struct collectives collectives;
    int64_t origin;      /* the trace's zero on the file's clock */
    bool sorted_by_time; /* what is out of order is sorted by SQLite */
    /* texts by id: */
    sqlite3_stmt *text;                        /* owned; NULL: no StringIds */
    struct map call_of, os_call_of, kernel_of; /* StringIds.id -> what nsys_row.c made of it */
    struct intern ranges;                      /* names of ranges, as many as are kept apart */
    struct map range_of;                       /* number in ranges -> what it is */
    struct map threads;   /* globalTid -> trace thread, of those that call the runtime */
    struct map processes; /* their pids */
    struct map devices;   /* pid << 32 | CUDA's number -> the GPU's number */
    struct map pageable;  /* kinds of memory that are pageable; empty: the default */
    uint32_t steps;
    bool single_loader; /* torch's loader ran in the training thread */
    bool operators;     /* ranges of a framework's operators were seen */
    uint64_t graphs, host_rows;
};

int nsys_no_memory(struct nsys *n); /* fills the error; its status */
/* Puts into one of the maps; without memory the error is filled. */
void nsys_put(struct nsys *n, struct map *m, uint64_t key, uint64_t value);

/* Looks whether the table is there and which columns it has. */
int nsys_table_look(struct nsys *n, struct nsys_table *t);
/* How its rows are ordered, in one pass over their starts. */
int nsys_table_survey(struct nsys *n, struct nsys_table *t);
/* Stands before the first row, then on it. */
int nsys_table_begin(struct nsys *n, struct nsys_table *t);
/* Goes to the next row with usable times. */
int nsys_table_next(struct nsys *n, struct nsys_table *t);
void nsys_table_end(struct nsys_table *t);

/* Values of the row at hand. False: absent, NULL, or of another type (which is counted). */
bool nsys_integer(struct nsys *n, const struct nsys_table *t, enum nsys_column c, int64_t *ret);
/* NULL as above; valid until the next row. */
const char *nsys_string(const struct nsys_table *t, enum nsys_column c);

/* An ordinary table (no view, no virtual one) of that name? Fails only when the file is damaged. */
int nsys_is_table(struct nsys *n, const char *name, bool *ret);
/* Steps; SQLITE_ROW, SQLITE_DONE, or anything else after the error was filled: "table NAME: why". */
int nsys_step(struct nsys *n, sqlite3_stmt *s, const char *table);
int nsys_prepare(struct nsys *n, const char *sql, const char *table, sqlite3_stmt **ret);

/* ---- texts ---- */

int nsys_text_open(struct nsys *n);
/* The text of an id, "" unknown; valid until the next call. */
const char *nsys_text(struct nsys *n, int64_t id);
/* A text by column, else by the id in the other column; "" unknown. */
const char *nsys_text_at(struct nsys *n, const struct nsys_table *t, enum nsys_column text,
                         enum nsys_column id);

/* ---- rows ---- */

void nsys_take_kernel(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns);
void nsys_take_graph(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns);
void nsys_take_copy(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns);
void nsys_take_memset(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns);
void nsys_take_call(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns);
void nsys_take_os_call(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns);
void nsys_take_range(struct nsys *n, const struct nsys_table *t, int64_t t0, int64_t ns);

/* ---- what the file tells beside events ---- */

/* Before the rows: numbers of devices, kinds of memory, the clock. */
int nsys_about_before(struct nsys *n);
/* After them: the devices and processes that were used. */
int nsys_about_after(struct nsys *n);

/* globalTid and globalPid: hardware, VM and process in the upper bits (the user guide's
 * "globalTid / 0x1000000 % 0x1000000"). 0, which is nobody, becomes 1. */
static inline uint32_t nsys_pid(int64_t global)
{
    uint32_t pid = (uint32_t)((uint64_t)global >> 24 & 0xffffff);
    return pid ? pid : 1;
}

static inline uint32_t nsys_tid(int64_t global)
{
    uint32_t tid = (uint32_t)((uint64_t)global & 0xffffff);
    return tid ? tid : 1;
}

#endif
