/* SPDX-License-Identifier: MIT */
#include "import/nsys.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is out of order by no more is kept in memory until it is; more is sorted by SQLite, on disk. */
#define LAG_MAX (INT64_C(500) * 1000 * 1000)

static const char *const column_names[NSYS_COLUMNS] = {
    [NSYS_START] = "start",
    [NSYS_END] = "end",
    [NSYS_DEVICE] = "deviceId",
    [NSYS_STREAM] = "streamId",
    [NSYS_CORRELATION] = "correlationId",
    [NSYS_PID] = "globalPid",
    [NSYS_TID] = "globalTid",
    [NSYS_NAME] = "nameId",
    [NSYS_SHORT_NAME] = "shortName",
    [NSYS_DEMANGLED_NAME] = "demangledName",
    [NSYS_BYTES] = "bytes",
    [NSYS_COPY_KIND] = "copyKind",
    [NSYS_FROM] = "srcKind",
    [NSYS_TO] = "dstKind",
    [NSYS_TEXT] = "text",
    [NSYS_TEXT_ID] = "textId",
};

int nsys_no_memory(struct nsys *n)
{
    return error_set(n->error, STATUS_MEMORY, "\"%s\": out of memory", n->path);
}

void nsys_put(struct nsys *n, struct map *m, uint64_t key, uint64_t value)
{
    if (!map_put(m, key, value))
        nsys_no_memory(n);
}

/* ---- statements ---- */

static int fail(struct nsys *n, const char *table)
{
    char message[160];
    int code = sqlite3_errcode(n->db) & 0xff;
    if (code == SQLITE_NOMEM)
        return error_set(n->error, STATUS_MEMORY, "\"%s\": out of memory reading table %s", n->path,
                         table);
    if (code == SQLITE_INTERRUPT)
        return error_set(n->error, STATUS_INPUT,
                         "\"%s\": takes too long reading table %s; is it damaged?", n->path, table);
    str_copy(message, sizeof(message), sqlite3_errmsg(n->db));
    for (char *p = message; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = ' ';
    return error_set(n->error, STATUS_INPUT, "\"%s\": cannot read table %s: %s", n->path, table,
                     message);
}

int nsys_prepare(struct nsys *n, const char *sql, const char *table, sqlite3_stmt **ret)
{
    return sqlite3_prepare_v2(n->db, sql, -1, ret, NULL) ? fail(n, table) : STATUS_OK;
}

int nsys_step(struct nsys *n, sqlite3_stmt *s, const char *table)
{
    int rc = sqlite3_step(s);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        fail(n, table);
    return rc;
}

/* ---- what is there ---- */

int nsys_is_table(struct nsys *n, const char *name, bool *ret)
{
    static const char sql[] = "SELECT type = 'table' AND rootpage > 0 FROM sqlite_schema "
                              "WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')";
    sqlite3_stmt *s = NULL;
    *ret = false;
    int status = nsys_prepare(n, sql, "sqlite_schema", &s);
    if (!status) {
        sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
        int rc = nsys_step(n, s, "sqlite_schema");
        *ret = rc == SQLITE_ROW && sqlite3_column_int(s, 0);
        if (rc == SQLITE_ROW && !*ret)
            sink_note(n->sink, "%s is no ordinary table: it is not read", name);
        status = rc == SQLITE_ROW || rc == SQLITE_DONE ? STATUS_OK : STATUS_INPUT;
    }
    sqlite3_finalize(s);
    return status;
}

static int find_columns(struct nsys *n, struct nsys_table *t)
{
    sqlite3_stmt *s = NULL;
    int rc = SQLITE_DONE, columns = 0;
    int status = nsys_prepare(n, "SELECT name FROM pragma_table_info(?)", t->name, &s);
    bool has[NSYS_COLUMNS] = {false};
    if (!status)
        sqlite3_bind_text(s, 1, t->name, -1, SQLITE_STATIC);
    while (!status && (rc = nsys_step(n, s, t->name)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(s, 0);
        for (int i = 0; name && i < NSYS_COLUMNS; i++)
            has[i] |= !sqlite3_stricmp(name, column_names[i]);
    }
    sqlite3_finalize(s);
    if (status || rc != SQLITE_DONE)
        return n->error->status;
    for (int i = 0; i < NSYS_COLUMNS; i++)
        t->at[i] = has[i] ? columns++ : -1;
    t->present = has[NSYS_START] && has[NSYS_END] && (!t->device || has[NSYS_DEVICE]);
    if (!t->present)
        sink_note(n->sink, "table %s lacks start, end or deviceId: it is not read", t->name);
    return STATUS_OK;
}

int nsys_table_look(struct nsys *n, struct nsys_table *t)
{
    int status = nsys_is_table(n, t->name, &t->present);
    return status || !t->present ? status : find_columns(n, t);
}

/* NOT INDEXED: in the order of rows, which is that of time or nearly so. */
static int begin(struct nsys *n, struct nsys_table *t, const char *columns, const char *order)
{
    struct str sql = {0};
    int status;
    str_addf(&sql, "SELECT %s FROM \"%s\" NOT INDEXED%s", columns, t->name, order);
    if (sql.failed)
        status = nsys_no_memory(n);
    else
        status = nsys_prepare(n, str_text(&sql), t->name, &t->stmt);
    str_clear(&sql);
    return status;
}

int nsys_table_survey(struct nsys *n, struct nsys_table *t)
{
    int64_t latest = INT64_MIN;
    int rc, status = begin(n, t, "start", "");
    t->min = INT64_MAX;
    t->max = INT64_MIN;
    if (status)
        return status;
    while ((rc = nsys_step(n, t->stmt, t->name)) == SQLITE_ROW) {
        t->rows++;
        if (sqlite3_column_type(t->stmt, 0) != SQLITE_INTEGER)
            continue;
        int64_t at = sqlite3_column_int64(t->stmt, 0);
        if (latest == INT64_MIN)
            t->first = at;
        t->min = at < t->min ? at : t->min;
        t->max = at > t->max ? at : t->max;
        int64_t back;
        if (__builtin_sub_overflow(latest, at, &back))
            back = INT64_MAX;
        if (at >= latest)
            latest = at;
        else
            t->lag = back > t->lag ? back : t->lag;
    }
    nsys_table_end(t);
    t->present = t->min <= t->max;
    if (rc == SQLITE_DONE && t->rows && !t->present)
        sink_skip(n->sink, "rows without a number as their start", t->rows);
    return rc == SQLITE_DONE ? STATUS_OK : n->error->status;
}

/* ---- rows ---- */

static int order_by_disk(struct nsys *n)
{
    if (sqlite3_exec(n->db, "PRAGMA temp_store = FILE; PRAGMA cache_size = -32768;", NULL, NULL,
                     NULL))
        return fail(n, "sqlite_schema");
    n->sorted_by_time = true;
    return STATUS_OK;
}

int nsys_table_begin(struct nsys *n, struct nsys_table *t)
{
    struct str columns = {0};
    const char *order = "";
    int status = STATUS_OK;
    for (int i = 0; i < NSYS_COLUMNS; i++)
        if (t->at[i] >= 0)
            str_addf(&columns, "%s\"%s\"", columns.len ? ", " : "", column_names[i]);
    if (columns.failed)
        status = nsys_no_memory(n);
    if (!status && t->lag > LAG_MAX) {
        status = n->sorted_by_time ? STATUS_OK : order_by_disk(n);
        order = " ORDER BY start";
        t->lag = 0;
    }
    if (!status)
        status = begin(n, t, str_text(&columns), order);
    str_clear(&columns);
    t->latest = INT64_MIN;
    return status ? status : nsys_table_next(n, t);
}

bool nsys_integer(struct nsys *n, const struct nsys_table *t, enum nsys_column c, int64_t *ret)
{
    int type = t->at[c] < 0 ? SQLITE_NULL : sqlite3_column_type(t->stmt, t->at[c]);
    if (type == SQLITE_INTEGER)
        *ret = sqlite3_column_int64(t->stmt, t->at[c]);
    else if (type != SQLITE_NULL)
        sink_skip(n->sink, "values that should be whole numbers and are not", 1);
    return type == SQLITE_INTEGER;
}

const char *nsys_string(const struct nsys_table *t, enum nsys_column c)
{
    if (t->at[c] < 0 || sqlite3_column_type(t->stmt, t->at[c]) != SQLITE_TEXT)
        return NULL;
    return (const char *)sqlite3_column_text(t->stmt, t->at[c]);
}

/* Times of the row at hand, from the trace's origin; NULL or the reason why they cannot be used. */
static const char *times(struct nsys *n, const struct nsys_table *t, int64_t *t0, int64_t *ns)
{
    int end = sqlite3_column_type(t->stmt, t->at[NSYS_END]);
    int64_t start, stop;
    if (sqlite3_column_type(t->stmt, t->at[NSYS_START]) != SQLITE_INTEGER)
        return "rows without a number as their start";
    if (end == SQLITE_NULL)
        return t->take == nsys_take_range ? "" : "rows without an end"; /* marks have none */
    if (end != SQLITE_INTEGER)
        return "rows without a number as their end";
    start = sqlite3_column_int64(t->stmt, t->at[NSYS_START]);
    stop = sqlite3_column_int64(t->stmt, t->at[NSYS_END]);
    if (stop < start)
        return "rows that end before they start";
    if (__builtin_sub_overflow(start, n->origin, t0) || *t0 > TRACE_TIME_MAX ||
        *t0 < -TRACE_TIME_MAX || __builtin_sub_overflow(stop, start, ns) || *ns > TRACE_NS_MAX)
        return "rows with an impossible time";
    return NULL;
}

int nsys_table_next(struct nsys *n, struct nsys_table *t)
{
    int rc;
    while ((rc = nsys_step(n, t->stmt, t->name)) == SQLITE_ROW) {
        int64_t ns;
        const char *reason = times(n, t, &t->next, &ns);
        if (!reason) {
            t->latest = t->next > t->latest ? t->next : t->latest;
            return STATUS_OK;
        }
        if (*reason)
            sink_skip(n->sink, reason, 1);
    }
    t->done = true;
    return rc == SQLITE_DONE ? STATUS_OK : n->error->status;
}

void nsys_table_end(struct nsys_table *t)
{
    sqlite3_finalize(t->stmt);
    t->stmt = NULL;
}
