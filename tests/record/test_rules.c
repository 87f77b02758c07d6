/* SPDX-License-Identifier: MIT */
/*
 * Each rule fires and stays silent on the recordings of tests/record/rules/.
 *
 * ID.fires.sql and ID.silent.sql insert into two tables that this runner makes
 * into a recording: ledger (state, cause, resource, seconds [, accelerator]) and
 * fact (kind, subject, name, number, text, unit). Their head says what to expect:
 *   -- finding: SEVERITY ID     must be among the findings with this severity
 *   -- first: ID                must be the first finding
 *   -- absent: ID               must not be found
 *   -- says: TEXT               some title, why or fix contains it
 *   -- silent: TEXT             none of them does
 *   -- verdict: TEXT            the verdict contains it
 * Findings above info that no line names are a failure.
 */
#include "record/read.h"
#include "record/record.h"

#include "base/map.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "record/rule.h"
#include "sample.h"
#include "unit_test.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prelude[] =
    "CREATE TABLE ledger (state TEXT NOT NULL, cause TEXT, resource TEXT, seconds REAL NOT NULL, "
    "accelerator INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE fact (kind TEXT NOT NULL, subject TEXT NOT NULL DEFAULT '', name TEXT NOT NULL, "
    "number REAL, text TEXT, unit TEXT NOT NULL DEFAULT 'count');";

static void copy_rows(sqlite3 *db, struct record *w)
{
    sqlite3_stmt *s;
    struct intern names = {0};
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT state, coalesce(cause, 'none'), resource, "
                                        "seconds, accelerator FROM ledger",
                                        -1, &s, NULL),
                     0);
    while (sqlite3_step(s) == SQLITE_ROW) {
        int state = state_of_name((const char *)sqlite3_column_text(s, 0));
        int cause = cause_of_name((const char *)sqlite3_column_text(s, 1));
        const char *resource = (const char *)sqlite3_column_text(s, 2);
        assert_true(state >= 0 && cause >= 0);
        struct ledger_row row = {.t0 = SAMPLE_T0,
                                 .accelerator = (uint32_t)sqlite3_column_int(s, 4),
                                 .state = (uint8_t)state,
                                 .cause = (uint8_t)cause,
                                 .resource = intern_put(&names, resource),
                                 .ns = unit_ns(sqlite3_column_double(s, 3))};
        char id[32];
        snprintf(id, sizeof(id), "sim:%u", row.accelerator);
        record_accelerator(w, row.accelerator, id, "Simulated GPU", true, NULL);
        if (resource)
            record_resource(w, row.resource, resource, NULL);
        assert_int_equal(record_row(w, &row, NULL), 0);
    }
    sqlite3_finalize(s);
    intern_clear(&names);
}

static void copy_facts(sqlite3 *db, struct record *w)
{
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT kind, subject, name, text, number, unit "
                                        "FROM fact",
                                        -1, &s, NULL),
                     0);
    while (sqlite3_step(s) == SQLITE_ROW) {
        struct fact f = {.kind = (const char *)sqlite3_column_text(s, 0),
                         .subject = (const char *)sqlite3_column_text(s, 1),
                         .name = (const char *)sqlite3_column_text(s, 2),
                         .text = (const char *)sqlite3_column_text(s, 3),
                         .number = sqlite3_column_double(s, 4),
                         .unit = (const char *)sqlite3_column_text(s, 5),
                         .source = "test"};
        assert_int_equal(record_fact(w, &f, NULL), 0);
    }
    sqlite3_finalize(s);
}

static void make_recording(const char *path, const char *file, const char *sql)
{
    sqlite3 *db;
    struct record *w = NULL;
    char *why = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), 0);
    assert_int_equal(sqlite3_exec(db, prelude, NULL, NULL, NULL), 0);
    if (sqlite3_exec(db, sql, NULL, NULL, &why))
        fail_msg("%s: %s", file, why);
    assert_int_equal(record_create(path, &sample_meta, &w, NULL), 0);
    copy_rows(db, w);
    copy_facts(db, w);
    sample_finish(w);
    record_close(w);
    sqlite3_close(db);
}

static const struct report_finding *find(const struct report *r, const char *id)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (!strcmp(r->findings[i].id, id))
            return &r->findings[i];
    return NULL;
}

static bool says(const struct report *r, const char *text)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (strstr(r->findings[i].title, text) || strstr(r->findings[i].why, text) ||
            strstr(r->findings[i].fix, text))
            return true;
    return false;
}

/* Judges one line of the head; allowed collects the findings that it names. */
static int judge_line(const char *file, const char *line, const struct report *r, char *allowed,
                      size_t size)
{
    char word[16], id[64];
    const char *first = r->finding_count ? r->findings[0].id : "none";
    if (sscanf(line, "-- finding: %15s %63s", word, id) == 2) {
        const struct report_finding *f = find(r, id);
        if (!f)
            fail_msg("%s: no finding %s", file, id);
        if (strcmp(severity_name(f->severity), word))
            fail_msg("%s: %s is %s", file, id, severity_name(f->severity));
        size_t n = strlen(allowed);
        snprintf(allowed + n, size - n, " %s ", id);
    } else if (sscanf(line, "-- first: %63s", id) == 1) {
        if (strcmp(first, id))
            fail_msg("%s: the first finding is %s", file, first);
    } else if (sscanf(line, "-- absent: %63s", id) == 1) {
        if (find(r, id))
            fail_msg("%s: found %s", file, id);
    } else if (!strncmp(line, "-- says: ", 9)) {
        if (!says(r, line + 9))
            fail_msg("%s: nothing says \"%s\"", file, line + 9);
    } else if (!strncmp(line, "-- silent: ", 11)) {
        if (says(r, line + 11))
            fail_msg("%s: something says \"%s\"", file, line + 11);
    } else if (!strncmp(line, "-- verdict: ", 12)) {
        if (!strstr(r->verdict.sentence, line + 12))
            fail_msg("%s: the verdict is \"%s\"", file, r->verdict.sentence);
    } else {
        return 0;
    }
    return 1;
}

static void judge(const char *file, const char *text, const struct report *r)
{
    char line[256], allowed[512] = "";
    int judged = 0;
    for (const char *p = text; !strncmp(p, "--", 2); p += strcspn(p, "\n") + 1) {
        snprintf(line, sizeof(line), "%.*s", (int)strcspn(p, "\n"), p);
        judged += judge_line(file, line, r, allowed, sizeof(allowed));
    }
    if (!judged)
        fail_msg("%s: its head expects nothing", file);
    for (size_t i = 0; i < r->finding_count; i++) {
        char id[66];
        const struct report_finding *f = &r->findings[i];
        snprintf(id, sizeof(id), " %s ", f->id);
        if (f->severity > SEVERITY_INFO && !strstr(allowed, id))
            fail_msg("%s: also found %s", file, f->id);
        if (strchr(f->title, '{') || strchr(f->why, '{') || strchr(f->fix, '{'))
            fail_msg("%s: %s leaves a placeholder open: %s / %s / %s", file, f->id, f->title,
                     f->why, f->fix);
    }
}

static void run_case(const char *folder, const char *file)
{
    static const struct record_options options = {.price_per_hour = 10};
    char path[160];
    struct str text = {0};
    struct report r;
    struct error e = {0};
    if (rootfs_read(RULE_CASES, file, &text, &e))
        fail_msg("%s", e.text);
    snprintf(path, sizeof(path), "%s/x.gpufeed", folder);
    make_recording(path, file, str_text(&text));
    if (record_report(path, &options, &r, &e))
        fail_msg("%s: %s", file, e.text);
    if (r.note_count && strstr(r.notes[0], "rule left out"))
        fail_msg("%s: %s", file, r.notes[0]);
    judge(file, str_text(&text), &r);
    report_clear(&r);
    str_clear(&text);
}

/* Every rule of the report has both its files; those of check stand in tests/check. */
static void test_cases(void **state)
{
    static const char *const kinds[] = {"fires", "silent"};
    char folder[128], file[128];
    int run = 0;
    sample_folder(folder, sizeof(folder));
    for (size_t i = 0; i < rule_text_count; i++)
        for (int k = 0; k < 2 && !strstr(rule_texts[i].text, "\n-- for: check\n"); k++) {
            size_t id = strcspn(rule_texts[i].file, ".");
            snprintf(file, sizeof(file), "/%.64s", rule_texts[i].file);
            snprintf(file + 1 + id, sizeof(file) - 1 - id, ".%s.sql", kinds[k]);
            run_case(folder, file);
            run++;
        }
    sample_folder_remove(folder);
    assert_true(run >= 30);
}

static void on_case(void *arg, const char *name)
{
    char file[128];
    if (strstr(name, ".scenario.sql")) {
        snprintf(file, sizeof(file), "/%s", name);
        run_case(arg, file);
    }
}

/* Mixed recordings: several causes at once, as the scenarios make them. */
static void test_scenarios(void **state)
{
    char folder[128];
    sample_folder(folder, sizeof(folder));
    assert_true(rootfs_each(RULE_CASES, "/", on_case, folder));
    sample_folder_remove(folder);
}

/* No rule says anything where nothing is known. */
static void test_nothing_known(void **state)
{
    static const struct record_options options = {.price_per_hour = 10};
    char folder[128], path[160];
    struct record *w = NULL;
    struct report r;
    sample_folder(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/x.gpufeed", folder);
    assert_int_equal(record_create(path, &sample_meta, &w, NULL), 0);
    record_accelerator(w, 0, "sim:0", "Simulated GPU", true, NULL);
    record_span(w, SAMPLE_T0, SAMPLE_T0 + NS_PER_S, NULL);
    sample_finish(w);
    record_close(w);
    assert_int_equal(record_report(path, &options, &r, NULL), 0);
    assert_int_equal(r.finding_count, 0);
    assert_string_equal(r.verdict.limited_by, "unknown");
    report_clear(&r);
    sample_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_scenarios),
        cmocka_unit_test(test_nothing_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
