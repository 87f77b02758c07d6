/* SPDX-License-Identifier: MIT */
#include "record/fill.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "record/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int fill_no_memory(struct recording *db, struct error *e)
{
    return error_set(e, STATUS_MEMORY, "\"%s\": out of memory reading it", db->path);
}

bool fill_note(struct report *r, const char *line)
{
    char *copy = mem_strdup(line);
    if (!copy || !mem_grow((void **)&r->notes, &r->note_cap, r->note_count + 1, sizeof(char *))) {
        free(copy);
        return false;
    }
    r->notes[r->note_count++] = copy;
    return true;
}

bool fill_evidence(struct evidence_list *list, const char *name, double value, const char *text,
                   const char *unit, const char *source)
{
    if (!mem_grow((void **)&list->items, &list->cap, list->count + 1, sizeof(*list->items)))
        return false;
    struct evidence_item *it = &list->items[list->count++];
    *it = (struct evidence_item){.name = mem_strdup(name),
                                 .unit = mem_strdup(unit ? unit : ""),
                                 .source = mem_strdup(source ? source : ""),
                                 .value = text ? NAN : value,
                                 .text = text ? mem_strdup(text) : NULL};
    return it->name && it->unit && it->source && (!text || it->text);
}

/* a - b, at the ends of the range instead of beyond them. */
static int64_t difference(int64_t a, int64_t b)
{
    int64_t d;
    return __builtin_sub_overflow(a, b, &d) ? (a < b ? INT64_MIN : INT64_MAX) : d;
}

static int prepare(struct recording *db, const char *sql, sqlite3_stmt **ret, struct error *e)
{
    return sqlite3_prepare_v2(db->db, sql, -1, ret, NULL) ? recording_error(db, e, "reading it")
                                                          : STATUS_OK;
}

static int set_text(char **to, sqlite3_stmt *s, int column)
{
    int failed = 0;
    char *text = db_text(s, column, &failed);
    free(*to);
    *to = text;
    return failed;
}

/* What cannot be is not known. */
static double amount(sqlite3_stmt *s, int column)
{
    double v = sqlite3_column_double(s, column);
    return sqlite3_column_type(s, column) != SQLITE_NULL && v >= 0 && isfinite(v) ? v : NAN;
}

static int set_meta(struct report *r, struct fill_meta *m, const char *key, sqlite3_stmt *s)
{
    const struct {
        const char *key;
        int64_t *to;
    } ints[] = {{"start_ns", &m->start_ns},   {"window_ns", &m->window_ns},
                {"span_t0", &m->span_t0},     {"span_t1", &m->span_t1},
                {"behind_ns", &m->behind_ns}, {"start_unix_ns", &r->start_unix_ns}};
    const struct {
        const char *key;
        char **to;
    } texts[] = {{"title", &r->title},
                 {"mode", &r->mode},
                 {"version", &r->tool.version},
                 {"currency", &r->money.currency}};
    const struct {
        const char *key;
        double *to;
    } numbers[] = {{"cpu_seconds", &r->tool.cpu_seconds},
                   {"peak_rss_bytes", &r->tool.peak_rss_bytes},
                   {"slowdown_bound", &r->tool.slowdown_bound},
                   {"price_per_hour", &r->money.rate_per_hour}};

    for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++)
        if (!strcmp(key, ints[i].key))
            *ints[i].to = sqlite3_column_int64(s, 1);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (!strcmp(key, numbers[i].key))
            *numbers[i].to = amount(s, 1);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (!strcmp(key, texts[i].key) && set_text(texts[i].to, s, 1))
            return -1;
    if (!strcmp(key, "exit_code"))
        r->exit_code = sqlite3_column_int(s, 1);
    else if (!strcmp(key, "events_lost"))
        r->tool.events_lost =
            sqlite3_column_int64(s, 1) > 0 ? (uint64_t)sqlite3_column_int64(s, 1) : 0;
    else if (!strcmp(key, "finished"))
        m->finished = true;
    return 0;
}

/* What became of the end, and how much of it there may be. */
static int cut_short(struct recording *db, struct report *r, const struct fill_meta *m,
                     struct error *e)
{
    char buf[32];
    struct str text = {0};
    const char *before = db->image.written ? "before now" : "before that";
    str_add(&text, db->image.written
                       ? "gpufeed has not finished it yet: "
                       : "gpufeed was killed, or had no space left, before the job ended: ");
    if (m->behind_ns > 0)
        str_addf(&text, "up to about %s %s are missing",
                 unit_format_ns(buf, sizeof(buf), m->behind_ns), before);
    else
        str_addf(&text, "up to about 2 s %s are missing, and a wait that was going on", before);
    r->cut_short = text.failed ? NULL : mem_strdup(str_text(&text));
    str_clear(&text);
    return r->cut_short ? STATUS_OK : fill_no_memory(db, e);
}

int fill_meta(struct recording *db, struct report *r, struct fill_meta *ret, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    int rc;
    *ret = (struct fill_meta){0};
    if (prepare(db, "SELECT key, value FROM meta", &s, e))
        return recording_error(db, e, "reading it");
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(s, 0);
        if (!key || set_meta(r, ret, key, s))
            return fill_no_memory(db, e);
    }
    if (rc != SQLITE_DONE)
        return recording_error(db, e, "reading it");
    return ret->finished ? STATUS_OK : cut_short(db, r, ret, e);
}

int fill_chains(struct recording *db, const struct fill_meta *m, struct report *r, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL, *links AUTOFINAL = NULL;
    int rc, status, failed = 0;
    if ((status = prepare(
             db,
             "WITH place AS (SELECT number, row_number() OVER (ORDER BY " FILL_DEVICE(
                 "id") ", number) - 1 AS at FROM device) "
                       "SELECT c.number, c.t0, c.ns, "
                       "coalesce(p.at, 4096), c.cause, c.resource FROM chain_wait c LEFT JOIN "
                       "place p ON p.number = c.accelerator WHERE c.ns > 0 "
                       "ORDER BY c.ns DESC, c.number LIMIT 256",
             &s, e)) ||
        (status = prepare(db, "SELECT who, did FROM chain_link WHERE chain = ? ORDER BY position",
                          &links, e)))
        return status;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        if (!mem_grow((void **)&r->chains, &r->chain_cap, r->chain_count + 1, sizeof(*r->chains)) ||
            !mem_grow((void **)&r->chain_resources, &r->chain_resource_cap, r->chain_count + 1,
                      sizeof(char *)))
            return fill_no_memory(db, e);
        struct chain_example *c = &r->chains[r->chain_count];
        int64_t cause = sqlite3_column_int64(s, 4);
        *c = (struct chain_example){.t0 = difference(sqlite3_column_int64(s, 1), m->span_t0),
                                    .ns = sqlite3_column_int64(s, 2),
                                    .accelerator = (uint32_t)sqlite3_column_int64(s, 3)};
        c->cause = cause >= 0 && cause < CAUSE_COUNT ? (uint8_t)cause : CAUSE_UNKNOWN;
        r->chain_resources[r->chain_count++] = db_text(s, 5, &failed);
        sqlite3_reset(links);
        sqlite3_bind_int64(links, 1, sqlite3_column_int64(s, 0));
        while (c->count < CHAIN_LINKS_MAX && sqlite3_step(links) == SQLITE_ROW) {
            const char *who = (const char *)sqlite3_column_text(links, 0);
            const char *did = (const char *)sqlite3_column_text(links, 1);
            str_copy(c->links[c->count].who, sizeof(c->links[0].who), who ? who : "");
            str_copy(c->links[c->count].did, sizeof(c->links[0].did), did ? did : "");
            c->count++;
        }
    }
    if (failed)
        return fill_no_memory(db, e);
    return rc == SQLITE_DONE ? STATUS_OK : recording_error(db, e, "reading it");
}

/* What an older gpufeed did not write down is unknown, which is said once, behind what the run noted. */
static bool note_age(struct recording *db, struct report *r)
{
    struct str line = {0};
    if (db->format == RECORD_VERSION)
        return true;
    str_addf(&line,
             "recorded by gpufeed %s in format %d: what later formats keep besides (now %d) is "
             "unknown here",
             r->tool.version ? r->tool.version : "of an unknown version", db->format,
             RECORD_VERSION);
    bool ok = !line.failed && fill_note(r, str_text(&line));
    str_clear(&line);
    return ok;
}

int fill_notes(struct recording *db, struct report *r, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    int rc, status = prepare(db, "SELECT line FROM note ORDER BY number LIMIT 256", &s, e);
    if (status)
        return status;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        const char *line = (const char *)sqlite3_column_text(s, 0);
        if (!fill_note(r, line ? line : ""))
            return fill_no_memory(db, e);
    }
    if (rc != SQLITE_DONE)
        return recording_error(db, e, "reading it");
    r->note_explains = r->note_count && !(r->mode && !strcmp(r->mode, "foreign trace"));
    return note_age(db, r) ? STATUS_OK : fill_no_memory(db, e);
}
