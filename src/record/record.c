/* SPDX-License-Identifier: MIT */
#include "record/writer.h"

#include "base/mem.h"
#include "base/str.h"
#include "record/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int put_word(struct record *r, const char *kind, int number, const char *name,
                    struct error *e)
{
    sqlite3_stmt *s = writer_begin(r, INSERT_WORD, e);
    if (!s)
        return r->broken.status;
    sqlite3_bind_text(s, 1, kind, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, number);
    sqlite3_bind_text(s, 3, name, -1, SQLITE_STATIC);
    return writer_step(r, s, e);
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
    if (writer_meta_text(r, "title", m->title, e) ||
        writer_meta_text(r, "version", m->version, e) || writer_meta_text(r, "mode", m->mode, e) ||
        writer_meta_text(r, "clock", "monotonic", e) ||
        writer_meta_int(r, "start_ns", m->start_ns, e) ||
        writer_meta_int(r, "start_unix_ns", m->start_unix_ns, e))
        return r->broken.status;
    if (m->price_per_hour > 0 &&
        (writer_meta_number(r, "price_per_hour", m->price_per_hour, e) ||
         writer_meta_text(r, "currency", m->currency ? m->currency : "EUR", e)))
        return r->broken.status;
    return writer_meta_int(r, "window_ns", m->window_ns, e);
}

bool record_recognise(const void *head, size_t size)
{
    static const unsigned char id[4] = {
        RECORD_APPLICATION_ID >> 24 & 0xff, RECORD_APPLICATION_ID >> 16 & 0xff,
        RECORD_APPLICATION_ID >> 8 & 0xff, RECORD_APPLICATION_ID & 0xff};
    return size >= 72 && !memcmp((const char *)head + 68, id, 4); /* its place in SQLite's header */
}

/* Another gpufeed writes it, or somebody reads it at this moment: SQLite's locks tell. */
static bool is_in_use(int fd, pid_t *ret)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool used = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    *ret = lock.l_pid;
    return used;
}

/* Only what is empty or a recording may be replaced. */
static int remove_old(const char *path, struct error *e)
{
    unsigned char head[72] = {0};
    struct stat st;
    pid_t user;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? STATUS_OK : error_errno(e, "cannot write \"%s\"", path);
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ssize_t n = regular ? read(fd, head, sizeof(head)) : -1;
    bool in_use = regular && is_in_use(fd, &user);
    close(fd);
    if (in_use)
        return error_set(e, STATUS_INPUT,
                         "\"%s\" is in use by process %d; choose another name with -o", path,
                         (int)user);
    if (n != 0 && !record_recognise(head, n > 0 ? (size_t)n : 0))
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
    else if (access(str_text(&name), F_OK) == 0 && unlink(str_text(&name)) && errno != ENOENT)
        status = error_errno(e, "cannot replace \"%s\"", str_text(&name));
    str_clear(&name);
    return status;
}

/*
 * Write-ahead log with its index on the heap: no third file, and a kill or a
 * full disk leaves a valid prefix. Nothing is synced: a recording need not
 * outlive a crash of the machine, and must not wait for a slow disk. Each commit
 * goes on into the file itself: who copies the one file after a kill has it all.
 */
static const char setup_sql[] = "PRAGMA locking_mode = EXCLUSIVE;"
                                "PRAGMA page_size = 4096;"
                                "PRAGMA journal_mode = WAL;"
                                "PRAGMA synchronous = OFF;"
                                "PRAGMA wal_autocheckpoint = 1;"
                                "PRAGMA temp_store = MEMORY;"
                                "PRAGMA cache_size = -512;";

/*
 * After a kill SQLite reads file and log, for which it wants an index beside them; where it may not make one
 * (another user's folder) an empty one that is there will do: it then keeps its own in memory
 * (https://www.sqlite.org/wal.html#readonly, walBeginShmUnreliable). gpufeed itself needs none.
 */
#define INDEX_SUFFIX "-shm"

static void make_index(struct record *r)
{
    struct str name = {0};
    str_addf(&name, "%s" INDEX_SUFFIX, r->path);
    int fd =
        name.failed ? -1 : open(str_text(&name), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    r->indexed = fd >= 0;
    if (fd >= 0)
        close(fd);
    str_clear(&name);
}

/* Only an empty one is still ours. */
static void remove_index(struct record *r)
{
    struct str name = {0};
    struct stat st;
    str_addf(&name, "%s" INDEX_SUFFIX, r->path);
    if (r->indexed && !name.failed && lstat(str_text(&name), &st) == 0 && S_ISREG(st.st_mode) &&
        !st.st_size)
        unlink(str_text(&name));
    r->indexed = false;
    str_clear(&name);
}

static int set_up(struct record *r, const struct record_meta *meta, struct error *e)
{
    struct str sql = {0};
    str_addf(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d;", RECORD_APPLICATION_ID,
             RECORD_VERSION);
    for (size_t i = 0; i < schema_object_count; i++)
        str_addf(&sql, "%s;", schema_objects[i].sql);
    int status = sql.failed ? error_set(e, STATUS_MEMORY, "out of memory") : STATUS_OK;
    if (!status)
        status = writer_exec(r, setup_sql, "creating the recording", e);
    if (!status)
        status = writer_exec(r, "BEGIN IMMEDIATE", "creating the recording", e);
    r->in_transaction = !status;
    if (!status)
        status = writer_exec(r, str_text(&sql), "creating the recording", e);
    if (!status)
        status = put_words(r, e);
    if (!status)
        status = put_metas(r, meta, e);
    if (!status)
        status = record_commit(r, e);
    /* From here on the file itself, not only its log, says what it is. */
    if (!status)
        status = writer_exec(r, "PRAGMA wal_checkpoint(TRUNCATE)", "creating the recording", e);
    str_clear(&sql);
    return status;
}

/* SQLite does not say why it cannot. */
static bool may_write(const char *path, int *ret_status, struct error *e)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        *ret_status = error_errno(e, "cannot write \"%s\"", path);
    else
        close(fd);
    return fd >= 0;
}

static int create(const char *path, const char *name, const struct record_meta *meta,
                  struct record **ret, struct error *e)
{
    struct record *r = mem_zalloc(sizeof(*r));
    if (!r || !(r->path = mem_strdup(name))) {
        free(r);
        return error_set(e, STATUS_MEMORY, "out of memory");
    }
    int rc = sqlite3_open_v2(
        path, &r->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE, NULL);
    int status = rc == SQLITE_OK ? set_up(r, meta, e) : writer_fail(r, "creating the recording", e);
    if (status)
        record_close(r);
    else
        *ret = r;
    return status;
}

/* SQLite would take ":memory:" and "file:..." for more than names. */
static int create_file(const char *path, const struct record_meta *meta, struct record **ret,
                       struct error *e)
{
    struct str name = {0};
    str_addf(&name, "%s%s", path[0] == '/' ? "" : "./", path);
    int status = name.failed ? error_set(e, STATUS_MEMORY, "out of memory")
                             : create(str_text(&name), path, meta, ret, e);
    str_clear(&name);
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
    if (!status)
        status = remove_beside(path, INDEX_SUFFIX, e);
    if (status || !may_write(path, &status, e))
        return status;
    status = create_file(path, meta, ret, e);
    if (status) {
        unlink(path);
        remove_beside(path, "-wal", NULL);
    } else {
        make_index(*ret);
    }
    return status;
}

int record_create_memory(const struct record_meta *meta, struct record **ret, struct error *e)
{
    return create(":memory:", "facts", meta, ret, e);
}

int record_commit(struct record *r, struct error *e)
{
    if (writer_broken(r, e) || writer_flush_rows(r, e))
        return r->broken.status;
    if (!r->in_transaction)
        return STATUS_OK;
    r->in_transaction = false;
    return writer_exec(r, "COMMIT", "writing the recording", e);
}

bool record_moved(const struct record *r)
{
    int moved = 0;
    return sqlite3_file_control(r->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
           moved;
}

int record_save(struct record *r, const char *path, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    int status = writer_broken(r, NULL) ? STATUS_OK : record_commit(r, e);
    if (status)
        return status;
    if (r->in_transaction) /* of a recording that could not be written any further */
        sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
    r->in_transaction = false;
    if (sqlite3_prepare_v2(r->db, "VACUUM INTO ?", -1, &s, NULL) ||
        sqlite3_bind_text(s, 1, path, -1, SQLITE_STATIC) || sqlite3_step(s) != SQLITE_DONE)
        return db_error(r->db, e, path, "saving the recording");
    return STATUS_OK;
}

int record_finish(struct record *r, const struct record_end *end, struct error *e)
{
    if (writer_meta_int(r, "exit_code", end->exit_code, e) ||
        writer_meta_number(r, "cpu_seconds", end->cpu_seconds, e) ||
        writer_meta_number(r, "peak_rss_bytes", end->peak_rss_bytes, e) ||
        writer_meta_int(r, "events_lost", (int64_t)end->events_lost, e) ||
        writer_meta_number(r, "slowdown_bound", end->slowdown_bound, e) ||
        writer_meta_int(r, "finished", 1, e) || record_commit(r, e))
        return r->broken.status;
    for (int i = 0; i < INSERT_COUNT; i++) {
        sqlite3_finalize(r->insert[i]);
        r->insert[i] = NULL;
    }
    remove_index(r);
    if (record_moved(r))
        return STATUS_OK;
    return writer_exec(r, "PRAGMA journal_mode = DELETE", "finishing the recording", e);
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
