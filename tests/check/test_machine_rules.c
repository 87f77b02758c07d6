/* SPDX-License-Identifier: MIT */
/* Each rule on machines: it fires and stays silent on those of tests/check/rules (README.md). */
#include "machine.h"

#include "base/rootfs.h"
#include "base/unit.h"
#include "record/read.h"
#include "record/record.h"
#include "record/rule.h"
#include "unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct record_meta meta = {
    .title = "check", .version = "0", .mode = "check", .start_ns = NS_PER_S, .window_ns = NS_PER_S};

static int keep(void *arg, const struct fact *f)
{
    struct error e = {0};
    if (record_fact(arg, f, &e))
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
    for (size_t i = 0; i < r->finding_count; i++)
        if (strstr(r->findings[i].title, text) || strstr(r->findings[i].why, text) ||
            strstr(r->findings[i].fix, text))
            return true;
    return false;
}

/* Judges one line; allowed collects the findings that it names. */
static int judge_line(const char *file, const char *line, const struct report *r,
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
    } else if (!strncmp(line, "# says: ", 8)) {
        if (!says(r, line + 8))
            fail_msg("%s: nothing says \"%s\"", file, line + 8);
    } else {
        return 0;
    }
    return 1;
}

static void judge(const char *file, const char *text, const struct report *r)
{
    char line[256];
    struct str allowed = {0};
    int judged = 0;
    for (const char *p = text; *p; p += strcspn(p, "\n") + 1) {
        snprintf(line, sizeof(line), "%.*s", (int)strcspn(p, "\n"), p);
        judged += judge_line(file, line, r, &allowed);
    }
    if (!judged)
        fail_msg("%s: it expects nothing", file);
    for (size_t i = 0; i < r->finding_count; i++) {
        const struct report_finding *f = &r->findings[i];
        char id[80];
        snprintf(id, sizeof(id), " %s ", f->id);
        if (f->severity > SEVERITY_INFO && !strstr(str_text(&allowed), id))
            fail_msg("%s: also found %s: %s", file, f->id, f->title);
        if (strchr(f->title, '{') || strchr(f->why, '{') || strchr(f->fix, '{'))
            fail_msg("%s: %s leaves a placeholder open: %s / %s / %s", file, f->id, f->title,
                     f->why, f->fix);
    }
    str_clear(&allowed);
}

/* What the rules say of the machine; clear it after. */
static void report_of(const struct machine *m, struct report *ret)
{
    static const struct record_options options = {0};
    char path[512];
    struct record *w = NULL;
    struct error e = {0};
    struct record_end end = {.exit_code = -1};
    snprintf(path, sizeof(path), "%s/x.gpufeed", m->folder);
    if (record_create(path, &meta, &w, &e))
        fail_msg("%s", e.text);
    machine_facts(m, keep, w);
    assert_int_equal(record_span(w, NS_PER_S, 2 * NS_PER_S, NULL), 0);
    assert_int_equal(record_finish(w, &end, NULL), 0);
    record_close(w);
    if (record_report(path, &options, ret, &e))
        fail_msg("%s", e.text);
    for (size_t i = 0; i < ret->note_count; i++)
        if (strstr(ret->notes[i], "rule left out"))
            fail_msg("%s", ret->notes[i]);
}

static void run_case(const char *file)
{
    struct machine m;
    struct report r;
    machine_make(&m, CASES, file);
    report_of(&m, &r);
    judge(file, str_text(&m.expect), &r);
    report_clear(&r);
    machine_clear(&m);
}

/* Every rule has both its files, here or among those that need a ledger. */
static void test_all_rules(void **state)
{
    static const char *const kinds[] = {"fires", "silent"};
    char path[160];
    for (size_t i = 0; i < rule_text_count; i++)
        for (int k = 0; k < 2; k++) {
            int n = (int)strcspn(rule_texts[i].file, ".");
            snprintf(path, sizeof(path), "/%.*s.%s.machine", n, rule_texts[i].file, kinds[k]);
            if (rootfs_exists(CASES, path))
                continue;
            snprintf(path, sizeof(path), "/%.*s.%s.sql", n, rule_texts[i].file, kinds[k]);
            if (!rootfs_exists(LEDGER_CASES, path))
                fail_msg("%s has no case \"%s\"", rule_texts[i].file, kinds[k]);
        }
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

/* Nothing is said of a machine of which nothing is known. */
static void test_empty(void **state)
{
    struct machine m;
    struct report r;
    machine_make_text(&m, CASES, "/proc/\n/sys/\n/dev/\n/etc/\n");
    report_of(&m, &r);
    assert_int_equal(r.finding_count, 0);
    report_clear(&r);
    machine_clear(&m);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_rules),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_empty),
    };
    if (argc > 1) { /* one case by name, for whoever writes a rule */
        run_case(argv[1]);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
