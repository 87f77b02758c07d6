/* SPDX-License-Identifier: MIT */
/* Quantities as texts. */
#include "base/unit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_si(void **state)
{
    char buf[32];
    assert_string_equal(unit_format_si(buf, sizeof(buf), 400e9, "bit/s"), "400 Gb/s");
    assert_string_equal(unit_format_si(buf, sizeof(buf), 2.5e9, "bit/s"), "2.5 Gb/s");
    assert_string_equal(unit_format_si(buf, sizeof(buf), 1.98e9, "Hz"), "1.98 GHz");
    assert_string_equal(unit_format_si(buf, sizeof(buf), 0, "Hz"), "0 Hz");
    assert_string_equal(unit_format_si(buf, sizeof(buf), 999, "Hz"), "999 Hz");
    assert_null(unit_format_si(buf, sizeof(buf), 1, "bytes"));
    assert_null(unit_format_si(buf, sizeof(buf), -1, "Hz"));
    assert_null(unit_format_si(buf, sizeof(buf), NAN, "Hz"));
    assert_null(unit_format_si(buf, sizeof(buf), INFINITY, "bit/s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_si),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
