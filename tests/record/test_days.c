/* SPDX-License-Identifier: MIT */
/* Bad days of a writer: killed, out of space, out of memory, and an hour long. */
#include "record/read.h"
#include "record/record.h"

#include "base/mem.h"
#include "base/unit.h"
#include "sample.h"
#include "unit_test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct record_options options = {.price_per_hour = NAN};

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

static void write_second(struct record *r, int i, struct error *e)
{
    struct ledger_row row = {.t0 = SAMPLE_T0 + i * NS_PER_S, .ns = 600 * NS_PER_MS};
    record_row(r, &row, e);
    row = (struct ledger_row){.t0 = SAMPLE_T0 + i * NS_PER_S,
                              .state = STATE_WAIT,
                              .cause = CAUSE_STORAGE,
                              .ns = 400 * NS_PER_MS};
    record_row(r, &row, e);
}

/* Writes seconds for ever, telling through fd how many are committed. */
static void write_on(int fd)
{
    struct record *r = NULL;
    if (record_create(path, &sample_meta, &r, NULL) ||
        record_accelerator(r, 0, "sim:0", "Simulated GPU", true, NULL) ||
        record_span(r, SAMPLE_T0, 0, NULL))
        _exit(1);
    for (int i = 0;; i++) {
        char chunk[20000] = {0};
        write_second(r, i, NULL);
        record_deliveries(r, chunk, sizeof(chunk), NULL);
        if (record_commit(r, NULL) || write(fd, &i, sizeof(i)) != sizeof(i))
            _exit(1);
        write_second(r, i + 1000000, NULL); /* not yet committed when the signal comes */
        if (i % 3 == 0)
            usleep(300);
    }
}

static int kill_after(int seconds)
{
    int fd[2], last = -1, next;
    assert_int_equal(pipe(fd), 0);
    pid_t child = fork();
    if (!child) {
        close(fd[0]);
        write_on(fd[1]);
    }
    close(fd[1]);
    while (last < seconds && read(fd[0], &next, sizeof(next)) == sizeof(next))
        last = next;
    kill(child, SIGKILL);
    while (read(fd[0], &next, sizeof(next)) == sizeof(next))
        last = next;
    waitpid(child, NULL, 0);
    close(fd[0]);
    assert_true(last >= seconds);
    return last;
}

static void test_killed(void **state)
{
    struct report r;
    struct error e = {0};
    for (int seconds = 1; seconds < 400; seconds = seconds * 2 + 5) {
        int last = kill_after(seconds);
        if (record_report(path, &options, &r, &e))
            fail_msg("%s", e.text);
        assert_non_null(r.cut_short);
        assert_int_equal(r.exit_code, -1);
        /* All that was committed is here (with the extra second of the round before); the commit
         * under way at the kill may be, too. */
        assert_in_range(r.span_ns / NS_PER_S, 2 * last + 1, 2 * last + 3);
        assert_int_equal(r.accelerators[0].state_ns[STATE_WAIT] * 3,
                         r.accelerators[0].state_ns[STATE_COMPUTE] * 2);
        assert_true(isfinite(r.verdict.utilisation));
        report_clear(&r);
    }
}

/* The rows of the ledger, as sqlite3 -readonly sees them; -1: it does not open the file. */
static int rows_for_sqlite(void)
{
    sqlite3 *db;
    sqlite3_stmt *s = NULL;
    int rows = -1;
    if (!sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) &&
        !sqlite3_prepare_v2(db, "SELECT count(*) FROM ledger_row", -1, &s, NULL) &&
        sqlite3_step(s) == SQLITE_ROW)
        rows = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return rows;
}

static off_t size_beside(const char *suffix)
{
    char beside[192];
    struct stat st;
    snprintf(beside, sizeof(beside), "%s%s", path, suffix);
    return stat(beside, &st) ? -1 : st.st_size;
}

/* A folder that cannot be written to: read as a user without rights, where we are root. */
static void test_killed_read_only(void **state)
{
    kill_after(40);
    assert_int_equal(chmod(folder, 0555), 0);
    pid_t child = fork();
    if (!child) {
        struct report r;
        if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(2);
        off_t index = size_beside("-shm");
        if (record_report(path, &options, &r, NULL) || !r.cut_short)
            _exit(3);
        if (size_beside("-shm") != index)
            _exit(4);
        _exit(rows_for_sqlite() >= 40 ? 0 : 5);
    }
    int status;
    char wal[192];
    struct stat st;
    snprintf(wal, sizeof(wal), "%s-wal", path);
    assert_int_equal(chmod(path, 0644), 0);
    waitpid(child, &status, 0);
    chmod(folder, 0755);
    assert_int_equal(stat(wal, &st), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* What lies beside a recording while it is written goes when it is whole. */
static void test_alone_at_the_end(void **state)
{
    struct record *w = sample_begin(path);
    assert_int_equal(size_beside("-shm"), 0);
    sample_finish(w);
    record_close(w);
    assert_int_equal(size_beside("-shm"), -1);
    assert_int_equal(size_beside("-wal"), -1);
}

/* How much a kill may have cost is told as the writer knew it. */
static void test_what_a_kill_costs(void **state)
{
    struct report r;
    struct record *w = sample_begin(path);
    assert_int_equal(record_report(path, &options, &r, NULL), STATUS_OK);
    assert_non_null(strstr(r.cut_short, "a wait that was going on"));
    report_clear(&r);
    assert_int_equal(record_behind(w, 31 * NS_PER_S + 40 * NS_PER_MS, NULL), STATUS_OK);
    assert_int_equal(record_commit(w, NULL), STATUS_OK);
    record_close(w);
    assert_int_equal(record_report(path, &options, &r, NULL), STATUS_OK);
    assert_non_null(strstr(r.cut_short, "up to about 31.0 s before that are missing"));
    report_clear(&r);
}

/* A recording that is being written can be read, and reading does not disturb the writer. */
static void test_live(void **state)
{
    struct report r;
    struct record *w = sample_begin(path);
    assert_int_equal(record_report(path, &options, &r, NULL), STATUS_OK);
    assert_non_null(r.cut_short);
    report_clear(&r);
    sample_finish(w);
    record_close(w);
    assert_int_equal(record_report(path, &options, &r, NULL), STATUS_OK);
    assert_null(r.cut_short);
    report_clear(&r);
}

/* Whose writer is at work was not killed. */
static void test_live_elsewhere(void **state)
{
    struct report r, after;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t writer = fork();
    if (writer == 0) {
        sample_begin(path);
        if (write(ready[1], "r", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    bool begun = read(ready[0], &byte, 1) == 1;
    int status = record_report(path, &options, &r, NULL);
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    close(ready[0]);
    assert_true(begun);
    assert_int_equal(status, STATUS_OK);
    assert_int_equal(record_report(path, &options, &after, NULL), STATUS_OK);
    assert_non_null(strstr(r.cut_short, "has not finished it yet"));
    assert_non_null(strstr(after.cut_short, "was killed"));
    report_clear(&r);
    report_clear(&after);
}

/* Writes until it fails; the second failure is the first one's again. */
static int fill_up(struct record *w, struct error *e)
{
    int status = STATUS_OK;
    struct error again = {0};
    char chunk[8192];
    memset(chunk, 'x', sizeof(chunk));
    for (int i = 0; i < 10000 && !status; i++) {
        write_second(w, i, e);
        record_deliveries(w, chunk, sizeof(chunk), e);
        status = record_commit(w, e);
    }
    assert_int_equal(record_note(w, "more", &again), status);
    assert_string_equal(again.text, e->text);
    assert_int_equal(record_commit(w, &again), status);
    return status;
}

static void assert_cut_short(void)
{
    struct report r;
    struct error e = {0};
    if (record_report(path, &options, &r, &e))
        fail_msg("%s", e.text);
    assert_non_null(r.cut_short);
    assert_true(r.span_ns > 5 * NS_PER_S);
    report_clear(&r);
}

static void test_disk_full(void **state)
{
    struct record *w = NULL;
    struct error e = {0};
    struct record_end end = {0};
    if (mount("gpufeed-record-test", folder, "tmpfs", 0, "size=700k"))
        skip(); /* needs root */
    int status = record_create(path, &sample_meta, &w, &e);
    if (!status) {
        record_accelerator(w, 0, "sim:0", "Simulated GPU", true, NULL);
        record_span(w, SAMPLE_T0, 0, NULL);
        status = fill_up(w, &e);
        record_finish(w, &end, NULL);
        record_close(w);
        assert_cut_short();
    }
    umount(folder);
    assert_int_equal(status, STATUS_FULL);
    assert_non_null(strstr(e.text, path));
    assert_non_null(strstr(e.text, "no space left"));
}

/* No room even for an empty recording: nothing is left behind. */
static void test_disk_full_at_once(void **state)
{
    struct record *w = NULL;
    struct error e = {0};
    struct stat st;
    if (mount("gpufeed-record-test", folder, "tmpfs", 0, "size=40k"))
        skip();
    int status = record_create(path, &sample_meta, &w, &e), left = stat(path, &st);
    umount(folder);
    assert_int_equal(status, STATUS_FULL);
    assert_int_equal(left, -1);
    assert_null(w);
}

/* A limit on the size of files stands for any write that fails. */
static void test_file_limit(void **state)
{
    pid_t child = fork();
    if (!child) {
        struct rlimit limit = {600000, 600000};
        struct record *w = NULL;
        struct error e = {0};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        if (record_create(path, &sample_meta, &w, &e))
            _exit(2);
        record_accelerator(w, 0, "sim:0", "Simulated GPU", true, NULL);
        int status = fill_up(w, &e);
        record_close(w);
        _exit(status ? 0 : 3);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_cut_short();
}

/* Memory may run out at any moment of writing: an error, and what was committed stays. */
static void test_no_memory(void **state)
{
    int failed = 0;
    for (long n = 0; n < 10000; n++) {
        struct record *w = NULL;
        struct error e = {0};
        mem_fail_after(n);
        int status = record_create(path, &sample_meta, &w, &e);
        if (!status)
            status = record_note(w, "a line that is long enough to need memory of its own", &e);
        if (!status)
            status = record_commit(w, &e);
        record_close(w);
        mem_fail_after(-1);
        if (!status)
            break;
        assert_true(e.status == status && e.text[0]);
        failed++;
    }
    assert_in_range(failed, 3, 200);
}

/* A busy hour on one device: 14 rows a window, chains, many batches a second. */
static void test_hour(void **state)
{
    static const enum cause causes[] = {CAUSE_STORAGE, CAUSE_PREPARE, CAUSE_CPU_STARVED,
                                        CAUSE_LAUNCH,  CAUSE_HOST,    CAUSE_CHECKPOINT};
    struct record *w = NULL;
    struct report r;
    struct stat st;
    char chunk[1500];
    uint32_t x = 12345;
    assert_int_equal(record_create(path, &sample_meta, &w, NULL), 0);
    record_accelerator(w, 0, "sim:0", "Simulated GPU", true, NULL);
    record_span(w, SAMPLE_T0, SAMPLE_T0 + 3600 * NS_PER_S, NULL);
    for (int i = 0; i < 3600; i++) {
        for (int k = 0; k < 14; k++) {
            x = x * 1664525u + 1013904223u;
            struct ledger_row row = {.t0 = SAMPLE_T0 + i * NS_PER_S,
                                     .workload = 123456,
                                     .state = k ? STATE_WAIT : STATE_COMPUTE,
                                     .cause = (uint8_t)(k ? causes[k % 6] : CAUSE_NONE),
                                     .resource = k ? 1 + (uint32_t)k : 0,
                                     .ns = k == 13 ? 48 * NS_PER_MS : 1 + x % (140 * NS_PER_MS)};
            assert_int_equal(record_row(w, &row, NULL), 0);
            struct chain_example c = {
                .t0 = row.t0, .ns = row.ns, .cause = row.cause, .count = CHAIN_LINKS_MAX};
            for (int l = 0; l < c.count; l++) {
                memset(c.links[l].who, 'w', sizeof(c.links[l].who) - 1);
                memset(c.links[l].did, 'd', sizeof(c.links[l].did) - 1);
            }
            if (k)
                record_chain(w, &c, "a resource", NULL);
        }
        for (size_t k = 0; k < sizeof(chunk); k++)
            chunk[k] = (char)((x = x * 1664525u + 1013904223u) >> 24);
        record_deliveries(w, chunk, sizeof(chunk), NULL);
        assert_int_equal(record_commit(w, NULL), 0);
    }
    sample_finish(w);
    record_close(w);
    assert_int_equal(stat(path, &st), 0);
    print_message("one hour: %lld bytes\n", (long long)st.st_size);
    assert_true((uint64_t)st.st_size <= 4 * MIB);
    assert_int_equal(record_report(path, &options, &r, NULL), STATUS_OK);
    assert_true(r.window_count <= RECORD_WINDOWS_MAX && r.window_count > RECORD_WINDOWS_MAX / 2);
    int64_t sum = 0;
    for (size_t i = 0; i < r.window_count; i++)
        sum += r.windows[i].ns;
    int64_t seen = r.accelerators[0].ns - r.accelerators[0].state_ns[STATE_UNSEEN];
    assert_int_equal(sum, seen);
    report_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed_read_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_alone_at_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_a_kill_costs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_live, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_live_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_disk_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_disk_full_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_file_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hour, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
