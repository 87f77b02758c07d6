/* SPDX-License-Identifier: MIT */
#include "record/distrust.h"

#include "base/str.h"

#include <stddef.h>

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
    struct distrust *d = arg;
    return d->steps_left-- <= 0;
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

int distrust_open(const char *path, sqlite3 **ret)
{
    struct str uri = {0};
    *ret = NULL;
    add_uri(&uri, path);
    int flags =
        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = uri.failed ? SQLITE_NOMEM : sqlite3_open_v2(str_text(&uri), ret, flags, NULL);
    str_clear(&uri);
    return rc;
}

int distrust_database(sqlite3 *db, struct distrust *budget)
{
    static const char pragmas[] = "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                                  "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096;";
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        sqlite3_limit(db, limits[i].id, limits[i].value);
    sqlite3_progress_handler(db, STEP, on_progress, budget);
    return sqlite3_exec(db, pragmas, NULL, NULL, NULL);
}
