/* SPDX-License-Identifier: MIT */
/* Numbers as JSON text. */
#include "base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void written(double v, const char *want)
{
    struct str out = {0};
    struct json j;
    json_init(&j, &out);
    json_number(&j, v);
    assert_string_equal(str_text(&out), want);
    if (isfinite(v))
        assert_true(strtod(str_text(&out), NULL) == v);
    str_clear(&out);
}

/* Bytes and counts are read as integers by readers that tell them from fractions. */
static void whole_numbers(void **state)
{
    (void)state;
    written(24309760, "24309760");
    written(1e6, "1000000");
    written(123456789012345, "123456789012345");
    written(-2e9, "-2000000000");
    written(0, "0");
    written(-0.0, "0");
}

static void fractions(void **state)
{
    (void)state;
    written(0.1, "0.1");
    written(1.0 / 3, "0.3333333333333333");
    written(1e300, "1e+300");
    written(NAN, "null");
    written(INFINITY, "null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_numbers),
                                       cmocka_unit_test(fractions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
