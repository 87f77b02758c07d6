/* SPDX-License-Identifier: MIT */
/*
 * Property: for random jobs, what is said of twice as many accelerators is what the discrete-event
 * model shows when two trainers, each with its device and its workers, share out the same items on
 * the same cores. GPUFEED_SEED=S runs only that seed.
 */
#include "model.h"
#include "plan/whatif.h"

#include "base/unit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEEDS 40
#define ITEMS 800
#define WORKERS_MAX 8
/* Of the run's length. Two trainers that share cores run one more queue than the replay's two in
 * step, and the second one's items are others. */
#define POINTS 0.1
#define POINTS_MEAN 0.02

static struct model_config job_of(uint64_t seed)
{
    struct model_config c = model_random(seed, ITEMS);
    c.checkpoint_every = 0;
    c.epoch_items = 0;
    c.persistent = true;
    c.workers = c.workers > WORKERS_MAX ? WORKERS_MAX : c.workers;
    c.cores = 1 + (int)(seed % 2 ? seed % 5 : seed % 19); /* full and idle ones */
    return c;
}

static double check(uint64_t seed, int *ret_help)
{
    struct model_config c = job_of(seed), two = c;
    struct replay_log *log = replay_log_new(0);
    struct replay_setup setup = {.cores = c.cores};
    struct model_truth truth, twice;
    struct whatif_machines m;
    struct error e;
    two.jobs = 2;
    model_run(&c, log, &truth, NULL);
    model_run(&two, NULL, &twice, NULL);
    struct replay *r = replay_new(log, &setup, &e);
    assert_non_null(r);
    struct whatif_ledger l = {.span_ns = (int64_t)truth.total};
    l.state_ns[STATE_COMPUTE] = (int64_t)truth.total;
    assert_int_equal(whatif_machines(r, &l, false, &m, &e), STATUS_OK);
    double really = 1 - twice.total / truth.total, said = 1 - 1 / m.more_speedup;
    really = fmax(really, 0); /* a gain is never negative */
    if (fabs(really - said) > POINTS || getenv("GPUFEED_SEED"))
        print_message("seed %llu: workers %d cores %d slice %lld: said %.1f %%, really %.1f %%\n",
                      (unsigned long long)seed, c.workers, c.cores, (long long)c.slice, 100 * said,
                      100 * really);
    if (fabs(really - WHATIF_MORE_SHARE) > POINTS)
        assert_int_equal(m.more_help, really >= WHATIF_MORE_SHARE);
    *ret_help = m.more_help;
    replay_free(r);
    replay_log_free(log);
    return fabs(really - said);
}

static void test_twice(void **state)
{
    const char *one = getenv("GPUFEED_SEED");
    double worst = 0, sum = 0;
    int helps = 0, no_help = 0, help;
    for (uint64_t seed = 1; seed <= SEEDS && !one; seed++) {
        double off = check(seed, &help);
        worst = fmax(worst, off);
        sum += off;
        helps += help == 1;
        no_help += help == 0;
    }
    if (one) {
        check(strtoull(one, NULL, 10), &help);
        return;
    }
    print_message("%d help, %d do not; worst %.1f, mean %.1f points\n", helps, no_help, 100 * worst,
                  100 * sum / SEEDS);
    assert_true(helps >= 5 && no_help >= 5); /* both are tried */
    assert_true(worst <= POINTS && sum / SEEDS <= POINTS_MEAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_twice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
