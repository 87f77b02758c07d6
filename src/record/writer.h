/* SPDX-License-Identifier: MIT */
/*
 * writer: the parts of a `struct record` that record.c (its life) and put.c (what
 * is written) share. Internal to the room.
 */
#ifndef GPUFEED_RECORD_WRITER_H
#define GPUFEED_RECORD_WRITER_H

#include "record/chains.h"
#include "record/db.h"
#include "record/record.h"

enum insert {
    INSERT_META,
    INSERT_WORD,
    INSERT_DEVICE,
    INSERT_RESOURCE,
    INSERT_WORKLOAD,
    INSERT_ROW,
    UPDATE_ROW,
    INSERT_FACT,
    DELETE_FACTS,
    INSERT_NOTE,
    INSERT_CHAIN,
    DELETE_LINKS,
    INSERT_LINK,
    INSERT_DELIVERY,
    DELETE_DELIVERY,
    INSERT_COUNT
};

/*
 * Rows of the windows that are open: a window's rows come close together and are summed here. They stay
 * after they were written, so that what comes to the same row later changes it in the file instead
 * of adding another; one that nothing came to between two commits is let go.
 */
#define ROWS_PENDING 256

struct pending_row {
    struct ledger_row row;
    int64_t id;   /* in the file; 0: not written yet */
    bool touched; /* since it was last written */
};

struct record {
    sqlite3 *db;
    char *path;
    sqlite3_stmt *insert[INSERT_COUNT];
    struct chain_slots chains;
    struct pending_row rows[ROWS_PENDING];
    int row_count;
    size_t delivery_bytes; /* of the chunks in the file */
    struct error broken;   /* the first failure; status OK while all is well */
    bool in_transaction;
    bool indexed; /* an empty index lies beside the file */
};

/* Keeps and returns the first failure, taken from db. */
int writer_fail(struct record *r, const char *doing, struct error *e);
/* True, and e filled, once an earlier call has failed. */
bool writer_broken(struct record *r, struct error *e);
int writer_exec(struct record *r, const char *sql, const char *doing, struct error *e);
/* The statement, ready to bind, inside a transaction; NULL: broken, e filled. */
sqlite3_stmt *writer_begin(struct record *r, enum insert which, struct error *e);
int writer_step(struct record *r, sqlite3_stmt *s, struct error *e);
/* Binds without secrets; NULL stays NULL. */
void writer_bind_text(sqlite3_stmt *s, int at, const char *text);

int writer_meta_text(struct record *r, const char *key, const char *value, struct error *e);
int writer_meta_int(struct record *r, const char *key, int64_t value, struct error *e);
int writer_meta_number(struct record *r, const char *key, double value, struct error *e);

/* Writes the rows that changed. */
int writer_flush_rows(struct record *r, struct error *e);

#endif
