/* SPDX-License-Identifier: MIT */
#include "record/open.h"

#include "base/mem.h"
#include "base/str.h"
#include "record/schema.h"

#include <stdlib.h>
#include <string.h>

void recording_budget(struct recording *r, long thousands)
{
    r->budget.steps_left = thousands;
}

int recording_error(struct recording *r, struct error *e, const char *doing)
{
    if (r->db && sqlite3_errcode(r->db) == SQLITE_INTERRUPT)
        return error_set(e, STATUS_INPUT, "\"%s\": takes too long %s; is it damaged?", r->path,
                         doing);
    int status = db_error(r->db, e, r->path, doing);
    return status;
}

static int open_file(struct recording *r, struct error *e)
{
    return distrust_open(r->path, &r->db) ? recording_error(r, e, "opening it") : STATUS_OK;
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
    recording_budget(r, READ_BUDGET);
    return distrust_database(r->db, &r->budget) ? recording_error(r, e, "opening it") : STATUS_OK;
}

/* In the range that image_load lets pass. */
static int read_format(struct recording *r, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    if (sqlite3_prepare_v2(r->db, "PRAGMA user_version", -1, &s, NULL) ||
        sqlite3_step(s) != SQLITE_ROW)
        return recording_error(r, e, "reading its format");
    r->format = sqlite3_column_int(s, 0);
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
    if (!type || !sql || strcmp(type, o->type) || strcmp(sql, schema_sql(o, r->format)))
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
    int status = read_format(r, e);
    if (status)
        return status;
    if (sqlite3_prepare_v2(r->db, "SELECT type, sql FROM sqlite_schema WHERE name = ?", -1, &s,
                           NULL))
        return recording_error(r, e, "reading its schema");
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
    *r = (struct recording){.db = db, .path = name, .format = RECORD_VERSION};
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
