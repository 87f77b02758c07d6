/* SPDX-License-Identifier: MIT */
/*
 * open: a recording as a read-only database whose schema is known to be ours.
 * Internal to the room.
 *
 * SQLite is told not to trust it (defensive, no trusted schema, no triggers,
 * cell sizes checked, limits lowered) and every table and view must carry the
 * very SQL text of record/schema.c for its format; other objects in the file are never used.
 * Work on the handle is bounded by steps, so that no file can keep a reader busy
 * for ever.
 */
#ifndef GPUFEED_RECORD_OPEN_H
#define GPUFEED_RECORD_OPEN_H

#include "record/db.h"
#include "record/distrust.h"
#include "record/image.h"

struct recording {
    sqlite3 *db;
    char *path;
    int format;         /* RECORD_OLDEST to RECORD_VERSION */
    struct image image; /* outlives db */
    struct distrust budget;
};

int recording_open(const char *path, struct recording *ret, struct error *e);
/* Reads the database of a writer in this process, which stays the writer's: do not close it. */
int recording_borrow(struct recording *r, sqlite3 *db, struct error *e);
void recording_return(struct recording *r);
/* Sets the budget for what follows. */
void recording_budget(struct recording *r, long thousands);
void recording_close(struct recording *r);

#define READ_BUDGET 4000000L /* 4e9 instructions: some 40 s */

/* Fills e from the last error of the handle; returns its status. */
int recording_error(struct recording *r, struct error *e, const char *doing);

#endif
