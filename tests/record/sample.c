/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include "base/unit.h"
#include "unit_test.h"
#include "../tidy.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct record_meta sample_meta = {
    .title = "python3 train.py --lr 0.1",
    .version = "0.1.0",
    .mode = "wait chain",
    .start_ns = SAMPLE_T0 - NS_PER_S,
    .start_unix_ns = INT64_C(1700000000) * NS_PER_S,
    .window_ns = NS_PER_S,
};

void sample_folder(char *path, size_t size)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, size, "%s/gpufeed-record-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
    tidy_at_exit(path);
}

void sample_folder_remove(const char *path)
{
    DIR *d = opendir(path);
    char name[512];
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        unlink(name);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

static void row(struct record *r, int64_t t0, enum state state, enum cause cause, uint32_t resource,
                int64_t ms)
{
    struct ledger_row w = {.t0 = t0,
                           .workload = 4711,
                           .state = (uint8_t)state,
                           .cause = (uint8_t)cause,
                           .evidence = EVIDENCE_CHAIN,
                           .resource = resource,
                           .ns = ms * NS_PER_MS};
    assert_int_equal(record_row(r, &w, NULL), STATUS_OK);
}

static void facts(struct record *r)
{
    static const struct fact list[] = {
        {"storage", "https://store/data", "mean_read_ms", NULL, 4.1, "ms", "wait chain"},
        {"storage", "https://store/data", "in_flight", NULL, 8, "count", "wait chain"},
        {"loader", "", "workers", NULL, 8, "count", "wait chain"},
        {"job", "", "cores_allowed", NULL, 16, "count", "/proc"},
        {"mount", "/data", "fstype", "nfs4", NAN, "", "/proc/self/mountinfo"},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        assert_int_equal(record_fact(r, &list[i], NULL), STATUS_OK);
}

struct record *sample_begin(const char *path)
{
    struct record *r = NULL;
    struct error e = {0};
    if (record_create(path, &sample_meta, &r, &e))
        fail_msg("%s", e.text);
    assert_int_equal(record_accelerator(r, 0, "sim:0", "Simulated GPU", true, NULL), 0);
    assert_int_equal(record_resource(r, 1, "https://store/data", NULL), 0);
    assert_int_equal(record_workload(r, 4711, "python3 train.py (4711)", NULL), 0);
    assert_int_equal(record_span(r, SAMPLE_T0, SAMPLE_T0 + 10 * NS_PER_S, NULL), 0);
    for (int i = 0; i < 10; i++) {
        int64_t t0 = SAMPLE_T0 + i * NS_PER_S;
        row(r, t0, STATE_COMPUTE, CAUSE_NONE, 0, 550);
        row(r, t0, STATE_WAIT, CAUSE_STORAGE, 1, 400);
        row(r, t0, STATE_WAIT, CAUSE_STORAGE, 1, 10); /* summed up with the one before */
        row(r, t0, STATE_WAIT, CAUSE_HOST, 0, 40);
    }
    struct chain_example chain = {.t0 = SAMPLE_T0 + NS_PER_S,
                                  .ns = 82 * NS_PER_MS,
                                  .cause = CAUSE_STORAGE,
                                  .count = 2,
                                  .links = {{"trainer (4711)", "waited for worker 3"},
                                            {"worker 3 (4714)", "read https://store/data"}}};
    assert_int_equal(record_chain(r, &chain, "https://store/data", NULL), 0);
    facts(r);
    assert_int_equal(record_note(r, "one line", NULL), 0);
    assert_int_equal(record_note(r, "one line", NULL), 0);
    assert_int_equal(record_commit(r, &e), 0);
    return r;
}

void sample_finish(struct record *r)
{
    struct record_end end = {.exit_code = 3,
                             .cpu_seconds = 0.25,
                             .peak_rss_bytes = 9e6,
                             .events_lost = 7,
                             .slowdown_bound = 0.01};
    struct error e = {0};
    if (record_finish(r, &end, &e))
        fail_msg("%s", e.text);
}

void sample_whole(const char *path)
{
    struct record *r = sample_begin(path);
    sample_finish(r);
    record_close(r);
}
