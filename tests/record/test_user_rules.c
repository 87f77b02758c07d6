/* SPDX-License-Identifier: MIT */
/* Rules of the user: they extend and replace; bad ones cost one line each, nothing else. */
#include "record/read.h"
#include "record/rule.h"

#include "sample.h"
#include "unit_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[128], path[160], rules[160];

static int set_up(void **state)
{
    sample_folder(folder, sizeof(folder));
    sample_folder(rules, sizeof(rules));
    snprintf(path, sizeof(path), "%s/x.gpufeed", folder);
    sample_whole(path);
    return 0;
}

static int tear_down(void **state)
{
    sample_folder_remove(folder);
    sample_folder_remove(rules);
    return 0;
}

static void put(const char *name, const char *head, const char *sql)
{
    char file[256];
    snprintf(file, sizeof(file), "%s/%s", rules, name);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fprintf(f, "%s%s", head, sql);
    fclose(f);
}

static void put_rule(const char *name, const char *id, const char *sql)
{
    char head[256];
    snprintf(head, sizeof(head),
             "-- id: %s\n-- severity: warning\n-- title: T {share} {resource} {missing}\n"
             "-- why: first\n--   second\n-- fix: F {_n}\n",
             id);
    put(name, head, sql);
}

static void read_it(struct report *r)
{
    struct record_options options = {.price_per_hour = NAN, .rules_dir = rules};
    struct error e = {0};
    if (record_report(path, &options, r, &e))
        fail_msg("%s", e.text);
}

static const struct report_finding *find(const struct report *r, const char *id)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (!strcmp(r->findings[i].id, id))
            return &r->findings[i];
    return NULL;
}

static void test_extends(void **state)
{
    struct report r;
    put_rule(
        "mine.sql", "mine",
        "SELECT share AS \"share [1]\", resource, 0.001 AS \"per read [s] @own\", 7 AS \"_n\", "
        "'critical' AS severity, 2.5 AS gain_seconds, NULL AS absent FROM storage "
        "-- a comment\n; -- and one more\n");
    put("ignored.txt", "", "no rule");
    read_it(&r);
    const struct report_finding *f = find(&r, "mine");
    assert_non_null(f);
    assert_string_equal(f->title, "T 41 % https://store/data {missing}");
    assert_string_equal(f->why, "first second");
    assert_string_equal(f->fix, "F 7");
    assert_int_equal(f->severity, SEVERITY_CRITICAL);
    assert_true(f->gain_seconds <= 2.5 && f->gain_bounded);
    assert_int_equal(f->evidence.count, 3);
    assert_string_equal(f->evidence.items[2].name, "per read");
    assert_string_equal(f->evidence.items[2].unit, "s");
    assert_string_equal(f->evidence.items[2].source, "own");
    assert_string_equal(f->evidence.items[0].source, "ledger");
    assert_non_null(find(&r, "storage-remote-live-read"));
    report_clear(&r);
}

static void test_replaces(void **state)
{
    struct report r;
    put_rule("x.sql", "storage-remote-live-read", "SELECT 1 AS one WHERE 0");
    read_it(&r);
    assert_null(find(&r, "storage-remote-live-read"));
    assert_int_equal(r.note_count, 1); /* the recording's own */
    report_clear(&r);
}

/* The one note that says why, with the file's name. */
static void assert_left_out(const char *words)
{
    struct report r;
    read_it(&r);
    assert_int_equal(r.note_count, 2);
    if (!strstr(r.notes[1], rules) || !strstr(r.notes[1], words) || strchr(r.notes[1], '\n'))
        fail_msg("\"%s\" does not say \"%s\"", r.notes[1], words);
    assert_non_null(find(&r, "storage-remote-live-read")); /* the others ran */
    report_clear(&r);
}

static void test_bad_sql(void **state)
{
    static const struct {
        const char *sql, *words;
    } bad[] = {
        {"SELECT nosuch FROM ledger", "no such column: nosuch"},
        {"SELEC 1", "syntax error"},
        {"SELECT 1; SELECT 2", "more than one statement"},
        {"DELETE FROM fact", "not authorized"},
        {"INSERT INTO fact SELECT * FROM fact", "not authorized"},
        {"CREATE TABLE t (x)", "not authorized"},
        {"PRAGMA writable_schema = ON", "not authorized"},
        {"ATTACH ':memory:' AS other", "not authorized"},
        {"SELECT load_extension('x')", "not authorized"},
        {"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n",
         "takes too long"},
        {"SELECT sum(ns) + 9223372036854775807 + abs(-9223372036854775808) FROM ledger_row",
         "overflow"},
        {"SELECT zeroblob(1000000000)", "too big"},
        {"BEGIN", "not authorized"},
        {"  \n ;\n", "no SELECT"},
        {"-- id: again\nSELECT 1", "there already"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        put_rule("bad.sql", "bad", bad[i].sql);
        assert_left_out(bad[i].words);
    }
}

static void test_bad_head(void **state)
{
    static const struct {
        const char *head, *words;
    } bad[] = {
        {"", "no \"-- id: ...\""},
        {"-- id: x\n", "no \"-- severity: ...\""},
        {"-- id: x\n-- severity: terrible\n-- title: t\n-- fix: f\n", "\"terrible\""},
        {"-- id: x\n-- severity: info\n-- titel: t\n", "line 3: no known key"},
        {"-- id: x\n-- severity: info\n-- title: t\n", "no \"-- fix: ...\""},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        put("bad.sql", bad[i].head, "SELECT 1");
        assert_left_out(bad[i].words);
    }
}

/* A rule cannot say more than a few things, and values of all kinds are shown. */
static void test_many_rows(void **state)
{
    struct report r;
    put_rule(
        "many.sql", "many",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000) "
        "SELECT x AS n, -1e300 AS \"huge [s]\", x'00ff' AS blob, 1e999 AS \"inf [bytes]\" FROM n");
    read_it(&r);
    size_t many = 0;
    for (size_t i = 0; i < r.finding_count; i++)
        many += !strcmp(r.findings[i].id, "many");
    assert_in_range(many, 1, 100);
    report_clear(&r);
}

static void test_no_folder(void **state)
{
    struct record_options options = {.price_per_hour = NAN, .rules_dir = "/no/such/folder"};
    struct report r;
    struct error e = {0};
    assert_int_equal(record_report(path, &options, &r, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "/no/such/folder"));
}

static void test_fill(void **state)
{
    static const char *const want = "41 % 4.10 ms 2 KiB 3 1.5 words 30 1/s {none} {";
    struct evidence_item items[] = {
        {.name = (char *)"a share", .unit = (char *)"1", .value = 0.41},
        {.name = (char *)"ms", .unit = (char *)"ms", .value = 4.1},
        {.name = (char *)"b", .unit = (char *)"bytes", .value = 2048},
        {.name = (char *)"n", .unit = (char *)"count", .value = 3},
        {.name = (char *)"x", .unit = (char *)"", .value = 1.5},
        {.name = (char *)"t", .value = NAN, .text = (char *)"words"},
        {.name = (char *)"r", .unit = (char *)"1/s", .value = 30},
    };
    struct evidence_list list = {items, 7, 7};
    struct str out = {0};
    rule_fill(&out, "{a_share} {ms} {b} {n} {x} {t} {r} {none} {", &list, false);
    assert_string_equal(str_text(&out), want);
    str_reset(&out);
    rule_fill(&out, "workers +{n} {a share}", &list, true);
    assert_string_equal(str_text(&out), "workers +3 0.41");
    str_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_extends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replaces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_sql, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_head, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_folder, set_up, tear_down),
        cmocka_unit_test(test_fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
