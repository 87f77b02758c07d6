/* SPDX-License-Identifier: MIT */
/* Files that are no recordings, or no longer: one line with the file's name, never a crash. */
#include "record/read.h"

#include "base/mem.h"
#include "sample.h"
#include "unit_test.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct record_options options = {.price_per_hour = 1};

static char folder[128], path[160], wal[176];

static int set_up(void **state)
{
    sample_folder(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/x.gpufeed", folder);
    snprintf(wal, sizeof(wal), "%s-wal", path);
    return 0;
}

static int tear_down(void **state)
{
    sample_folder_remove(folder);
    return 0;
}

struct bytes {
    unsigned char *data;
    size_t size;
};

static struct bytes load(const char *from)
{
    struct bytes b = {0};
    struct stat st;
    int fd = open(from, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    b.size = (size_t)st.st_size;
    b.data = malloc(b.size + 1);
    assert_int_equal(read(fd, b.data, b.size), b.size);
    close(fd);
    return b;
}

static void store(const char *to, const void *data, size_t n)
{
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, n), n);
    close(fd);
}

/* Reads what is there; whatever comes back is whole, or one line about this file. */
static int read_any(struct error *e)
{
    struct report r;
    *e = (struct error){0};
    int status = record_report(path, &options, &r, e);
    if (!status) {
        for (size_t i = 0; i < r.accelerator_count; i++) {
            int64_t sum = 0;
            for (size_t k = 0; k < r.row_count; k++)
                sum += r.rows[k].accelerator == i ? r.rows[k].ns : 0;
            assert_int_equal(sum, r.accelerators[i].ns);
        }
        report_clear(&r);
    } else {
        assert_int_equal(status, e->status);
        assert_true(status == STATUS_MEMORY || strstr(e->text, path));
        assert_null(strchr(e->text, '\n'));
    }
    return status;
}

static void expect(const char *words)
{
    struct error e;
    assert_int_equal(read_any(&e), STATUS_INPUT);
    if (!strstr(e.text, words))
        fail_msg("\"%s\" does not say \"%s\"", e.text, words);
}

static void test_absent(void **state)
{
    struct error e;
    assert_int_equal(read_any(&e), STATUS_MISSING);
}

static void test_foreign(void **state)
{
    static const char text[] = "{\"schemaVersion\": 1, \"deviceProperties\": [] }";
    sqlite3 *db;
    store(path, "", 0);
    expect("empty");
    store(path, text, sizeof(text));
    expect("not a gpufeed recording");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    expect("no file");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect("no file");
    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), 0);
    sqlite3_exec(db, "CREATE TABLE t (x); INSERT INTO t VALUES (1)", NULL, NULL, NULL);
    sqlite3_close(db);
    expect("application id");
}

static void alter(const char *sql)
{
    sqlite3 *db;
    char *why = NULL;
    assert_int_equal(sqlite3_open(path, &db), 0);
    if (sqlite3_exec(db, sql, NULL, NULL, &why))
        fail_msg("%s", why);
    sqlite3_close(db);
}

static void test_other_version(void **state)
{
    sample_whole(path);
    alter("PRAGMA user_version = 99");
    expect("format 99");
    sample_whole(path);
    alter("PRAGMA user_version = 0");
    expect("format 0");
}

/* As the first format had it, letter by letter. */
#define STORAGE_1                                                                                  \
    "CREATE VIEW storage AS SELECT r.resource AS resource, r.seconds AS seconds, r.share AS "      \
    "share, coalesce(max(CASE f.text WHEN 'peer' THEN 'remote' ELSE f.text END) FILTER (WHERE "    \
    "f.name = 'kind'), CASE WHEN r.resource LIKE 'disk %' THEN 'disk' WHEN r.resource LIKE "       \
    "'fuse:%' THEN 'fuse' WHEN r.resource LIKE '%://%' OR r.resource GLOB '*:[0-9]*' THEN "        \
    "'remote' END) AS kind, CASE WHEN r.resource LIKE 'disk %' THEN substr(r.resource, 6, "        \
    "instr(r.resource || ' (', ' (') - 6) END AS disk, max(f.number) FILTER (WHERE f.name = "      \
    "'reads') AS reads, max(f.number) FILTER (WHERE f.name = 'bytes') AS bytes, max(f.number) "    \
    "FILTER (WHERE f.name = 'mean_read_ms') AS mean_read_ms, max(f.number) FILTER (WHERE "         \
    "f.name = 'in_flight') AS in_flight, max(f.number) FILTER (WHERE f.name = "                    \
    "'throughput_bytes_s') AS bytes_per_second, CASE WHEN max(f.number) FILTER (WHERE f.name = "   \
    "'bandwidth_bound') IS NOT NULL THEN max(f.number) FILTER (WHERE f.name = "                    \
    "'bandwidth_bound') = 0 WHEN max(f.number) FILTER (WHERE f.name = 'in_flight') <= 1.2 AND "    \
    "max(f.number) FILTER (WHERE f.name = 'mean_read_ms') >= 1 THEN 1 END AS latency_bound "       \
    "FROM cause_resource r LEFT JOIN fact f ON f.kind = 'storage' AND f.subject = r.resource "     \
    "WHERE r.cause = 'storage' AND r.resource IS NOT NULL GROUP BY r.resource"

/* Recordings of the first format are read; each format has its own views and no other's. */
static void test_first_format(void **state)
{
    struct error e;
    sample_whole(path);
    alter("PRAGMA user_version = 1; DROP VIEW storage; " STORAGE_1);
    if (read_any(&e))
        fail_msg("%s", e.text);
    alter("PRAGMA user_version = 2");
    expect("\"storage\" is not what it should be");
    sample_whole(path);
    alter("PRAGMA user_version = 1");
    expect("\"storage\" is not what it should be");
}

/* A table that is not ours under one of our names, a missing one, a view in its place. */
static void test_altered_schema(void **state)
{
    sample_whole(path);
    alter("DROP TABLE note; CREATE TABLE note (number INTEGER PRIMARY KEY, line TEXT NOT NULL "
          "CHECK (length(randomblob(1000000000)) > 0))");
    expect("\"note\" is not what it should be");
    sample_whole(path);
    alter("DROP TABLE device");
    expect("\"device\" is missing");
    sample_whole(path);
    alter("DROP VIEW ledger; CREATE VIEW ledger AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL "
          "SELECT x + 1 FROM n) SELECT x FROM n");
    expect("\"ledger\" is not what it should be");
}

/* What users add is left alone. */
static void test_added_objects(void **state)
{
    struct error e;
    sample_whole(path);
    alter("CREATE TABLE mine (x); CREATE TRIGGER t AFTER INSERT ON note BEGIN SELECT 1; END;"
          "CREATE VIEW v AS SELECT * FROM mine; CREATE INDEX i ON ledger_row (ns)");
    assert_int_equal(read_any(&e), STATUS_OK);
}

static void test_hostile_rows(void **state)
{
    sample_whole(path);
    alter("UPDATE ledger_row SET ns = -5 WHERE state = 0");
    expect("without time");
    sample_whole(path);
    alter("UPDATE ledger_row SET ns = 9223372036854775807");
    expect("overflow");
    sample_whole(path);
    alter("UPDATE ledger_row SET accelerator = 7 WHERE state = 0");
    expect("unknown accelerator");
    sample_whole(path);
    alter("UPDATE ledger_row SET ns = 'much' WHERE state = 0");
    expect("without time");
}

/* Numbers of any size in every place that is read. */
static void test_extreme_numbers(void **state)
{
    static const char *const sql[] = {
        "UPDATE meta SET value = 9223372036854775807 WHERE key = 'span_t1'",
        "UPDATE meta SET value = -9223372036854775808 WHERE key = 'span_t0'",
        "UPDATE meta SET value = 'x' WHERE key IN ('span_t0', 'window_ns', 'start_ns')",
        "UPDATE meta SET value = zeroblob(1000)",
        "UPDATE meta SET value = 9223372036854775807 WHERE key = 'window_ns'",
        "UPDATE ledger_row SET t0 = 9223372036854775807 - t0 / 1000000000",
        "UPDATE ledger_row SET t0 = -9223372036854775808 + t0 / 1000000000",
        "UPDATE chain_wait SET t0 = -9223372036854775808, ns = 9223372036854775807, cause = 1e300",
        "UPDATE chain_wait SET accelerator = -1, resource = zeroblob(9)",
        "UPDATE fact SET number = 1e308, text = NULL",
        "UPDATE fact SET number = -9e999, text = NULL, unit = zeroblob(3)",
        "UPDATE device SET number = -9223372036854775808, id = ''",
        "INSERT INTO delivery (chunk) VALUES (randomblob(3000)), (zeroblob(10)), ('R'), "
        "(x'5201ff')",
        "INSERT INTO resource SELECT value, 'x' FROM (SELECT 77 AS value)",
        "UPDATE resource SET name = replace(hex(zeroblob(100000)), '0', '%s{share}')",
    };
    struct error e;
    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++) {
        sample_whole(path);
        alter(sql[i]);
        read_any(&e);
    }
}

static void test_truncated(void **state)
{
    struct error e;
    sample_whole(path);
    struct bytes b = load(path);
    for (size_t n = 0; n < b.size; n += 512) {
        store(path, b.data, n);
        assert_int_equal(read_any(&e), STATUS_INPUT);
        if (n >= 512)
            assert_non_null(strstr(e.text, "offset"));
    }
    free(b.data);
}

/* GPUFEED_FUZZ_ROUNDS=100 looks a hundred times as long. */
static int rounds(int usual)
{
    const char *times = getenv("GPUFEED_FUZZ_ROUNDS");
    return usual * (times && atoi(times) > 0 ? atoi(times) : 1);
}

static uint32_t next_random(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

static void test_random_bytes(void **state)
{
    uint32_t x = 2463534242u;
    struct error e;
    unsigned char noise[8192];
    sample_whole(path);
    struct bytes b = load(path);
    for (int i = 0, n = rounds(40); i < n; i++) {
        for (size_t k = 0; k < sizeof(noise); k++)
            noise[k] = (unsigned char)next_random(&x);
        memcpy(noise, b.data, i % 3 ? 100 : 0);
        store(path, noise, sizeof(noise));
        assert_int_equal(read_any(&e), STATUS_INPUT);
    }
    int read_well = 0;
    for (int i = 0, n = rounds(300); i < n; i++) { /* some bytes of a real one changed */
        unsigned char *copy = malloc(b.size);
        memcpy(copy, b.data, b.size);
        for (int k = 0; k < 1 + i % 8; k++)
            copy[next_random(&x) % b.size] = (unsigned char)next_random(&x);
        store(path, copy, b.size);
        read_well += read_any(&e) == STATUS_OK;
        free(copy);
    }
    assert_true(read_well > 0 && read_well < rounds(300));
    free(b.data);
}

/* Changed bytes in the log of a recording that was cut short: what was checked is used. */
static void test_damaged_log(void **state)
{
    uint32_t x = 88172645u;
    struct error e;
    struct record *r = sample_begin(path);
    struct bytes main_file = load(path), log = load(wal);
    record_close(r);
    assert_true(log.size > 4096);
    for (int i = 0, n = rounds(150); i < n; i++) {
        unsigned char *copy = malloc(log.size);
        memcpy(copy, log.data, log.size);
        copy[next_random(&x) % log.size] ^= (unsigned char)(1 + next_random(&x) % 255);
        store(path, main_file.data, main_file.size);
        store(wal, copy, i % 4 ? log.size : next_random(&x) % log.size);
        int status = read_any(&e);
        assert_true(status == STATUS_OK || status == STATUS_INPUT);
        free(copy);
    }
    free(main_file.data);
    free(log.data);
}

/* Every allocation of ours fails once, and SQLite's memory runs out at every size. */
static void test_no_memory(void **state)
{
    struct error e;
    sample_whole(path);
    int failed = 0, status = STATUS_MEMORY;
    for (long n = 0; status; n++) {
        mem_fail_after(n);
        status = read_any(&e);
        mem_fail_after(-1);
        if (status) {
            if (status != STATUS_MEMORY)
                fail_msg("allocation %ld: %s", n, e.text);
            failed++;
        }
    }
    assert_true(failed > 50);
}

/* In a child, so that the limit is its own. */
static void test_no_memory_in_sqlite(void **state)
{
    sample_whole(path);
    pid_t child = fork();
    if (!child) {
        int failed = 0;
        for (sqlite3_int64 limit = 20000; limit < 2000000; limit += 40000) {
            struct report r;
            struct error e = {0};
            sqlite3_hard_heap_limit64(limit);
            int status = record_report(path, &options, &r, &e);
            if (!status)
                report_clear(&r);
            failed += status != STATUS_OK;
            if (status && status != STATUS_MEMORY)
                _exit(2);
        }
        _exit(failed > 1 && failed < 45 ? 0 : 3);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_absent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_first_format, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_altered_schema, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_added_objects, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hostile_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_extreme_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truncated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_random_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory_in_sqlite, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
