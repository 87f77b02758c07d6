/* SPDX-License-Identifier: MIT */
/* Sums of collectives: more names than are kept apart do not take what is known away from its name. */
#include "import/collective.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define KEPT 200 /* COLLECTIVES_MAX */

static void add(struct collectives *c, int number)
{
    char name[32];
    snprintf(name, sizeof(name), "collective %d", number);
    assert_true(collectives_add(c, name, "float", 2, 5));
}

static void known_names_keep_their_sums(void **state)
{
    struct collectives c = {0};
    (void)state;
    for (int i = 0; i < KEPT + 50; i++)
        add(&c, i);
    add(&c, 7);
    assert_int_equal(c.names.count, KEPT + 1);
    assert_string_equal(intern_text(&c.names, KEPT + 1), "other collectives");
    assert_int_equal(c.sum[7].count, 2);
    assert_int_equal(c.sum[7].bytes, 16);
    assert_int_equal(c.sum[KEPT].count, 50);
    assert_int_equal(c.sum[KEPT].ns, 250);
    collectives_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_names_keep_their_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
