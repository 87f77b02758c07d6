/* SPDX-License-Identifier: MIT */
/*
 * distrust: a database that others wrote, opened so that it can neither change anything, nor run
 * code of its own, nor keep a reader busy for ever.
 *
 * Read-only and immutable (no lock, no log, nothing made beside it), defensive, schema not trusted, no
 * triggers, cell sizes checked, limits lowered, work bounded by steps. One thread at a time.
 */
#ifndef GPUFEED_RECORD_DISTRUST_H
#define GPUFEED_RECORD_DISTRUST_H

#include <sqlite3.h>

struct distrust {
    long steps_left; /* thousands of SQLite instructions; beyond them it is SQLITE_INTERRUPT */
};

/* An SQLite code. *ret is to be closed by the caller, also after a failure. */
int distrust_open(const char *path, sqlite3 **ret);
/* An SQLite code. budget is borrowed as long as db is open; its steps must be set before. */
int distrust_database(sqlite3 *db, struct distrust *budget);

#endif
