/* SPDX-License-Identifier: MIT */
/* What limits reads of a peer, from made-up readers of stores whose limit is known. */
#include "ledger/flow.h"

#include "base/unit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define READERS_MAX 16
#define ITEM (64 * 1024)

struct store {
    int readers;
    int64_t latency;  /* of each request */
    int64_t line;     /* time of an item on the line that all share, 0: none */
    int64_t own_line; /* time of an item on each reader's own line */
    int64_t decode;   /* between two reads */
};

struct reader {
    int64_t from, until; /* waits, until it has all bytes */
    uint64_t tx;
};

/* A body sent by a line in turn, as httpstore does. */
static int64_t served(const struct store *s, int64_t at, int64_t *line_free)
{
    at += s->latency;
    if (s->line) {
        *line_free = (*line_free > at ? *line_free : at) + s->line;
        at = *line_free;
    }
    return at + s->own_line;
}

static void put(struct flow *f, int reader, uint64_t tx, int64_t t0, int64_t t1, uint32_t bytes)
{
    struct event_wait w = {.t_out = t0,
                           .t_wake = t1,
                           .t_in = t1,
                           .channel = 1000 + (uint64_t)reader,
                           .tx_bytes = tx,
                           .rx_during = bytes};
    flow_wait(f, &w);
}

/* Waits in order of their ends. A line's answer begins at once, with its head. */
static struct flow_told run(const struct store *s, int reads)
{
    struct flow *f = flow_new();
    struct reader r[READERS_MAX];
    struct flow_told told;
    int64_t line_free = 0;
    memset(r, 0, sizeof(r));
    for (int i = 0; i < s->readers; i++) {
        r[i].from = i * NS_PER_MS;
        r[i].until = served(s, r[i].from, &line_free);
    }
    for (int k = 0; k < reads; k++) {
        int first = 0;
        for (int i = 1; i < s->readers; i++)
            if (r[i].until < r[first].until)
                first = i;
        struct reader *x = &r[first];
        int64_t head = s->line || s->own_line ? x->from + s->latency + NS_PER_US : x->from;
        x->tx += 100;
        if (head > x->from)
            put(f, first, x->tx, x->from, head, 200);
        put(f, first, x->tx, head, x->until, ITEM);
        x->from = x->until + s->decode * (1 + rand() % 3) / 2;
        x->until = served(s, x->from, &line_free);
    }
    flow_told(f, &told);
    flow_free(f);
    return told;
}

static void test_latency(void **state)
{
    const struct store s = {.readers = 4, .latency = 20 * NS_PER_MS, .decode = 6 * NS_PER_MS};
    struct flow_told told = run(&s, 600);
    assert_true(told.bandwidth_bound == 0);
    assert_true(told.transfer_share < 0.05);
}

static void test_bandwidth(void **state)
{
    const struct store s = {.readers = 4, .line = 10 * NS_PER_MS, .decode = 20 * NS_PER_MS};
    struct flow_told told = run(&s, 600);
    assert_true(told.bandwidth_bound == 1);
    assert_true(told.transfer_share > 0.95);
}

/* A line that all answers share evenly, as TCP does: steps of a tenth of a millisecond. */
static void test_even_line(void **state)
{
    enum { N = 4, STEP = 100000, ITEM_STEPS = 100 };
    struct flow *f = flow_new();
    struct flow_told told;
    double left[N] = {0};
    int64_t from[N] = {0}, decodes[N];
    for (int i = 0; i < N; i++)
        decodes[i] = (i + 1) * 30;
    for (int64_t t = 0; t < INT64_C(20000000000); t += STEP) {
        int sharing = 0;
        for (int i = 0; i < N; i++)
            sharing += left[i] > 0;
        for (int i = 0; i < N; i++) {
            if (left[i] > 0 && (left[i] -= 1.0 / sharing) <= 0) {
                put(f, i, (uint64_t)from[i], from[i] + NS_PER_US, t, ITEM);
                decodes[i] = 100 + rand() % 200;
            } else if (left[i] <= 0 && --decodes[i] <= 0) {
                left[i] = ITEM_STEPS;
                from[i] = t;
                put(f, i, (uint64_t)t, t, t + NS_PER_US, 200); /* its head comes at once */
            }
        }
    }
    flow_told(f, &told);
    flow_free(f);
    assert_true(told.bandwidth_bound == 1);
}

/* Two readers ask at once and are answered at once: the second one to end waits alone for a moment, and
 * gets all of its bytes in it. */
static void test_asked_at_once(void **state)
{
    struct flow *f = flow_new();
    struct flow_told told;
    for (int64_t i = 0; i < 300; i++) {
        int64_t t = i * 25 * NS_PER_MS, late = (1 + rand() % 5) * 100 * NS_PER_US;
        put(f, 0, (uint64_t)i * 2, t, t + 20 * NS_PER_MS, ITEM);
        if (i % 5) /* who is alone finds more of its answer there when it wakes */
            put(f, 1, (uint64_t)i * 2, t + 10 * NS_PER_US, t + 20 * NS_PER_MS + late, ITEM / 3);
    }
    flow_told(f, &told);
    flow_free(f);
    assert_false(told.bandwidth_bound == 1);
}

/* Each connection is slow, two are twice as fast. */
static void test_own_line(void **state)
{
    const struct store s = {.readers = 3, .own_line = 15 * NS_PER_MS, .decode = 8 * NS_PER_MS};
    struct flow_told told = run(&s, 600);
    assert_true(told.bandwidth_bound == 0);
    assert_true(told.transfer_share > 0.95);
}

/* One reader, or a handful of reads: nothing is told. */
static void test_untold(void **state)
{
    struct store s = {.readers = 1, .line = 10 * NS_PER_MS, .decode = 5 * NS_PER_MS};
    struct flow_told told = run(&s, 600);
    assert_true(isnan(told.bandwidth_bound));
    assert_true(told.transfer_share > 0.95);
    s.readers = 4;
    told = run(&s, 12);
    assert_true(isnan(told.bandwidth_bound));
    struct flow *f = flow_new();
    flow_told(f, &told);
    assert_true(isnan(told.bandwidth_bound) && isnan(told.transfer_share));
    put(f, 0, 1, 5, 5, 0); /* no time */
    put(f, 0, 1, 9, 5, 0);
    flow_told(f, &told);
    assert_true(isnan(told.transfer_share));
    flow_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latency),       cmocka_unit_test(test_bandwidth),
        cmocka_unit_test(test_even_line),     cmocka_unit_test(test_own_line),
        cmocka_unit_test(test_asked_at_once), cmocka_unit_test(test_untold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
