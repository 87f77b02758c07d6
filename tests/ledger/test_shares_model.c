/* SPDX-License-Identifier: MIT */
/*
 * Property: for random jobs, reported as a kernel would report them, the ledger's rows are the
 * model's true shares: every cause within 1 point of the span on average and 3 at worst, unknown
 * at most 2 %, states and sums exact. And what the ledger writes into the replay log promises what
 * taking storage or decoding away really saves, within 3 points each.
 *
 * The promises are not asked of workers that are threads of the trainer's process: a short wait of
 * theirs on a futex is a lock or for work, nobody can tell, so that deliveries stay unseen.
 *
 * GPUFEED_SEEDS=N runs N seeds; GPUFEED_SEED=S only that one, with a line each.
 */
#include "plan/replay.h"
#include "stream.h"

#include "base/unit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEEDS 40
#define ITEMS 1500
#define RANKS 2
#define NOISY_RUNS 3

struct sums {
    int64_t state[STATE_COUNT], cause[CAUSE_COUNT], resource_lost;
};

struct job {
    struct model_config config;
    struct stream_job how;
    struct model_truth truth;
    struct sums sums;
};

/* One run: jobs on devices of their own, in one ledger. */
struct run {
    int jobs;
    struct job job[RANKS];
    struct replay_log *log;
    uint64_t lost;
};

struct worst {
    double cause[CAUSE_COUNT], mean[CAUSE_COUNT];
    double away[2], away_mean[2]; /* promises of storage and of prepare */
    int seeds, promises, misses;
};

static bool verbose;

static double ms(double ns)
{
    return ns / (double)NS_PER_MS;
}

static void on_row(void *arg, const struct ledger_row *row)
{
    struct run *r = arg;
    assert_true(row->ns > 0 && row->accelerator < (uint32_t)r->jobs);
    struct sums *s = &r->job[row->accelerator].sums;
    s->state[row->state] += row->ns;
    if (row->state == STATE_WAIT)
        s->cause[row->cause] += row->ns;
    if (row->cause == CAUSE_STORAGE && !row->resource)
        s->resource_lost += row->ns;
}

static void run_jobs(struct run *r)
{
    struct intern names = {0};
    struct stream s = {0};
    int64_t end = 0;
    struct ledger_options o = {.names = &names, .arg = r, .row = on_row};
    uint32_t store = intern_put(&names, "nfs://10.0.0.4/data"), disk = intern_put(&names, "disk");
    for (int i = 0; i < r->jobs; i++) {
        struct job *j = &r->job[i];
        struct model_trace trace = {0};
        model_run(&j->config, NULL, &j->truth, &trace);
        j->how.pid = 1000 * ((uint32_t)i + 1);
        j->how.device = (uint32_t)i;
        j->how.store = store;
        j->how.disk = disk;
        stream_add(&s, &j->how, &j->config, &trace, (int64_t)j->truth.total);
        end = (int64_t)j->truth.total > end ? (int64_t)j->truth.total : end;
        free(trace.v);
    }
    stream_sort(&s);
    r->log = o.log = replay_log_new(0);
    struct ledger *l = ledger_new(&o);
    assert_non_null(l);
    ledger_watch_waits(l);
    stream_feed(&s, l, end);
    r->lost = ledger_lost(l);
    ledger_free(l);
    stream_clear(&s);
    intern_clear(&names);
}

/* Where the ledger draws another border than the model: CPU time of a thread that launches is
 * `launch` or `host` by its length alone, whatever it computes. */
static void merge(double wait[CAUSE_COUNT], bool own_loader)
{
    wait[CAUSE_HOST] += wait[CAUSE_LAUNCH];
    wait[CAUSE_LAUNCH] = 0;
    if (own_loader) {
        wait[CAUSE_HOST] += wait[CAUSE_PREPARE];
        wait[CAUSE_PREPARE] = 0;
    }
}

static void describe(const struct job *j)
{
    const struct model_config *c = &j->config;
    const struct stream_job *h = &j->how;
    print_message(
        "  seed %llu: workers %d%s prefetch %d cores %d read %.1f (%d, %d x %d) decode %.1f "
        "kernel %.1f copy %.1f host %.2f take %.2f ms, sync %d, checkpoint %d, epoch %d%s startup "
        "%.0f ms"
        "%s%s%s%s%s%s; %.1f s\n",
        (unsigned long long)c->seed, c->workers, h->threads ? " threads" : "", c->prefetch,
        c->cores, ms(c->read), c->read_tail, c->rounds, h->read_pieces, ms(c->decode),
        ms(c->kernel), ms(c->copy), ms(c->host), ms(c->take), c->sync_every, c->checkpoint_every,
        c->epoch_items, c->persistent ? " persistent" : "", ms(c->startup),
        h->pin_thread ? " pin" : "", h->order_threads ? " order" : "", h->sharer ? " sharer" : "",
        h->locks ? " locks" : "", h->late_feeder ? " late" : "", h->spins ? " spins" : "",
        ms(j->truth.total) / 1000);
}

static void check_shares(const struct job *j, struct worst *w)
{
    double got[CAUSE_COUNT], truth[CAUSE_COUNT], total = j->truth.total;
    int64_t sum = 0;
    bool miss = false;
    for (int i = 0; i < STATE_COUNT; i++)
        sum += j->sums.state[i];
    assert_int_equal(sum, (int64_t)total);
    assert_int_equal(j->sums.state[STATE_COMPUTE], (int64_t)j->truth.compute);
    assert_int_equal(j->sums.state[STATE_COPY], (int64_t)j->truth.copy);
    assert_int_equal(j->sums.resource_lost, 0);
    for (int i = 0; i < CAUSE_COUNT; i++) {
        got[i] = (double)j->sums.cause[i];
        truth[i] = j->truth.wait[i];
    }
    merge(got, !j->config.workers);
    merge(truth, !j->config.workers);
    for (int i = 0; i < CAUSE_COUNT; i++) {
        double error = fabs(got[i] - truth[i]) / total;
        bool over = error > 0.03 || (i == CAUSE_UNKNOWN && error > 0.02);
        w->mean[i] += error;
        w->cause[i] = fmax(w->cause[i], error);
        if (over || (verbose && got[i] + truth[i] > 0.001 * total))
            print_message("  seed %llu %-12s ledger %6.2f %% truth %6.2f %%\n",
                          (unsigned long long)j->config.seed, cause_name((enum cause)i),
                          100 * got[i] / total, 100 * truth[i] / total);
        miss |= over;
    }
    w->seeds++;
    w->misses += miss;
    if (miss || verbose)
        describe(j);
}

static double model_length(const struct model_config *c)
{
    struct model_config again = *c;
    int runs = c->cores && c->cores <= c->workers ? NOISY_RUNS : 1;
    double sum = 0;
    for (again.noise = 0; again.noise < (uint64_t)runs; again.noise++) {
        struct model_truth t;
        model_run(&again, NULL, &t, NULL);
        sum += t.total;
    }
    return sum / runs;
}

/* Error in shares of the run's length. */
static double promise(const struct replay *p, const struct job *j, enum cause away)
{
    struct replay_scenario s = {0};
    struct replay_result got;
    struct model_config cured = j->config;
    struct error e;
    *(away == CAUSE_STORAGE ? &cured.read : &cured.decode) = 0;
    replay_scenario_away(&s, away, REPLAY_EVERYWHERE, 0, 0);
    assert_int_equal(replay_run(p, &s, &got, &e), STATUS_OK);
    double saved = j->truth.total - model_length(&cured);
    double error = fabs((double)got.gain_ns - saved) / j->truth.total;
    if (verbose || error > 0.03)
        print_message("  seed %llu %s away: promised %6.2f %% saved %6.2f %%\n",
                      (unsigned long long)j->config.seed, cause_name(away),
                      100 * (double)got.gain_ns / j->truth.total, 100 * saved / j->truth.total);
    return error;
}

static void check_promises(const struct run *r, struct worst *w)
{
    static const enum cause away[] = {CAUSE_STORAGE, CAUSE_PREPARE};
    const struct job *j = &r->job[0];
    struct replay_setup setup = {.cores = j->config.cores};
    struct error e;
    if (j->how.threads)
        return;
    struct replay *p = replay_new(r->log, &setup, &e);
    assert_non_null(p);
    for (int i = 0; i < 2; i++) {
        double error = promise(p, j, away[i]);
        w->away[i] = fmax(w->away[i], error);
        w->away_mean[i] += error;
        w->misses += error > 0.03;
        if (error > 0.03)
            describe(j);
    }
    w->promises++;
    replay_free(p);
}

static struct job job_random(uint64_t seed)
{
    struct job j = {.config = model_random(seed, ITEMS), .how = stream_job_random(seed)};
    if (j.how.threads) /* making a thread costs nothing worth a cause */
        j.config.fork = 20 * (double)NS_PER_US;
    return j;
}

static void run_seed(uint64_t seed, struct worst *w)
{
    struct run r = {.jobs = 1};
    r.job[0] = job_random(seed);
    run_jobs(&r);
    assert_int_equal(r.lost, 0);
    check_shares(&r.job[0], w);
    check_promises(&r, w);
    replay_log_free(r.log);
}

static void say(const struct worst *w)
{
    print_message("%d seeds, %d beyond the bounds; points on average (at worst):", w->seeds,
                  w->misses);
    for (int i = 0; i < CAUSE_COUNT; i++)
        if (w->cause[i] > 0)
            print_message(" %s %.2f (%.2f)", cause_name((enum cause)i), 100 * w->mean[i] / w->seeds,
                          100 * w->cause[i]);
    print_message("; promises of storage %.2f (%.2f), of prepare %.2f (%.2f)\n",
                  100 * w->away_mean[0] / w->promises, 100 * w->away[0],
                  100 * w->away_mean[1] / w->promises, 100 * w->away[1]);
}

static void random_jobs(void **state)
{
    const char *seeds = getenv("GPUFEED_SEEDS"), *one = getenv("GPUFEED_SEED");
    uint64_t n = seeds ? strtoull(seeds, NULL, 10) : SEEDS;
    struct worst w = {0};
    (void)state;
    verbose = one != NULL;
    if (one)
        run_seed(strtoull(one, NULL, 10), &w);
    for (uint64_t seed = 1; !one && seed <= n; seed++)
        run_seed(seed, &w);
    say(&w);
    assert_int_equal(w.misses, 0);
    for (int i = 0; i < CAUSE_COUNT; i++)
        assert_true(w.mean[i] / w.seeds <= 0.01);
}

/* Two jobs in one ledger, each with its own device and workers. */
static void two_ranks(void **state)
{
    struct worst w = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct run r = {.jobs = RANKS};
        for (int i = 0; i < RANKS; i++)
            r.job[i] = job_random(seed * 10 + (uint64_t)i);
        run_jobs(&r);
        assert_int_equal(replay_log_consumers(r.log), RANKS);
        for (int i = 0; i < RANKS; i++)
            check_shares(&r.job[i], &w);
        replay_log_free(r.log);
    }
    assert_int_equal(w.misses, 0);
}

/* A job that loads by itself: no makers, and reading is the launching thread's own. */
static void no_workers(void **state)
{
    struct worst w = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct run r = {.jobs = 1};
        r.job[0] = job_random(seed);
        r.job[0].config.workers = 0;
        r.job[0].config.epoch_items = 0;
        r.job[0].how.threads = false;
        run_jobs(&r);
        check_shares(&r.job[0], &w);
        replay_log_free(r.log);
    }
    assert_int_equal(w.misses, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_jobs),
        cmocka_unit_test(two_ranks),
        cmocka_unit_test(no_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
