/* SPDX-License-Identifier: MIT */
/* What is said of files that may not be ranks of one job. */
#include "import/same_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define FILE_OF(number, ...)                                                                       \
    {                                                                                              \
        .path = "a", .tool = "PyTorch profiler", .rank = number, __VA_ARGS__                       \
    }

/* needle NULL: nothing may be said. */
static void said(const struct same_job_file *a, const struct same_job_file *b, const char *needle)
{
    struct str line = {0};
    bool any = same_job_line(a, 1, b, &line);
    assert_int_equal(any, needle != NULL);
    if (needle && !strstr(str_text(&line), needle))
        fail_msg("%s", str_text(&line));
    assert_null(strchr(str_text(&line), '\n'));
    str_clear(&line);
}

static void ranks_of_one_job_need_no_words(void **state)
{
    struct same_job_file a = FILE_OF(0, .world = 2, .clocked = true, .t0 = 5, .t1 = 9);
    struct same_job_file b = FILE_OF(1, .world = 2, .clocked = true, .t0 = 6, .t1 = 10);
    (void)state;
    said(&a, &b, NULL);
    a.rank = b.rank = -1; /* nodes may number their processes alike */
    a.pid[a.pids++] = b.pid[b.pids++] = 40;
    said(&a, &b, NULL);
}

static void one_rank_twice(void **state)
{
    struct same_job_file a = FILE_OF(1, .world = 2), b = FILE_OF(1, .world = 0);
    (void)state;
    said(&a, &b, "the same rank twice");
    b.moved = true;
    said(&a, &b, "at another time");
}

static void jobs_of_two_sizes(void **state)
{
    struct same_job_file a = FILE_OF(1, .world = 2), b = FILE_OF(1, .world = 1);
    (void)state;
    said(&a, &b, "its job has 1 rank, that of \"a\" 2: they are not one job");
}

static void another_tool(void **state)
{
    struct same_job_file a =
        FILE_OF(1, .clocked = true, .t0 = 5, .t1 = 9, .pid = {1, 40}, .pids = 2);
    struct same_job_file b =
        FILE_OF(-1, .clocked = true, .t0 = 6, .t1 = 10, .pid = {1, 41}, .pids = 2);
    (void)state;
    b.tool = "Nsight Systems";
    said(&a, &b, NULL); /* another process */
    b.pid[1] = 40;
    said(&a, &b, "process 40 at the same time as \"a\"");
    b.clocked = false;
    said(&a, &b,
         "nothing tells that it is another rank of the same job: both show one process number");
    b.pid[1] = 41;
    said(&a, &b, "nothing tells that it is another rank");
    b.rank = 2;
    said(&a, &b, NULL);
}

static void hosts_tell_processes_apart(void **state)
{
    struct same_job_file a =
        FILE_OF(-1, .clocked = true, .t0 = 5, .t1 = 9, .host = "n1", .pid = {40}, .pids = 1);
    struct same_job_file b =
        FILE_OF(-1, .clocked = true, .t0 = 6, .t1 = 10, .host = "n2", .pid = {40}, .pids = 1);
    (void)state;
    said(&a, &b, NULL);
    b.tool = "Nsight Systems";
    said(&a, &b, NULL);
    memcpy(b.host, a.host, sizeof(b.host));
    said(&a, &b, "by another tool: the same rank twice");
    b.tool = a.tool;
    said(&a, &b, "process 40 at the same time as \"a\": the same rank twice");
}

static void a_copy(void **state)
{
    struct same_job_file a = FILE_OF(-1, .clocked = true, .t0 = 5, .t1 = 9), b = a;
    (void)state;
    said(&a, &b, "a copy of it?");
    b.clocked = false;
    said(&a, &b, NULL);
}

static void another_time(void **state)
{
    struct same_job_file a = FILE_OF(-1, .clocked = true, .t0 = 5, .t1 = 9);
    struct same_job_file b = FILE_OF(-1, .clocked = true, .t0 = 60, .t1 = 70, .moved = true);
    (void)state;
    said(&a, &b, "at another time");
    b.tool = "Nsight Systems";
    said(&a, &b, "at another time");
    b.clocked = false; /* moved, since nobody knows */
    said(&a, &b, "nothing tells");
    b.tool = a.tool;
    said(&a, &b, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_one_job_need_no_words),
        cmocka_unit_test(one_rank_twice),
        cmocka_unit_test(jobs_of_two_sizes),
        cmocka_unit_test(another_tool),
        cmocka_unit_test(another_time),
        cmocka_unit_test(hosts_tell_processes_apart),
        cmocka_unit_test(a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
