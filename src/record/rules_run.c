/* SPDX-License-Identifier: MIT */
#include "record/rules.h"

#include "base/mem.h"
#include "record/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RULE_BUDGET 100000L /* thousands of instructions: a second or so */
#define FINDINGS_PER_RULE 16

static int authorize(void *arg, int action, const char *a, const char *b, const char *db,
                     const char *trigger)
{
    (void)arg, (void)a, (void)db, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return b && !sqlite3_stricmp(b, "load_extension") ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

/* The SELECT of a view, in which each name now means the table in memory where there is one. */
static const char *view_body(const struct schema_object *o)
{
    return o->sql + strlen("CREATE VIEW ") + strlen(o->name) + strlen(" AS ");
}

static int add_fact(sqlite3_stmt *s, const struct rule_fact *f)
{
    sqlite3_reset(s);
    sqlite3_bind_text(s, 1, f->kind, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, f->name, -1, SQLITE_STATIC);
    sqlite3_bind_double(s, 3, f->number);
    sqlite3_bind_text(s, 4, f->unit, -1, SQLITE_STATIC);
    sqlite3_bind_int(s, 5, f->counts == FACT_AT_MOST);
    sqlite3_bind_int(s, 6, f->counts == FACT_INSTEAD);
    return sqlite3_step(s) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
}

static int copy_facts(struct recording *db, const struct rule_fact *more, size_t count)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    int rc = sqlite3_exec(db->db,
                          "CREATE TEMP TABLE fact AS SELECT * FROM main.fact;"
                          "CREATE UNIQUE INDEX temp.fact_key ON fact (kind, subject, name)",
                          NULL, NULL, NULL);
    if (!rc)
        rc =
            sqlite3_prepare_v2(db->db,
                               "INSERT OR REPLACE INTO temp.fact "
                               "SELECT ?1, '', ?2, NULL, ?3, ?4, 'replay' "
                               "WHERE NOT EXISTS (SELECT 1 FROM main.fact WHERE kind = ?1 "
                               "AND subject = '' AND name = ?2 AND NOT (?6 OR ?5 AND number > ?3))",
                               -1, &s, NULL);
    for (size_t i = 0; i < count && !rc; i++)
        rc = add_fact(s, &more[i]);
    return rc;
}

/* The views of a list as tables in memory, in its order. */
static int make_views(struct recording *db, const struct schema_object *list, size_t count,
                      struct error *e)
{
    struct str sql = {0};
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].type, "view"))
            str_addf(&sql, "CREATE TEMP TABLE \"%s\" AS %s;", list[i].name, view_body(&list[i]));
    int status = STATUS_OK;
    if (sql.failed)
        status = fill_no_memory(db, e);
    else if (sqlite3_exec(db->db, str_text(&sql), NULL, NULL, NULL))
        status = recording_error(db, e, "summing it up");
    str_clear(&sql);
    return status;
}

int rules_prepare(struct recording *db, const struct rule_fact *more, size_t count, struct error *e)
{
    recording_budget(db, READ_BUDGET);
    if (copy_facts(db, more, count))
        return recording_error(db, e, "summing it up");
    int status = make_views(db, schema_objects, schema_object_count, e);
    return status ? status : make_views(db, report_views, report_view_count, e);
}

int rules_prepare_machine(struct recording *db, struct error *e)
{
    recording_budget(db, READ_BUDGET);
    return make_views(db, rule_views, rule_view_count, e);
}

void rule_scenarios_clear(struct rule_scenarios *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].text);
    free(s->list);
    *s = (struct rule_scenarios){0};
}

/* A column's alias taken apart: "NAME [UNIT] @SOURCE". */
struct column {
    char name[96], unit[32], source[96];
};

static void split_column(const char *alias, struct column *c)
{
    const char *unit = strstr(alias, " ["), *source = strstr(alias, " @");
    const char *end = unit ? unit : source ? source : alias + strlen(alias);
    size_t n = (size_t)(end - alias);
    *c = (struct column){.source = "ledger"};
    if (n >= sizeof(c->name))
        n = sizeof(c->name) - 1;
    memcpy(c->name, alias, n);
    if (unit) {
        size_t k = strcspn(unit + 2, "]");
        memcpy(c->unit, unit + 2, k < sizeof(c->unit) ? k : sizeof(c->unit) - 1);
    }
    if (source)
        str_copy(c->source, sizeof(c->source), source + 2);
}

/* Names that steer the finding and are no evidence. */
static bool special(const char *name)
{
    return !strcmp(name, "severity") || !strcmp(name, "gain_seconds");
}

/* Times and shares of the ledger are known as its rows are. */
static void qualify(struct evidence_list *list, enum evidence how)
{
    struct evidence_item *it = &list->items[list->count - 1];
    if (!it->text && !strcmp(it->source, "ledger") && strcmp(it->name, "compute") &&
        (!strcmp(it->unit, "s") || !strcmp(it->unit, "1")))
        it->how = how;
}

/* All that a row gives; what begins with '_' only fills placeholders. */
static bool collect(sqlite3_stmt *s, struct evidence_list *all, struct report_finding *f,
                    enum evidence how, double *ret_at_most)
{
    bool ok = true;
    for (int i = 0; i < sqlite3_column_count(s) && ok; i++) {
        struct column c;
        int type = sqlite3_column_type(s, i);
        split_column(sqlite3_column_name(s, i), &c);
        if (type == SQLITE_NULL || type == SQLITE_BLOB)
            continue;
        const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_column_text(s, i) : NULL;
        double value = text ? NAN : sqlite3_column_double(s, i);
        if (!strcmp(c.name, "severity") && text && severity_of_name(text) >= 0)
            f->severity = (enum severity)severity_of_name(text);
        if (!strcmp(c.name, "gain_seconds"))
            *ret_at_most = value;
        if (special(c.name))
            continue;
        ok = fill_evidence(all, c.name, value, text, c.unit, c.source);
        if (ok)
            qualify(all, how);
        if (ok && c.name[0] != '_') {
            ok = fill_evidence(&f->evidence, c.name, value, text, c.unit, c.source);
            if (ok)
                qualify(&f->evidence, how);
        }
    }
    return ok;
}

static char *filled(const char *text, const struct evidence_list *all, bool plain)
{
    struct str out = {0};
    str_add(&out, "");
    if (text)
        rule_fill(&out, text, all, plain);
    if (out.failed) {
        str_clear(&out);
        return NULL;
    }
    return out.data;
}

static char *first(const struct rule *rule, const struct evidence_list *all)
{
    struct str text = {0};
    str_addf(&text, "%s%s", rule->first ? "" : "Fix ", rule->first ? rule->first : rule->id);
    char *filled_text = text.failed ? NULL : filled(str_text(&text), all, false);
    str_clear(&text);
    return filled_text;
}

static bool add_finding(const struct rule *rule, sqlite3_stmt *s, struct report *r,
                        struct rule_scenarios *ret)
{
    if (!mem_grow((void **)&r->findings, &r->finding_cap, r->finding_count + 1,
                  sizeof(*r->findings)) ||
        !mem_grow((void **)&ret->list, &ret->cap, ret->count + 1, sizeof(*ret->list)))
        return false;
    struct evidence_list all = {0};
    struct report_finding *f = &r->findings[r->finding_count++];
    struct rule_scenario *scenario = &ret->list[ret->count++];
    *f =
        (struct report_finding){.severity = rule->severity, .gain_seconds = NAN, .gain_share = NAN};
    *scenario = (struct rule_scenario){.at_most = NAN};
    bool ok = collect(s, &all, f, report_waits_evidence(r), &scenario->at_most);
    if (ok) {
        f->id = mem_strdup(rule->id);
        f->title = filled(rule->title, &all, false);
        f->why = filled(rule->why, &all, false);
        f->fix = filled(rule->fix, &all, false);
        f->source = filled(rule->source, &all, false);
        f->apply = rule->apply ? filled(rule->apply, &all, true) : NULL;
        f->first = first(rule, &all);
        scenario->text = filled(rule->scenario ? rule->scenario : "none", &all, true);
    }
    evidence_list_clear(&all);
    return ok && f->id && f->title && f->why && f->fix && f->source && scenario->text && f->first &&
           (!rule->apply || f->apply);
}

static int sql_error(struct recording *db, const struct rule *rule, struct error *e)
{
    char message[256];
    if (db_status(db->db) == STATUS_MEMORY)
        return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", rule->file);
    if ((sqlite3_errcode(db->db) & 0xff) == SQLITE_INTERRUPT)
        return error_set(e, STATUS_INPUT, "\"%s\": takes too long", rule->file);
    return error_set(e, STATUS_INPUT, "\"%s\": %s", rule->file,
                     db_message(db->db, message, sizeof(message)));
}

/* Only blanks and comments may follow the statement. */
static bool only_comments(const char *p)
{
    while (*p) {
        p += strspn(p, " \t\r\n;");
        if (strncmp(p, "--", 2))
            break;
        p += strcspn(p, "\n");
    }
    return !*p;
}

static int prepare(struct recording *db, const struct rule *rule, sqlite3_stmt **ret,
                   struct error *e)
{
    const char *tail = NULL;
    sqlite3_set_authorizer(db->db, authorize, NULL);
    int rc = sqlite3_prepare_v2(db->db, rule->sql, -1, ret, &tail);
    sqlite3_set_authorizer(db->db, NULL, NULL);
    if (rc)
        return sql_error(db, rule, e);
    if (!*ret || !sqlite3_stmt_readonly(*ret) || !sqlite3_column_count(*ret))
        return error_set(e, STATUS_INPUT, "\"%s\": its SQL is no SELECT", rule->file);
    if (!only_comments(tail))
        return error_set(e, STATUS_INPUT, "\"%s\": more than one statement", rule->file);
    return STATUS_OK;
}

int rules_run_one(struct recording *db, const struct rule *rule, struct report *r,
                  struct rule_scenarios *ret, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    recording_budget(db, RULE_BUDGET);
    int rc = SQLITE_DONE, status = prepare(db, rule, &s, e);
    if (status)
        return status;
    for (int i = 0; i < FINDINGS_PER_RULE && (rc = sqlite3_step(s)) == SQLITE_ROW; i++)
        if (!add_finding(rule, s, r, ret))
            return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", rule->file);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? STATUS_OK : sql_error(db, rule, e);
}

int rules_run(struct recording *db, const struct rules *rules, struct report *r,
              struct rule_scenarios *ret, struct error *e)
{
    struct str line = {0};
    int status = STATUS_OK;
    for (size_t i = 0; i < rules->count && !status; i++) {
        struct error why = {0};
        status = rules_run_one(db, &rules->list[i], r, ret, &why);
        if (status == STATUS_MEMORY)
            error_set(e, status, "%s", why.text);
        if (status != STATUS_INPUT)
            continue;
        str_reset(&line);
        str_addf(&line, "rule left out: %s", why.text);
        status = !line.failed && fill_note(r, str_text(&line)) ? STATUS_OK : fill_no_memory(db, e);
    }
    str_clear(&line);
    return status;
}
