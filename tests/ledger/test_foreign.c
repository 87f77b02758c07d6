/* SPDX-License-Identifier: MIT */
/* What a foreign trace tells of threads: queues of ops, gaps, and what a faster device would save. */
#include "ledger/foreign.h"

#include "base/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define US NS_PER_US
#define MS NS_PER_MS
#define MAIN 100u
#define OTHER 101u

static void op(struct threads *t, uint32_t tid, enum op_kind kind, int64_t t0, int64_t t1,
               enum cause cause, uint32_t resource, bool awaits)
{
    struct event_op e = {.t0 = t0,
                         .t1 = t1,
                         .pid = MAIN,
                         .tid = tid,
                         .kind = (uint8_t)kind,
                         .cause = (uint8_t)cause,
                         .resource = resource,
                         .awaits_device = awaits};
    assert_true(threads_op(t, &e));
}

static void launches(struct threads *t, uint32_t tid)
{
    struct thread *th = threads_get(t, tid, MAIN);
    assert_non_null(th);
    th->launches = true;
}

static struct shares explain(struct threads *t, int64_t t0, int64_t t1, int64_t launch_t0,
                             int64_t launch_t1)
{
    struct intern names = {0};
    struct shares s = {.count = 0};
    enum evidence evidence;
    struct gap gap = {.t0 = t0,
                      .t1 = t1,
                      .launch_t0 = launch_t0,
                      .launch_t1 = launch_t1,
                      .thread = threads_find(t, MAIN)};
    foreign_explain(t, &names, &gap, &s, &evidence, NULL);
    assert_int_equal(shares_total(&s), t1 - t0);
    assert_int_equal(evidence, EVIDENCE_DEVICE);
    return s;
}

/* A range counts before the calls in it, a call before the operator around it. */
static void test_strongest_first(void **state)
{
    struct threads t = {0};
    op(&t, MAIN, OP_RANGE, 10 * MS, 20 * MS, CAUSE_PREPARE, 7, false);
    op(&t, MAIN, OP_CALL, 15 * MS, 25 * MS, CAUSE_HOST, 8, false);
    op(&t, MAIN, OP_CODE, 5 * MS, 30 * MS, CAUSE_NONE, 9, false);
    struct shares s = explain(&t, 0, 40 * MS, 39 * MS, 39 * MS + 5 * US);
    assert_int_equal(shares_of(&s, CAUSE_PREPARE), 10 * MS);
    /* 5 ms of the call, 10 ms of the operator, 14 ms of nothing */
    assert_int_equal(shares_of(&s, CAUSE_HOST), 29 * MS);
    assert_int_equal(shares_of(&s, CAUSE_LAUNCH),
                     1 * MS); /* launched: within 1 ms it is not late */
    s = explain(&t, 0, 42 * MS, 39 * MS, 39 * MS + 5 * US);
    assert_int_equal(shares_of(&s, CAUSE_LAUNCH), 5 * US);
    assert_int_equal(shares_of(&s, CAUSE_UNKNOWN), 3 * MS - 5 * US);
    threads_clear(&t);
}

static void test_short_gaps_are_launching(void **state)
{
    struct threads t = {0};
    op(&t, MAIN, OP_CODE, 0, 100 * US, CAUSE_NONE, 9, false);
    struct shares s =
        explain(&t, 0, GAP_LAUNCH_CPU_NS + 10 * US, GAP_LAUNCH_CPU_NS, GAP_LAUNCH_CPU_NS + 5 * US);
    assert_int_equal(shares_of(&s, CAUSE_LAUNCH), GAP_LAUNCH_CPU_NS + 10 * US);
    s = explain(&t, 0, GAP_LAUNCH_CPU_NS + 11 * US, GAP_LAUNCH_CPU_NS + 1,
                GAP_LAUNCH_CPU_NS + 5 * US);
    assert_int_equal(shares_of(&s, CAUSE_HOST), GAP_LAUNCH_CPU_NS + 1);
    threads_clear(&t);
}

static void test_queues_do_not_overlap(void **state)
{
    struct ops o = {0};
    static const int64_t in[][2] = {{0, 10}, {2, 5}, {5, 20}, {20, 20}, {30, 40}, {25, 45}};
    for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
        struct event_op e = {.t0 = in[i][0], .t1 = in[i][1]};
        assert_true(ops_push(&o, &e));
    }
    assert_int_equal(o.count, 4);
    for (size_t i = 1; i < o.count; i++)
        assert_true(o.item[i].t0 >= o.item[i - 1].t1);
    assert_int_equal(o.item[3].t1, 45);
    assert_int_equal(ops_after(&o, 9), 0);
    assert_int_equal(ops_after(&o, 10), 1);
    assert_int_equal(ops_after(&o, 45), 4);
    ops_trim(&o, 45);
    assert_int_equal(ops_after(&o, 0), o.count);
    ops_clear(&o);
}

/* One thread: what it awaits is saved, what it does meanwhile is not. */
static void test_awaited_by_one(void **state)
{
    struct threads t = {0};
    launches(&t, MAIN);
    op(&t, MAIN, OP_CODE, 0, 30 * MS, CAUSE_NONE, 0, false);
    op(&t, MAIN, OP_CALL, 10 * MS, 30 * MS, CAUSE_LAUNCH, 0, true);
    assert_int_equal(foreign_awaited(&t, 0, 40 * MS), 20 * MS);
    assert_int_equal(foreign_awaited(&t, 12 * MS, 20 * MS), 8 * MS);
    assert_int_equal(foreign_awaited(&t, 30 * MS, 40 * MS), 0);
    threads_clear(&t);
}

/* While another thread launches (the backward pass), waiting of the first saves nothing; time in which
 * both wait counts once; threads that launch nothing do not matter. */
static void test_awaited_by_two(void **state)
{
    struct threads t = {0};
    launches(&t, MAIN);
    launches(&t, OTHER);
    op(&t, 102, OP_CODE, 0, 100 * MS, CAUSE_NONE, 0, false);
    op(&t, MAIN, OP_CALL, 0, 40 * MS, CAUSE_LAUNCH, 0, true);
    op(&t, OTHER, OP_CODE, 10 * MS, 20 * MS, CAUSE_NONE, 0, false);
    op(&t, OTHER, OP_CALL, 20 * MS, 22 * MS, CAUSE_LAUNCH, 0, false);
    op(&t, OTHER, OP_CALL, 25 * MS, 50 * MS, CAUSE_LAUNCH, 0, true);
    assert_int_equal(foreign_awaited(&t, 0, 60 * MS), (10 + 3 + 15 + 10) * MS);
    /* the parts of any cut add up */
    int64_t sum = 0;
    for (int64_t at = 0; at < 60 * MS; at += 7 * MS)
        sum += foreign_awaited(&t, at, at + 7 * MS < 60 * MS ? at + 7 * MS : 60 * MS);
    assert_int_equal(sum, 38 * MS);
    threads_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strongest_first),
        cmocka_unit_test(test_short_gaps_are_launching),
        cmocka_unit_test(test_queues_do_not_overlap),
        cmocka_unit_test(test_awaited_by_one),
        cmocka_unit_test(test_awaited_by_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
