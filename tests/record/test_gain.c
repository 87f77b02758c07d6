/* SPDX-License-Identifier: MIT */
/* Gains of findings come from the recorded deliveries, where there are any. */
#include "record/read.h"
#include "record/record.h"

#include "base/unit.h"
#include "plan/replay_log.h"
#include "sample.h"
#include "unit_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct record_options options = {.price_per_hour = 3600, .currency = "USD"};

static char folder[128], path[160];

static int set_up(void **state)
{
    sample_folder(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/x.gpufeed", folder);
    return 0;
}

static int tear_down(void **state)
{
    sample_folder_remove(folder);
    return 0;
}

#define STEPS 500
#define READ (12 * NS_PER_MS)
#define DECODE (4 * NS_PER_MS)
#define KERNEL (6 * NS_PER_MS)
#define MAKE (READ + DECODE)

static void put_facts(struct record *w, const struct fact *facts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        record_fact(w, &facts[i], NULL);
}

/* One worker makes a batch in 16 ms, the device takes 6: 10 of 16 ms are waited. Without
 * reading it would be done every 6 ms. */
static void worker_and_kernel(struct replay_log *log, int64_t kernel)
{
    int c = replay_consumer(log, 4711, 0);
    for (int i = 0; i < STEPS; i++) {
        struct replay_delivery d = {.start_ns = SAMPLE_T0 + i * MAKE,
                                    .end_ns = SAMPLE_T0 + (i + 1) * MAKE};
        replay_delivery_add(&d, CAUSE_STORAGE, 1, READ);
        replay_delivery_add(&d, CAUSE_PREPARE, 0, DECODE);
        uint64_t serial = replay_push_delivery(log, c, &d);
        struct replay_step s = {.t0 = i ? d.end_ns - MAKE + kernel : d.end_ns,
                                .t1 = d.end_ns,
                                .end_ns = d.end_ns + kernel,
                                .delivery = serial};
        replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, kernel);
        replay_step_add(&s, REPLAY_SYNC, CAUSE_NONE, 0, kernel);
        assert_true(replay_push_step(log, c, &s));
    }
}

static void one_worker(struct replay_log *log)
{
    worker_and_kernel(log, KERNEL);
}

#define SLOW_KERNEL (10 * NS_PER_MS)

static void slow_kernel(struct replay_log *log)
{
    worker_and_kernel(log, SLOW_KERNEL);
}

/* A step before whose kernel the launching thread spends time for two causes; returns its end. */
static int64_t own_step(struct replay_log *log, int64_t at, enum cause first, int64_t first_ns,
                        enum cause second, int64_t second_ns)
{
    struct replay_step s = {
        .t0 = at, .t1 = at, .end_ns = at + first_ns + second_ns + KERNEL, .delivery = REPLAY_NONE};
    replay_step_add(&s, REPLAY_THREAD, first, 1, first_ns);
    replay_step_add(&s, REPLAY_THREAD, second, second == CAUSE_PREPARE ? 0 : 1, second_ns);
    replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, KERNEL);
    replay_step_add(&s, REPLAY_SYNC, CAUSE_NONE, 0, KERNEL);
    assert_true(replay_push_step(log, replay_consumer(log, 4711, 0), &s));
    return s.end_ns;
}

/* The launching thread reads and prepares by itself. */
static void no_worker(struct replay_log *log)
{
    int64_t at = SAMPLE_T0 + MAKE;
    for (int i = 0; i < STEPS; i++)
        at = own_step(log, at, CAUSE_STORAGE, READ, CAUSE_PREPARE, DECODE);
}

static void put_row(struct record *w, enum state state, enum cause cause, uint32_t resource,
                    int64_t ns)
{
    struct ledger_row row = {.t0 = SAMPLE_T0,
                             .state = (uint8_t)state,
                             .cause = (uint8_t)cause,
                             .resource = resource,
                             .ns = ns};
    assert_int_equal(record_row(w, &row, NULL), 0);
}

static struct record *begin_record(void (*fill)(struct replay_log *), int64_t period)
{
    struct record *w = NULL;
    struct str chunk = {0};
    struct replay_cursor at = {0};
    struct replay_log *log = replay_log_new(0);
    fill(log);
    assert_int_equal(record_create(path, &sample_meta, &w, NULL), 0);
    record_accelerator(w, 0, "sim:0", "Simulated GPU", true, NULL);
    record_resource(w, 1, "https://store/data", NULL);
    record_span(w, SAMPLE_T0, SAMPLE_T0 + STEPS * period, NULL);
    assert_true(replay_encode(log, 0, &at, &chunk));
    assert_int_equal(record_deliveries(w, chunk.data, chunk.len, NULL), 0);
    str_clear(&chunk);
    replay_log_free(log);
    return w;
}

static void record_kernel(void (*fill)(struct replay_log *), int64_t kernel, int64_t period,
                          int64_t storage, struct record **ret)
{
    struct record *w = begin_record(fill, period);
    put_row(w, STATE_COMPUTE, CAUSE_NONE, 0, STEPS * kernel);
    put_row(w, STATE_WAIT, CAUSE_STORAGE, 1, STEPS * storage);
    put_row(w, STATE_WAIT, CAUSE_PREPARE, 0, STEPS * (period - kernel - storage));
    *ret = w;
}

static void record_run(void (*fill)(struct replay_log *), int64_t period, int64_t storage,
                       struct record **ret)
{
    record_kernel(fill, KERNEL, period, storage, ret);
}

static void read_it(struct record *w, struct report *r)
{
    struct error e = {0};
    sample_finish(w);
    record_close(w);
    if (record_report(path, &options, r, &e))
        fail_msg("%s", e.text);
}

static const struct report_finding *find(const struct report *r, const char *id)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (!strcmp(r->findings[i].id, id))
            return &r->findings[i];
    fail_msg("no finding %s", id);
    return NULL;
}

/* Shares would promise 10 * 12/16 = 7.5 ms a step; the cure really saves all 10. */
static void test_replayed(void **state)
{
    struct record *w;
    struct report r;
    record_run(one_worker, MAKE, 7500 * NS_PER_US, &w);
    read_it(w, &r);
    const struct report_finding *f = &r.findings[0];
    assert_string_equal(f->id, "storage-remote-live-read");
    assert_false(f->gain_bounded);
    assert_in_range(f->gain_seconds * 1000, 4900, 5000); /* 500 steps of 10 ms */
    assert_true(fabs(f->gain_share - f->gain_seconds / 8.0) < 1e-9);
    assert_true(r.verdict.utilisation_after_fixes > 0.95);
    assert_true(r.verdict.utilisation_after_fixes <= 1.0);
    assert_true(r.verdict.faster_accelerator_max_speedup < 1.05); /* the worker is the limit */
    assert_int_equal(r.verdict.more_accelerators_help, 0);        /* they would wait too */
    assert_string_equal(r.verdict.limited_by, "storage");
    assert_non_null(strstr(r.verdict.sentence, "Fix storage first: up to 2.7×, $ 22"));
    report_clear(&r);
}

/* The second finding of a list is worth what it adds, and all of them no more than the wait. */
static void test_list(void **state)
{
    struct record *w;
    struct report r;
    record_run(one_worker, MAKE, 7500 * NS_PER_US, &w);
    put_row(w, STATE_WAIT, CAUSE_CHECKPOINT, 0, 2 * NS_PER_S);
    struct fact workers = {"loader", "", "workers", NULL, 1, "count", "wait chain"};
    struct fact spare = {"job", "", "cores_spare", NULL, 6, "count", "/proc"};
    record_fact(w, &workers, NULL);
    record_fact(w, &spare, NULL);
    read_it(w, &r);
    double sum = 0, waited = 0;
    for (size_t i = 0; i < r.finding_count; i++)
        if (r.findings[i].severity > SEVERITY_INFO)
            sum += r.findings[i].gain_seconds;
    for (size_t i = 0; i < r.row_count; i++)
        if (r.rows[i].state == STATE_WAIT)
            waited += unit_seconds(r.rows[i].ns);
    assert_true(sum <= waited + 1e-6);
    assert_true(find(&r, "checkpoint-blocking")->gain_seconds < 0.1); /* no step wrote one */
    assert_true(find(&r, "checkpoint-blocking")->severity == SEVERITY_INFO);
    report_clear(&r);
}

static void test_no_workers(void **state)
{
    struct record *w;
    struct report r;
    record_run(no_worker, MAKE + KERNEL, READ, &w);
    struct fact spare = {"job", "", "cores_spare", NULL, 1.2, "count", "/proc"};
    record_fact(w, &spare, NULL);
    read_it(w, &r);
    const struct report_finding *f = &r.findings[0];
    assert_string_equal(f->id, "loader-no-workers"); /* told by the deliveries: there are none */
    assert_false(f->gain_bounded);
    assert_true(f->gain_seconds > 2.5); /* at least the overlap of one worker: 6 of 22 ms */
    assert_true(find(&r, "storage-remote-live-read")->severity == SEVERITY_INFO);
    report_clear(&r);
}

/* A service that is called in each step: it sends for one half of the wait and thinks for the other. */
static void a_service(struct replay_log *log)
{
    int64_t at = SAMPLE_T0 + MAKE;
    for (int i = 0; i < STEPS; i++)
        at = own_step(log, at, CAUSE_LATE_PEER, MAKE / 2, CAUSE_NETWORK, MAKE / 2);
}

static void test_service(void **state)
{
    struct report r;
    struct record *w = begin_record(a_service, MAKE + KERNEL);
    (void)state;
    put_row(w, STATE_COMPUTE, CAUSE_NONE, 0, STEPS * KERNEL);
    put_row(w, STATE_WAIT, CAUSE_LATE_PEER, 1, STEPS * MAKE / 2);
    put_row(w, STATE_WAIT, CAUSE_NETWORK, 1, STEPS * MAKE / 2);
    read_it(w, &r);
    const struct report_finding *f = find(&r, "network-service-slow");
    assert_false(f->gain_bounded);
    assert_float_equal(f->gain_seconds, unit_seconds(STEPS * MAKE), 0.05); /* both halves */
    report_clear(&r);
}

#define BURST 25

/* Each so many steps the launching thread reads for long, for instance to validate: no worker of a loader hides
 * that behind one step. */
static void a_burst(struct replay_log *log)
{
    int64_t at = SAMPLE_T0;
    for (int i = 0; i < STEPS; i++)
        at = own_step(log, at, CAUSE_STORAGE, i % BURST == BURST - 1 ? BURST * 4 * READ : 0,
                      CAUSE_PREPARE, 0);
}

/* What saves many times more than the usual way to the same end is no mere remark. */
static void test_burst(void **state)
{
    struct report r;
    struct record *w = begin_record(a_burst, 4 * READ + KERNEL);
    struct fact facts[] = {{"job", "", "cores_spare", NULL, 1.2, "count", "/proc"},
                           {"loader", "", "in_main", NULL, 1, "1", "wait chain"},
                           {"storage", "https://store/data", "transfer_share", NULL, 0.9, "1", ""}};
    (void)state;
    put_facts(w, facts, 3); /* one worker, then */
    put_row(w, STATE_COMPUTE, CAUSE_NONE, 0, STEPS * KERNEL);
    put_row(w, STATE_WAIT, CAUSE_STORAGE, 1, STEPS * 4 * READ);
    read_it(w, &r);
    assert_string_equal(r.findings[0].id, "storage-remote-live-read");
    assert_int_equal(r.findings[0].severity, SEVERITY_WARNING);
    assert_float_equal(r.findings[0].gain_seconds, unit_seconds(STEPS * 4 * READ), 0.05);
    report_clear(&r);
}

/* A thread that handed something over once, among real workers or without any, is none. */
static void one_delivery_among(struct replay_log *log)
{
    struct replay_delivery d = {
        .start_ns = SAMPLE_T0, .end_ns = SAMPLE_T0 + NS_PER_MS, .worker = 9};
    int c = replay_consumer(log, 4711, 0);
    replay_delivery_add(&d, CAUSE_PREPARE, 0, NS_PER_MS);
    struct replay_step s = {.t0 = SAMPLE_T0,
                            .t1 = SAMPLE_T0 + NS_PER_MS,
                            .end_ns = SAMPLE_T0 + NS_PER_MS,
                            .delivery = replay_push_delivery(log, c, &d)};
    assert_true(replay_push_step(log, c, &s));
}

static void no_worker_but_one(struct replay_log *log)
{
    one_delivery_among(log);
    no_worker(log);
}

static void test_stray_maker(void **state)
{
    struct record *w;
    struct report r;
    struct fact workers = {"loader", "", "workers", NULL, 1, "count", "wait chain"};
    record_run(no_worker_but_one, MAKE + KERNEL, READ, &w);
    record_fact(w, &workers, NULL);
    read_it(w, &r);
    assert_string_equal(r.findings[0].id, "loader-no-workers");
    report_clear(&r);
}

static void one_worker_and_a_stray(struct replay_log *log)
{
    int c = replay_consumer(log, 4711, 0);
    struct replay_delivery d = {
        .start_ns = SAMPLE_T0, .end_ns = SAMPLE_T0 + NS_PER_MS, .worker = 9};
    replay_delivery_add(&d, CAUSE_PREPARE, 0, NS_PER_MS);
    assert_true(replay_push_delivery(log, c, &d) != REPLAY_NONE);
    one_worker(log);
}

/* One worker reads at a time and six cores are idle: more of them are the first advice. */
static void test_workers_counted(void **state)
{
    struct record *w;
    struct report r;
    const struct fact facts[] = {
        {"loader", "", "workers", NULL, 2, "count", "wait chain"},
        {"job", "", "cores_spare", NULL, 6, "count", "/proc"},
        {"storage", "https://store/data", "in_flight", NULL, 0.75, "count", "wait chain"},
        {"storage", "https://store/data", "mean_read_ms", NULL, 12, "ms", "wait chain"},
    };
    record_run(one_worker_and_a_stray, MAKE, 7500 * NS_PER_US, &w);
    put_facts(w, facts, sizeof(facts) / sizeof(facts[0]));
    read_it(w, &r);
    assert_string_equal(r.findings[0].id, "loader-few-workers");
    assert_non_null(strstr(r.findings[0].fix, "from 1 to"));
    assert_false(r.findings[0].gain_bounded);
    assert_true(r.findings[0].gain_seconds > 4.5); /* three workers do what was waited for */
    report_clear(&r);
}

/* Four workers make batches for training as fast as they are taken; then one makes those for validation,
 * each of which is waited for. */
static void two_loaders(struct replay_log *log)
{
    int c = replay_consumer(log, 4711, 0);
    int64_t at = SAMPLE_T0 + MAKE, val = at + STEPS / 2 * KERNEL;
    for (int i = 0; i < STEPS; i++) {
        bool train = i < STEPS / 2;
        int64_t end = train ? SAMPLE_T0 + MAKE * (i / 4 + 1) : val + MAKE * (i - STEPS / 2 + 1);
        if (train && end > at)
            end = at;
        struct replay_delivery d = {.start_ns = end - MAKE,
                                    .end_ns = end,
                                    .worker = train ? (uint32_t)i % 4 : 4,
                                    .queue = !train,
                                    .startup = i == STEPS / 2};
        replay_delivery_add(&d, CAUSE_STORAGE, 1, READ);
        replay_delivery_add(&d, CAUSE_PREPARE, 0, DECODE);
        struct replay_step s = {
            .t0 = at, .t1 = end > at ? end : at, .delivery = replay_push_delivery(log, c, &d)};
        at = s.end_ns = s.t1 + KERNEL;
        replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, KERNEL);
        replay_step_add(&s, REPLAY_SYNC, CAUSE_NONE, 0, KERNEL);
        assert_true(replay_push_step(log, c, &s));
    }
}

/* Advice is about the loader that was waited for, and so is what it promises. */
static void test_the_loader_that_is_waited_for(void **state)
{
    struct record *w;
    struct report r;
    const struct fact facts[] = {
        {"loader", "", "workers", NULL, 5, "count", "wait chain"},
        {"loader", "", "restarts", NULL, 1, "count", "wait chain"},
        {"job", "", "cores_spare", NULL, 6, "count", "/proc"},
        {"storage", "https://store/data", "in_flight", NULL, 0.75, "count", "wait chain"},
        {"storage", "https://store/data", "mean_read_ms", NULL, 12, "ms", "wait chain"},
    };
    record_run(two_loaders, (KERNEL + MAKE) / 2, 3750 * NS_PER_US, &w);
    put_facts(w, facts, sizeof(facts) / sizeof(facts[0]));
    put_row(w, STATE_WAIT, CAUSE_STARTUP, 0, NS_PER_S);
    read_it(w, &r);
    assert_string_equal(r.findings[0].id, "loader-few-workers");
    assert_non_null(strstr(r.findings[0].fix, "from 1 to"));
    assert_non_null(strstr(r.findings[0].fix, "job's 2 loaders"));
    assert_false(r.findings[0].gain_bounded);
    assert_in_range(r.findings[0].gain_seconds * 1000, 1500, 2500); /* 250 steps of 10 ms */
    for (size_t i = 0; i < r.finding_count; i++)
        assert_string_not_equal(r.findings[i].id, "loader-worker-restart");
    report_clear(&r);
}

static bool found(const struct report *r, const char *id)
{
    bool there = false;
    for (size_t i = 0; i < r->finding_count; i++)
        there |= !strcmp(r->findings[i].id, id);
    return there;
}

/* A worker that takes equally long for each batch gains nothing by a deeper queue: that is not said. */
static void test_a_knob_that_turns_nothing(void **state)
{
    struct record *w;
    struct report r;
    const struct fact facts[] = {
        {"loader", "", "workers", NULL, 1, "count", "wait chain"},
        {"loader", "", "depth", NULL, 1, "count", "replay"},
    };
    record_run(one_worker, MAKE, 7500 * NS_PER_US, &w);
    put_facts(w, facts, sizeof(facts) / sizeof(facts[0]));
    read_it(w, &r);
    assert_string_equal(r.findings[0].id, "storage-remote-live-read");
    assert_false(found(&r, "loader-shallow-prefetch"));
    report_clear(&r);
    unlink(path);
    record_run(one_worker, MAKE, 7500 * NS_PER_US, &w); /* where nothing was replayed it is */
    put_facts(w, facts, sizeof(facts) / sizeof(facts[0]));
    assert_int_equal(record_deliveries(w, "nonsense", 8, NULL), 0);
    read_it(w, &r);
    assert_true(found(&r, "loader-shallow-prefetch"));
    report_clear(&r);
}

/* Chunks that cannot be read cost the replay, not the report. */
static void test_bad_chunk(void **state)
{
    struct record *w;
    struct report r;
    record_run(one_worker, MAKE, 7500 * NS_PER_US, &w);
    assert_int_equal(record_deliveries(w, "nonsense", 8, NULL), 0);
    read_it(w, &r);
    assert_string_equal(r.findings[0].id, "storage-remote-live-read");
    assert_true(r.findings[0].gain_bounded);
    assert_int_equal(r.note_count, 1);
    assert_non_null(strstr(r.notes[0], "upper bounds"));
    report_clear(&r);
}

#define COPY (8 * NS_PER_MS)

/* Each step copies from pageable memory for 8 ms and computes for 8. */
static void copies(struct replay_log *log)
{
    int c = replay_consumer(log, 4711, 0);
    for (int i = 0; i < STEPS; i++) {
        int64_t t = SAMPLE_T0 + i * 2 * COPY;
        struct replay_step s = {.t0 = t, .t1 = t, .end_ns = t + 2 * COPY, .delivery = REPLAY_NONE};
        replay_step_add(&s, REPLAY_DEVICE, CAUSE_PAGEABLE_COPY, 0, COPY);
        replay_step_add(&s, REPLAY_SYNC, CAUSE_PAGEABLE_COPY, 0, COPY);
        replay_step_add(&s, REPLAY_DEVICE, CAUSE_NONE, 0, COPY);
        replay_step_add(&s, REPLAY_SYNC, CAUSE_NONE, 0, COPY);
        assert_true(replay_push_step(log, c, &s));
    }
}

static void copies_run(const struct fact *facts, size_t count, struct report *r)
{
    struct record *w = begin_record(copies, 2 * COPY);
    put_row(w, STATE_COMPUTE, CAUSE_NONE, 0, STEPS * COPY);
    put_row(w, STATE_COPY, CAUSE_PAGEABLE_COPY, 0, STEPS * COPY);
    put_facts(w, facts, count);
    read_it(w, r);
}

/* Pinned copies go at the link's rate: 6 of 25.2 GB/s here. Where nobody knows it: a bound. */
static void test_pinned(void **state)
{
    struct report r;
    const struct fact facts[] = {
        {"copy", "0", "pageable_rate", NULL, 6e9, "bytes/s", "wait chain"},
        {"gpu", "GPU-1", "pcie_gen", NULL, 4, "count", "nvml"},
        {"gpu", "GPU-1", "pcie_width", NULL, 16, "count", "nvml"},
    };
    double whole = STEPS * unit_seconds(COPY);
    copies_run(facts, 3, &r);
    const struct report_finding *f = find(&r, "copy-pageable");
    assert_false(f->gain_bounded);
    assert_true(fabs(f->gain_seconds - whole * (1 - 6.0 / 25.2)) < 0.02 * whole);
    report_clear(&r);
    unlink(path);
    copies_run(facts, 2, &r);
    f = find(&r, "copy-pageable");
    assert_true(f->gain_bounded);
    assert_true(fabs(f->gain_seconds - whole) < 0.02 * whole);
    report_clear(&r);
}

/* Rows alone, in hundredths of a run of 100 s. */
static void limited_by(int compute, int starved, int prepare, int storage, struct report *r)
{
    struct record *w = NULL;
    assert_int_equal(record_create(path, &sample_meta, &w, NULL), 0);
    record_accelerator(w, 0, "sim:0", "Simulated GPU", true, NULL);
    record_resource(w, 1, "https://store/data", NULL);
    record_span(w, SAMPLE_T0, SAMPLE_T0 + 100 * NS_PER_S, NULL);
    put_row(w, STATE_COMPUTE, CAUSE_NONE, 0, compute * NS_PER_S);
    put_row(w, STATE_WAIT, CAUSE_CPU_STARVED, 0, starved * NS_PER_S);
    put_row(w, STATE_WAIT, CAUSE_PREPARE, 0, prepare * NS_PER_S);
    put_row(w, STATE_WAIT, CAUSE_STORAGE, 1, storage * NS_PER_S);
    put_row(w, STATE_WAIT, CAUSE_HOST, 0, (100 - compute - starved - prepare - storage) * NS_PER_S);
    read_it(w, r);
}

/* What limits a job is never at odds with its rows and findings. */
static void test_limited_by(void **state)
{
    static const struct {
        int compute, starved, prepare, storage;
        const char *limit;
    } cases[] = {
        {41, 30, 20, 0, "cpu-starved"}, /* compute is the largest single part, and no limit */
        {45, 5, 5, 5, "host"},          /* no finding: the cause of most waiting */
        {30, 2, 2, 60, "storage"},
        {55, 2, 2, 40, "storage"}, /* more than all waiting; both gains are only bounds */
        {85, 2, 2, 10, "compute"},
        {96, 0, 0, 4, "compute"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct report r;
        limited_by(cases[i].compute, cases[i].starved, cases[i].prepare, cases[i].storage, &r);
        assert_string_equal(r.verdict.limited_by, cases[i].limit);
        if (cases[i].starved == 30)
            assert_string_equal(r.findings[0].id, "cpu-starved");
        report_clear(&r);
        unlink(path);
    }
}

/* More is computed than waited, but all of it while the worker makes the next batch: an accelerator
 * of any speed saves nothing, the finding does. */
static void test_limited_beside_compute(void **state)
{
    struct record *w;
    struct report r;
    record_kernel(slow_kernel, SLOW_KERNEL, MAKE, 4 * NS_PER_MS, &w);
    read_it(w, &r);
    assert_true(r.verdict.utilisation > 0.5);
    assert_true(r.findings[0].severity > SEVERITY_INFO);
    assert_true(r.findings[0].gain_seconds > 1);
    assert_string_equal(r.verdict.limited_by, "storage");
    report_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_replayed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_service, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_burst, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_workers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stray_maker, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_workers_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_loader_that_is_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_knob_that_turns_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_chunk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pinned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limited_by, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limited_beside_compute, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
