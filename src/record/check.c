/* SPDX-License-Identifier: MIT */
#include "record/check.h"

#include "base/mem.h"
#include "record/rules.h"
#include "record/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEED_MAX 128 /* of "KIND/NAME" */

struct check {
    struct record *record;
    struct recording db; /* borrows the record's database */
};

int check_new(struct check **ret, struct error *e)
{
    static const struct record_meta meta = {.title = "check", .version = "", .mode = "check"};
    struct check *c = mem_zalloc(sizeof(*c));
    if (!c)
        return error_set(e, STATUS_MEMORY, "out of memory");
    int status = record_create_memory(&meta, &c->record, e);
    if (status) {
        free(c);
        return status;
    }
    *ret = c;
    return STATUS_OK;
}

void check_free(struct check *c)
{
    if (c)
        record_close(c->record);
    free(c);
}

int check_fact(struct check *c, const struct fact *fact, struct error *e)
{
    return record_fact(c->record, fact, e);
}

/* Is any of "KIND/NAME|KIND/NAME" (n bytes) among the facts? -1: SQL failed. */
static int known(sqlite3_stmt *s, const char *need, size_t n)
{
    while (n) {
        size_t one = 0;
        while (one < n && need[one] != '|')
            one++;
        const char *slash = memrchr(need, '/', one); /* a kind may have one of its own */
        size_t kind = slash ? (size_t)(slash - need) : one;
        sqlite3_reset(s);
        sqlite3_bind_text(s, 1, need, (int)kind, SQLITE_STATIC);
        sqlite3_bind_text(s, 2, slash ? slash + 1 : "", slash ? (int)(one - kind - 1) : 0,
                          SQLITE_STATIC);
        int rc = sqlite3_step(s);
        if (rc == SQLITE_ROW)
            return 1;
        if (rc != SQLITE_DONE)
            return -1;
        need += one + (one < n);
        n -= one + (one < n);
    }
    return 0;
}

/* The first need that is not met into buf; 1 found one, 0 all are met, -1 SQL failed. */
static int first_missing(sqlite3_stmt *s, const struct rule *rule, char *buf, size_t size)
{
    for (const char *p = rule->needs ? rule->needs : ""; *p;) {
        size_t n = strcspn(p, " ");
        int is_known = known(s, p, n);
        if (is_known < 0)
            return -1;
        if (!is_known && n) {
            size_t keep = n < size ? n : size - 1;
            memcpy(buf, p, keep);
            buf[keep] = '\0';
            return 1;
        }
        p += n + strspn(p + n, " ");
    }
    return 0;
}

static bool add_unjudged(struct check_report *r, const char *id, const char *missing)
{
    if (!mem_grow((void **)&r->unjudged, &r->unjudged_cap, r->unjudged_count + 1,
                  sizeof(*r->unjudged)))
        return false;
    struct check_unjudged *u = &r->unjudged[r->unjudged_count++];
    *u = (struct check_unjudged){mem_strdup(id), mem_strdup(missing)};
    return u->id && u->missing;
}

/* Takes the rules out of the set that lack a fact that they need. */
static int set_aside(struct check *c, struct rules *rules, struct check_report *r, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    size_t kept = 0, i = 0;
    int status = STATUS_OK;
    if (sqlite3_prepare_v2(c->db.db, "SELECT 1 FROM fact WHERE kind = ? AND name = ? LIMIT 1", -1,
                           &s, NULL))
        return recording_error(&c->db, e, "reading its facts");
    r->rules = rules->count;
    for (; i < rules->count && !status; i++) {
        char missing[NEED_MAX];
        int lacks = first_missing(s, &rules->list[i], missing, sizeof(missing));
        if (lacks < 0)
            status = recording_error(&c->db, e, "reading its facts");
        else if (lacks && !add_unjudged(r, rules->list[i].id, missing))
            status = fill_no_memory(&c->db, e);
        if (lacks)
            rule_clear(&rules->list[i]);
        else
            rules->list[kept++] = rules->list[i];
    }
    for (; i < rules->count; i++)
        rules->list[kept++] = rules->list[i];
    rules->count = kept;
    r->judged = kept;
    return status;
}

/* Worst first; among equals the order of rules, and of the rows that a rule returned. */
static void sort_findings(struct report *r)
{
    for (size_t i = 1; i < r->finding_count; i++) {
        struct report_finding f = r->findings[i];
        size_t k = i;
        for (; k > 0 && r->findings[k - 1].severity < f.severity; k--)
            r->findings[k] = r->findings[k - 1];
        r->findings[k] = f;
    }
}

static bool add_fact(struct check_report *r, sqlite3_stmt *s, int *failed)
{
    if (!mem_grow((void **)&r->facts, &r->fact_cap, r->fact_count + 1, sizeof(*r->facts)))
        return false;
    r->facts[r->fact_count++] = (struct check_fact){
        .kind = db_text(s, 0, failed),
        .subject = db_text(s, 1, failed),
        .name = db_text(s, 2, failed),
        .text = db_text(s, 3, failed),
        .number = sqlite3_column_type(s, 4) == SQLITE_NULL ? NAN : sqlite3_column_double(s, 4),
        .unit = db_text(s, 5, failed),
        .source = db_text(s, 6, failed)};
    return !*failed;
}

static int list_facts(struct check *c, struct check_report *r, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    int rc, failed = 0;
    if (sqlite3_prepare_v2(c->db.db,
                           "SELECT kind, subject, name, text, number, unit, source FROM fact "
                           "ORDER BY kind, subject, name",
                           -1, &s, NULL))
        return recording_error(&c->db, e, "reading its facts");
    while ((rc = sqlite3_step(s)) == SQLITE_ROW)
        if (!add_fact(r, s, &failed))
            return fill_no_memory(&c->db, e);
    return rc == SQLITE_DONE ? STATUS_OK : recording_error(&c->db, e, "reading its facts");
}

static int judge(struct check *c, const struct check_options *o, struct check_report *r,
                 struct error *e)
{
    struct rules rules = {0};
    struct rule_scenarios scenarios = {0};
    int status = rules_load(o->rules_dir, RULE_CHECK, &r->found, &rules, e);
    if (!status)
        status = set_aside(c, &rules, r, e);
    if (!status)
        status = rules_run(&c->db, &rules, &r->found, &scenarios, e);
    rules_clear(&rules);
    rule_scenarios_clear(&scenarios);
    return status;
}

int check_run(struct check *c, const struct check_options *o, struct check_report *ret,
              struct error *e)
{
    struct check_report r;
    int status = record_commit(c->record, e);
    if (!status)
        status = recording_borrow(&c->db, c->record->db, e);
    if (!status)
        status = rules_prepare(&c->db, NULL, 0, e);
    if (!status)
        status = rules_prepare_machine(&c->db, e);
    if (status)
        return status;
    check_report_init(&r);
    status = judge(c, o, &r, e);
    if (!status && o->facts)
        status = list_facts(c, &r, e);
    if (status) {
        check_report_clear(&r);
        return status;
    }
    sort_findings(&r.found);
    *ret = r;
    return STATUS_OK;
}
