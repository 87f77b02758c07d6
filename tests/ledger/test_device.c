/* SPDX-License-Identifier: MIT */
/* Who holds a device, what was not seen, driver calls alone, and what is learnt beside the rows. */
#include "ledger/ledger.h"

#include "base/unit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS NS_PER_MS

struct sums {
    int64_t state[STATE_COUNT], cause[CAUSE_COUNT], workload[8], bound;
};

static struct sums sums;
static struct intern names;
static struct ledger *l;

static void on_row(void *arg, const struct ledger_row *row)
{
    struct sums *s = arg;
    s->state[row->state] += row->ns;
    s->cause[row->cause] += row->ns;
    if (row->workload < 8)
        s->workload[row->workload] += row->ns;
    if (row->evidence == EVIDENCE_BOUND)
        s->bound += row->ns;
}

static int begin(void **state)
{
    struct ledger_options o = {.names = &names, .arg = &sums, .row = on_row};
    (void)state;
    memset(&sums, 0, sizeof(sums));
    intern_put(&names, "nfs://10.0.0.4/data");
    l = ledger_new(&o);
    return l ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    ledger_free(l);
    intern_clear(&names);
    return 0;
}

static void held(int64_t t, uint32_t pid, bool taken)
{
    struct event e = {.kind = EVENT_DEVICE, .device = {.t = t, .pid = pid, .taken = taken}};
    ledger_push(l, &e);
}

static void ran(int64_t t0, int64_t t1, uint32_t pid)
{
    struct event e = {.kind = EVENT_SPAN,
                      .span = {.t0 = t0,
                               .t1 = t1,
                               .launch_t0 = t0,
                               .launch_t1 = t0 + 10,
                               .pid = pid,
                               .tid = pid,
                               .kind = SPAN_COMPUTE}};
    ledger_push(l, &e);
}

static void called(int64_t t0, int64_t t1, enum call_kind kind)
{
    struct event e = {.kind = EVENT_CALL,
                      .call = {.t0 = t0, .t1 = t1, .pid = 1, .tid = 1, .kind = (uint8_t)kind}};
    ledger_push(l, &e);
}

/* It is unused only while nobody holds it; the wait is its first holder's. */
static void several_holders(void **state)
{
    (void)state;
    held(0, 1, true);
    held(10 * MS, 2, true);
    held(10 * MS, 2, true); /* twice is once */
    held(30 * MS, 1, false);
    held(31 * MS, 1, false);
    held(50 * MS, 2, false);
    held(70 * MS, 3, true);
    held(80 * MS, 3, false);
    ledger_finish(l, 100 * MS);
    assert_int_equal(sums.workload[1], 30 * MS);
    assert_int_equal(sums.workload[2], 20 * MS);
    assert_int_equal(sums.state[STATE_UNUSED], 20 * MS);
    assert_int_equal(sums.workload[3], 10 * MS);
}

/* A process that ends lets go; one that still holds is booked up to the end. */
static void an_exit_lets_go(void **state)
{
    struct event e = {.kind = EVENT_THREAD,
                      .thread = {.t = 40 * MS, .tid = 1, .tgid = 1, .change = THREAD_EXIT}};
    (void)state;
    held(0, 1, true);
    ledger_push(l, &e);
    held(60 * MS, 2, true);
    ledger_finish(l, 90 * MS);
    assert_int_equal(sums.state[STATE_UNUSED], 20 * MS);
    assert_int_equal(sums.workload[2], 30 * MS);
}

static void activity_without_a_context(void **state)
{
    int64_t t0, t1;
    (void)state;
    assert_false(ledger_span(l, &t0, &t1));
    ran(10 * MS, 20 * MS, 1);
    ledger_finish(l, 30 * MS);
    assert_true(ledger_span(l, &t0, &t1));
    assert_int_equal(t0, 10 * MS);
    assert_int_equal(sums.state[STATE_COMPUTE], 10 * MS);
    assert_int_equal(sums.state[STATE_WAIT], 10 * MS);
}

/* What was lost is unseen where nothing is known to have run, never a wait. */
static void lost_activity_is_unseen(void **state)
{
    struct event lost = {
        .kind = EVENT_LOST,
        .lost = {.t0 = 15 * MS, .t1 = 40 * MS, .device = 0, .count = 7, .spans = true}};
    (void)state;
    held(0, 1, true);
    ran(0, 20 * MS, 1);
    ran(50 * MS, 60 * MS, 1);
    ledger_push(l, &lost);
    lost.lost.spans = false; /* waits were lost: only counted */
    lost.lost.t1 = 55 * MS;
    ledger_push(l, &lost);
    held(60 * MS, 1, false);
    ledger_finish(l, 60 * MS);
    assert_int_equal(sums.state[STATE_COMPUTE], 30 * MS);
    assert_int_equal(sums.state[STATE_UNSEEN], 20 * MS);
    assert_int_equal(sums.state[STATE_WAIT], 10 * MS);
    assert_int_equal(ledger_lost(l), 14);
}

/* From outside: it works from a launch to the next synchronisation, at most. */
static void calls_bound_the_work(void **state)
{
    (void)state;
    ledger_calls_only(l);
    held(0, 1, true);
    called(10 * MS, 11 * MS, CALL_LAUNCH);
    called(12 * MS, 13 * MS, CALL_LAUNCH);
    called(20 * MS, 30 * MS, CALL_SYNC);
    called(40 * MS, 50 * MS, CALL_SYNC); /* nothing was launched since */
    called(60 * MS, 65 * MS, CALL_COPY);
    held(70 * MS, 1, false);
    ledger_finish(l, 70 * MS);
    assert_int_equal(sums.state[STATE_COMPUTE], 20 * MS);
    assert_int_equal(sums.state[STATE_COPY], 5 * MS);
    assert_int_equal(sums.state[STATE_WAIT], 45 * MS);
    assert_true(sums.bound >= 25 * MS);
}

/* A synchronisation reported late ended before the launch began: it bounds nothing. */
static void calls_out_of_order(void **state)
{
    (void)state;
    ledger_calls_only(l);
    held(0, 1, true);
    called(30 * MS, 31 * MS, CALL_LAUNCH);
    called(10 * MS, 20 * MS, CALL_SYNC);
    called(40 * MS, 50 * MS, CALL_SYNC);
    held(60 * MS, 1, false);
    ledger_finish(l, 60 * MS);
    assert_int_equal(sums.state[STATE_COMPUTE], 20 * MS);
    assert_int_equal(sums.state[STATE_WAIT], 40 * MS);
}

static void a_device_beyond_all(void **state)
{
    struct event e = {.kind = EVENT_SPAN, .span = {.t0 = 1, .t1 = 2, .device = LEDGER_DEVICES_MAX}};
    int64_t t0, t1;
    (void)state;
    ledger_push(l, &e);
    e.span.device = UINT32_MAX;
    ledger_push(l, &e);
    assert_int_equal(ledger_lost(l), 2);
    assert_int_equal(ledger_launcher(l, LEDGER_DEVICES_MAX, NULL), 0);
    ledger_finish(l, 10);
    assert_false(ledger_span(l, &t0, &t1));
}

/* ---- learnt ---- */

struct told {
    double read_ms, in_flight, count, writes, own_writes, gap_us, pageable, pinned, in_main;
    const char *kind;
    int facts, fail_at;
};

static int on_fact(void *arg, const struct fact *f)
{
    struct told *t = arg;
    if (++t->facts == t->fail_at)
        return -7;
    assert_true(f->text != NULL || !isnan(f->number));
    if (!strcmp(f->name, "mean_read_ms"))
        t->read_ms = f->number;
    else if (!strcmp(f->name, "in_flight"))
        t->in_flight = f->number;
    else if (!strcmp(f->kind, "launch") && !strcmp(f->name, "count"))
        t->count = f->number;
    else if (!strcmp(f->kind, "checkpoint") && !strcmp(f->name, "count"))
        t->writes = f->number;
    else if (!strcmp(f->name, "own_seconds"))
        t->own_writes = f->number;
    else if (!strcmp(f->name, "pageable_bytes"))
        t->pageable = f->number;
    else if (!strcmp(f->name, "pinned_bytes"))
        t->pinned = f->number;
    else if (!strcmp(f->name, "in_main"))
        t->in_main = f->number;
    else if (!strcmp(f->name, "kind"))
        t->kind = f->text;
    return 0;
}

static void waited(uint32_t tid, enum target target, int64_t t_out, int64_t t_wake, uint16_t flags)
{
    struct event e = {.kind = EVENT_WAIT,
                      .wait = {.t_out = t_out,
                               .t_wake = t_wake,
                               .t_in = t_wake,
                               .tid = tid,
                               .tgid = tid,
                               .resource = 1,
                               .target = (uint8_t)target,
                               .flags = flags}};
    ledger_push(l, &e);
}

static void what_is_learnt(void **state)
{
    struct event job = {.kind = EVENT_THREAD,
                        .thread = {.tid = 5, .tgid = 5, .change = THREAD_START, .job = true}};
    struct event copy = {.kind = EVENT_SPAN,
                         .span = {.t0 = 60 * MS,
                                  .t1 = 61 * MS,
                                  .tid = 1,
                                  .pid = 1,
                                  .kind = SPAN_COPY,
                                  .host_copy = true,
                                  .bytes = 100}};
    struct told told = {.in_main = -1};
    (void)state;
    held(0, 1, true);
    ran(0, 20 * MS, 1);
    ran(30 * MS, 40 * MS, 1);
    ledger_push(l, &copy);
    copy.span.pageable = true;
    copy.span.bytes = 9;
    ledger_push(l, &copy);
    waited(6, TARGET_FILE, 0, 50 * MS, WAIT_REMOTE_FS); /* not of the job */
    ledger_push(l, &job);
    waited(5, TARGET_FILE, 10 * MS, 14 * MS, WAIT_REMOTE_FS);
    waited(5, TARGET_FILE, 20 * MS, 30 * MS, WAIT_REMOTE_FS);
    job.thread.tid = job.thread.tgid = 1;
    ledger_push(l, &job);
    waited(1, TARGET_WRITE, 30 * MS, 32 * MS, WAIT_REMOTE_FS);
    waited(5, TARGET_WRITE, 30 * MS, 33 * MS, WAIT_REMOTE_FS);
    held(80 * MS, 1, false);
    ledger_finish(l, 80 * MS);
    assert_int_equal(ledger_facts(l, on_fact, &told), 0);
    assert_true(fabs(told.read_ms - 7) < 1e-9);
    assert_true(fabs(told.in_flight - 14.0 / 23.0) < 1e-9);
    assert_string_equal(told.kind, "remote");
    assert_true(fabs(told.own_writes - 0.002) < 1e-9); /* of the thread that launches */
    assert_true(told.writes == 2 && told.count == 2 && told.pageable == 9 && told.pinned == 100);
    assert_true(told.in_main == -1); /* no delivery seen: absent, not zero */
    told = (struct told){.fail_at = 3};
    assert_int_equal(ledger_facts(l, on_fact, &told), -7); /* the first failure ends it */
    assert_int_equal(told.facts, 3);
}

/* Nothing is known to launch: whether the thread that writes does is unknown, not never. */
static void who_writes_without_launches(void **state)
{
    struct event job = {.kind = EVENT_THREAD,
                        .thread = {.tid = 1, .tgid = 1, .change = THREAD_START, .job = true}};
    struct told told = {.own_writes = -1};
    (void)state;
    held(0, 1, true);
    ledger_push(l, &job);
    waited(1, TARGET_WRITE, 30 * MS, 32 * MS, 0);
    held(80 * MS, 1, false);
    ledger_finish(l, 80 * MS);
    assert_int_equal(ledger_facts(l, on_fact, &told), 0);
    assert_true(told.writes == 1 && told.own_writes == -1);
}

/* A thread that launches reads for 200 ms, another of the job for `others`: who loads? */
static double loads_itself(int64_t others)
{
    struct event job = {.kind = EVENT_THREAD,
                        .thread = {.tid = 1, .tgid = 1, .change = THREAD_START, .job = true}};
    struct told told = {.in_main = -1};
    held(0, 1, true);
    ledger_push(l, &job);
    job.thread.tid = job.thread.tgid = 5;
    ledger_push(l, &job);
    ran(0, 20 * MS, 1);
    waited(1, TARGET_FILE, 100 * MS, 300 * MS, 0);
    waited(5, TARGET_FILE, 400 * MS, 400 * MS + others, 0);
    held(2000 * MS, 1, false);
    ledger_finish(l, 2000 * MS);
    assert_int_equal(ledger_facts(l, on_fact, &told), 0);
    return told.in_main;
}

/* Nobody's delivery was seen, and little of what the job read did the launching thread: a library. */
static void who_loads_by_itself(void **state)
{
    (void)state;
    assert_true(loads_itself(100 * MS) == 1);
}

static void who_reads_a_library_late(void **state)
{
    (void)state;
    assert_true(loads_itself(1400 * MS) == -1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(several_holders),         T(an_exit_lets_go),          T(activity_without_a_context),
        T(lost_activity_is_unseen), T(calls_bound_the_work),     T(calls_out_of_order),
        T(a_device_beyond_all),     T(what_is_learnt),           T(who_writes_without_launches),
        T(who_loads_by_itself),     T(who_reads_a_library_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
