/* SPDX-License-Identifier: MIT */
/*
 * db: what the files of record/ share about SQLite. Internal to the room.
 */
#ifndef GPUFEED_RECORD_DB_H
#define GPUFEED_RECORD_DB_H

#include "base/error.h"

#include <sqlite3.h>
#include <stddef.h>

/* The status that fits the last error of db (SQLITE_FULL is STATUS_FULL ...). */
enum status db_status(sqlite3 *db);

/* Fills e from the last error of db: `"PATH": DOING: why`; returns its status. */
int db_error(sqlite3 *db, struct error *e, const char *path, const char *doing);

/* SQLite's last message as one printable line: it may quote the file. Returns buf. */
char *db_message(sqlite3 *db, char *buf, size_t size);

/* Texts of row `stmt`: a copy, NULL for NULL; *failed is set when out of memory. */
char *db_text(sqlite3_stmt *stmt, int column, int *failed);

/* `sqlite3_stmt *s AUTOFINAL = NULL;` */
#define AUTOFINAL __attribute__((cleanup(db_finalize_at)))
void db_finalize_at(sqlite3_stmt **stmt);

#endif
