/* SPDX-License-Identifier: MIT */
/* The algebra of shares and of the account: parts add up to the whole, to the nanosecond. */
#include "ledger/account.h"
#include "ledger/admit.h"

#include "base/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct shares random_shares(int most)
{
    struct shares s = {.count = 0};
    for (int i = rand() % (most + 1); i > 0; i--)
        shares_add(&s, (enum cause)(1 + rand() % (CAUSE_COUNT - 1)), (uint32_t)(rand() % 40),
                   1 + rand() % 1000000);
    return s;
}

static void scaling_is_exact(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        struct shares from = random_shares(30), to = random_shares(30);
        int64_t before = shares_total(&to), total = rand() % 3 ? rand() : INT64_MAX / 4;
        shares_add_scaled(&to, &from, total);
        assert_int_equal(shares_total(&to), before + total);
        assert_in_range(to.count, 0, SHARES_MAX);
        for (int k = 0; k < to.count; k++)
            assert_true(to.part[k].ns > 0);
    }
}

static void what_does_not_fit_is_unknown(void **state)
{
    struct shares s = {.count = 0};
    (void)state;
    for (uint32_t i = 1; i <= 100; i++)
        shares_add(&s, CAUSE_STORAGE, i, 10);
    assert_int_equal(s.count, SHARES_MAX);
    assert_int_equal(shares_total(&s), 1000);
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), (SHARES_MAX - 1) * 10);
    assert_int_equal(shares_of(&s, CAUSE_UNKNOWN), 1000 - (SHARES_MAX - 1) * 10);
    shares_add(&s, CAUSE_STORAGE, 5, 7); /* a known part still finds its place */
    assert_int_equal(shares_of(&s, CAUSE_STORAGE), (SHARES_MAX - 1) * 10 + 7);
    shares_add(&s, CAUSE_STORAGE, 5, 0);
    shares_add(&s, CAUSE_STORAGE, 5, -3);
    assert_int_equal(shares_total(&s), 1007);
}

static void of_nothing_is_unknown(void **state)
{
    struct shares s = {.count = 0}, none = {.count = 0};
    (void)state;
    assert_int_equal(shares_largest(&s), -1);
    shares_add_scaled(&s, &none, 12);
    assert_int_equal(shares_of(&s, CAUSE_UNKNOWN), 12);
    shares_add_scaled(&s, &none, 0);
    shares_add_scaled(&s, &none, -5);
    assert_int_equal(shares_total(&s), 12);
}

static void moving_keeps_the_sum(void **state)
{
    (void)state;
    srand(2);
    for (int i = 0; i < 5000; i++) {
        struct shares s = random_shares(20);
        int64_t total = shares_total(&s), had = shares_of(&s, CAUSE_PREPARE);
        int64_t startup = shares_of(&s, CAUSE_STARTUP), ask = rand() % 3000000;
        int64_t moved = shares_move(&s, CAUSE_PREPARE, CAUSE_STARTUP, ask);
        assert_int_equal(moved, ask < had ? ask : had);
        assert_int_equal(shares_total(&s), total);
        assert_int_equal(shares_of(&s, CAUSE_STARTUP), startup + moved);
        assert_int_equal(shares_of(&s, CAUSE_PREPARE), had - moved);
    }
}

/* ---- the account ---- */

struct book {
    int64_t window_ns, origin, total, last_window;
    int64_t in_window; /* of the last window */
    int64_t cause[CAUSE_COUNT];
    int rows;
};

static void on_row(void *arg, const struct ledger_row *row)
{
    struct book *b = arg;
    assert_true(row->ns > 0);
    assert_int_equal((row->t0 - b->origin) % b->window_ns, 0);
    assert_true(row->t0 >= b->last_window);
    if (row->t0 != b->last_window) {
        assert_true(b->last_window == INT64_MIN || b->in_window == b->window_ns);
        b->in_window = 0;
    }
    b->last_window = row->t0;
    b->in_window += row->ns;
    b->total += row->ns;
    b->cause[row->cause] += row->ns;
    b->rows++;
}

static struct book begin(struct account *a, int64_t window_ns, int64_t origin)
{
    struct book b = {.window_ns = window_ns, .origin = origin, .last_window = INT64_MIN};
    account_init(a, 3, window_ns, (struct account_sink){NULL, on_row});
    account_begin(a, origin);
    return b;
}

/* Any times and parts: each window adds up to itself, each cause to what was booked on it. */
static void windows_are_exact(void **state)
{
    (void)state;
    srand(3);
    for (int run = 0; run < 300; run++) {
        struct account a;
        struct book b = begin(&a, 1 + rand() % 5000, rand());
        int64_t at = b.origin;
        a.sink.arg = &b;
        for (int i = 0; i < 60; i++) {
            struct shares s = random_shares(6);
            at += rand() % 20000 - 500; /* backwards books nothing */
            account_add(&a, at, (enum state)(rand() % STATE_COUNT), rand() % 4 ? &s : NULL,
                        (uint32_t)(rand() % 3), (enum evidence)(rand() % EVIDENCE_COUNT));
            at = a.at;
        }
        account_close(&a);
        assert_int_equal(b.total, at - b.origin);
        assert_int_equal(b.in_window, b.total ? (b.total - 1) % b.window_ns + 1 : 0);
        for (int c = 0; c < CAUSE_COUNT; c++)
            assert_int_equal(b.cause[c], a.cause_ns[c]);
    }
}

/* 30 ns of three to one over windows of 10 ns: no window gets more of a cause than its part. */
static void a_wait_over_windows_is_split_in_proportion(void **state)
{
    struct account a;
    struct book b = begin(&a, 10, 0);
    struct shares s = {.count = 0};
    (void)state;
    a.sink.arg = &b;
    shares_add(&s, CAUSE_STORAGE, 1, 3000);
    shares_add(&s, CAUSE_PREPARE, 0, 1000);
    account_add(&a, 40, STATE_WAIT, &s, 1, EVIDENCE_CHAIN);
    assert_int_equal(b.total, 40);
    assert_int_equal(b.cause[CAUSE_STORAGE], 30);
    assert_int_equal(b.cause[CAUSE_PREPARE], 10);
    assert_int_equal(b.rows, 8);
}

/* More rows than a window has room for: resources are forgotten, time never. */
static void an_overflow_never_loses_time(void **state)
{
    struct account a;
    struct book b = begin(&a, NS_PER_S, 0);
    (void)state;
    a.sink.arg = &b;
    for (uint32_t i = 0; i < 3000; i++) {
        struct shares s = {.count = 0};
        shares_add(&s, (enum cause)(1 + i % (CAUSE_COUNT - 1)), i, 1);
        account_add(&a, a.at + 1000, (enum state)(i % STATE_COUNT), &s, i % 7, EVIDENCE_CHAIN);
    }
    account_close(&a);
    assert_int_equal(b.total, 3000 * 1000);
    for (int c = 1; c < CAUSE_COUNT; c++)
        assert_int_equal(b.cause[c], a.cause_ns[c]);
}

/* ---- what is believed ---- */

static bool wait_admitted(uint32_t tid, int64_t t_out, int64_t t_wake, int64_t t_in)
{
    struct event e = {.kind = EVENT_WAIT,
                      .wait = {.t_out = t_out, .t_wake = t_wake, .t_in = t_in, .tid = tid}};
    return admit(&e);
}

static void what_cannot_be_is_not_admitted(void **state)
{
    struct event e = {.kind = EVENT_SPAN,
                      .span = {.t0 = 5, .t1 = 9, .launch_t0 = 4, .launch_t1 = 2}};
    (void)state;
    assert_true(wait_admitted(1, 1, 2, 3) && wait_admitted(1, 2, 2, 2));
    assert_false(wait_admitted(0, 1, 2, 3));
    assert_false(wait_admitted(1, 2, 1, 3));
    assert_false(wait_admitted(1, 1, 3, 2));
    assert_false(wait_admitted(1, INT64_MIN, 2, 3));
    assert_false(wait_admitted(1, 1, 2, INT64_MAX));
    assert_true(admit(&e)); /* the device worked, whoever asked for it */
    assert_int_equal(e.span.launch_t0, 0);
    e.span.t1 = 4;
    assert_false(admit(&e));
    e = (struct event){.kind = EVENT_THREAD, .thread = {.tid = 1}};
    memset(e.thread.name, 'x', sizeof(e.thread.name));
    assert_true(admit(&e));
    assert_int_equal(strlen(e.thread.name), sizeof(e.thread.name) - 1);
    assert_int_equal(admit_sum(INT64_MAX - 1, 5), INT64_MAX);
    assert_int_equal(admit_sum(2, 3), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scaling_is_exact),
        cmocka_unit_test(what_does_not_fit_is_unknown),
        cmocka_unit_test(of_nothing_is_unknown),
        cmocka_unit_test(moving_keeps_the_sum),
        cmocka_unit_test(windows_are_exact),
        cmocka_unit_test(a_wait_over_windows_is_split_in_proportion),
        cmocka_unit_test(an_overflow_never_loses_time),
        cmocka_unit_test(what_cannot_be_is_not_admitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
