/* SPDX-License-Identifier: MIT */
/* What was written is read again, added up and concluded from. */
#include "record/read.h"
#include "record/record.h"

#include "base/unit.h"
#include "sample.h"
#include "unit_test.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct record_options priced = {.price_per_hour = 28, .currency = "EUR"};

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

static void read_it(struct report *r)
{
    struct error e = {0};
    if (record_report(path, &priced, r, &e))
        fail_msg("%s", e.text);
}

/* Every accelerator's rows and states add up to its time, to the nanosecond. */
static void assert_adds_up(const struct report *r)
{
    for (size_t i = 0; i < r->accelerator_count; i++) {
        const struct report_accelerator *a = &r->accelerators[i];
        int64_t rows = 0, states = 0;
        for (size_t k = 0; k < r->row_count; k++)
            if (r->rows[k].accelerator == i)
                rows += r->rows[k].ns;
        for (int s = 0; s < STATE_COUNT; s++)
            states += a->state_ns[s];
        assert_int_equal(rows, a->ns);
        assert_int_equal(states, a->ns);
        assert_true(a->ns <= r->span_ns);
    }
}

static void test_tables(void **state)
{
    struct report r;
    sample_whole(path);
    read_it(&r);
    assert_string_equal(r.title, sample_meta.title);
    assert_string_equal(r.mode, "wait chain");
    assert_null(r.cut_short);
    assert_int_equal(r.exit_code, 3);
    assert_int_equal(r.start_unix_ns, sample_meta.start_unix_ns);
    assert_int_equal(r.span_ns, 10 * NS_PER_S);
    assert_int_equal(r.accelerator_count, 1);
    assert_string_equal(r.accelerators[0].id, "sim:0");
    assert_true(r.accelerators[0].simulated);
    assert_adds_up(&r);
    assert_int_equal(r.row_count, 3);
    assert_int_equal(r.rows[1].state, STATE_WAIT);
    assert_int_equal(r.rows[1].cause, CAUSE_STORAGE);
    assert_int_equal(r.rows[1].ns, 4100 * NS_PER_MS);
    assert_string_equal(r.rows[1].resource, "https://store/data");
    assert_string_equal(r.rows[1].workload, "python3 train.py (4711)");
    assert_true(fabs(r.rows[1].share - 0.41) < 1e-12);
    assert_int_equal(r.window_count, 10);
    assert_int_equal(r.windows[3].t0, 3 * NS_PER_S);
    assert_int_equal(r.windows[3].cause_ns[CAUSE_STORAGE], 410 * NS_PER_MS);
    assert_int_equal(r.chain_count, 1);
    assert_int_equal(r.chains[0].count, 2);
    assert_string_equal(r.chains[0].links[1].did, "read https://store/data");
    assert_string_equal(r.chain_resources[0], "https://store/data");
    assert_int_equal(r.note_count, 1);
    assert_int_equal(r.tool.events_lost, 7);
    assert_true(r.tool.cpu_seconds == 0.25 && r.tool.peak_rss_bytes == 9e6);
    assert_true(r.evidence.count >= 4);
    report_clear(&r);
}

static void test_conclusions(void **state)
{
    struct report r;
    sample_whole(path);
    read_it(&r);
    assert_int_equal(r.finding_count, 1);
    assert_string_equal(r.findings[0].id, "storage-remote-live-read");
    assert_int_equal(r.findings[0].severity, SEVERITY_WARNING);
    assert_true(r.findings[0].gain_bounded);
    assert_true(fabs(r.findings[0].gain_seconds - 4.1) < 1e-9);
    assert_true(fabs(r.findings[0].gain_share - 0.41) < 1e-9);
    assert_string_equal(r.verdict.limited_by, "storage");
    assert_true(fabs(r.verdict.utilisation - 0.55) < 1e-12);
    assert_true(fabs(r.money.spent - 28.0 * 10 / 3600) < 1e-12);
    assert_true(fabs(r.money.waited - r.money.spent * 0.45) < 1e-12);
    assert_true(fabs(r.money.by_cause[CAUSE_STORAGE] - r.money.spent * 0.41) < 1e-12);
    assert_string_equal(
        r.verdict.sentence,
        "GPU 0 computed 55 % of 10 s; 41 % it waited for storage https://store/data "
        "(4.1 ms a read, 8 reads in flight). A faster GPU gains at most 2.2×; more GPUs would "
        "wait too. Fix storage first: up to 1.7×, € 11.48/h.");
    report_clear(&r);
}

static void test_no_price(void **state)
{
    struct report r;
    struct record_options none = {.price_per_hour = NAN};
    sample_whole(path);
    assert_int_equal(record_report(path, &none, &r, NULL), STATUS_OK);
    assert_null(r.money.currency);
    assert_true(isnan(r.money.spent) && isnan(r.money.by_cause[CAUSE_STORAGE]));
    assert_null(strstr(r.verdict.sentence, "/h"));
    report_clear(&r);
}

static void test_single_file(void **state)
{
    char beside[192];
    struct stat st;
    sample_whole(path);
    snprintf(beside, sizeof(beside), "%s-wal", path);
    assert_int_equal(stat(beside, &st), -1);
    snprintf(beside, sizeof(beside), "%s-shm", path);
    assert_int_equal(stat(beside, &st), -1);
    snprintf(beside, sizeof(beside), "%s-journal", path);
    assert_int_equal(stat(beside, &st), -1);
}

/* Time of an only accelerator that no row covers is unseen. */
static void test_gap(void **state)
{
    struct report r;
    struct record *w = sample_begin(path);
    assert_int_equal(record_span(w, SAMPLE_T0, SAMPLE_T0 + 11 * NS_PER_S + 7, NULL), 0);
    sample_finish(w);
    record_close(w);
    read_it(&r);
    assert_int_equal(r.span_ns, 11 * NS_PER_S + 7);
    assert_adds_up(&r);
    assert_int_equal(r.accelerators[0].ns, r.span_ns);
    assert_int_equal(r.accelerators[0].state_ns[STATE_UNSEEN], NS_PER_S + 7);
    report_clear(&r);
}

/* Each accelerator has its own time; one without any was never taken; the span covers all. */
static void test_own_times(void **state)
{
    struct report r;
    struct record *w = sample_begin(path);
    assert_int_equal(record_accelerator(w, 5, "sim:1", "Simulated GPU", true, NULL), 0);
    assert_int_equal(record_accelerator(w, 6, "sim:2", "Simulated GPU", true, NULL), 0);
    struct ledger_row row = {.t0 = SAMPLE_T0, .accelerator = 5, .ns = 11 * NS_PER_S + 7};
    assert_int_equal(record_row(w, &row, NULL), 0);
    sample_finish(w);
    record_close(w);
    read_it(&r);
    assert_int_equal(r.span_ns, 11 * NS_PER_S + 7);
    assert_adds_up(&r);
    assert_int_equal(r.accelerators[0].ns, 10 * NS_PER_S);
    assert_int_equal(r.accelerators[1].ns, 11 * NS_PER_S + 7);
    assert_int_equal(r.accelerators[2].state_ns[STATE_UNUSED], r.span_ns);
    report_clear(&r);
}

/* A run of 3 s of start-up, 30 ms of computing and so many of waiting for storage. */
static void little(int waited_ms)
{
    const struct {
        enum state state;
        enum cause cause;
        int64_t ms;
    } rows[] = {{STATE_WAIT, CAUSE_STARTUP, 3000},
                {STATE_COMPUTE, CAUSE_NONE, 30},
                {STATE_WAIT, CAUSE_STORAGE, waited_ms}};
    struct record *w = NULL;
    assert_int_equal(record_create(path, &sample_meta, &w, NULL), 0);
    assert_int_equal(record_accelerator(w, 0, "sim:0", "Simulated GPU", true, NULL), 0);
    assert_int_equal(record_resource(w, 1, "https://store/data", NULL), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ledger_row row = {.t0 = SAMPLE_T0,
                                 .state = (uint8_t)rows[i].state,
                                 .cause = (uint8_t)rows[i].cause,
                                 .resource = rows[i].cause == CAUSE_STORAGE,
                                 .ns = rows[i].ms * NS_PER_MS};
        assert_int_equal(record_row(w, &row, NULL), 0);
    }
    assert_int_equal(record_span(w, SAMPLE_T0, SAMPLE_T0 + (3030 + waited_ms) * NS_PER_MS, NULL),
                     0);
    sample_finish(w);
    record_close(w);
}

/* Too little to conclude from: what was seen is told, and nothing else. */
static void test_too_short(void **state)
{
    struct report r;
    little(60);
    read_it(&r);
    assert_string_equal(r.too_short, "90 ms after the start-up");
    assert_string_equal(r.verdict.limited_by, "unknown");
    assert_string_equal(r.verdict.sentence,
                        "GPU 0 computed 1.0 % of 3.09 s; 97 % it waited for processes to start or "
                        "end. Too short to judge (90 ms after the start-up): let it run for some "
                        "seconds.");
    assert_int_equal(r.finding_count, 0);
    assert_true(isnan(r.verdict.faster_accelerator_max_speedup));
    assert_true(isnan(r.verdict.utilisation_after_fixes));
    assert_int_equal(r.verdict.more_accelerators_help, -1);
    assert_true(r.verdict.utilisation > 0 && r.money.waited > 0);
    report_clear(&r);
    little(1000);
    read_it(&r);
    assert_null(r.too_short);
    assert_true(r.finding_count > 0);
    report_clear(&r);
}

static void test_never_used(void **state)
{
    struct report r;
    struct record *w = NULL;
    assert_int_equal(record_create(path, &sample_meta, &w, NULL), 0);
    sample_finish(w);
    record_close(w);
    read_it(&r);
    assert_int_equal(r.accelerator_count, 0);
    assert_int_equal(r.finding_count, 0);
    assert_string_equal(r.verdict.sentence, "The job never held an accelerator.");
    assert_string_equal(r.verdict.limited_by, "unknown");
    assert_true(isnan(r.verdict.utilisation));
    report_clear(&r);
}

static void test_replaces_only_recordings(void **state)
{
    struct record *w = NULL;
    struct error e = {0};
    sample_whole(path);
    sample_whole(path); /* an older recording gives way */
    FILE *f = fopen(path, "w");
    fputs("a thesis, the only copy, of which not one byte may be lost; long enough for a header",
          f);
    fclose(f);
    assert_int_equal(record_create(path, &sample_meta, &w, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "no recording"));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 80);
}

static void test_no_folder(void **state)
{
    struct record *w = NULL;
    struct error e = {0};
    char deep[256];
    snprintf(deep, sizeof(deep), "%s/no/such/x.gpufeed", folder);
    assert_int_equal(record_create(deep, &sample_meta, &w, &e), STATUS_MISSING);
    assert_non_null(strstr(e.text, deep));
    assert_null(w);
}

static void test_secrets(void **state)
{
    static const char secret[] = "Zm9vYmFyYmF6cXV4";
    struct record_meta meta = sample_meta;
    struct record *w = NULL;
    char text[256];
    snprintf(text, sizeof(text), "train --sas-token %s https://s/x?sig=%s&a=1", secret, secret);
    meta.title = text;
    assert_int_equal(record_create(path, &meta, &w, NULL), 0);
    record_resource(w, 1, text, NULL);
    record_note(w, text, NULL);
    struct fact f = {"env", "AWS_SECRET_ACCESS_KEY", "value", secret, NAN, "", "environment"};
    record_fact(w, &f, NULL);
    struct chain_example c = {.ns = 1, .count = 1};
    snprintf(c.links[0].did, sizeof(c.links[0].did), "read https://s/x?sig=%s", secret);
    record_chain(w, &c, text, NULL);
    sample_finish(w);
    record_close(w);
    FILE *file = fopen(path, "r");
    static char bytes[1 << 20];
    size_t n = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    assert_true(n > 4096);
    assert_null(memmem(bytes, n, secret, strlen(secret)));
    assert_non_null(memmem(bytes, n, "train --sas-token ***", 21));
}

static void test_longest_chains(void **state)
{
    struct report r;
    struct record *w = sample_begin(path);
    for (int i = 0; i < 500; i++) {
        struct chain_example c = {.t0 = SAMPLE_T0 + i,
                                  .ns = (1 + i * 37 % 500) * NS_PER_MS,
                                  .cause = i % 2 ? CAUSE_STORAGE : CAUSE_STARTUP,
                                  .count = 1 + i % CHAIN_LINKS_MAX};
        assert_int_equal(record_chain(w, &c, NULL, NULL), 0);
        c.ns = NS_PER_MS;
        c.cause = (uint8_t)(1 + i % (CAUSE_COUNT - 1));
        assert_int_equal(record_chain(w, &c, NULL, NULL), 0);
    }
    sample_finish(w);
    record_close(w);
    read_it(&r);
    assert_int_equal(r.chain_count, RECORD_CHAINS);
    assert_int_equal(r.chains[0].ns, 500 * NS_PER_MS);
    int storage = 0;
    for (size_t i = 0; i < r.chain_count; i++)
        storage += r.chains[i].cause == CAUSE_STORAGE;
    assert_int_equal(storage, RECORD_CHAINS_CAUSE);
    for (size_t i = 1; i < r.chain_count; i++)
        assert_true(r.chains[i - 1].ns >= r.chains[i].ns);
    report_clear(&r);
}

/* Names that a later gpufeed may add are numbers that this one does not know. */
static void test_unknown_words(void **state)
{
    struct report r;
    sqlite3 *db = NULL;
    sample_whole(path);
    assert_int_equal(sqlite3_open(path, &db), 0);
    assert_int_equal(sqlite3_exec(db,
                                  "INSERT INTO ledger_row VALUES (5000000000, 0, 0, 77, 99, 88, "
                                  "66, 5)",
                                  NULL, NULL, NULL),
                     0);
    sqlite3_close(db);
    read_it(&r);
    assert_adds_up(&r);
    assert_int_equal(r.accelerators[0].state_ns[STATE_UNSEEN], 5);
    report_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_conclusions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_price, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_single_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_own_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_short, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_never_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replaces_only_recordings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_secrets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_longest_chains, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unknown_words, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
