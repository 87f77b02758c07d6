/* SPDX-License-Identifier: MIT */
#include "record/open.h"

#include "base/mem.h"
#include "base/str.h"
#include "record/schema.h"

#include <stdlib.h>
#include <string.h>

#define STEP 1000 /* SQLite instructions between two looks at the budget */

static const struct {
    int id, value;
} limits[] = {
    {SQLITE_LIMIT_LENGTH, 64 << 20},
    {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
    {SQLITE_LIMIT_COLUMN, 256},
    {SQLITE_LIMIT_EXPR_DEPTH, 100},
    {SQLITE_LIMIT_COMPOUND_SELECT, 50},
    {SQLITE_LIMIT_VDBE_OP, 250000},
    {SQLITE_LIMIT_FUNCTION_ARG, 32},
    {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

static int on_progress(void *arg)
{
    struct recording *r = arg;
    return r->steps_left-- <= 0;
}

void recording_budget(struct recording *r, long thousands)
{
    r->steps_left = thousands;
}

int recording_error(struct recording *r, struct error *e, const char *doing)
{
    if (r->db && sqlite3_errcode(r->db) == SQLITE_INTERRUPT)
        return error_set(e, STATUS_INPUT, "\"%s\": takes too long %s; is it damaged?", r->path,
                         doing);
    int status = db_error(r->db, e, r->path, doing);
    return status;
}

/* "file:" URI of path: immutable, so that nothing beside it is looked at or made. */
static void add_uri(struct str *out, const char *path)
{
    str_add(out, path[0] == '/' ? "file://" : "file:");
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        if (*p == '%' || *p == '?' || *p == '#' || *p < 0x21 || *p > 0x7e)
            str_addf(out, "%%%02x", *p);
        else
            str_addn(out, (const char *)p, 1);
    }
    str_add(out, "?immutable=1");
}

static int open_file(struct recording *r, struct error *e)
{
    struct str uri = {0};
    add_uri(&uri, r->path);
    int status = STATUS_OK;
    if (uri.failed)
        status = error_set(e, STATUS_MEMORY, "\"%s\": out of memory", r->path);
    else if (sqlite3_open_v2(str_text(&uri), &r->db,
                             SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, NULL))
        status = recording_error(r, e, "opening it");
    str_clear(&uri);
    return status;
}

static int open_image(struct recording *r, struct error *e)
{
    if (sqlite3_open_v2(":memory:", &r->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_EXRESCODE, NULL) ||
        sqlite3_deserialize(r->db, "main", r->image.bytes, (sqlite3_int64)r->image.size,
                            (sqlite3_int64)r->image.size, SQLITE_DESERIALIZE_READONLY))
        return recording_error(r, e, "opening it");
    return STATUS_OK;
}

static int distrust(struct recording *r, struct error *e)
{
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(r->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        sqlite3_limit(r->db, limits[i].id, limits[i].value);
    recording_budget(r, READ_BUDGET);
    sqlite3_progress_handler(r->db, STEP, on_progress, r);
    static const char pragmas[] = "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                                  "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096;";
    if (sqlite3_exec(r->db, pragmas, NULL, NULL, NULL))
        return recording_error(r, e, "opening it");
    return STATUS_OK;
}

static int check_object(struct recording *r, sqlite3_stmt *s, const struct schema_object *o,
                        struct error *e)
{
    sqlite3_reset(s);
    sqlite3_bind_text(s, 1, o->name, -1, SQLITE_STATIC);
    int rc = sqlite3_step(s);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return recording_error(r, e, "reading its schema");
    const char *type = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    const char *sql = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 1) : NULL;
    if (!type || !sql || strcmp(type, o->type) || strcmp(sql, o->sql))
        return error_set(e, STATUS_INPUT, "\"%s\" is not a whole recording: its %s \"%s\" is %s",
                         r->path, o->type, o->name, type ? "not what it should be" : "missing");
    return STATUS_OK;
}

/* One damaged page is reported instead of being read as fewer rows. */
static int check_pages(struct recording *r, const char *table, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    struct str sql = {0};
    str_addf(&sql, "PRAGMA quick_check('%s')", table);
    if (sql.failed)
        return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", r->path);
    int rc = sqlite3_prepare_v2(r->db, str_text(&sql), -1, &s, NULL);
    str_clear(&sql);
    if (rc || sqlite3_step(s) != SQLITE_ROW)
        return recording_error(r, e, "checking it");
    const char *answer = (const char *)sqlite3_column_text(s, 0);
    if (!answer || strcmp(answer, "ok"))
        return error_set(e, STATUS_INPUT, "\"%s\" is damaged: table \"%s\": %.*s", r->path, table,
                         answer ? (int)strcspn(answer, "\r\n") : 10,
                         answer ? answer : "unreadable");
    return STATUS_OK;
}

static int check_schema(struct recording *r, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    if (sqlite3_prepare_v2(r->db, "SELECT type, sql FROM sqlite_schema WHERE name = ?", -1, &s,
                           NULL))
        return recording_error(r, e, "reading its schema");
    int status = STATUS_OK;
    for (size_t i = 0; i < schema_object_count && !status; i++)
        status = check_object(r, s, &schema_objects[i], e);
    for (size_t i = 0; i < schema_object_count && !status; i++)
        if (!strcmp(schema_objects[i].type, "table"))
            status = check_pages(r, schema_objects[i].name, e);
    return status;
}

int recording_open(const char *path, struct recording *ret, struct error *e)
{
    *ret = (struct recording){.path = mem_strdup(path)};
    if (!ret->path)
        return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", path);
    int status = image_load(path, &ret->image, e);
    if (!status)
        status = ret->image.bytes ? open_image(ret, e) : open_file(ret, e);
    if (!status)
        status = distrust(ret, e);
    if (!status)
        status = check_schema(ret, e);
    if (status)
        recording_close(ret);
    return status;
}

int recording_borrow(struct recording *r, sqlite3 *db, struct error *e)
{
    static char name[] = "facts";
    *r = (struct recording){.db = db, .path = name};
    return distrust(r, e);
}

void recording_return(struct recording *r)
{
    sqlite3_progress_handler(r->db, 0, NULL, NULL);
    *r = (struct recording){0};
}

void recording_close(struct recording *r)
{
    sqlite3_close(r->db);
    image_clear(&r->image);
    free(r->path);
    *r = (struct recording){0};
}
