/* SPDX-License-Identifier: MIT */
/* Sums of collectives: more names than are kept apart do not take what is known away from its name. */
#include "import/collective.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

static void group_is(const char *ranks, int64_t size, const char *name, const char *words,
                     const char *want)
{
    char text[160];
    collective_group(ranks, size, name, words, text, sizeof(text));
    assert_string_equal(text, want);
}

static void groups_in_words(void **state)
{
    char many[4000] = "[0", *at = many + 2;
    (void)state;
    group_is("", 0, "", "", "");
    group_is("", 8, "", "", "");
    group_is("", 8, "2", "undefined", "8 ranks (group 2)");
    group_is("[0, 1, 2, 3]", 4, "0", "default_pg", "ranks 0-3 (default_pg)");
    group_is("0,8,16", 3, "4", "", "ranks 0,8,16 (group 4)");
    group_is("[5]", 1, "", "", "rank 5");
    group_is("[0, 1, 2, ...]", 512, "0", "default_pg", "512 ranks from 0 on (default_pg)");
    group_is("[0, 1, 2, ...]", 0, "", "", "");
    group_is("no numbers", 0, "x", "", "");
    group_is("[99999999999999999999999, 3]", 2, "", "", "ranks 99999999999999999999999, 3");
    for (int i = 1; i < 64; i++)
        at += snprintf(at, 20, ", %d", i * 8);
    group_is(many, 64, "9", "tp", "64 ranks from 0 to 504 (tp)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_names_keep_their_sums),
                                       cmocka_unit_test(groups_in_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
