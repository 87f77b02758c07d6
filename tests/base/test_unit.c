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

/* On either side of 64 bits of product, the whole exactly, always rounded down. */
static void test_part(void **state)
{
    const int64_t day = 86400 * NS_PER_S;

    assert_int_equal(unit_part(10, 0, 3), 0);
    assert_int_equal(unit_part(10, 1, 3), 3);
    assert_int_equal(unit_part(10, 3, 3), 10);
    assert_int_equal(unit_part(day, day - 1, day), day - 1);
    assert_int_equal(unit_part(365 * day, 100 * day, 365 * day), 100 * day);
    assert_int_equal(unit_part(INT64_MAX, INT64_MAX, INT64_MAX), INT64_MAX);
    assert_int_equal(unit_part(INT64_MAX, INT64_MAX - 1, INT64_MAX), INT64_MAX - 1);
    assert_int_equal(unit_part(INT64_C(1) << 32, INT64_C(1) << 32, INT64_C(1) << 33), INT64_C(1)
                                                                                          << 31);
}

/* Something is never told as nothing. */
static void test_money(void **state)
{
    char buf[32];
    assert_string_equal(unit_format_money(buf, sizeof(buf), 11.476, "EUR"), "€ 11.48");
    assert_string_equal(unit_format_money(buf, sizeof(buf), 0.0137, "USD"), "$ 0.0137");
    assert_string_equal(unit_format_money(buf, sizeof(buf), 0, "EUR"), "€ 0.00");
    assert_string_equal(unit_format_money(buf, sizeof(buf), 0.00006, "EUR"), "€ 0.0001");
    assert_string_equal(unit_format_money(buf, sizeof(buf), 0.00004, "EUR"), "< € 0.0001");
    assert_string_equal(unit_format_money(buf, sizeof(buf), 1e-300, "CHF"), "< CHF 0.0001");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_money),
        cmocka_unit_test(test_si),
        cmocka_unit_test(test_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
