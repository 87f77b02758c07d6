/* SPDX-License-Identifier: MIT */
/* The log: what is pushed comes back, stays bounded, survives being bytes, and hostile bytes. */
#include "model.h"
#include "plan/replay.h"

#include "base/mem.h"
#include "base/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS NS_PER_MS

static struct replay_delivery delivery(int64_t start, int64_t read, int64_t decode)
{
    struct replay_delivery d = {.start_ns = start, .end_ns = start + read + decode};
    replay_delivery_add(&d, CAUSE_STORAGE, 3, read);
    replay_delivery_add(&d, CAUSE_PREPARE, 0, decode);
    return d;
}

static struct replay_step step(int64_t t0, int64_t t1, int64_t host, int64_t kernel, uint64_t item)
{
    struct replay_step s = {.t0 = t0, .t1 = t1, .end_ns = t1 + host + kernel, .delivery = item};
    replay_step_add(&s, REPLAY_THREAD, CAUSE_HOST, 0, host);
    replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, kernel);
    replay_step_add(&s, REPLAY_SYNC, CAUSE_NONE, 0, kernel);
    return s;
}

static int64_t thread_time(const struct replay_step *s)
{
    int64_t sum = 0;
    for (int i = 0; i < s->op_count; i++)
        if (s->ops[i].kind == REPLAY_THREAD || s->ops[i].kind == REPLAY_SYNC)
            sum += s->ops[i].what.ns;
    return sum;
}

static int64_t device_time(const struct replay_step *s)
{
    int64_t sum = 0;
    for (int i = 0; i < s->op_count; i++)
        if (s->ops[i].kind == REPLAY_DEVICE || s->ops[i].kind == REPLAY_SPREAD)
            sum += s->ops[i].what.ns;
    return sum;
}

static int64_t parts_time(const struct replay_delivery *d)
{
    int64_t sum = 0;
    for (int i = 0; i < d->part_count; i++)
        sum += d->parts[i].ns;
    return sum;
}

/* Parts and ops add up however many are added. */
static void test_adding(void **state)
{
    for (int launches = 1; launches < 3000; launches = launches * 2 + 1) {
        struct replay_step s = {.t0 = 0};
        struct replay_delivery d = {.start_ns = 0};
        for (int i = 0; i < launches; i++) {
            replay_step_add(&s, REPLAY_THREAD, i % 3 ? CAUSE_LAUNCH : CAUSE_HOST, (uint32_t)i, 10);
            replay_step_add(&s, REPLAY_DEVICE, i % 7 ? CAUSE_NONE : CAUSE_LINK, 0, 20);
            if (i % 5 == 0)
                replay_step_add(&s, REPLAY_SYNC, i % 2 ? CAUSE_LINK : CAUSE_NONE, 0, 5);
            replay_delivery_add(&d, (enum cause)(1 + i % (CAUSE_COUNT - 1)), (uint32_t)i, 7);
            assert_true(s.op_count <= REPLAY_OPS_MAX && d.part_count <= REPLAY_PARTS_MAX);
        }
        assert_int_equal(thread_time(&s), 10 * launches + 5 * ((launches + 4) / 5));
        assert_int_equal(device_time(&s), 20 * launches);
        assert_int_equal(parts_time(&d), 7 * launches);
    }
}

static void test_repairs(void **state)
{
    struct replay_log *log = replay_log_new(0);
    int c = replay_consumer(log, 7, 1);
    struct replay_delivery d = delivery(0, 8 * MS, 2 * MS), got;
    d.end_ns = 15 * MS; /* 5 ms are missing */
    assert_int_equal(replay_push_delivery(log, c, &d), 0);
    assert_true(replay_log_delivery(log, c, 0, &got));
    assert_int_equal(parts_time(&got), 15 * MS);
    assert_int_equal(got.parts[got.part_count - 1].cause, CAUSE_UNKNOWN);
    d.end_ns = 5 * MS; /* 5 ms too many */
    assert_int_equal(replay_push_delivery(log, c, &d), 1);
    assert_true(replay_log_delivery(log, c, 1, &got));
    assert_true(llabs(parts_time(&got) - 5 * MS) < 10);
    d.end_ns = -1; /* backwards */
    assert_true(replay_push_delivery(log, c, &d) == REPLAY_NONE);
    struct replay_step s = step(0, 10 * MS, MS, 4 * MS, 0), out;
    s.end_ns += 3 * MS;
    assert_true(replay_push_step(log, c, &s));
    assert_true(replay_log_step(log, c, 0, &out));
    assert_int_equal(thread_time(&out), 8 * MS);
    assert_false(replay_push_step(log, c, &s)); /* begins before the last one's end */
    assert_int_equal(replay_consumer(log, 7, 1), c);
    assert_int_equal(replay_consumer(log, 8, 1), c + 1);
    /* startup comes first, whatever the order given */
    struct replay_delivery first = delivery(0, MS, MS);
    replay_delivery_add(&first, CAUSE_STARTUP, 0, 5 * MS);
    first.end_ns += 5 * MS;
    first.startup = true;
    uint64_t n = replay_push_delivery(log, c, &first);
    assert_true(replay_log_delivery(log, c, n, &got));
    assert_int_equal(got.parts[0].cause, CAUSE_STARTUP);
    assert_int_equal(got.parts[1].cause, CAUSE_STORAGE);
    replay_log_free(log);
}

/* A long wait is kept to a microsecond. */
static void test_long_times(void **state)
{
    struct replay_log *log = replay_log_new(0);
    int c = replay_consumer(log, 1, 0);
    struct replay_delivery d = delivery(0, 1000 * NS_PER_S, 3 * NS_PER_S), got;
    uint64_t n = replay_push_delivery(log, c, &d);
    assert_true(replay_log_delivery(log, c, n, &got));
    assert_true(llabs(got.parts[0].ns - 1000 * NS_PER_S) <= NS_PER_US);
    replay_log_free(log);
}

static void fill(struct replay_log *log, int c, int from, int count)
{
    for (int i = from; i < from + count; i++) {
        struct replay_delivery d = delivery(i * 10 * MS, 8 * MS, 2 * MS);
        uint64_t n = replay_push_delivery(log, c, &d);
        struct replay_step s = step((i + 1) * 10 * MS - MS, (i + 1) * 10 * MS, 2 * MS, 3 * MS, n);
        assert_true(n != REPLAY_NONE);
        assert_true(replay_push_step(log, c, &s));
    }
}

static void test_bounded(void **state)
{
    struct replay_log *log = replay_log_new(100);
    struct replay_consumer_info info;
    int a = replay_consumer(log, 1, 0), b = replay_consumer(log, 2, 1);
    fill(log, a, 0, 1000);
    assert_true(replay_consumer_info(log, a, &info));
    assert_true(info.steps <= 100 && info.steps > 50);
    assert_int_equal(info.steps + info.dropped_steps, 1000);
    assert_int_equal(info.dropped_ns, (int64_t)info.dropped_steps * 10 * MS);
    assert_true(info.deliveries <= info.steps + 1);
    fill(log, b, 0, 1000);
    uint64_t kept = 0;
    for (int c = 0; c < 2; c++) {
        assert_true(replay_consumer_info(log, c, &info));
        kept += info.steps;
        for (uint64_t i = 0; i < info.steps; i++) {
            struct replay_step s;
            struct replay_delivery d;
            assert_true(replay_log_step(log, c, i, &s));
            assert_true(s.delivery != REPLAY_NONE);
            assert_true(replay_log_delivery(log, c, i, &d));
            assert_int_equal(d.end_ns, s.t1);
        }
    }
    assert_true(kept <= 100);
    /* deliveries that nobody takes do not pile up either */
    for (int i = 0; i < 10000; i++) {
        struct replay_delivery d = delivery(i * 10 * MS, 8 * MS, 2 * MS);
        replay_push_delivery(log, a, &d);
    }
    assert_true(replay_consumer_info(log, a, &info));
    assert_true(info.deliveries <= 2 * 100 + REPLAY_WORKERS_MAX + 1);
    replay_log_free(log);
}

/* A truncated log promises for the whole run. */
static void test_truncated_gain(void **state)
{
    struct replay_scenario s = {0};
    struct replay_result whole, cut;
    struct error e;
    replay_scenario_away(&s, CAUSE_STORAGE, REPLAY_EVERYWHERE, 0, 0);
    for (int k = 0; k < 2; k++) {
        struct replay_log *log = replay_log_new(k ? 200 : 0);
        fill(log, replay_consumer(log, 1, 0), 0, 2000);
        struct replay *r = replay_new(log, NULL, &e);
        assert_non_null(r);
        assert_int_equal(replay_run(r, &s, k ? &cut : &whole, &e), STATUS_OK);
        replay_free(r);
        replay_log_free(log);
    }
    assert_true(cut.real_ns < whole.real_ns / 5);
    assert_true(llabs(cut.gain_ns - whole.gain_ns) < whole.gain_ns / 50);
}

static void same_log(const struct replay_log *a, const struct replay_log *b)
{
    struct replay_consumer_info x, y;
    assert_true(replay_consumer_info(a, 0, &x) && replay_consumer_info(b, 0, &y));
    assert_int_equal(x.steps, y.steps);
    assert_int_equal(x.deliveries, y.deliveries);
    assert_int_equal(x.dropped_steps, y.dropped_steps);
    assert_true(llabs(x.dropped_ns - y.dropped_ns) <= NS_PER_US);
    for (uint64_t i = 0; i < x.steps; i++) {
        struct replay_step s, t;
        assert_true(replay_log_step(a, 0, i, &s) && replay_log_step(b, 0, i, &t));
        assert_true(llabs(s.t0 - t.t0) <= NS_PER_US && llabs(s.end_ns - t.end_ns) <= NS_PER_US);
        assert_true(s.delivery == t.delivery);
        assert_true(llabs(device_time(&s) - device_time(&t)) <= REPLAY_OPS_MAX * NS_PER_US);
        assert_int_equal(thread_time(&t), t.end_ns - t.t1);
    }
    for (uint64_t i = 0; i < x.deliveries; i++) {
        struct replay_delivery d, f;
        assert_true(replay_log_delivery(a, 0, i, &d) && replay_log_delivery(b, 0, i, &f));
        assert_int_equal(d.worker, f.worker);
        assert_int_equal(d.queue, f.queue);
        assert_int_equal(d.startup, f.startup);
        assert_true(d.part_count >= f.part_count);
        assert_true(llabs(parts_time(&d) - parts_time(&f)) <= 2 * NS_PER_US);
    }
}

/* As chunks of any size and back: the same log, and the same promises. */
static void check_chunks(struct model_config c)
{
    struct replay_log *log = replay_log_new(0), *whole = replay_log_new(0);
    struct replay_log *steps = replay_log_new(0);
    struct replay_cursor at = {0}, all = {0};
    struct str bytes = {0};
    struct error e;
    model_run(&c, log, NULL, NULL);
    assert_true(replay_encode(log, 0, &all, &bytes));
    assert_int_equal(replay_decode(whole, bytes.data, bytes.len, &e), STATUS_OK);
    assert_true(bytes.len < 120 * 700);
    assert_int_equal(bytes.data[1],
                     c.second.workers ? 2 : 1); /* versions before loaders are still written */
    same_log(log, whole);
    size_t len = bytes.len;
    assert_true(replay_encode(log, 0, &all, &bytes)); /* nothing new */
    assert_int_equal(bytes.len, len);
    /* the same, pushed and written bit by bit */
    struct replay_log *live = replay_log_new(0);
    int k = replay_consumer(live, 1, 0);
    uint64_t pushed = 0;
    struct replay_step s;
    struct replay_delivery d;
    for (uint64_t i = 0; replay_log_step(log, 0, i, &s); i++) {
        for (; s.delivery != REPLAY_NONE && pushed <= s.delivery; pushed++)
            if (replay_log_delivery(log, 0, pushed, &d))
                replay_push_delivery(live, k, &d);
        assert_true(replay_push_step(live, k, &s));
        if (i % 37)
            continue;
        str_reset(&bytes);
        assert_true(replay_encode(live, k, &at, &bytes));
        assert_int_equal(replay_decode(steps, bytes.data, bytes.len, &e), STATUS_OK);
    }
    str_reset(&bytes);
    assert_true(replay_encode(live, k, &at, &bytes));
    assert_int_equal(replay_decode(steps, bytes.data, bytes.len, &e), STATUS_OK);
    same_log(live, steps);
    /* a chunk twice is refused, and changes nothing */
    assert_int_equal(replay_decode(steps, bytes.data, bytes.len, &e), STATUS_INPUT);
    same_log(live, steps);
    struct replay_scenario away = {0};
    struct replay_result x, y;
    replay_scenario_away(&away, CAUSE_STORAGE, REPLAY_EVERYWHERE, 0, 0);
    struct replay *r = replay_new(log, NULL, &e), *q = replay_new(whole, NULL, &e);
    assert_int_equal(replay_run(r, &away, &x, &e), STATUS_OK);
    assert_int_equal(replay_run(q, &away, &y, &e), STATUS_OK);
    assert_true(llabs(x.gain_ns - y.gain_ns) < x.real_ns / 500);
    replay_free(r);
    replay_free(q);
    str_clear(&bytes);
    replay_log_free(log);
    replay_log_free(whole);
    replay_log_free(live);
    replay_log_free(steps);
}

static void test_chunks(void **state)
{
    struct model_config c = model_random(5, 700);
    check_chunks(c);
    c.epoch_items = 100;
    c.second = (struct model_second){
        .workers = 2, .prefetch = 2, .items = 40, .read = c.read, .decode = c.decode};
    check_chunks(c);
}

/* Leading chunks may be missing: their time counts as dropped. */
static void test_missing_chunks(void **state)
{
    struct replay_log *log = replay_log_new(0), *late = replay_log_new(0);
    struct replay_cursor at = {0};
    struct replay_consumer_info info;
    struct str bytes = {0};
    struct error e;
    int c = replay_consumer(log, 1, 0);
    fill(log, c, 0, 100);
    assert_true(replay_encode(log, c, &at, &bytes));
    str_reset(&bytes);
    fill(log, c, 100, 100);
    assert_true(replay_encode(log, c, &at, &bytes));
    assert_int_equal(replay_decode(late, bytes.data, bytes.len, &e), STATUS_OK);
    assert_true(replay_consumer_info(late, 0, &info));
    assert_int_equal(info.steps, 100);
    assert_int_equal(info.dropped_steps, 100);
    assert_int_equal(info.dropped_ns, 1000 * MS);
    str_clear(&bytes);
    replay_log_free(log);
    replay_log_free(late);
}

/* Whatever can be decoded can be replayed. */
static void use(const struct replay_log *log)
{
    struct replay_scenario s = {
        .workers_times = 2, .depth_times = 3, .pinned = true, .restarts_away = true};
    struct replay_setup setup = {.cores = 2};
    struct replay_result got;
    struct error e;
    replay_scenario_away(&s, CAUSE_STORAGE, REPLAY_EVERYWHERE, 0, 0.5);
    struct replay *r = replay_new(log, &setup, &e);
    if (!r)
        return;
    assert_int_equal(replay_run(r, &s, &got, &e), STATUS_OK);
    assert_true(got.gain_ns <= INT64_MAX / 2);
    replay_free(r);
}

static void test_hostile(void **state)
{
    struct model_config c = model_random(3, 40);
    struct replay_log *log = replay_log_new(0);
    struct replay_cursor at = {0};
    struct str bytes = {0};
    struct error e;
    uint32_t x = 12345;
    int refused = 0, taken = 0;
    model_run(&c, log, NULL, NULL);
    assert_true(replay_encode(log, 0, &at, &bytes));
    for (size_t n = 0; n < bytes.len; n++) { /* every truncation is refused */
        struct replay_log *out = replay_log_new(64);
        assert_int_equal(replay_decode(out, bytes.data, n, &e), STATUS_INPUT);
        assert_int_equal(replay_log_consumers(out), 0);
        replay_log_free(out);
    }
    char *copy = malloc(bytes.len);
    for (int i = 0; i < 3000; i++) {
        struct replay_log *out = replay_log_new(64);
        memcpy(copy, bytes.data, bytes.len);
        for (int k = 0; k <= i % 4; k++) {
            x = x * 1664525 + 1013904223;
            copy[(x >> 8) % bytes.len] = (char)(x >> 3);
        }
        if (replay_decode(out, copy, bytes.len, &e) == STATUS_OK)
            taken++;
        else
            refused++;
        use(out);
        replay_log_free(out);
    }
    assert_true(refused > 100 && taken > 100);
    free(copy);
    str_clear(&bytes);
    replay_log_free(log);
}

/* Each failing allocation is survived and said. */
static void test_no_memory(void **state)
{
    struct model_config c = model_random(4, 30);
    struct replay_log *log = replay_log_new(0);
    struct replay_scenario s = {.workers_add = 2};
    struct error e;
    int failed = 0;
    model_run(&c, log, NULL, NULL);
    for (long n = 0;; n++) {
        struct replay_setup setup = {.cores = 1};
        struct replay_result got;
        mem_fail_after(n);
        struct replay *r = replay_new(log, &setup, &e);
        int status = r ? replay_run(r, &s, &got, &e) : e.status;
        mem_fail_after(-1);
        replay_free(r);
        if (status == STATUS_OK)
            break;
        assert_int_equal(status, STATUS_MEMORY);
        failed++;
    }
    assert_true(failed > 20);
    struct replay_cursor all = {0};
    struct str bytes = {0};
    assert_true(replay_encode(log, 0, &all, &bytes));
    for (long n = 0;; n++) {
        mem_fail_after(n);
        struct replay_log *out = replay_log_new(0);
        int status = out ? replay_decode(out, bytes.data, bytes.len, &e) : STATUS_MEMORY;
        mem_fail_after(-1);
        replay_log_free(out);
        if (status == STATUS_OK)
            break;
    }
    str_clear(&bytes);
    replay_log_free(log);
}

static void test_nothing(void **state)
{
    struct replay_log *log = replay_log_new(0);
    struct error e = {0};
    assert_null(replay_new(log, NULL, &e));
    assert_int_equal(e.status, STATUS_MISSING);
    replay_consumer(log, 1, 0);
    assert_null(replay_new(log, NULL, &e));
    replay_free(NULL);
    replay_log_free(log);
    replay_log_free(NULL);
}

/* Forty turns of two causes, then a third: sums are kept, and nothing becomes unknown. */
static void many_parts_keep_their_causes(void **state)
{
    struct replay_delivery d = {.start_ns = 0, .end_ns = 41 * 3 * MS, .part_count = 0};
    int64_t sum[CAUSE_COUNT] = {0};
    (void)state;
    for (int i = 0; i < 40; i++) {
        replay_delivery_add(&d, CAUSE_STARTUP, 0, 2 * MS);
        replay_delivery_add(&d, CAUSE_CPU_STARVED, 0, 1 * MS);
    }
    replay_delivery_add(&d, CAUSE_PREPARE, 0, 2 * MS);
    replay_delivery_add(&d, CAUSE_UNKNOWN, 0, 1 * MS);
    for (int i = 0; i < d.part_count; i++)
        sum[d.parts[i].cause] += d.parts[i].ns;
    assert_int_equal(sum[CAUSE_STARTUP], 80 * MS);
    assert_int_equal(sum[CAUSE_CPU_STARVED], 40 * MS);
    assert_int_equal(sum[CAUSE_PREPARE], 2 * MS);
    assert_int_equal(sum[CAUSE_UNKNOWN], 1 * MS);
    assert_int_equal(d.parts[d.part_count - 2].cause, CAUSE_PREPARE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_parts_keep_their_causes),
        cmocka_unit_test(test_adding),
        cmocka_unit_test(test_repairs),
        cmocka_unit_test(test_long_times),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_truncated_gain),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_missing_chunks),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
