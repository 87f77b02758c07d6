/* SPDX-License-Identifier: MIT */
#include "record/fill.h"

#include "base/mem.h"
#include "base/str.h"
#include "record/read.h"

#include <stdlib.h>
#include <string.h>

/*
 * Invariants on return: for each accelerator the ns of its rows are positive and
 * add up to its ns, and to the sum of its state_ns; no ns exceeds span_ns.
 */

static int damaged(struct recording *db, struct error *e, const char *what)
{
    return error_set(e, STATUS_INPUT, "\"%s\" is damaged: %s", db->path, what);
}

static int prepare(struct recording *db, const char *sql, sqlite3_stmt **ret, struct error *e)
{
    return sqlite3_prepare_v2(db->db, sql, -1, ret, NULL) ? recording_error(db, e, "reading it")
                                                          : STATUS_OK;
}

/* The numbers that the writer gave to the accelerators, same index as the report's. */
struct numbers {
    int64_t *of;
    size_t count, cap;
};

static size_t index_of(const struct numbers *n, int64_t number)
{
    size_t i = 0;
    while (i < n->count && n->of[i] != number)
        i++;
    return i;
}

static struct report_accelerator *add_accelerator(struct report *r, struct numbers *n,
                                                  int64_t number)
{
    if (!mem_grow((void **)&r->accelerators, &r->accelerator_cap, r->accelerator_count + 1,
                  sizeof(*r->accelerators)) ||
        !mem_grow((void **)&n->of, &n->cap, n->count + 1, sizeof(*n->of)))
        return NULL;
    n->of[n->count++] = number;
    struct report_accelerator *a = &r->accelerators[r->accelerator_count++];
    *a = (struct report_accelerator){0};
    return a;
}

/* The id of the accelerator at `index` ends in a device number and is no other's. */
static bool good_id(const struct report *r, size_t index)
{
    const char *id = r->accelerators[index].id, *colon = strrchr(id, ':');
    if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return false;
    for (size_t i = 0; i < index; i++)
        if (!strcmp(r->accelerators[i].id, id))
            return false;
    return true;
}

/* The id that a writer of ours would have given; false: out of memory. */
static bool mend_id(struct report *r, size_t index)
{
    struct str id = {0};
    if (good_id(r, index))
        return true;
    str_addf(&id, "%.64s:%zu", r->accelerators[index].id, index);
    if (id.failed)
        return false;
    free(r->accelerators[index].id);
    r->accelerators[index].id = id.data;
    return true;
}

static int read_accelerators(struct recording *db, struct report *r, struct numbers *n,
                             struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    int rc, failed = 0, status;
    if ((status = prepare(
             db,
             "SELECT number, id, name, simulated, (SELECT text FROM fact WHERE "
             "kind = 'unknown' AND name = 'reason' AND subject = CAST(device.number AS TEXT)) "
             "FROM device "
             "ORDER BY " FILL_DEVICE("id") ", number LIMIT 4096",
             &s, e)))
        return status;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct report_accelerator *a = add_accelerator(r, n, sqlite3_column_int64(s, 0));
        if (!a)
            return fill_no_memory(db, e);
        a->id = db_text(s, 1, &failed);
        a->name = db_text(s, 2, &failed);
        a->simulated = sqlite3_column_int(s, 3) != 0;
        a->unknown_why = db_text(s, 4, &failed);
        if (failed || !a->id || !a->name || !mend_id(r, r->accelerator_count - 1))
            return fill_no_memory(db, e);
    }
    return rc == SQLITE_DONE ? STATUS_OK : recording_error(db, e, "reading it");
}

static struct report_row *add_row(struct report *r)
{
    if (!mem_grow((void **)&r->rows, &r->row_cap, r->row_count + 1, sizeof(*r->rows)))
        return NULL;
    struct report_row *row = &r->rows[r->row_count++];
    *row = (struct report_row){0};
    return row;
}

static int clamp(int64_t v, int count, int other)
{
    return v >= 0 && v < count ? (int)v : other;
}

static int read_row(struct recording *db, struct report *r, const struct numbers *n,
                    sqlite3_stmt *s, struct error *e)
{
    int failed = 0;
    size_t at = index_of(n, sqlite3_column_int64(s, 0));
    int64_t ns = sqlite3_column_int64(s, 5);
    if (at == n->count)
        return damaged(db, e, "a ledger row of an unknown accelerator");
    if (sqlite3_column_int64(s, 6) <= 0)
        return damaged(db, e, "a ledger row without time");
    struct report_row *row = add_row(r);
    if (!row)
        return fill_no_memory(db, e);
    row->accelerator = at;
    row->workload = db_text(s, 1, &failed);
    row->state = (enum state)clamp(sqlite3_column_int64(s, 2), STATE_COUNT, STATE_UNSEEN);
    row->cause = (enum cause)clamp(sqlite3_column_int64(s, 3), CAUSE_COUNT, CAUSE_UNKNOWN);
    row->resource = db_text(s, 4, &failed);
    row->evidence =
        (enum evidence)clamp(sqlite3_column_int64(s, 7), EVIDENCE_COUNT, EVIDENCE_BOUND);
    row->ns = ns;
    struct report_accelerator *a = &r->accelerators[at];
    if (__builtin_add_overflow(a->ns, ns, &a->ns))
        return damaged(db, e, "its times overflow");
    a->state_ns[row->state] += ns;
    return failed ? fill_no_memory(db, e) : STATUS_OK;
}

static int read_rows(struct recording *db, struct report *r, const struct numbers *n,
                     struct error *e)
{
    /* A row that says workload 0 has none; a number without a name is shown as it is. */
    static const char sql[] =
        "SELECT r.accelerator, CASE WHEN r.workload <> 0 THEN coalesce(l.name, 'pid ' || "
        "r.workload) END, r.state, r.cause, CASE WHEN r.resource <> 0 THEN coalesce(o.name, "
        "'resource ' || r.resource) END, sum(r.ns), min(r.ns), max(r.evidence) "
        "FROM ledger_row r LEFT JOIN resource o ON o.number = r.resource "
        "LEFT JOIN workload l ON l.number = r.workload "
        "GROUP BY r.accelerator, r.workload, r.state, r.cause, r.resource";
    sqlite3_stmt *s AUTOFINAL = NULL;
    int rc, status = prepare(db, sql, &s, e);
    if (status)
        return status;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW)
        if ((status = read_row(db, r, n, s, e)))
            return status;
    return rc == SQLITE_DONE ? STATUS_OK : recording_error(db, e, "reading it");
}

/* Adds ns to the accelerator's row of this state that has no workload and no resource. */
static int add_time(struct recording *db, struct report *r, size_t accelerator, enum state state,
                    enum cause cause, int64_t ns, struct error *e)
{
    struct report_row *row = NULL;
    for (size_t i = 0; i < r->row_count; i++)
        if (r->rows[i].accelerator == accelerator && r->rows[i].state == state &&
            !r->rows[i].workload && !r->rows[i].resource && r->rows[i].cause == cause)
            row = &r->rows[i];
    if (!row && !(row = add_row(r)))
        return fill_no_memory(db, e);
    row->accelerator = accelerator;
    row->state = state;
    row->cause = cause;
    row->evidence = EVIDENCE_BOUND;
    row->ns += ns;
    r->accelerators[accelerator].state_ns[state] += ns;
    r->accelerators[accelerator].ns += ns;
    return STATUS_OK;
}

/*
 * An accelerator's time is its own: from its being taken to its release, which may be less than the
 * span. One that has no rows beside others that have was never taken. The time of an only
 * accelerator is the span: what its rows do not cover was not seen.
 */
static int complete(struct recording *db, struct report *r, struct error *e)
{
    int status = STATUS_OK;
    for (size_t i = 0; i < r->accelerator_count; i++)
        if (r->accelerators[i].ns > r->span_ns)
            r->span_ns = r->accelerators[i].ns;
    for (size_t i = 0; i < r->accelerator_count && !status; i++) {
        int64_t open = r->span_ns - r->accelerators[i].ns;
        if (open && (r->accelerator_count == 1 || !r->row_count))
            status = add_time(db, r, i, STATE_UNSEEN, CAUSE_UNKNOWN, open, e);
        else if (open && open == r->span_ns)
            status = add_time(db, r, i, STATE_UNUSED, CAUSE_NONE, open, e);
    }
    return status;
}

static int by_time(const void *pa, const void *pb)
{
    const struct report_row *a = pa, *b = pb;
    if (a->accelerator != b->accelerator)
        return a->accelerator < b->accelerator ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (a->state != b->state)
        return a->state < b->state ? -1 : 1;
    if (a->cause != b->cause)
        return a->cause < b->cause ? -1 : 1;
    int resource = strcmp(a->resource ? a->resource : "", b->resource ? b->resource : "");
    return resource ? resource
                    : strcmp(a->workload ? a->workload : "", b->workload ? b->workload : "");
}

/* A recording that was cut short before the span was stored starts with its first window. */
static int find_start(struct recording *db, struct fill_meta *m, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    int status = prepare(db, "SELECT min(t0) FROM ledger_row", &s, e);
    if (status)
        return status;
    if (sqlite3_step(s) != SQLITE_ROW)
        return recording_error(db, e, "reading it");
    m->span_t0 = sqlite3_column_int64(s, 0);
    return STATUS_OK;
}

int fill_ledger(struct recording *db, struct fill_meta *m, struct report *r, struct error *e)
{
    struct numbers n = {0};
    int64_t span;
    if (m->span_t1 > m->span_t0 && !__builtin_sub_overflow(m->span_t1, m->span_t0, &span))
        r->span_ns = span;
    int status = m->span_t0 ? STATUS_OK : find_start(db, m, e);
    if (!status)
        status = read_accelerators(db, r, &n, e);
    if (!status)
        status = read_rows(db, r, &n, e);
    free(n.of);
    if (!status)
        status = complete(db, r, e);
    if (status)
        return status;
    for (size_t i = 0; i < r->row_count; i++)
        r->rows[i].share =
            (double)r->rows[i].ns / (double)r->accelerators[r->rows[i].accelerator].ns;
    if (r->row_count)
        qsort(r->rows, r->row_count, sizeof(*r->rows), by_time);
    return STATUS_OK;
}

/* The bucket of a row, or a new one; buckets of one accelerator arrive in order of time. */
static struct report_window *bucket(struct report *r, size_t accelerator, int64_t t0)
{
    if (r->window_count) {
        struct report_window *last = &r->windows[r->window_count - 1];
        if (last->accelerator == accelerator && last->t0 == t0)
            return last;
    }
    if (!mem_grow((void **)&r->windows, &r->window_cap, r->window_count + 1, sizeof(*r->windows)))
        return NULL;
    struct report_window *w = &r->windows[r->window_count++];
    *w = (struct report_window){.accelerator = accelerator, .t0 = t0};
    return w;
}

/* Windows per bucket so that the span needs at most RECORD_WINDOWS_MAX buckets. */
static int64_t bucket_ns(const struct report *r, const struct fill_meta *m)
{
    int64_t window = m->window_ns > 0 ? m->window_ns : 1;
    int64_t windows = r->span_ns / window + 2; /* both ends may be partial */
    int64_t each = (windows + RECORD_WINDOWS_MAX - 1) / RECORD_WINDOWS_MAX;
    return each > INT64_MAX / window ? INT64_MAX : each * window;
}

int fill_windows(struct recording *db, const struct fill_meta *m, struct report *r, struct error *e)
{
    /* Rows outside the span are shown at its ends. */
    static const char sql[] =
        "SELECT dense_rank() OVER (ORDER BY device, accelerator) - 1 AS at, b, state, cause, ns "
        "FROM ("
        "SELECT d.number AS accelerator, " FILL_DEVICE(
            "d.id") " AS device, "
                    "CAST(max(0, min(r.t0 - ?1, ?3)) AS INTEGER) / ?2 AS b, r.state AS state, "
                    "r.cause AS cause, sum(r.ns) AS ns FROM device d LEFT JOIN ledger_row r "
                    "ON r.accelerator = d.number GROUP BY d.number, b, r.state, r.cause) "
                    "ORDER BY at, b, state, cause";
    sqlite3_stmt *s AUTOFINAL = NULL;
    int64_t width = bucket_ns(r, m), origin = m->span_t0;
    int rc, status = prepare(db, sql, &s, e);
    if (status)
        return status;
    sqlite3_bind_int64(s, 1, origin);
    sqlite3_bind_int64(s, 2, width);
    sqlite3_bind_int64(s, 3, r->span_ns > 0 ? r->span_ns - 1 : 0);
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        int64_t ns = sqlite3_column_int64(s, 4);
        size_t at = (size_t)sqlite3_column_int64(s, 0);
        if (ns <= 0 || at >= r->accelerator_count)
            continue;
        struct report_window *w = bucket(r, at, sqlite3_column_int64(s, 1) * width);
        if (!w)
            return fill_no_memory(db, e);
        int state = clamp(sqlite3_column_int64(s, 2), STATE_COUNT, STATE_UNSEEN);
        int cause = clamp(sqlite3_column_int64(s, 3), CAUSE_COUNT, CAUSE_UNKNOWN);
        w->ns += ns;
        w->state_ns[state] += ns;
        if (state == STATE_WAIT || state == STATE_COMM || state == STATE_COPY)
            w->cause_ns[cause] += ns;
    }
    return rc == SQLITE_DONE ? STATUS_OK : recording_error(db, e, "reading it");
}
