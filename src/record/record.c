/* SPDX-License-Identifier: MIT */
#include "record/record.h"

#include "base/mem.h"
#include "base/redact.h"
#include "base/str.h"
#include "record/chains.h"
#include "record/db.h"
#include "record/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum insert {
    INSERT_META,
    INSERT_WORD,
    INSERT_DEVICE,
    INSERT_RESOURCE,
    INSERT_WORKLOAD,
    INSERT_ROW,
    INSERT_FACT,
    INSERT_NOTE,
    INSERT_CHAIN,
    DELETE_LINKS,
    INSERT_LINK,
    INSERT_DELIVERY,
    INSERT_COUNT
};

static const char *const insert_sql[INSERT_COUNT] = {
    [INSERT_META] = "INSERT OR REPLACE INTO meta VALUES (?, ?)",
    [INSERT_WORD] = "INSERT INTO word VALUES (?, ?, ?)",
    [INSERT_DEVICE] = "INSERT OR REPLACE INTO device VALUES (?, ?, ?, ?)",
    [INSERT_RESOURCE] = "INSERT OR REPLACE INTO resource VALUES (?, ?)",
    [INSERT_WORKLOAD] = "INSERT OR REPLACE INTO workload VALUES (?, ?)",
    [INSERT_ROW] = "INSERT INTO ledger_row VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
                   "ON CONFLICT DO UPDATE SET ns = ns + excluded.ns",
    [INSERT_FACT] = "INSERT OR REPLACE INTO fact VALUES (?, ?, ?, ?, ?, ?, ?)",
    [INSERT_NOTE] = "INSERT INTO note (line) SELECT ?1 "
                    "WHERE NOT EXISTS (SELECT 1 FROM note WHERE line = ?1)",
    [INSERT_CHAIN] = "INSERT OR REPLACE INTO chain_wait VALUES (?, ?, ?, ?, ?, ?)",
    [DELETE_LINKS] = "DELETE FROM chain_link WHERE chain = ?",
    [INSERT_LINK] = "INSERT INTO chain_link VALUES (?, ?, ?, ?)",
    [INSERT_DELIVERY] = "INSERT INTO delivery (chunk) VALUES (?)",
};

struct record {
    sqlite3 *db;
    char *path;
    sqlite3_stmt *insert[INSERT_COUNT];
    struct chain_slots chains;
    struct error broken; /* the first failure; status OK while all is well */
    bool in_transaction;
};

static int fail(struct record *r, const char *doing, struct error *e)
{
    db_error(r->db, &r->broken, r->path, doing);
    if (e)
        *e = r->broken;
    return r->broken.status;
}

/* True, and e filled, once an earlier call has failed. */
static bool is_broken(struct record *r, struct error *e)
{
    if (r->broken.status && e)
        *e = r->broken;
    return r->broken.status != STATUS_OK;
}

static int exec(struct record *r, const char *sql, const char *doing, struct error *e)
{
    return sqlite3_exec(r->db, sql, NULL, NULL, NULL) == SQLITE_OK ? STATUS_OK : fail(r, doing, e);
}

/* The statement, ready to bind, inside a transaction; NULL: broken, e filled. */
static sqlite3_stmt *begin(struct record *r, enum insert which, struct error *e)
{
    if (is_broken(r, e))
        return NULL;
    if (!r->in_transaction) {
        if (exec(r, "BEGIN IMMEDIATE", "opening a transaction", e))
            return NULL;
        r->in_transaction = true;
    }
    if (!r->insert[which] &&
        sqlite3_prepare_v3(r->db, insert_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                           &r->insert[which], NULL) != SQLITE_OK) {
        fail(r, "preparing to write", e);
        return NULL;
    }
    return r->insert[which];
}

static int finish(struct record *r, sqlite3_stmt *s, struct error *e)
{
    int status = sqlite3_step(s) == SQLITE_DONE ? STATUS_OK : fail(r, "writing the recording", e);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return status;
}

static void bind_int(sqlite3_stmt *s, int at, int64_t v)
{
    sqlite3_bind_int64(s, at, v);
}

/* NULL stays NULL; secrets are blanked. A failed copy is bound as NULL, which NOT NULL refuses. */
static void bind_text(sqlite3_stmt *s, int at, const char *text)
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
    bind_text(s, at, secret && fact->text && *fact->text ? REDACT_MASK : fact->text);
}

static int put_meta_text(struct record *r, const char *key, const char *value, struct error *e)
{
    sqlite3_stmt *s = begin(r, INSERT_META, e);
    if (!s)
        return r->broken.status;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    bind_text(s, 2, value);
    return finish(r, s, e);
}

static int put_meta_int(struct record *r, const char *key, int64_t value, struct error *e)
{
    sqlite3_stmt *s = begin(r, INSERT_META, e);
    if (!s)
        return r->broken.status;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    bind_int(s, 2, value);
    return finish(r, s, e);
}

static int put_meta_number(struct record *r, const char *key, double value, struct error *e)
{
    if (!isfinite(value))
        return r->broken.status;
    sqlite3_stmt *s = begin(r, INSERT_META, e);
    if (!s)
        return r->broken.status;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_double(s, 2, value);
    return finish(r, s, e);
}

static int put_word(struct record *r, const char *kind, int number, const char *name,
                    struct error *e)
{
    sqlite3_stmt *s = begin(r, INSERT_WORD, e);
    if (!s)
        return r->broken.status;
    sqlite3_bind_text(s, 1, kind, -1, SQLITE_STATIC);
    bind_int(s, 2, number);
    sqlite3_bind_text(s, 3, name, -1, SQLITE_STATIC);
    return finish(r, s, e);
}

static int put_words(struct record *r, struct error *e)
{
    int status = STATUS_OK;
    for (int i = 0; i < STATE_COUNT && !status; i++)
        status = put_word(r, "state", i, state_name((enum state)i), e);
    for (int i = 0; i < CAUSE_COUNT && !status; i++)
        status = put_word(r, "cause", i, cause_name((enum cause)i), e);
    for (int i = 0; i < EVIDENCE_COUNT && !status; i++)
        status = put_word(r, "evidence", i, evidence_name((enum evidence)i), e);
    return status;
}

static int put_metas(struct record *r, const struct record_meta *m, struct error *e)
{
    if (put_meta_text(r, "title", m->title, e) || put_meta_text(r, "version", m->version, e) ||
        put_meta_text(r, "mode", m->mode, e) || put_meta_text(r, "clock", "monotonic", e) ||
        put_meta_int(r, "start_ns", m->start_ns, e) ||
        put_meta_int(r, "start_unix_ns", m->start_unix_ns, e))
        return r->broken.status;
    return put_meta_int(r, "window_ns", m->window_ns, e);
}

/* Only what is empty or a recording may be replaced (application_id at byte 68). */
static int remove_old(const char *path, struct error *e)
{
    unsigned char head[72] = {0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? STATUS_OK : error_errno(e, "cannot write \"%s\"", path);
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ssize_t n = regular ? read(fd, head, sizeof(head)) : -1;
    close(fd);
    static const unsigned char id[4] = {
        RECORD_APPLICATION_ID >> 24 & 0xff, RECORD_APPLICATION_ID >> 16 & 0xff,
        RECORD_APPLICATION_ID >> 8 & 0xff, RECORD_APPLICATION_ID & 0xff};
    if (n != 0 && (n < (ssize_t)sizeof(head) || memcmp(head + 68, id, 4)))
        return error_set(e, STATUS_INPUT,
                         "\"%s\" exists and is no recording; choose another name with -o", path);
    return unlink(path) ? error_errno(e, "cannot replace \"%s\"", path) : STATUS_OK;
}

/* A log beside the new file would be taken for its own. */
static int remove_beside(const char *path, const char *suffix, struct error *e)
{
    struct str name = {0};
    str_addf(&name, "%s%s", path, suffix);
    int status = STATUS_OK;
    if (name.failed)
        status = error_set(e, STATUS_MEMORY, "out of memory");
    else if (unlink(str_text(&name)) && errno != ENOENT)
        status = error_errno(e, "cannot replace \"%s\"", str_text(&name));
    str_clear(&name);
    return status;
}

/*
 * Write-ahead log with its index on the heap: no third file, and a kill or a
 * full disk leaves a valid prefix. Nothing is synced: a recording need not
 * outlive a crash of the machine, and must not wait for a slow disk.
 */
static const char setup_sql[] = "PRAGMA locking_mode = EXCLUSIVE;"
                                "PRAGMA page_size = 4096;"
                                "PRAGMA journal_mode = WAL;"
                                "PRAGMA synchronous = OFF;"
                                "PRAGMA wal_autocheckpoint = 256;"
                                "PRAGMA temp_store = MEMORY;"
                                "PRAGMA cache_size = -512;";

static int set_up(struct record *r, const struct record_meta *meta, struct error *e)
{
    struct str sql = {0};
    str_addf(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d;", RECORD_APPLICATION_ID,
             RECORD_VERSION);
    for (size_t i = 0; i < schema_object_count; i++)
        str_addf(&sql, "%s;", schema_objects[i].sql);
    int status = sql.failed ? error_set(e, STATUS_MEMORY, "out of memory") : STATUS_OK;
    if (!status)
        status = exec(r, setup_sql, "creating the recording", e);
    if (!status)
        status = exec(r, "BEGIN IMMEDIATE", "creating the recording", e);
    r->in_transaction = !status;
    if (!status)
        status = exec(r, str_text(&sql), "creating the recording", e);
    if (!status)
        status = put_words(r, e);
    if (!status)
        status = put_metas(r, meta, e);
    if (!status)
        status = record_commit(r, e);
    /* From here on the file itself, not only its log, says what it is. */
    if (!status)
        status = exec(r, "PRAGMA wal_checkpoint(TRUNCATE)", "creating the recording", e);
    str_clear(&sql);
    return status;
}

int record_create(const char *path, const struct record_meta *meta, struct record **ret,
                  struct error *e)
{
    int status = remove_old(path, e);
    if (!status)
        status = remove_beside(path, "-wal", e);
    if (!status)
        status = remove_beside(path, "-journal", e);
    if (status)
        return status;
    struct record *r = mem_zalloc(sizeof(*r));
    if (!r || !(r->path = mem_strdup(path))) {
        free(r);
        return error_set(e, STATUS_MEMORY, "out of memory");
    }
    int rc = sqlite3_open_v2(path, &r->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE,
                             NULL);
    status = rc == SQLITE_OK ? set_up(r, meta, e) : fail(r, "creating the recording", e);
    if (status) {
        record_close(r);
        unlink(path);
        remove_beside(path, "-wal", NULL);
        return status;
    }
    *ret = r;
    return STATUS_OK;
}

int record_accelerator(struct record *r, uint32_t number, const char *id, const char *name,
                       bool simulated, struct error *e)
{
    sqlite3_stmt *s = begin(r, INSERT_DEVICE, e);
    if (!s)
        return r->broken.status;
    bind_int(s, 1, number);
    bind_text(s, 2, id);
    bind_text(s, 3, name ? name : "");
    bind_int(s, 4, simulated);
    return finish(r, s, e);
}

static int put_name(struct record *r, enum insert which, uint32_t number, const char *text,
                    struct error *e)
{
    sqlite3_stmt *s = begin(r, which, e);
    if (!s)
        return r->broken.status;
    bind_int(s, 1, number);
    bind_text(s, 2, text);
    return finish(r, s, e);
}

int record_resource(struct record *r, uint32_t number, const char *text, struct error *e)
{
    return put_name(r, INSERT_RESOURCE, number, text, e);
}

int record_workload(struct record *r, uint32_t pid, const char *text, struct error *e)
{
    return put_name(r, INSERT_WORKLOAD, pid, text, e);
}

int record_row(struct record *r, const struct ledger_row *row, struct error *e)
{
    sqlite3_stmt *s = row->ns > 0 ? begin(r, INSERT_ROW, e) : NULL;
    if (!s)
        return r->broken.status;
    bind_int(s, 1, row->t0);
    bind_int(s, 2, row->accelerator);
    bind_int(s, 3, row->workload);
    bind_int(s, 4, row->state);
    bind_int(s, 5, row->cause);
    bind_int(s, 6, row->resource);
    bind_int(s, 7, row->evidence);
    bind_int(s, 8, row->ns);
    return finish(r, s, e);
}

static int put_link(struct record *r, int slot, int position, const struct chain_link *link,
                    struct error *e)
{
    sqlite3_stmt *s = begin(r, INSERT_LINK, e);
    if (!s)
        return r->broken.status;
    bind_int(s, 1, slot);
    bind_int(s, 2, position);
    bind_text(s, 3, link->who);
    bind_text(s, 4, link->did);
    return finish(r, s, e);
}

int record_chain(struct record *r, const struct chain_example *chain, const char *resource,
                 struct error *e)
{
    if (is_broken(r, e))
        return r->broken.status;
    int slot = chain_slots_offer(&r->chains, chain->cause, chain->ns);
    sqlite3_stmt *s = slot < 0 ? NULL : begin(r, INSERT_CHAIN, e);
    if (!s)
        return r->broken.status;
    bind_int(s, 1, slot);
    bind_int(s, 2, chain->t0);
    bind_int(s, 3, chain->ns);
    bind_int(s, 4, chain->accelerator);
    bind_int(s, 5, chain->cause);
    bind_text(s, 6, resource && *resource ? resource : NULL);
    int status = finish(r, s, e);
    if (!status && (s = begin(r, DELETE_LINKS, e))) {
        bind_int(s, 1, slot);
        status = finish(r, s, e);
    }
    for (int i = 0; i < chain->count && i < CHAIN_LINKS_MAX && !status; i++)
        status = put_link(r, slot, i, &chain->links[i], e);
    return r->broken.status;
}

int record_fact(struct record *r, const struct fact *fact, struct error *e)
{
    sqlite3_stmt *s = begin(r, INSERT_FACT, e);
    if (!s)
        return r->broken.status;
    bind_text(s, 1, fact->kind);
    bind_text(s, 2, fact->subject ? fact->subject : "");
    bind_text(s, 3, fact->name);
    bind_value(s, 4, fact);
    if (!fact->text && isfinite(fact->number))
        sqlite3_bind_double(s, 5, fact->number);
    bind_text(s, 6, fact->unit ? fact->unit : "");
    bind_text(s, 7, fact->source ? fact->source : "");
    return finish(r, s, e);
}

int record_mode(struct record *r, const char *mode, struct error *e)
{
    return put_meta_text(r, "mode", mode, e);
}

int record_note(struct record *r, const char *line, struct error *e)
{
    sqlite3_stmt *s = begin(r, INSERT_NOTE, e);
    if (!s)
        return r->broken.status;
    bind_text(s, 1, line);
    return finish(r, s, e);
}

int record_deliveries(struct record *r, const void *chunk, size_t bytes, struct error *e)
{
    sqlite3_stmt *s = bytes ? begin(r, INSERT_DELIVERY, e) : NULL;
    if (!s)
        return r->broken.status;
    sqlite3_bind_blob64(s, 1, chunk, bytes, SQLITE_TRANSIENT);
    return finish(r, s, e);
}

int record_span(struct record *r, int64_t t0, int64_t t1, struct error *e)
{
    if (put_meta_int(r, "span_t0", t0, e))
        return r->broken.status;
    return put_meta_int(r, "span_t1", t1, e);
}

int record_commit(struct record *r, struct error *e)
{
    if (is_broken(r, e))
        return r->broken.status;
    if (!r->in_transaction)
        return STATUS_OK;
    r->in_transaction = false;
    return exec(r, "COMMIT", "writing the recording", e);
}

int record_finish(struct record *r, const struct record_end *end, struct error *e)
{
    if (put_meta_int(r, "exit_code", end->exit_code, e) ||
        put_meta_number(r, "cpu_seconds", end->cpu_seconds, e) ||
        put_meta_number(r, "peak_rss_bytes", end->peak_rss_bytes, e) ||
        put_meta_int(r, "events_lost", (int64_t)end->events_lost, e) ||
        put_meta_number(r, "slowdown_bound", end->slowdown_bound, e) ||
        put_meta_int(r, "finished", 1, e) || record_commit(r, e))
        return r->broken.status;
    for (int i = 0; i < INSERT_COUNT; i++) {
        sqlite3_finalize(r->insert[i]);
        r->insert[i] = NULL;
    }
    return exec(r, "PRAGMA journal_mode = DELETE", "finishing the recording", e);
}

void record_close(struct record *r)
{
    if (!r)
        return;
    for (int i = 0; i < INSERT_COUNT; i++)
        sqlite3_finalize(r->insert[i]);
    /* Without this the close of an unfinished recording would try to empty the
     * log into a file that may have no room for it. */
    if (r->db)
        sqlite3_db_config(r->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(r->db);
    free(r->path);
    free(r);
}
