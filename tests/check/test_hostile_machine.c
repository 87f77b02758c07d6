/* SPDX-License-Identifier: MIT */
/*
 * The files of a healthy node with a job, each replaced by something that no kernel writes: the sources
 * neither crash nor hang nor say what is not finite, and the rules run to their end. The same with
 * every allocation failing in its turn.
 */
#include "machine.h"

#include "base/mem.h"
#include "record/check.h"
#include "sense/sources.h"
#include "unit_test.h"

#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HUGE_BYTES (3u << 20)
#define SECONDS_MAX 60 /* after which it counts as hanging */

enum mutation { EMPTY, HUGE_TEXT, BINARY, NUMBERS, FOLDER, PIPE, MISSING, LOOP, MUTATIONS };
static enum mutation current;
static unsigned turn, stride;

static void write_bytes(const char *path, const char *bytes, size_t n, size_t times)
{
    static char buf[HUGE_BYTES];
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    for (size_t i = 0; i < times; i++)
        memcpy(buf + i * n, bytes, n);
    if (fd >= 0)
        assert_int_equal(write(fd, buf, n * times), (ssize_t)(n * times));
    if (fd >= 0)
        close(fd);
}

static int mutate(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    static const char binary[] = "\xff\xfe\0\x01\x80\n%s%n\n\r=:/\x7f-1\n";
    static const char numbers[] = "-9223372036854775809 1e999 nan 99999999999999999999 0x:\n";
    (void)st, (void)ftw;
    if (flag != FTW_F || turn++ % stride)
        return 0;
    if (current >= FOLDER)
        unlink(path);
    if (current == EMPTY)
        write_bytes(path, "", 0, 0);
    if (current == HUGE_TEXT)
        write_bytes(path, "7:A= ", 5, turn % 50 ? 4000 : HUGE_BYTES / 5);
    if (current == BINARY)
        write_bytes(path, binary, sizeof(binary) - 1, 3);
    if (current == NUMBERS)
        write_bytes(path, numbers, sizeof(numbers) - 1, 2);
    if (current == FOLDER)
        assert_int_equal(mkdir(path, 0755), 0);
    if (current == PIPE)
        assert_int_equal(mkfifo(path, 0644), 0);
    if (current == LOOP)
        assert_int_equal(symlink(path, path), 0);
    return 0;
}

static int keep(void *arg, const struct fact *f)
{
    assert_true(f->kind && f->subject && f->name && f->unit && f->source);
    assert_true(f->text ? f->text[0] != '\0' : isfinite(f->number));
    return check_fact(arg, f, NULL);
}

static void survey(const struct machine *m)
{
    static const struct check_options options = {0};
    struct check *c;
    struct check_report r;
    struct error e = {0};
    assert_int_equal(check_new(&c, NULL), 0);
    machine_facts(m, keep, c);
    if (check_run(c, &options, &r, &e))
        fail_msg("%s", e.text);
    if (r.found.note_count)
        fail_msg("%s", r.found.notes[0]);
    check_report_clear(&r);
    check_free(c);
}

/* All files, or every fifth, so that some of what belongs together stays. */
static void test_mutations(void **state)
{
    static const unsigned strides[] = {1, 5};
    for (int i = 0; i < MUTATIONS; i++)
        for (size_t k = 0; k < sizeof(strides) / sizeof(strides[0]); k++) {
            struct machine m;
            machine_make(&m, CASES, "h100-job.machine");
            current = (enum mutation)i;
            stride = strides[k];
            turn = 0;
            alarm(SECONDS_MAX);
            assert_int_equal(nftw(m.folder, mutate, 16, FTW_PHYS), 0);
            survey(&m);
            alarm(0);
            machine_clear(&m);
        }
}

static int count(void *arg, const struct fact *f)
{
    (void)f;
    ++*(size_t *)arg;
    return 0;
}

static void test_no_memory(void **state)
{
    struct machine m;
    char root[512];
    size_t all = 0;
    machine_make(&m, CASES, "h100-job.machine");
    snprintf(root, sizeof(root), "%s/first", m.folder);
    struct source_opts o = {.root = root, .pid = 4711};
    for (long n = 0; n < 400; n += 1 + n / 8) {
        struct sources s;
        size_t told = 0;
        mem_fail_after(n);
        sources_start(&s, &o, 0);
        sources_sample(&s, 1);
        sources_facts(&s, 2, count, &told);
        mem_fail_after(-1);
        sources_stop(&s);
        all = told > all ? told : all;
    }
    assert_true(all > 300);
    machine_clear(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
