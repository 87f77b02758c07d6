/* SPDX-License-Identifier: MIT */
/* Worked examples of replay (those of doc/replay.md), lists of fixes, machines and money. */
#include "plan/money.h"
#include "plan/whatif.h"

#include "base/unit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS NS_PER_MS
#define STEPS 200

/* One worker reads for `read` and decodes for `decode`, one item ahead; each step the trainer
 * computes for `kernel`. The steady state is that of max(read + decode, kernel). */
static struct replay_log *pipeline(int64_t read, int64_t decode, int64_t kernel)
{
    struct replay_log *log = replay_log_new(0);
    int c = replay_consumer(log, 1, 0);
    int64_t ready = 0, free_at = 0, taken[STEPS];
    for (int i = 0; i < STEPS; i++) {
        int64_t ordered = i >= 2 ? taken[i - 2] : 0; /* two on order */
        int64_t start = ordered > ready ? ordered : ready;
        struct replay_delivery d = {
            .start_ns = start, .end_ns = start + read + decode, .idle_ns = start - ready};
        replay_delivery_add(&d, CAUSE_STORAGE, 9, read);
        replay_delivery_add(&d, CAUSE_PREPARE, 0, decode);
        ready = d.end_ns;
        taken[i] = free_at > ready ? free_at : ready;
        struct replay_step s = {.t0 = free_at,
                                .t1 = taken[i],
                                .end_ns = taken[i] + kernel,
                                .delivery = replay_push_delivery(log, c, &d)};
        replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, kernel);
        replay_step_add(&s, REPLAY_SYNC, CAUSE_NONE, 0, kernel);
        assert_true(replay_push_step(log, c, &s));
        free_at = s.end_ns;
    }
    return log;
}

static double gain_ms(const struct replay *r, const struct replay_scenario *s)
{
    struct replay_result got;
    struct error e;
    assert_int_equal(replay_run(r, s, &got, &e), STATUS_OK);
    assert_int_equal(got.predicted_ns, got.real_ns - got.gain_ns);
    return (double)got.gain_ns / (double)MS;
}

static struct replay_scenario away(enum cause cause)
{
    struct replay_scenario s = {0};
    assert_true(replay_scenario_away(&s, cause, REPLAY_EVERYWHERE, 0, 0));
    return s;
}

/* Reads 80 ms, decodes 20 ms, computes 85 ms: the trainer waits in the last 15 ms of each item, all
 * decoding, and still reading or decoding away cures it alike: 15 ms a step. */
static void test_last_instant(void **state)
{
    struct replay_log *log = pipeline(80 * MS, 20 * MS, 85 * MS);
    struct error e;
    struct replay *r = replay_new(log, NULL, &e);
    struct replay_learnt learnt;
    struct replay_scenario read = away(CAUSE_STORAGE), decode = away(CAUSE_PREPARE);
    struct replay_scenario faster = {.accelerator_infinite = true}, none = {0};
    assert_true(replay_learnt(r, 0, &learnt));
    assert_int_equal(learnt.workers, 1);
    assert_int_equal(learnt.identity_ns, learnt.real_ns);
    assert_true(gain_ms(r, &none) == 0);
    assert_true(fabs(gain_ms(r, &read) - (STEPS - 1) * 15 - 80) < 2); /* and the first one's */
    assert_true(fabs(gain_ms(r, &decode) - (STEPS - 1) * 15 - 20) < 2);
    assert_true(fabs(gain_ms(r, &faster) - 85) < 2); /* the last step's */
    read.away[0].resource = 8;                       /* another store's reads */
    assert_true(gain_ms(r, &read) == 0);
    read.away[0].resource = 9;
    assert_true(gain_ms(r, &read) > 3000);
    read.away[0].where = REPLAY_OWN; /* the trainer does not read */
    assert_true(gain_ms(r, &read) == 0);
    replay_free(r);
    replay_log_free(log);
}

/* No worker ever waited for work, and one thing that was handed over at the end seems to have taken the whole
 * run (a process that told of its own end): that is no item ordered as far ahead. */
static void test_a_stray_is_not_ahead(void **state)
{
    struct replay_log *log = pipeline(80 * MS, 20 * MS, 85 * MS);
    struct error e;
    struct replay_learnt learnt;
    struct replay_step last;
    assert_true(replay_log_step(log, 0, STEPS - 1, &last));
    struct replay_delivery stray = {.start_ns = 0, .end_ns = last.end_ns + MS, .worker = 1};
    replay_delivery_add(&stray, CAUSE_PREPARE, 0, stray.end_ns);
    struct replay_step end = {.t0 = last.end_ns,
                              .t1 = stray.end_ns,
                              .end_ns = stray.end_ns + MS,
                              .delivery = replay_push_delivery(log, 0, &stray)};
    replay_step_add(&end, REPLAY_THREAD, CAUSE_HOST, 0, MS);
    assert_true(replay_push_step(log, 0, &end));
    struct replay *r = replay_new(log, NULL, &e);
    assert_true(replay_learnt(r, 0, &learnt));
    assert_true(learnt.depth_bound);
    assert_int_equal(learnt.workers, 1);
    assert_in_range(learnt.depth, 1, 2);
    replay_free(r);
    replay_log_free(log);
}

/* Computes 98 ms: with reading away only 2 ms a step are saved, though it is 80 % of the share. */
static void test_share_is_no_gain(void **state)
{
    struct replay_log *log = pipeline(80 * MS, 20 * MS, 98 * MS);
    struct error e;
    struct replay *r = replay_new(log, NULL, &e);
    struct replay_scenario read = away(CAUSE_STORAGE), two = {.workers_add = 1}, cap = {0};
    assert_true(fabs(gain_ms(r, &read) - (STEPS - 1) * 2 - 80) < 2);
    assert_true(fabs(gain_ms(r, &two) - (STEPS - 1) * 2) < 102);
    cap.storage_cap_ns = 79 * MS;
    assert_true(fabs(gain_ms(r, &cap) - STEPS) < 2);
    replay_free(r);
    replay_log_free(log);
}

/* Workers made anew for each epoch of five items start for 50 ms, and their first item takes 12 ms of CPU
 * instead of 2: with workers that live on both go, but for the first epoch's. */
static void test_a_worker_that_lives_on_is_warm(void **state)
{
    enum { EPOCHS = 20, ITEMS = 5 };
    struct replay_log *log = replay_log_new(0);
    struct replay_scenario stay = {.restarts_away = true};
    struct error e;
    int c = replay_consumer(log, 1, 0);
    int64_t t = 0;
    (void)state;
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (int i = 0; i < ITEMS; i++) {
            struct replay_delivery d = {.start_ns = t, .startup = !i};
            replay_delivery_add(&d, CAUSE_STARTUP, 0, i ? 0 : 50 * MS);
            replay_delivery_add(&d, CAUSE_PREPARE, 0, i ? 2 * MS : 12 * MS);
            d.end_ns = t + (i ? 2 : 62) * MS;
            struct replay_step s = {.t0 = t,
                                    .t1 = d.end_ns,
                                    .end_ns = d.end_ns + 8 * MS,
                                    .delivery = replay_push_delivery(log, c, &d)};
            replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, 8 * MS);
            replay_step_add(&s, REPLAY_SYNC, CAUSE_NONE, 0, 8 * MS);
            assert_true(replay_push_step(log, c, &s));
            t = s.end_ns;
        }
    struct replay *r = replay_new(log, NULL, &e);
    double gain = gain_ms(r, &stay);
    assert_in_range(gain, 59 * (EPOCHS - 1), 62 * (EPOCHS - 1));
    replay_free(r);
    replay_log_free(log);
}

/* A worker whose items wait for a core for `starved`, compute for 3 ms and read until 30 ms are over; the
 * trainer computes for 5 ms meanwhile. */
static struct replay_log *starved_worker(int64_t starved)
{
    struct replay_log *log = replay_log_new(0);
    int c = replay_consumer(log, 1, 0);
    for (int64_t i = 0; i < STEPS; i++) {
        struct replay_delivery d = {.start_ns = i * 30 * MS, .end_ns = (i + 1) * 30 * MS};
        replay_delivery_add(&d, CAUSE_CPU_STARVED, 0, starved);
        replay_delivery_add(&d, CAUSE_PREPARE, 0, 3 * MS);
        replay_delivery_add(&d, CAUSE_STORAGE, 9, 27 * MS - starved);
        struct replay_step s = {.t0 = i ? d.start_ns + 5 * MS : 0,
                                .t1 = d.end_ns,
                                .end_ns = d.end_ns + 5 * MS,
                                .delivery = replay_push_delivery(log, c, &d)};
        replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, 5 * MS);
        replay_step_add(&s, REPLAY_SYNC, CAUSE_NONE, 0, 5 * MS);
        assert_true(replay_push_step(log, c, &s));
    }
    return log;
}

/* Each item waits 2 ms for a core while most cores idle: no neighbour is there all the time, and with
 * the reading away none fights for the cores. */
static void test_idle_cores_have_no_neighbours(void **state)
{
    struct replay_log *log = starved_worker(2 * MS);
    struct replay_setup setup = {.cores = 2};
    struct replay_learnt learnt;
    struct error e;
    (void)state;
    struct replay *r = replay_new(log, &setup, &e);
    assert_true(replay_learnt(r, 0, &learnt));
    assert_true(learnt.others > 0.5); /* who else could it be */
    replay_free(r);
    setup.busy = 0.12;
    r = replay_new(log, &setup, &e);
    assert_true(replay_learnt(r, 0, &learnt));
    assert_true(learnt.others < 0.05);
    replay_free(r);
    replay_log_free(log);
}

/* Waits for a core that nothing explains are on the worker's way all the same: a second worker saves half of
 * them too. */
static void test_unexplained_waits_stay_where_they_were(void **state)
{
    struct replay_log *log = starved_worker(500 * NS_PER_US);
    struct replay_setup setup = {.cores = 2, .busy = 0.12};
    struct replay_scenario more = {.workers_add = 1};
    struct error e;
    (void)state;
    struct replay *r = replay_new(log, &setup, &e);
    assert_true(fabs(gain_ms(r, &more) - STEPS * 15) < 0.15 * STEPS);
    replay_free(r);
    replay_log_free(log);
}

static struct whatif_ledger ledger_of(int64_t span, int64_t compute, int64_t storage)
{
    struct whatif_ledger l = {.span_ns = span};
    l.state_ns[STATE_COMPUTE] = compute;
    l.state_ns[STATE_WAIT] = span - compute;
    l.cause_ns[CAUSE_STORAGE] = storage;
    l.cause_ns[CAUSE_PREPARE] = span - compute - storage;
    return l;
}

static void price_alone(const struct replay *r, const struct whatif_ledger *l,
                        struct whatif_fix *fixes, size_t count, double *ret_alone)
{
    struct error e;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(whatif_alone(r, l, &fixes[i], &e), STATUS_OK);
        ret_alone[i] = fixes[i].gain_ns;
    }
}

static void test_list(void **state)
{
    struct replay_log *log = pipeline(80 * MS, 20 * MS, 50 * MS);
    struct error e;
    struct replay *r = replay_new(log, NULL, &e);
    int64_t span = STEPS * 100 * MS + 50 * MS;
    struct whatif_ledger l = ledger_of(span, STEPS * 50 * MS, STEPS * 40 * MS);
    struct replay_scenario decode = away(CAUSE_PREPARE), read = away(CAUSE_STORAGE);
    struct whatif_fix fixes[] = {{.at_most_ns = NAN},
                                 {.scenario = &decode, .at_most_ns = NAN},
                                 {.scenario = &read, .at_most_ns = NAN},
                                 {.at_most_ns = 5e12}};
    double saved, alone[4];
    size_t order[4];
    price_alone(r, &l, fixes, 4, alone);
    /* decoding away: 20 of each 100 ms; reading away: all that is waited for */
    assert_true(fabs(alone[1] / (double)MS - STEPS * 20) < 30);
    assert_true(fabs(alone[2] / (double)MS - STEPS * 50) < 60);
    assert_int_equal(whatif_list(r, &l, fixes, 4, order, &saved, &e), STATUS_OK);
    assert_int_equal(order[0], 3); /* the bound of all that was waited for */
    assert_int_equal(order[3], 0); /* unknown */
    assert_true(fixes[3].gain_ns == alone[3] && fixes[3].bounded && !fixes[1].bounded);
    assert_true(isnan(fixes[0].gain_ns) && !fixes[0].bounded);
    assert_true(fabs(saved - fixes[1].gain_ns - fixes[2].gain_ns - fixes[3].gain_ns) < 1);
    assert_true(saved <= whatif_waited_ns(&l) + 1);
    assert_true(fabs(whatif_utilisation(&l, saved) - 1) < 0.01);
    assert_true(fabs(whatif_utilisation(&l, 0) - 0.5) < 0.01);
    replay_free(r);
    replay_log_free(log);
}

/* Decoding is worth more alone than the checkpoints, and nothing once reading is gone: then it
 * stands behind them. Each has what it adds to those before it. */
static void test_order(void **state)
{
    struct replay_log *log = pipeline(80 * MS, 30 * MS, 60 * MS);
    struct error e;
    struct replay *r = replay_new(log, NULL, &e);
    struct whatif_ledger l = ledger_of(STEPS * 120 * MS, STEPS * 60 * MS, STEPS * 40 * MS);
    struct replay_scenario decode = away(CAUSE_PREPARE), read = away(CAUSE_STORAGE);
    struct whatif_fix fixes[] = {{.at_most_ns = STEPS * 5.0 * (double)MS},
                                 {.scenario = &decode, .at_most_ns = NAN},
                                 {.scenario = &read, .at_most_ns = NAN}};
    double saved, alone[3];
    size_t order[3];
    price_alone(r, &l, fixes, 3, alone);
    assert_true(alone[2] > alone[1] && alone[1] > alone[0]);
    assert_int_equal(whatif_list(r, &l, fixes, 3, order, &saved, &e), STATUS_OK);
    assert_int_equal(order[0], 2);
    assert_int_equal(order[1], 0);
    assert_int_equal(order[2], 1);
    assert_true(fixes[2].gain_ns == alone[2]);
    assert_true(fixes[0].gain_ns == alone[0]);
    assert_true(fixes[1].gain_ns < 0.01 * alone[1]);
    replay_free(r);
    replay_log_free(log);
}

/* A worker's batch takes as long as the step's copy: curing one saves little, both much. The list
 * still tells gains in order, the first its own alone, and what both save together. */
static void test_only_together(void **state)
{
    struct replay_log *log = replay_log_new(0);
    struct error e;
    int c = replay_consumer(log, 1, 0);
    for (int i = 0; i < STEPS; i++) {
        int64_t t = i * 100 * MS;
        struct replay_delivery d = {.start_ns = t, .end_ns = t + 100 * MS};
        replay_delivery_add(&d, CAUSE_STORAGE, 9, 90 * MS);
        replay_delivery_add(&d, CAUSE_PREPARE, 0, 10 * MS);
        struct replay_step s = {.t0 = t + 95 * MS,
                                .t1 = t + 100 * MS,
                                .end_ns = t + 195 * MS,
                                .delivery = replay_push_delivery(log, c, &d)};
        replay_step_add(&s, REPLAY_DEVICE, CAUSE_LINK, 0, 85 * MS);
        replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, 10 * MS);
        replay_step_add(&s, REPLAY_SYNC, CAUSE_LINK, 0, 95 * MS);
        assert_true(replay_push_step(log, c, &s));
    }
    struct replay *r = replay_new(log, NULL, &e);
    struct whatif_ledger l = ledger_of(STEPS * 100 * MS, STEPS * 10 * MS, STEPS * 90 * MS);
    struct replay_scenario read = away(CAUSE_STORAGE), copy = away(CAUSE_LINK);
    struct whatif_fix fixes[] = {{.scenario = &copy, .at_most_ns = NAN},
                                 {.scenario = &read, .at_most_ns = NAN}};
    double saved, alone[2];
    size_t order[2];
    price_alone(r, &l, fixes, 2, alone);
    assert_int_equal(whatif_list(r, &l, fixes, 2, order, &saved, &e), STATUS_OK);
    const struct whatif_fix *first = &fixes[order[0]], *second = &fixes[order[1]];
    assert_true(first->gain_ns == alone[order[0]] && first->gain_ns >= alone[order[1]]);
    assert_true(second->gain_ns <= first->gain_ns);
    assert_true(saved > 2 * first->gain_ns);
    replay_free(r);
    replay_log_free(log);
}

static struct whatif_machines machines(const struct replay_log *log, double cores, bool full)
{
    struct error e;
    struct replay_setup setup = {.cores = cores};
    struct replay *r = replay_new(log, &setup, &e);
    struct replay_learnt learnt;
    struct whatif_machines m;
    assert_non_null(r);
    assert_true(replay_learnt(r, 0, &learnt));
    struct whatif_ledger l = ledger_of(learnt.real_ns, learnt.real_ns / 2, 0);
    assert_int_equal(whatif_machines(r, &l, full, &m, &e), STATUS_OK);
    replay_free(r);
    return m;
}

static void test_faster(void **state)
{
    struct error e;
    struct whatif_machines m;
    static const struct {
        int64_t kernel;
        double faster;
    } cases[] = {{50 * MS, 1.0}, {98 * MS, 1.0}, {150 * MS, 1.5}, {400 * MS, 4.0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct replay_log *log = pipeline(80 * MS, 20 * MS, cases[i].kernel);
        m = machines(log, 8, false);
        assert_false(m.faster_bounded);
        assert_true(fabs(m.faster_max_speedup - cases[i].faster) < 0.03);
        replay_log_free(log);
    }
    /* from rows alone */
    struct whatif_ledger l = ledger_of(1000 * MS, 950 * MS, 50 * MS);
    assert_int_equal(whatif_machines(NULL, &l, false, &m, &e), STATUS_OK);
    assert_true(m.faster_bounded && m.more_help == -1 && fabs(m.faster_max_speedup - 20) < 1e-6);
    l = (struct whatif_ledger){0};
    assert_int_equal(whatif_machines(NULL, &l, false, &m, &e), STATUS_OK);
    assert_true(isnan(m.faster_max_speedup) && m.more_help == -1);
}

/* The launching thread loads by itself and computes on its core all the time. */
static struct replay_log *busy_thread(int64_t read, int64_t decode, int64_t kernel)
{
    struct replay_log *log = replay_log_new(0);
    int c = replay_consumer(log, 1, 0);
    for (int i = 0; i < STEPS; i++) {
        int64_t t = i * (read + decode + kernel);
        struct replay_step s = {
            .t0 = t, .t1 = t, .end_ns = t + read + decode + kernel, .delivery = REPLAY_NONE};
        replay_step_add(&s, REPLAY_THREAD, CAUSE_STORAGE, 9, read);
        replay_step_add(&s, REPLAY_THREAD, CAUSE_PREPARE, 0, decode);
        replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, kernel);
        replay_step_add(&s, REPLAY_SYNC, CAUSE_NONE, 0, kernel);
        assert_true(replay_push_step(log, c, &s));
    }
    return log;
}

/* Twice the accelerators bring twice the threads and workers, which need cores. */
static void test_more(void **state)
{
    struct replay_log *busy = busy_thread(0, 95 * MS, 5 * MS);
    assert_int_equal(machines(busy, 1, false).more_help, 0);  /* its core is full */
    assert_int_equal(machines(busy, 2, false).more_help, 1);  /* one is idle */
    assert_int_equal(machines(busy, 0, false).more_help, -1); /* not known */
    assert_true(fabs(machines(busy, 2, false).more_speedup - 2) < 0.05);
    assert_true(machines(busy, 1, false).more_speedup < 1.06);
    replay_log_free(busy);
    struct replay_log *reads = busy_thread(95 * MS, 0, 5 * MS);
    assert_int_equal(machines(reads, 1, false).more_help, 1); /* reading needs no core */
    assert_int_equal(machines(reads, 1, true).more_help, 0);  /* the store has no more to give */
    replay_log_free(reads);
    struct replay_log *worker = pipeline(0, 100 * MS, 40 * MS);
    assert_int_equal(machines(worker, 1, false).more_help, 0);
    assert_int_equal(machines(worker, 4, false).more_help, 1);
    replay_log_free(worker);
}

/* Cores that something else than the log's threads keeps busy are not there for further ones. */
static void test_busy_elsewhere(void **state)
{
    struct replay_log *log = busy_thread(0, 95 * MS, 5 * MS);
    struct replay_setup setup = {.cores = 2, .busy = 1.95};
    struct whatif_ledger l = ledger_of(STEPS * 100 * MS, STEPS * 5 * MS, 0);
    struct whatif_machines m;
    struct error e;
    struct replay *r = replay_new(log, &setup, &e);
    assert_int_equal(whatif_machines(r, &l, false, &m, &e), STATUS_OK);
    assert_int_equal(m.more_help, 0);
    replay_free(r);
    replay_log_free(log);
}

/* What nobody knows the deliveries of cannot be promised: kept as they are, the waits would make a
 * faster accelerator look worth twice the speed. */
static void test_untold(void **state)
{
    struct replay_log *log = replay_log_new(0);
    int c = replay_consumer(log, 1, 0);
    for (int i = 0; i < STEPS; i++) {
        int64_t t = i * 100 * MS;
        struct replay_step s = {
            .t0 = t, .t1 = t + 50 * MS, .end_ns = t + 100 * MS, .delivery = REPLAY_NONE};
        replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, 50 * MS);
        replay_step_add(&s, REPLAY_SYNC, CAUSE_NONE, 0, 50 * MS);
        assert_true(replay_push_step(log, c, &s));
    }
    struct whatif_machines m = machines(log, 8, false);
    assert_true(m.more_help == -1 && isnan(m.more_speedup) && isnan(m.faster_max_speedup));
    replay_log_free(log);
}

/* Two ranks in lockstep: rank 1 reads slowly, rank 0 waits for it in the collective. */
static void test_late_peer(void **state)
{
    struct replay_log *log = replay_log_new(0);
    int a = replay_consumer(log, 1, 0), b = replay_consumer(log, 2, 1);
    struct replay_scenario read = away(CAUSE_STORAGE);
    struct error e;
    for (int i = 0; i < STEPS; i++) {
        int64_t t = i * 100 * MS;
        struct replay_step s = {.t0 = t, .t1 = t, .end_ns = t + 100 * MS, .delivery = REPLAY_NONE};
        struct replay_step p = s;
        replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, 60 * MS);
        replay_step_add(&s, REPLAY_DEVICE, CAUSE_LATE_PEER, 0, 40 * MS);
        replay_step_add(&s, REPLAY_SYNC, CAUSE_NONE, 0, 100 * MS);
        replay_step_add(&p, REPLAY_THREAD, CAUSE_STORAGE, 9, 40 * MS);
        replay_step_add(&p, REPLAY_DEVICE, CAUSE_NONE, 0, 60 * MS);
        replay_step_add(&p, REPLAY_SYNC, CAUSE_NONE, 0, 60 * MS);
        assert_true(replay_push_step(log, a, &s) && replay_push_step(log, b, &p));
    }
    struct replay *r = replay_new(log, NULL, &e);
    assert_true(fabs(gain_ms(r, &read) - STEPS * 40) < 1);
    replay_free(r);
    replay_log_free(log);
}

/* Launch-bound: 100 launches of 1 ms keep the device busy half of the time; twice the accelerator
 * saves next to nothing. Kept in few ops, handed over evenly. */
static void test_launch_bound(void **state)
{
    struct replay_log *log = replay_log_new(0);
    int c = replay_consumer(log, 1, 0);
    struct replay_scenario twice = {.accelerator_times = 2}, launch = away(CAUSE_LAUNCH);
    struct error e;
    for (int i = 0; i < STEPS; i++) {
        int64_t t = i * (100 * MS + MS / 2);
        struct replay_step s = {
            .t0 = t, .t1 = t, .end_ns = t + 100 * MS + MS / 2, .delivery = REPLAY_NONE};
        for (int k = 0; k < 100; k++) {
            replay_step_add(&s, REPLAY_THREAD, CAUSE_LAUNCH, 0, MS);
            replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, MS / 2);
        }
        replay_step_add(&s, REPLAY_SYNC, CAUSE_NONE, 0, MS / 2);
        assert_true(replay_push_step(log, c, &s));
    }
    struct replay *r = replay_new(log, NULL, &e);
    double span = STEPS * 100.5;
    assert_true(gain_ms(r, &twice) < 0.01 * span);
    assert_true(fabs(gain_ms(r, &launch) - STEPS * 50) < 0.02 * span);
    replay_free(r);
    replay_log_free(log);
}

static void test_join(void **state)
{
    struct replay_scenario a = {.workers_times = 2, .accelerator_times = 3, .workers_add = 1};
    struct replay_scenario b = {.workers_times = 1.5,
                                .depth_times = 2,
                                .workers_add = 2,
                                .pinned = true,
                                .storage_cap_ns = 5};
    assert_true(replay_scenario_add(&a, &b));
    assert_true(a.workers_times == 3 && a.workers_add == 3 && a.depth_times == 2);
    assert_true(a.accelerator_times == 3 && a.pinned && a.storage_cap_ns == 5);
    for (int i = 0; i < REPLAY_AWAY_MAX; i++)
        assert_true(replay_scenario_away(&a, CAUSE_STORAGE, REPLAY_OWN, 0, 0.5));
    assert_false(replay_scenario_away(&a, CAUSE_STORAGE, REPLAY_OWN, 0, 0.5));
    struct replay_scenario more = away(CAUSE_PREPARE);
    assert_false(replay_scenario_add(&a, &more));
}

static void test_money(void **state)
{
    struct whatif_ledger l = ledger_of(3600 * NS_PER_S, 1800 * NS_PER_S, 900 * NS_PER_S);
    struct money m = money_of_ledger(&l, 28);
    assert_true(fabs(m.spent - 28) < 1e-9);
    assert_true(fabs(m.waited - 14) < 1e-9);
    assert_true(fabs(m.by_cause[CAUSE_STORAGE] - 7) < 1e-9);
    l.state_ns[STATE_COMPUTE] *= 2; /* two accelerators: the price is that of both */
    l.state_ns[STATE_WAIT] *= 2;
    l.cause_ns[CAUSE_STORAGE] *= 2;
    assert_true(fabs(money_of_ledger(&l, 28).by_cause[CAUSE_STORAGE] - 7) < 1e-9);
    assert_true(isnan(money_of_ledger(&l, NAN).spent));
    assert_true(isnan(money_of_ns(1, -1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_instant),
        cmocka_unit_test(test_a_stray_is_not_ahead),
        cmocka_unit_test(test_share_is_no_gain),
        cmocka_unit_test(test_idle_cores_have_no_neighbours),
        cmocka_unit_test(test_unexplained_waits_stay_where_they_were),
        cmocka_unit_test(test_a_worker_that_lives_on_is_warm),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_only_together),
        cmocka_unit_test(test_faster),
        cmocka_unit_test(test_more),
        cmocka_unit_test(test_untold),
        cmocka_unit_test(test_busy_elsewhere),
        cmocka_unit_test(test_late_peer),
        cmocka_unit_test(test_launch_bound),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_money),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
