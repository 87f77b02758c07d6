/* SPDX-License-Identifier: MIT */
/* Made-up threads with known times, sampled, against what the clock makes of the samples. */
#include "base/unit.h"
#include "sense/sampler_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define TICK (4 * NS_PER_MS) /* the run counter of a running thread moves in these steps */

static uint64_t seed;

static uint64_t random_below(uint64_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % n;
}

enum phase { RUN, BLOCKED, WAITING };

/* The true thread: phases that follow one another. */
struct truth {
    enum phase phase;
    int64_t t, left;                   /* now; left of this phase */
    int64_t run, wait, slept;          /* totals */
    int64_t counted_run, counted_wait; /* as schedstat shows them */
    int64_t stretch;                   /* run since the counter last moved */
    uint64_t switches;
    int64_t max_run, max_sleep, max_wait;
};

static void next_phase(struct truth *h)
{
    if (h->phase == RUN) {
        h->counted_run = h->run;
        bool preempted = h->max_wait && random_below(4) == 0;
        h->phase = preempted ? WAITING : BLOCKED;
    } else if (h->phase == BLOCKED && h->max_wait && random_below(2)) {
        h->phase = WAITING;
    } else {
        h->phase = RUN;
    }
    int64_t max = h->phase == RUN ? h->max_run : h->phase == BLOCKED ? h->max_sleep : h->max_wait;
    h->left = 1 + (int64_t)random_below((uint64_t)max);
    if (h->phase == RUN) {
        h->switches++;
        h->counted_wait = h->wait;
        h->stretch = 0;
    }
}

static void live_until(struct truth *h, int64_t t)
{
    while (h->t < t) {
        int64_t d = h->left < t - h->t ? h->left : t - h->t;
        h->t += d;
        h->left -= d;
        if (h->phase == RUN) {
            h->run += d;
            h->stretch += d;
            if (h->stretch >= TICK) {
                h->counted_run = h->run - h->stretch % TICK;
                h->stretch %= TICK;
            }
        } else if (h->phase == BLOCKED) {
            h->slept += d;
        } else {
            h->wait += d;
        }
        if (!h->left)
            next_phase(h);
    }
}

struct sums {
    int64_t slept, core, last;
};

static void add(struct sums *s, const struct sampler_piece *p, int n)
{
    for (int i = 0; i < n; i++) {
        assert_true(p[i].t_out >= s->last); /* in order, never overlapping */
        assert_true(p[i].t_wake >= p[i].t_out && p[i].t_in >= p[i].t_wake);
        s->last = p[i].t_in;
        s->slept += p[i].t_wake - p[i].t_out;
        s->core += p[i].t_in - p[i].t_wake;
    }
}

/* Samples a made-up thread for a minute; errors as shares of it. */
static void sample(struct truth h, int64_t period, double *ret_sleep_error, double *ret_core_error)
{
    struct sampler_clock c = {0};
    struct sums s = {0};
    int64_t end = 60 * NS_PER_S, t = 0;
    int64_t slept0 = 0, wait0 = 0;
    h.phase = RUN;
    h.left = 1;
    h.switches = 1;
    while (t < end) {
        struct sampler_piece out[SAMPLER_PIECES];
        t += period / 2 + (int64_t)random_below((uint64_t)period); /* late and early ticks */
        live_until(&h, t);
        struct sampler_reading r = {t,
                                    (uint64_t)h.counted_run,
                                    (uint64_t)h.counted_wait,
                                    h.switches,
                                    true,
                                    h.phase == BLOCKED,
                                    true};
        bool quiet = c.begun && c.blocked && c.switches == h.switches;
        if (quiet)
            r.blocked = true; /* the sampler does not look closer then */
        if (!c.begun) {
            slept0 = h.slept;
            wait0 = h.counted_wait;
            s.last = t;
        }
        int n = sampler_clock_read(&c, &r, out);
        add(&s, out, n);
    }
    if (c.blocked)
        s.slept += c.done - c.t_out;
    *ret_sleep_error = (double)(s.slept - (h.slept - slept0)) / (double)end;
    *ret_core_error = (double)(s.core - (h.counted_wait - wait0)) / (double)end;
}

static void near(const char *what, double error, double limit)
{
    if (error > limit || error < -limit)
        fail_msg("%s is wrong by %.2f %% of the run", what, error * 100);
}

static void test_long_waits(void **state)
{
    double sleep, core;
    for (seed = 1; seed < 40; seed++) {
        struct truth h = {.max_run = 20 * NS_PER_MS, .max_sleep = 80 * NS_PER_MS};
        uint64_t keep = seed;
        sample(h, 10 * NS_PER_MS, &sleep, &core);
        seed = keep;
        near("sleep", sleep, 0.01);
        near("core", core, 0.005);
    }
}

/* Waits far shorter than the period: amounts still hold, by the counters. */
static void test_short_waits(void **state)
{
    double sleep, core;
    for (seed = 1; seed < 40; seed++) {
        struct truth h = {.max_run = NS_PER_MS, .max_sleep = 3 * NS_PER_MS};
        uint64_t keep = seed;
        sample(h, 10 * NS_PER_MS, &sleep, &core);
        seed = keep;
        near("sleep", sleep, 0.01);
        near("core", core, 0.005);
    }
}

static void test_no_core(void **state)
{
    double sleep, core;
    for (seed = 1; seed < 40; seed++) {
        struct truth h = {
            .max_run = 12 * NS_PER_MS, .max_sleep = 10 * NS_PER_MS, .max_wait = 30 * NS_PER_MS};
        uint64_t keep = seed;
        sample(h, 10 * NS_PER_MS, &sleep, &core);
        seed = keep;
        near("sleep", sleep, 0.02);
        near("core", core, 0.02);
    }
}

static void test_spinning_thread_has_no_waits(void **state)
{
    struct sampler_clock c = {0};
    struct sampler_piece out[SAMPLER_PIECES];
    for (int64_t t = 0; t < 5 * NS_PER_S; t += 10 * NS_PER_MS) {
        struct sampler_reading r = {t + 1, (uint64_t)(t / TICK * TICK), 0, 1, true, false, false};
        assert_int_equal(sampler_clock_read(&c, &r, out), 0);
    }
}

/* Runnable for 300 ms without a core: known when it got one, from the counter. */
static void test_starved_thread(void **state)
{
    struct sampler_clock c = {0};
    struct sampler_piece out[SAMPLER_PIECES];
    int64_t ms = NS_PER_MS;
    for (int64_t t = 10; t <= 300; t += 10) {
        struct sampler_reading r = {t * ms, 5, 0, 1, true, false, false};
        assert_int_equal(sampler_clock_read(&c, &r, out), 0);
    }
    struct sampler_reading r = {310 * ms, 5, (uint64_t)(300 * ms), 2, true, false, false};
    assert_int_equal(sampler_clock_read(&c, &r, out), 1);
    assert_int_equal(out[0].kind, SAMPLER_CORE);
    assert_int_equal(out[0].t_in - out[0].t_out, 300 * ms);
}

static void test_woken_and_starved(void **state)
{
    struct sampler_clock c = {0};
    struct sampler_piece out[SAMPLER_PIECES];
    int64_t ms = NS_PER_MS;
    struct sampler_reading r = {10 * ms, 0, 0, 1, true, true, true};
    assert_int_equal(sampler_clock_read(&c, &r, out), 0);
    for (int64_t t = 20; t <= 200; t += 10) {
        r.t = t * ms;
        assert_int_equal(sampler_clock_read(&c, &r, out), 0);
    }
    /* It slept until 50, then waited 150 ms for a core. */
    r = (struct sampler_reading){210 * ms, 0, (uint64_t)(150 * ms), 2, true, false, false};
    assert_int_equal(sampler_clock_read(&c, &r, out), 1);
    assert_int_equal(out[0].kind, SAMPLER_ENDED);
    assert_int_equal(out[0].t_in - out[0].t_wake, 150 * ms);
    assert_int_equal(out[0].t_out, 10 * ms);
}

static void test_without_counters(void **state)
{
    struct sampler_clock c = {0};
    struct sampler_piece out[SAMPLER_PIECES];
    struct sampler_reading r = {100, 0, 0, 0, false, false, false};
    sampler_clock_read(&c, &r, out);
    r = (struct sampler_reading){200, 0, 0, 0, false, true, false};
    assert_int_equal(sampler_clock_read(&c, &r, out), 0);
    r.t = 300;
    r.same = true;
    assert_int_equal(sampler_clock_read(&c, &r, out), 0);
    r.t = 400;
    r.same = false; /* blocked on something else */
    assert_int_equal(sampler_clock_read(&c, &r, out), 1);
    assert_true(out[0].t_out == 150 && out[0].t_in == 350);
    r = (struct sampler_reading){500, 0, 0, 0, false, false, false};
    assert_int_equal(sampler_clock_read(&c, &r, out), 1);
    assert_true(out[0].t_out == 350 && out[0].t_in == 450);
}

/* Counters that jump, go back or are absurd: times stay ordered. */
static void test_garbage(void **state)
{
    for (seed = 1; seed < 200; seed++) {
        struct sampler_clock c = {0};
        struct sums s = {0};
        int64_t t = 0;
        for (int i = 0; i < 500; i++) {
            struct sampler_piece out[SAMPLER_PIECES];
            t += (int64_t)random_below(30 * NS_PER_MS);
            uint64_t big = random_below(3) ? 40 * NS_PER_MS : UINT64_MAX >> 34;
            struct sampler_reading r = {t,
                                        random_below(big),
                                        random_below(big) << random_below(34),
                                        random_below(9),
                                        random_below(8) != 0,
                                        random_below(2) != 0,
                                        random_below(2) != 0};
            if (!c.begun)
                s.last = t;
            int n = sampler_clock_read(&c, &r, out);
            assert_true(n >= 0 && n <= SAMPLER_PIECES);
            add(&s, out, n);
            assert_true(s.last <= t);
        }
    }
}

/* A thread that was made between two readings: its counters tell all that it did since. */
static void test_born(void **state)
{
    struct sampler_clock c;
    struct sampler_piece out[SAMPLER_PIECES];
    (void)state;
    sampler_clock_born(&c, 100 * NS_PER_MS);
    struct sampler_reading r = {.t = 105 * NS_PER_MS,
                                .run_ns = 2 * NS_PER_MS,
                                .wait_ns = 1 * NS_PER_MS,
                                .switches = 3,
                                .counted = true,
                                .blocked = true};
    assert_int_equal(sampler_clock_read(&c, &r, out), 1);
    assert_int_equal(out[0].kind, SAMPLER_CORE);
    assert_int_equal(out[0].t_in - out[0].t_out, 1 * NS_PER_MS);
    assert_int_equal(c.t_out, 103 * NS_PER_MS); /* on a core for two, blocked since */
    assert_true(c.blocked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_waits),
        cmocka_unit_test(test_short_waits),
        cmocka_unit_test(test_no_core),
        cmocka_unit_test(test_spinning_thread_has_no_waits),
        cmocka_unit_test(test_starved_thread),
        cmocka_unit_test(test_woken_and_starved),
        cmocka_unit_test(test_without_counters),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_born),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
