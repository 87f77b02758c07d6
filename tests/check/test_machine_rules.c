/* SPDX-License-Identifier: MIT */
/*
 * Each rule of data/check on machines (README.md): on rules/ID.fires.machine it fires, on
 * rules/ID.silent.machine it stays silent though all that it needs is known. On a healthy machine nothing
 * is found at all.
 */
#include "machine.h"

#include "base/rootfs.h"
#include "base/unit.h"
#include "record/check.h"
#include "record/rule.h"
#include "unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int keep(void *arg, const struct fact *f)
{
    struct error e = {0};
    if (check_fact(arg, f, &e))
        fail_msg("%s", e.text);
    return 0;
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
    for (size_t i = 0; i < r->finding_count; i++) {
        const struct report_finding *f = &r->findings[i];
        if (strstr(f->title, text) || strstr(f->why, text) || strstr(f->fix, text) ||
            (f->apply && strstr(f->apply, text)))
            return true;
    }
    return false;
}

/* Judges one line; allowed collects the findings that it names. */
static void judge_line(const char *file, const char *line, const struct report *r,
                       struct str *allowed)
{
    char word[16], id[64];
    if (sscanf(line, "# finding: %15s %63s", word, id) == 2) {
        const struct report_finding *f = find(r, id);
        if (!f)
            fail_msg("%s: no finding %s", file, id);
        if (strcmp(severity_name(f->severity), word))
            fail_msg("%s: %s is %s", file, id, severity_name(f->severity));
        str_addf(allowed, " %s ", id);
    } else if (sscanf(line, "# absent: %63s", id) == 1) {
        if (find(r, id))
            fail_msg("%s: found %s: %s", file, id, find(r, id)->title);
    } else if (!strncmp(line, "# silent: ", 10)) {
        if (says(r, line + 10))
            fail_msg("%s: something says \"%s\"", file, line + 10);
    } else if (!strncmp(line, "# says: ", 8)) {
        if (!says(r, line + 8))
            fail_msg("%s: nothing says \"%s\"", file, line + 8);
    }
}

/* What the name of the file says: ID.fires.machine, ID.silent.machine. */
static void judge_name(const char *file, const struct check_report *r, struct str *allowed)
{
    char id[80];
    const char *kind = strchr(file, '.');
    bool fires = kind && !strncmp(kind, ".fires.", 7);
    if (!fires && !(kind && !strncmp(kind, ".silent.", 8)))
        return;
    snprintf(id, sizeof(id), "%.*s", (int)(kind - file), file);
    for (size_t i = 0; i < r->unjudged_count; i++)
        if (!strcmp(r->unjudged[i].id, id))
            fail_msg("%s: %s could not be judged: no %s", file, id, r->unjudged[i].missing);
    const struct report_finding *f = find(&r->found, id);
    if (fires && !f)
        fail_msg("%s: no finding %s", file, id);
    if (!fires && f)
        fail_msg("%s: found %s: %s", file, id, f->title);
    str_addf(allowed, " %s ", id);
}

static void judge_finding(const char *file, const struct report_finding *f, const char *allowed)
{
    char id[80];
    snprintf(id, sizeof(id), " %s ", f->id);
    if (f->severity > SEVERITY_INFO && !strstr(allowed, id))
        fail_msg("%s: also found %s: %s", file, f->id, f->title);
    if (strchr(f->title, '{') || strchr(f->why, '{') || strchr(f->fix, '{') ||
        (f->apply && strchr(f->apply, '{')))
        fail_msg("%s: %s leaves a placeholder open: %s / %s / %s", file, f->id, f->title, f->why,
                 f->fix);
    if (!f->evidence.count)
        fail_msg("%s: %s gives no evidence", file, f->id);
}

static void judge(const char *file, const char *text, const struct check_report *r)
{
    char line[256];
    struct str allowed = {0};
    str_add(&allowed, "");
    judge_name(file, r, &allowed);
    for (const char *p = text; *p; p += strcspn(p, "\n") + 1) {
        snprintf(line, sizeof(line), "%.*s", (int)strcspn(p, "\n"), p);
        judge_line(file, line, &r->found, &allowed);
    }
    for (size_t i = 0; i < r->found.finding_count; i++)
        judge_finding(file, &r->found.findings[i], str_text(&allowed));
    str_clear(&allowed);
}

/* What the rules say of the machine; clear it after. */
static void report_of(const struct machine *m, struct check_report *ret)
{
    static const struct check_options options = {0};
    struct check *c;
    struct error e = {0};
    if (check_new(&c, &e))
        fail_msg("%s", e.text);
    machine_facts(m, keep, c);
    if (check_run(c, &options, ret, &e))
        fail_msg("%s", e.text);
    check_free(c);
    if (ret->found.note_count)
        fail_msg("%s", ret->found.notes[0]);
}

static void run_case(const char *file)
{
    struct machine m;
    struct check_report r;
    machine_make(&m, CASES, file);
    report_of(&m, &r);
    judge(file, str_text(&m.expect), &r);
    check_report_clear(&r);
    machine_clear(&m);
}

/* Every rule has both its files. */
static void test_all_rules(void **state)
{
    static const char *const kinds[] = {"fires", "silent"};
    char path[160];
    int count = 0;
    for (size_t i = 0; i < rule_text_count; i++)
        for (int k = 0; k < 2 && strstr(rule_texts[i].text, "\n-- for: check\n"); k++, count++) {
            int n = (int)strcspn(rule_texts[i].file, ".");
            snprintf(path, sizeof(path), "/%.*s.%s.machine", n, rule_texts[i].file, kinds[k]);
            if (!rootfs_exists(CASES, path))
                fail_msg("%s has no case \"%s\"", rule_texts[i].file, kinds[k]);
        }
    assert_true(count > 0);
}

static void on_case(void *arg, const char *name)
{
    const char *end = strrchr(name, '.');
    int *count = arg;
    if (!end || strcmp(end, ".machine") ||
        !(strstr(name, ".fires.") || strstr(name, ".silent.") || strstr(name, ".scenario.")))
        return;
    run_case(name);
    ++*count;
}

static void test_cases(void **state)
{
    int count = 0;
    assert_true(rootfs_each(CASES, "", on_case, &count));
    print_message("%d machines\n", count);
    assert_true(count > 0);
}

/* A machine with nothing wrong gets no finding, not even info; `judged` rules at least looked at it. */
static void run_healthy(const char *file, size_t judged)
{
    struct machine m;
    struct check_report r;
    machine_make(&m, CASES, file);
    report_of(&m, &r);
    if (r.found.finding_count)
        fail_msg("%s: found %s: %s", file, r.found.findings[0].id, r.found.findings[0].title);
    print_message("%s: %zu of %zu rules judged\n", file, r.judged, r.rules);
    if (r.judged < judged)
        for (size_t i = 0; i < r.unjudged_count; i++)
            print_message("%s: no %s\n", r.unjudged[i].id, r.unjudged[i].missing);
    assert_true(r.judged >= judged);
    check_report_clear(&r);
    machine_clear(&m);
}

static void test_healthy(void **state)
{
    run_healthy("h100.machine", 20);
    run_healthy("h100-job.machine", 45);
}

/* Nothing is said of a machine of which nothing is known. */
static void test_empty(void **state)
{
    struct machine m;
    struct check_report r;
    machine_make_text(&m, CASES, "/proc/\n/sys/\n/dev/\n/etc/\n");
    report_of(&m, &r);
    assert_int_equal(r.found.finding_count, 0);
    check_report_clear(&r);
    machine_clear(&m);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_rules),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_healthy),
        cmocka_unit_test(test_empty),
    };
    if (argc > 1) { /* one case by name, for whoever writes a rule */
        run_case(argv[1]);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
