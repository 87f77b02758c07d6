/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include "base/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUCH (96 * MIB)
#define LITTLE (64 * MIB)
#define AGAIN "--peak-is-little"

static void hold(size_t bytes)
{
    volatile char *p = malloc(bytes);
    assert_non_null(p);
    for (size_t i = 0; i < bytes; i += 4 * KIB)
        p[i] = 1;
    free((void *)p);
}

static void the_peak_counts_what_was_freed(void **state)
{
    double before = mem_peak_bytes();
    (void)state;
    assert_true(before > 0);
    hold(MUCH);
    assert_true(mem_peak_bytes() > (double)MUCH);
}

static void the_peak_is_not_that_of_who_started_us(void **state)
{
    int status;
    (void)state;
    hold(MUCH);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test_mem", AGAIN, (char *)NULL);
        _exit(2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], AGAIN))
        return mem_peak_bytes() < (double)LITTLE ? 0 : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_counts_what_was_freed),
        cmocka_unit_test(the_peak_is_not_that_of_who_started_us),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
