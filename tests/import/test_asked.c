/* SPDX-License-Identifier: MIT */
/* Which call asked for which activity: the newest calls are found, equal numbers by time, old ones forgotten. */
#include "import/asked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void put(struct asked *a, uint32_t pid, uint32_t number, int64_t t0)
{
    struct launch l = {.key = asked_key(pid, number), .t0 = t0, .ns = 1, .thread = number & 7};
    assert_true(asked_put(a, &l));
}

static int64_t find(const struct asked *a, uint32_t pid, uint32_t number, int64_t t)
{
    const struct launch *l = asked_find(a, asked_key(pid, number), t);
    return l ? l->t0 : -1;
}

static void the_last_that_began_before(void **state)
{
    struct asked a = {0};
    (void)state;
    assert_int_equal(find(&a, 1, 1, 100), -1);
    put(&a, 1, 1, 10);
    put(&a, 1, 1, 20);
    put(&a, 2, 1, 15);
    put(&a, 1, 1, 30);
    assert_int_equal(find(&a, 1, 1, 9), -1);
    assert_int_equal(find(&a, 1, 1, 10), 10);
    assert_int_equal(find(&a, 1, 1, 29), 20);
    assert_int_equal(find(&a, 1, 1, 99), 30);
    assert_int_equal(find(&a, 2, 1, 99), 15);
    assert_int_equal(find(&a, 3, 1, 99), -1);
    asked_clear(&a);
}

/* Growing must not turn the order of equal numbers around, wherever they lie in the table. */
static void growing_keeps_the_order(void **state)
{
    (void)state;
    for (uint32_t first = 500; first < 530; first++) {
        struct asked a = {0};
        int64_t t = 0;
        for (uint32_t i = 0; i < 6000; i++) {
            put(&a, 1, first + i, t++);
            put(&a, 1, first + i % 40, t++);
        }
        assert_int_equal(find(&a, 1, first + 41, t), 82);
        assert_int_equal(find(&a, 1, first + 39, t), 11999 - 2 * ((5999 - 39) % 40));
        asked_clear(&a);
    }
}

static void memory_is_bounded_and_the_newest_stay(void **state)
{
    struct asked a = {0};
    const uint32_t many = 200000;
    (void)state;
    for (uint32_t i = 0; i < many; i++)
        for (uint32_t pid = 1; pid <= 8; pid++)
            put(&a, pid, i, i);
    assert_true(a.cap[0] + a.cap[1] <= 4 * ASKED_MAX);
    for (uint32_t i = many - (uint32_t)(ASKED_MAX / 8); i < many; i++)
        for (uint32_t pid = 1; pid <= 8; pid++)
            assert_int_equal(find(&a, pid, i, INT64_MAX), i);
    assert_int_equal(find(&a, 1, 5, INT64_MAX), -1);
    asked_clear(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_that_began_before),
        cmocka_unit_test(growing_keeps_the_order),
        cmocka_unit_test(memory_is_bounded_and_the_newest_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
