/* SPDX-License-Identifier: MIT */
#include "record/writer.h"

#include "base/redact.h"
#include "base/str.h"

#include <math.h>
#include <string.h>

static const char *const insert_sql[INSERT_COUNT] = {
    [INSERT_META] = "INSERT OR REPLACE INTO meta VALUES (?, ?)",
    [INSERT_WORD] = "INSERT INTO word VALUES (?, ?, ?)",
    [INSERT_DEVICE] = "INSERT OR REPLACE INTO device VALUES (?, ?, ?, ?)",
    [INSERT_RESOURCE] = "INSERT OR REPLACE INTO resource VALUES (?, ?)",
    [INSERT_WORKLOAD] = "INSERT OR REPLACE INTO workload VALUES (?, ?)",
    [INSERT_ROW] = "INSERT INTO ledger_row VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    [UPDATE_ROW] = "UPDATE ledger_row SET ns = ? WHERE rowid = ?",
    [INSERT_FACT] = "INSERT OR REPLACE INTO fact VALUES (?, ?, ?, ?, ?, ?, ?)",
    [DELETE_FACTS] = "DELETE FROM fact WHERE source = ?",
    [INSERT_NOTE] = "INSERT INTO note (line) SELECT ?1 "
                    "WHERE NOT EXISTS (SELECT 1 FROM note WHERE line = ?1)",
    [INSERT_CHAIN] = "INSERT OR REPLACE INTO chain_wait VALUES (?, ?, ?, ?, ?, ?)",
    [DELETE_LINKS] = "DELETE FROM chain_link WHERE chain = ?",
    [INSERT_LINK] = "INSERT INTO chain_link VALUES (?, ?, ?, ?)",
    [INSERT_DELIVERY] = "INSERT INTO delivery (chunk) VALUES (?)",
    [DELETE_DELIVERY] = "DELETE FROM delivery WHERE number = (SELECT min(number) FROM delivery) "
                        "RETURNING length(chunk)",
};

int writer_fail(struct record *r, const char *doing, struct error *e)
{
    db_error(r->db, &r->broken, r->path, doing);
    if (e)
        *e = r->broken;
    return r->broken.status;
}

bool writer_broken(struct record *r, struct error *e)
{
    if (r->broken.status && e)
        *e = r->broken;
    return r->broken.status != STATUS_OK;
}

int writer_exec(struct record *r, const char *sql, const char *doing, struct error *e)
{
    return sqlite3_exec(r->db, sql, NULL, NULL, NULL) == SQLITE_OK ? STATUS_OK
                                                                   : writer_fail(r, doing, e);
}

sqlite3_stmt *writer_begin(struct record *r, enum insert which, struct error *e)
{
    if (writer_broken(r, e))
        return NULL;
    if (!r->in_transaction) {
        if (writer_exec(r, "BEGIN IMMEDIATE", "opening a transaction", e))
            return NULL;
        r->in_transaction = true;
    }
    if (!r->insert[which] &&
        sqlite3_prepare_v3(r->db, insert_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                           &r->insert[which], NULL) != SQLITE_OK) {
        writer_fail(r, "preparing to write", e);
        return NULL;
    }
    return r->insert[which];
}

int writer_step(struct record *r, sqlite3_stmt *s, struct error *e)
{
    int status =
        sqlite3_step(s) == SQLITE_DONE ? STATUS_OK : writer_fail(r, "writing the recording", e);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return status;
}

static void bind_int(sqlite3_stmt *s, int at, int64_t v)
{
    sqlite3_bind_int64(s, at, v);
}

/* NULL stays NULL; secrets are blanked. A failed copy is bound as NULL, which NOT NULL refuses. */
void writer_bind_text(sqlite3_stmt *s, int at, const char *text)
{
    if (!text)
        return;
    struct str clean = {0};
    str_add(&clean, "");
    redact_add(&clean, text);
    if (!clean.failed)
        sqlite3_bind_text(s, at, str_text(&clean), (int)clean.len, SQLITE_TRANSIENT);
    str_clear(&clean);
}

/* As bind_text, and all of it is masked when the name of the thing says that it is secret. */
static void bind_value(sqlite3_stmt *s, int at, const struct fact *fact)
{
    const char *last = fact->subject && *fact->subject ? fact->subject : fact->name;
    bool secret = redact_secret_name(fact->name, strlen(fact->name)) ||
                  redact_secret_name(last, strlen(last));
    writer_bind_text(s, at, secret && fact->text && *fact->text ? REDACT_MASK : fact->text);
}

int writer_meta_text(struct record *r, const char *key, const char *value, struct error *e)
{
    sqlite3_stmt *s = writer_begin(r, INSERT_META, e);
    if (!s)
        return r->broken.status;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    writer_bind_text(s, 2, value);
    return writer_step(r, s, e);
}

int writer_meta_int(struct record *r, const char *key, int64_t value, struct error *e)
{
    sqlite3_stmt *s = writer_begin(r, INSERT_META, e);
    if (!s)
        return r->broken.status;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    bind_int(s, 2, value);
    return writer_step(r, s, e);
}

int writer_meta_number(struct record *r, const char *key, double value, struct error *e)
{
    if (!isfinite(value))
        return r->broken.status;
    sqlite3_stmt *s = writer_begin(r, INSERT_META, e);
    if (!s)
        return r->broken.status;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_double(s, 2, value);
    return writer_step(r, s, e);
}

int record_accelerator(struct record *r, uint32_t number, const char *id, const char *name,
                       bool simulated, struct error *e)
{
    sqlite3_stmt *s = writer_begin(r, INSERT_DEVICE, e);
    if (!s)
        return r->broken.status;
    bind_int(s, 1, number);
    writer_bind_text(s, 2, id);
    writer_bind_text(s, 3, name ? name : "");
    bind_int(s, 4, simulated);
    return writer_step(r, s, e);
}

static int put_name(struct record *r, enum insert which, uint32_t number, const char *text,
                    struct error *e)
{
    sqlite3_stmt *s = writer_begin(r, which, e);
    if (!s)
        return r->broken.status;
    bind_int(s, 1, number);
    writer_bind_text(s, 2, text);
    return writer_step(r, s, e);
}

int record_resource(struct record *r, uint32_t number, const char *text, struct error *e)
{
    return put_name(r, INSERT_RESOURCE, number, text, e);
}

int record_workload(struct record *r, uint32_t pid, const char *text, struct error *e)
{
    return put_name(r, INSERT_WORKLOAD, pid, text, e);
}

static int put_row(struct record *r, struct pending_row *p, struct error *e)
{
    const struct ledger_row *row = &p->row;
    sqlite3_stmt *s = writer_begin(r, p->id ? UPDATE_ROW : INSERT_ROW, e);
    if (!s)
        return r->broken.status;
    if (p->id) {
        bind_int(s, 1, row->ns);
        bind_int(s, 2, p->id);
        return writer_step(r, s, e);
    }
    bind_int(s, 1, row->t0);
    bind_int(s, 2, row->accelerator);
    bind_int(s, 3, row->workload);
    bind_int(s, 4, row->state);
    bind_int(s, 5, row->cause);
    bind_int(s, 6, row->resource);
    bind_int(s, 7, row->evidence);
    bind_int(s, 8, row->ns);
    int status = writer_step(r, s, e);
    p->id = sqlite3_last_insert_rowid(r->db);
    return status;
}

int writer_flush_rows(struct record *r, struct error *e)
{
    int kept = 0;
    for (int i = 0; i < r->row_count; i++) {
        struct pending_row *p = &r->rows[i];
        if (!p->touched)
            continue;
        if (put_row(r, p, e))
            return r->broken.status;
        p->touched = false;
        r->rows[kept++] = *p;
    }
    r->row_count = kept;
    return r->broken.status;
}

static bool same_row(const struct ledger_row *a, const struct ledger_row *b)
{
    return a->t0 == b->t0 && a->accelerator == b->accelerator && a->workload == b->workload &&
           a->state == b->state && a->cause == b->cause && a->evidence == b->evidence &&
           a->resource == b->resource;
}

int record_row(struct record *r, const struct ledger_row *row, struct error *e)
{
    if (writer_broken(r, e) || row->ns <= 0)
        return r->broken.status;
    for (int i = r->row_count - 1; i >= 0; i--)
        if (same_row(&r->rows[i].row, row)) {
            r->rows[i].row.ns += row->ns;
            r->rows[i].touched = true;
            return STATUS_OK;
        }
    if (r->row_count == ROWS_PENDING) {
        if (writer_flush_rows(r, e))
            return r->broken.status;
        r->row_count = 0;
    }
    r->rows[r->row_count++] = (struct pending_row){.row = *row, .touched = true};
    return STATUS_OK;
}

static int put_link(struct record *r, int slot, int position, const struct chain_link *link,
                    struct error *e)
{
    sqlite3_stmt *s = writer_begin(r, INSERT_LINK, e);
    if (!s)
        return r->broken.status;
    bind_int(s, 1, slot);
    bind_int(s, 2, position);
    writer_bind_text(s, 3, link->who);
    writer_bind_text(s, 4, link->did);
    return writer_step(r, s, e);
}

int record_chain(struct record *r, const struct chain_example *chain, const char *resource,
                 struct error *e)
{
    if (writer_broken(r, e))
        return r->broken.status;
    int slot = chain_slots_offer(&r->chains, chain->cause, chain->ns);
    sqlite3_stmt *s = slot < 0 ? NULL : writer_begin(r, INSERT_CHAIN, e);
    if (!s)
        return r->broken.status;
    bind_int(s, 1, slot);
    bind_int(s, 2, chain->t0);
    bind_int(s, 3, chain->ns);
    bind_int(s, 4, chain->accelerator);
    bind_int(s, 5, chain->cause);
    writer_bind_text(s, 6, resource && *resource ? resource : NULL);
    int status = writer_step(r, s, e);
    if (!status && (s = writer_begin(r, DELETE_LINKS, e))) {
        bind_int(s, 1, slot);
        status = writer_step(r, s, e);
    }
    for (int i = 0; i < chain->count && i < CHAIN_LINKS_MAX && !status; i++)
        status = put_link(r, slot, i, &chain->links[i], e);
    return r->broken.status;
}

int record_fact(struct record *r, const struct fact *fact, struct error *e)
{
    sqlite3_stmt *s = writer_begin(r, INSERT_FACT, e);
    if (!s)
        return r->broken.status;
    writer_bind_text(s, 1, fact->kind);
    writer_bind_text(s, 2, fact->subject ? fact->subject : "");
    writer_bind_text(s, 3, fact->name);
    bind_value(s, 4, fact);
    if (!fact->text && isfinite(fact->number))
        sqlite3_bind_double(s, 5, fact->number);
    writer_bind_text(s, 6, fact->unit ? fact->unit : "");
    writer_bind_text(s, 7, fact->source ? fact->source : "");
    return writer_step(r, s, e);
}

/* A statement whose one parameter is a text. */
static int step_text(struct record *r, enum insert which, const char *text, struct error *e)
{
    sqlite3_stmt *s = writer_begin(r, which, e);
    if (!s)
        return r->broken.status;
    writer_bind_text(s, 1, text);
    return writer_step(r, s, e);
}

int record_forget_facts(struct record *r, const char *source, struct error *e)
{
    return step_text(r, DELETE_FACTS, source, e);
}

int record_mode(struct record *r, const char *mode, struct error *e)
{
    return writer_meta_text(r, "mode", mode, e);
}

int record_start(struct record *r, int64_t start_ns, int64_t start_unix_ns, struct error *e)
{
    if (writer_meta_int(r, "start_ns", start_ns, e))
        return r->broken.status;
    return writer_meta_int(r, "start_unix_ns", start_unix_ns, e);
}

int record_windows(struct record *r, int64_t window_ns, struct error *e)
{
    return writer_meta_int(r, "window_ns", window_ns, e);
}

int record_note(struct record *r, const char *line, struct error *e)
{
    return step_text(r, INSERT_NOTE, line, e);
}

static int drop_oldest_delivery(struct record *r, struct error *e)
{
    sqlite3_stmt *s = writer_begin(r, DELETE_DELIVERY, e);
    if (!s)
        return r->broken.status;
    int rc = sqlite3_step(s);
    size_t bytes = rc == SQLITE_ROW ? (size_t)sqlite3_column_int64(s, 0) : r->delivery_bytes;
    if (rc == SQLITE_ROW)
        rc = sqlite3_step(s);
    if (rc != SQLITE_DONE)
        writer_fail(r, "writing the recording", e);
    sqlite3_reset(s);
    r->delivery_bytes -= bytes < r->delivery_bytes ? bytes : r->delivery_bytes;
    return r->broken.status;
}

int record_deliveries(struct record *r, const void *chunk, size_t bytes, struct error *e)
{
    sqlite3_stmt *s = bytes ? writer_begin(r, INSERT_DELIVERY, e) : NULL;
    if (!s)
        return r->broken.status;
    sqlite3_bind_blob64(s, 1, chunk, bytes, SQLITE_TRANSIENT);
    int status = writer_step(r, s, e);
    r->delivery_bytes += bytes;
    while (!status && r->delivery_bytes > RECORD_DELIVERY_BYTES && r->delivery_bytes > bytes)
        status = drop_oldest_delivery(r, e);
    return status;
}

int record_span(struct record *r, int64_t t0, int64_t t1, struct error *e)
{
    if (writer_meta_int(r, "span_t0", t0, e))
        return r->broken.status;
    return writer_meta_int(r, "span_t1", t1, e);
}

int record_behind(struct record *r, int64_t ns, struct error *e)
{
    return writer_meta_int(r, "behind_ns", ns, e);
}
