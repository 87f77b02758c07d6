/* SPDX-License-Identifier: MIT */
/* Two recordings compared. */
#include "record/diff.h"

#include "base/mem.h"
#include "base/unit.h"
#include "record/read.h"
#include "sample.h"
#include "unit_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[128], path[160];

static void one_report(const char *currency, int64_t storage_ms, int64_t checkpoint_ms,
                       struct report *ret)
{
    struct record_options options = {.price_per_hour = 36, .currency = currency};
    struct record *w = NULL;
    struct error e = {0};
    const struct {
        enum state state;
        enum cause cause;
        int64_t ms;
    } rows[] = {{STATE_COMPUTE, CAUSE_NONE, 6000},
                {STATE_WAIT, CAUSE_STORAGE, storage_ms},
                {STATE_WAIT, CAUSE_CHECKPOINT, checkpoint_ms}};
    assert_int_equal(record_create(path, &sample_meta, &w, NULL), 0);
    record_accelerator(w, 0, "sim:0", "Simulated GPU", true, NULL);
    record_resource(w, 1, "s3://bucket", NULL);
    for (int i = 0; i < 3; i++) {
        struct ledger_row row = {.t0 = SAMPLE_T0,
                                 .state = (uint8_t)rows[i].state,
                                 .cause = (uint8_t)rows[i].cause,
                                 .resource = rows[i].cause == CAUSE_STORAGE,
                                 .ns = rows[i].ms * NS_PER_MS};
        record_row(w, &row, NULL);
    }
    sample_finish(w);
    record_close(w);
    if (record_report(path, &options, ret, &e))
        fail_msg("%s", e.text);
    ret->exit_code = 0;
}

static int set_up(void **state)
{
    sample_folder(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/x.gpufeed", folder);
    return 0;
}

static int tear_down(void **state)
{
    sample_folder_remove(folder);
    return 0;
}

static void test_better(void **state)
{
    struct report before, after;
    struct diff d;
    one_report("EUR", 4000, 0, &before);
    one_report("EUR", 500, 1000, &after);
    assert_int_equal(diff_make(&before, &after, &d, NULL), STATUS_OK);
    assert_true(fabs(d.utilisation.before - 0.6) < 1e-12);
    assert_true(fabs(d.utilisation.after - 0.8) < 1e-12);
    assert_true(fabs(d.cause[CAUSE_STORAGE].before - 0.4) < 1e-12);
    assert_true(fabs(d.cause[CAUSE_STORAGE].after - 0.5 / 7.5) < 1e-12);
    assert_true(fabs(d.speedup - 10 / 7.5) < 1e-12);
    assert_true(fabs(d.spent.before - 0.1) < 1e-12 && fabs(d.spent.after - 0.075) < 1e-12);
    assert_true(fabs(d.money_by_cause[CAUSE_CHECKPOINT].after - 0.01) < 1e-12);
    assert_string_equal(d.currency, "EUR");
    assert_int_equal(d.finding_count, 2);
    assert_string_equal(d.findings[0].id, "storage-remote-live-read");
    assert_int_equal(d.findings[0].change, DIFF_GONE);
    assert_int_equal(d.findings[0].severity_after, -1);
    assert_true(fabs(d.findings[0].gain_seconds.before - 4) < 1e-9);
    assert_true(isnan(d.findings[0].gain_seconds.after));
    assert_string_equal(d.findings[1].id, "checkpoint-blocking");
    assert_int_equal(d.findings[1].change, DIFF_NEW);
    assert_string_equal(d.sentence,
                        "Computing went from 60 % to 80 % of the time, storage from 40 % to 6.7 %; "
                        "the run took 7.50 s instead of 10 s, 1.33× as fast.");
    diff_clear(&d);
    report_clear(&before);
    report_clear(&after);
}

static void test_same(void **state)
{
    struct report a, b;
    struct diff d;
    one_report("EUR", 4000, 0, &a);
    one_report("USD", 4000, 0, &b);
    assert_int_equal(diff_make(&a, &b, &d, NULL), STATUS_OK);
    assert_null(d.currency); /* two currencies do not compare */
    assert_true(isnan(d.spent.before));
    assert_int_equal(d.finding_count, 1);
    assert_int_equal(d.findings[0].change, DIFF_KEPT);
    assert_null(strstr(d.sentence, "as fast"));
    diff_clear(&d);
    report_clear(&a);
    report_clear(&b);
}

/* A run that hardly computed: "4000 times" would be a promise that nobody can check. */
static void test_hardly_computed(void **state)
{
    struct report r;
    one_report("EUR", 5994000, 0, &r);
    assert_true(r.findings[0].gain_share > 0.99);
    assert_non_null(strstr(r.verdict.sentence, "first: up to 100 % of the time"));
    assert_null(strstr(strstr(r.verdict.sentence, "first"), "×"));
    report_clear(&r);
}

/* How long a run took says nothing where it was stopped, failed or was watched for a while. */
static void test_other_ends(void **state)
{
    static const struct {
        int before, after;
        const char *note; /* NULL: none */
    } rows[] = {{0, 0, NULL},
                {130, 0, "the command did not succeed: exit 130 before, exit 0 after"},
                {143, 1, "exit 143 before, exit 1 after"},
                {-1, 0, "a job that was running already was watched for a while"}};
    struct report a, b;
    struct diff d;
    one_report("EUR", 4000, 0, &a);
    one_report("EUR", 4000, 0, &b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        a.exit_code = rows[i].before;
        b.exit_code = rows[i].after;
        assert_int_equal(diff_make(&a, &b, &d, NULL), STATUS_OK);
        assert_int_equal(d.note_count, rows[i].note ? 1 : 0);
        if (rows[i].note)
            assert_non_null(strstr(d.notes[0], rows[i].note));
        diff_clear(&d);
    }
    report_clear(&a);
    report_clear(&b);
}

/* What does not compare as it stands is said, once for each reason. */
static void test_unlike(void **state)
{
    struct report a, b;
    struct diff d;
    one_report("EUR", 4000, 0, &a);
    one_report("EUR", 4000, 0, &b);
    assert_int_equal(diff_make(&a, &b, &d, NULL), STATUS_OK);
    assert_int_equal(d.note_count, 0);
    diff_clear(&d);
    free(b.mode);
    b.mode = mem_strdup("foreign trace");
    free(b.cut_short);
    b.cut_short = mem_strdup("it was killed");
    free(b.accelerators[0].name);
    b.accelerators[0].name = mem_strdup("NVIDIA H100");
    assert_int_equal(diff_make(&a, &b, &d, NULL), STATUS_OK);
    assert_int_equal(d.note_count, 4);
    assert_non_null(strstr(d.notes[0], "Simulated GPU (simulated) before, NVIDIA H100"));
    assert_non_null(strstr(d.notes[1], "foreign trace after"));
    assert_non_null(strstr(d.notes[2], "only where both show the same steps"));
    assert_non_null(strstr(d.notes[3], "after is cut short: it was killed"));
    diff_clear(&d);
    report_clear(&a);
    report_clear(&b);
}

static void test_nothing(void **state)
{
    struct report a, b;
    struct diff d;
    report_init(&a);
    report_init(&b);
    assert_int_equal(diff_make(&a, &b, &d, NULL), STATUS_OK);
    assert_true(isnan(d.speedup) && isnan(d.utilisation.before));
    assert_int_equal(d.finding_count, 0);
    diff_clear(&d);
}

static void test_no_memory(void **state)
{
    struct report a, b;
    struct diff d = {0};
    struct error e = {0};
    int failed = 0;
    one_report("EUR", 4000, 900, &a);
    one_report("EUR", 500, 1000, &b);
    for (long n = 0; n < 1000; n++) {
        mem_fail_after(n);
        int status = diff_make(&a, &b, &d, &e);
        mem_fail_after(-1);
        if (!status)
            break;
        assert_int_equal(status, STATUS_MEMORY);
        assert_null(d.sentence);
        failed++;
    }
    assert_in_range(failed, 5, 100);
    diff_clear(&d);
    report_clear(&a);
    report_clear(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_better, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unlike, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hardly_computed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
