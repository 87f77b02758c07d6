/* SPDX-License-Identifier: MIT */
/* Made-up threads that write now and then, read every 10 ms, against the time they wrote. */
#include "base/unit.h"
#include "sense/sampler_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS NS_PER_MS
#define PERIOD (10 * MS)

struct tried {
    int64_t booked, last;
    struct sampler_write w;
};

/* Until `end` the thread writes `rate` bytes per ns in the first `write_ns` of each `every_ns`. */
static void run(struct tried *x, double rate, int64_t every_ns, int64_t write_ns, int64_t end)
{
    double bytes = 0;
    x->last = 0;
    for (int64_t t = 0; t < end; t += MS / 10) {
        if (t % every_ns < write_ns)
            bytes += rate * (double)(MS / 10);
        if ((t + MS / 10) % PERIOD)
            continue;
        int64_t t0, t1, now = t + MS / 10;
        if (!sampler_write_read(&x->w, (uint64_t)bytes, now - PERIOD, now, &t0, &t1))
            continue;
        assert_true(t0 >= x->last && t1 > t0 && t1 <= now);
        x->last = t1;
        x->booked += t1 - t0;
    }
}

static void assert_about(int64_t booked, int64_t truth, double within)
{
    double off = (double)(booked - truth) / (double)truth;
    if (off > within || off < -within)
        fail_msg("%.1f ms instead of %.1f ms", (double)booked / (double)MS,
                 (double)truth / (double)MS);
}

static void test_long_writes(void **state)
{
    static const double rates[] = {0.4, 1.2, 3.0};
    for (int i = 0; i < 3; i++) {
        struct tried x = {0};
        run(&x, rates[i], 237 * MS, 83 * MS, 40 * 237 * MS);
        assert_about(x.booked, 40 * 83 * MS, 0.06);
    }
}

/* Shorter than two readings: the first guess of the speed stays. */
static void test_short_writes(void **state)
{
    struct tried x = {0};
    run(&x, 1.0, 57 * MS, 4 * MS, 200 * 57 * MS);
    assert_about(x.booked, 200 * 4 * MS, 0.1);
}

static void test_lines_of_a_log_are_nothing(void **state)
{
    struct tried x = {0};
    run(&x, 0.04, 10 * MS, MS, 1000 * MS); /* 4000 bytes in each period */
    assert_int_equal(x.booked, 0);
}

/* Time that the counters tell late is booked when they do. */
static void test_counters_that_lag(void **state)
{
    struct sampler_write w = {0};
    int64_t t0, t1, sum = 0;
    assert_false(sampler_write_read(&w, 0, 0, 0, &t0, &t1));
    if (sampler_write_read(&w, 10 * MS, 10 * MS, 16 * MS, &t0, &t1))
        sum += t1 - t0;
    if (sampler_write_read(&w, 20 * MS, 16 * MS, 30 * MS, &t0, &t1))
        sum += t1 - t0;
    assert_about(sum, 20 * MS, 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_writes),
        cmocka_unit_test(test_short_writes),
        cmocka_unit_test(test_lines_of_a_log_are_nothing),
        cmocka_unit_test(test_counters_that_lag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
