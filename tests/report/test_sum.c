/* SPDX-License-Identifier: MIT */
#include "report/phrase.h"
#include "report/sum.h"

#include "build.h"
#include "fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool has_cause(enum state s)
{
    return s == STATE_WAIT || s == STATE_COMM || s == STATE_COPY;
}

/* Parts add up to the whole, whatever the rows. */
static void sums_add_up(void **state)
{
    for (int seed = 0; seed < 60; seed++) {
        char name[32];
        struct report r;
        struct sum s;
        snprintf(name, sizeof(name), "random:%d", seed);
        assert_true(fixture_make(name, &r));
        assert_true(sum_of(&r, &s));
        int64_t rows = 0, waits = 0, causes = 0, states = 0;
        double money = 0, by_cause = 0;
        for (size_t i = 0; i < r.row_count; i++)
            rows += has_cause(r.rows[i].state) ? r.rows[i].ns : 0;
        for (size_t i = 0; i < s.wait_count; i++) {
            waits += s.waits[i].ns;
            money += s.waits[i].money;
            assert_true(!i || s.waits[i - 1].ns >= s.waits[i].ns);
            for (size_t k = 0; k < i; k++)
                assert_true(s.waits[k].cause != s.waits[i].cause ||
                            strcmp(s.waits[k].resource ? s.waits[k].resource : "",
                                   s.waits[i].resource ? s.waits[i].resource : ""));
        }
        for (int c = 0; c < CAUSE_COUNT; c++) {
            causes += s.cause_ns[c];
            by_cause += s.cause_ns[c] ? r.money.by_cause[c] : 0;
        }
        for (int k = 0; k < STATE_COUNT; k++)
            states += s.state_ns[k];
        assert_int_equal(rows, waits);
        assert_int_equal(rows, causes);
        assert_int_equal(rows, s.waited_ns);
        assert_int_equal(states, s.ns);
        if (r.money.currency)
            assert_true(fabs(money - by_cause) < 1e-9);
        sum_clear(&s);
        report_clear(&r);
    }
}

static void a_wait_without_a_cause_is_unknown(void **state)
{
    struct report r;
    struct sum s;
    fixture_make("unknown", &r);
    assert_true(sum_of(&r, &s));
    assert_int_equal(s.wait_count, 1);
    assert_int_equal(s.waits[0].cause, CAUSE_UNKNOWN);
    assert_int_equal(s.waits[0].evidence, EVIDENCE_BOUND); /* the weaker of two */
    assert_true(fabs(s.unknown_share - 0.6) < 1e-9);
    assert_true(fabs(s.unseen_share - 0.4) < 1e-9);
    assert_true(isnan(s.waits[0].money));
    sum_clear(&s);
    report_clear(&r);
}

static bool quiet(const char *name)
{
    struct report r;
    struct sum s;
    assert_true(fixture_make(name, &r));
    assert_true(sum_of(&r, &s));
    bool q = s.quiet;
    sum_clear(&s);
    report_clear(&r);
    return q;
}

static void only_a_healthy_run_is_quiet(void **state)
{
    assert_true(quiet("healthy"));
    assert_false(quiet("starving"));
    assert_false(quiet("unknown"));
    assert_false(quiet("empty"));
}

static void groups_hold_every_accelerator_once(void **state)
{
    for (int seed = 0; seed < 60; seed++)
        for (size_t apart = 0; apart < 13; apart += 4) {
            char name[32];
            struct report r;
            struct sum_group *groups;
            size_t count, members = 0;
            int64_t ns = 0, all = 0;
            snprintf(name, sizeof(name), "random:%d", seed);
            assert_true(fixture_make(name, &r));
            assert_true(sum_groups(&r, apart, &groups, &count));
            for (size_t i = 0; i < count; i++) {
                members += groups[i].members;
                ns += groups[i].ns;
            }
            for (size_t i = 0; i < r.accelerator_count; i++)
                all += r.accelerators[i].ns;
            assert_int_equal(members, r.accelerator_count);
            assert_int_equal(ns, all);
            if (r.accelerator_count <= apart)
                assert_int_equal(count, r.accelerator_count);
            free(groups);
            report_clear(&r);
        }
}

static void alike_accelerators_share_a_line(void **state)
{
    struct report r;
    struct sum_group *groups;
    size_t count;
    fixture_make("many", &r);
    assert_true(sum_groups(&r, 4, &groups, &count));
    assert_int_equal(count, 2);
    assert_string_equal(groups[0].label, "GPU 0-6, 8-15");
    assert_string_equal(groups[1].label, "GPU 7");
    free(groups);
    report_clear(&r);
}

static void labels_survive_odd_ids(void **state)
{
    static const char *const ids[] = {
        "GPU-x:5", NULL, "no number:", "GPU:12x", ":7", "GPU:99999999999999999999"};
    static const unsigned want[] = {5, 1, 2, 3, 7, 5};
    struct report r;
    report_init(&r);
    for (size_t i = 0; i < 6; i++)
        build_accelerator(&r, ids[i], NULL, false);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(sum_device_number(&r, i), want[i]);
    report_clear(&r);
}

static void a_long_label_is_cut(void **state)
{
    struct report r;
    struct sum_group *groups;
    size_t count;
    report_init(&r);
    for (int i = 0; i < 64; i++) {
        char id[24];
        snprintf(id, sizeof(id), "GPU-x:%d", i * 2);
        build_accelerator(&r, id, NULL, false);
        build_row(&r, (size_t)i, NULL, STATE_COMPUTE, CAUSE_NONE, NULL, S(1), EVIDENCE_DEVICE);
    }
    assert_true(sum_groups(&r, 4, &groups, &count));
    assert_int_equal(count, 1);
    assert_non_null(strstr(groups[0].label, ", ..."));
    free(groups);
    report_clear(&r);
}

static void check_value(double value, const char *text, const char *unit, const char *want)
{
    struct evidence_item e = {.value = value, .text = (char *)text, .unit = (char *)unit};
    struct str s = {0};
    phrase_value(&e, &s);
    assert_string_equal(str_text(&s), want);
    str_clear(&s);
}

static void values_are_read_with_their_unit(void **state)
{
    check_value(4.1e6, NULL, "ns", "4.10 ms");
    check_value(0.5, NULL, "s", "500 ms");
    check_value(1536, NULL, "bytes", "1.50 KiB");
    check_value(1048576, NULL, "bytes/s", "1 MiB/s");
    check_value(0.41, NULL, "share", "41 %");
    check_value(8, NULL, NULL, "8");
    check_value(123456789, NULL, "reads", "123456789 reads");
    check_value(15.26, NULL, "cores", "15.3 cores");
    check_value(6.1028, NULL, "ms", "6.10 ms");
    check_value(6000, NULL, "us", "6 ms");
    check_value(0.4425, NULL, "1", "44 %");
    check_value(3.5, NULL, "1", "3.5");
    check_value(4, NULL, "count", "4");
    check_value(NAN, NULL, "ns", "unknown");
    check_value(INFINITY, NULL, NULL, "unknown");
    check_value(NAN, "nfs4", NULL, "nfs4");
}

static void expect_gain(double seconds, double share, bool bounded, const char *currency,
                        const char *want)
{
    struct report r;
    struct str s = {0};
    report_init(&r);
    r.money.currency = build_text(currency);
    r.money.rate_per_hour = 28;
    struct report_finding f = {
        .gain_seconds = seconds, .gain_share = share, .gain_bounded = bounded};
    phrase_gain(&r, &f, &s);
    assert_string_equal(str_text(&s), want);
    str_clear(&s);
    report_clear(&r);
}

static void gains_say_what_they_are(void **state)
{
    expect_gain(250, 0.41, false, "EUR", "saves 250 s (41 %, 1.69×), € 11.48/h");
    expect_gain(250, 0.41, true, NULL, "saves at most 250 s (41 %, 1.69×)");
    expect_gain(250, NAN, false, "EUR", "saves 250 s");
    expect_gain(NAN, NAN, false, "EUR", "");
    expect_gain(0, 0, false, "EUR", "");
    expect_gain(60, 1, false, NULL, "saves 60 s (100 %)"); /* no speed-up without end */
}

/* What a run of `seconds` tells of gpufeed's own cost. */
static void expect_cost(int64_t seconds, const char *mode, uint64_t lost, const char *want)
{
    struct str s = {0};
    struct report r = {.span_ns = S(seconds),
                       .mode = (char *)mode,
                       .tool = {.cpu_seconds = 1.65,
                                .peak_rss_bytes = NAN,
                                .slowdown_bound = NAN,
                                .events_lost = lost}};
    phrase_cost(&r, &s);
    assert_string_equal(str_text(&s), want);
    str_clear(&s);
}

static void the_own_cost_of_a_short_run(void **state)
{
    expect_cost(5, "wait chain", 0, "1.65 s of CPU, no events lost");
    expect_cost(5, "sampler", 1, "1.65 s of CPU, 1 event lost");
    expect_cost(100, "wait chain", 2, "1.65 s of CPU (1.7 % of a core), 2 events lost");
}

/* A bound that is rounded down would be none. */
static void a_bound_is_not_told_as_nothing(void **state)
{
    static const struct {
        double bound;
        const char *want;
    } cases[] = {{0, "less than 0.1 %"},
                 {0.0004, "less than 0.1 %"},
                 {0.00099, "less than 0.1 %"},
                 {0.006, "at most 0.6 %"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str s = {0};
        struct report r = {.tool = {.cpu_seconds = 1, .slowdown_bound = cases[i].bound}};
        phrase_cost(&r, &s);
        assert_non_null(strstr(str_text(&s), cases[i].want));
        str_clear(&s);
    }
}

/* Ranks of several files that all call their device 0. */
static void equal_numbers_are_told_apart(void **state)
{
    struct report r = {0};
    struct sum_group *groups;
    size_t count;
    char id[32], label[SUM_LABEL];
    for (int i = 0; i < 6; i++) {
        snprintf(id, sizeof(id), "rank%d:0", i);
        size_t a = build_accelerator(&r, id, "H100", false);
        build_row(&r, a, "w", i < 5 ? STATE_COMPUTE : STATE_WAIT,
                  i < 5 ? CAUSE_NONE : CAUSE_STORAGE, NULL, S(1), EVIDENCE_DEVICE);
    }
    assert_string_equal(sum_device_label(&r, 3, label), "GPU 0 (rank 3)");
    assert_true(sum_groups(&r, 4, &groups, &count));
    assert_int_equal(count, 2);
    assert_string_equal(groups[0].label, "GPU 0 (rank 5)");
    assert_string_equal(groups[1].label, "rank 0-4");
    free(groups);
    report_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_add_up),
        cmocka_unit_test(a_wait_without_a_cause_is_unknown),
        cmocka_unit_test(only_a_healthy_run_is_quiet),
        cmocka_unit_test(groups_hold_every_accelerator_once),
        cmocka_unit_test(alike_accelerators_share_a_line),
        cmocka_unit_test(labels_survive_odd_ids),
        cmocka_unit_test(a_long_label_is_cut),
        cmocka_unit_test(values_are_read_with_their_unit),
        cmocka_unit_test(gains_say_what_they_are),
        cmocka_unit_test(the_own_cost_of_a_short_run),
        cmocka_unit_test(a_bound_is_not_told_as_nothing),
        cmocka_unit_test(equal_numbers_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
