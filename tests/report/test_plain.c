/* SPDX-License-Identifier: MIT */
#include "report/plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_plain(const char *text, bool unicode, const char *want)
{
    struct str s = {0};
    plain_add(&s, text, unicode);
    assert_string_equal(str_text(&s), want);
    str_clear(&s);
}

static void control_characters_never_pass(void **state)
{
    expect_plain("a\033[31mb", false, "a?[31mb");
    expect_plain("a\033[31mb", true, "a\xef\xbf\xbd[31mb");
    expect_plain("line\r\nbreak\ttab", false, "line  break tab");
    expect_plain("c1 \xc2\x9b"
                 "31m",
                 false, "c1 ?31m"); /* CSI as one code point */
    expect_plain("del\x7f", false, "del?");
    expect_plain("\xe2\x80\xae"
                 "cod.exe",
                 false, "?cod.exe"); /* right-to-left override */
    expect_plain("zero\xe2\x80\x8bwidth", true, "zero\xef\xbf\xbdwidth");
    expect_plain("\xef\xbb\xbf"
                 "bom",
                 true,
                 "\xef\xbf\xbd"
                 "bom");
}

static void invalid_utf8_is_replaced_byte_by_byte(void **state)
{
    expect_plain("\xff\xfe", false, "??");
    expect_plain("\xc0\xaf", false, "??");           /* overlong slash */
    expect_plain("\xe0\x80\xaf", false, "???");      /* overlong */
    expect_plain("\xed\xa0\x80", false, "???");      /* surrogate */
    expect_plain("\xf4\x90\x80\x80", false, "????"); /* beyond U+10FFFF */
    expect_plain("cut \xe2\x82", true, "cut \xef\xbf\xbd\xef\xbf\xbd");
}

static void ascii_spells_signs_out(void **state)
{
    expect_plain("€ 4 · 2 × a → b … ≤ µs", false, "EUR 4 - 2 x a -> b ... <= us");
    expect_plain("é", false, "?");
    expect_plain("é", true, "é");
}

static void every_byte_pair_is_made_safe(void **state)
{
    for (int a = 1; a < 256; a++)
        for (int b = 1; b < 256; b++) {
            char text[] = {(char)a, (char)b, 0};
            struct str s = {0};
            plain_add(&s, text, false);
            for (size_t i = 0; i < s.len; i++)
                assert_in_range((unsigned char)s.data[i], 0x20, 0x7e);
            str_clear(&s);
        }
}

static void width_counts_columns(void **state)
{
    assert_int_equal(plain_width("abc"), 3);
    assert_int_equal(plain_width("é€×"), 3);
    assert_int_equal(plain_width("データ"), 6);
    assert_int_equal(plain_width("e\xcc\x81"), 1); /* combining acute */
}

static void expect_fit(const char *text, int columns, enum plain_cut cut, const char *want)
{
    struct str s = {0};
    int width = plain_fit(&s, text, columns, true, cut);
    assert_string_equal(str_text(&s), want);
    assert_int_equal(width, plain_width(want));
    str_clear(&s);
}

static void fit_cuts_with_an_ellipsis(void **state)
{
    expect_fit("short", 5, PLAIN_CUT_END, "short");
    expect_fit("longer", 5, PLAIN_CUT_END, "long…");
    expect_fit("/a/long/path/x.jpg", 9, PLAIN_CUT_MIDDLE, "/a/l….jpg");
    expect_fit("データ", 5, PLAIN_CUT_END, "デー…");
    expect_fit("ab", 1, PLAIN_CUT_END, "…");
    expect_fit("ab", 0, PLAIN_CUT_END, "");
}

static void fit_never_exceeds_its_columns(void **state)
{
    const char *const texts[] = {"", "a", "aデbータc", "\033\xff\xfe", "ééééééééé", "データデータ"};
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
        for (int columns = 0; columns < 16; columns++)
            for (int mode = 0; mode < 4; mode++) {
                struct str s = {0};
                int width = plain_fit(&s, texts[t], columns, mode & 1,
                                      mode & 2 ? PLAIN_CUT_MIDDLE : PLAIN_CUT_END);
                assert_true(plain_width(str_text(&s)) <= columns);
                assert_int_equal(width, plain_width(str_text(&s)));
                str_clear(&s);
            }
}

static void expect_wrap(const char *text, int width, int lines, const char *want)
{
    struct plain_block b = {.first = "* ",
                            .next = "  ",
                            .width = width,
                            .lines = lines,
                            .unicode = true,
                            .on = "",
                            .off = ""};
    struct str s = {0};
    int made = plain_wrap(&s, text, &b);
    assert_string_equal(str_text(&s), want);
    int newlines = 0;
    for (const char *p = str_text(&s); *p; p++)
        newlines += *p == '\n';
    assert_int_equal(made, newlines);
    assert_true(made <= lines);
    str_clear(&s);
}

static void wrap_breaks_at_spaces(void **state)
{
    expect_wrap("one two three four", 11, 9, "* one two\n  three\n  four\n");
    expect_wrap("one two three four", 11, 2, "* one two\n  three fo…\n");
    expect_wrap("unbreakable", 7, 9, "* unbre\n  akabl\n  e\n");
    expect_wrap("a\nb", 20, 9, "* a\n  b\n");
    expect_wrap("a\nb", 20, 1, "* a …\n");
    expect_wrap("", 20, 9, "");
}

static void wrap_keeps_figures_together(void **state)
{
    expect_wrap("costs € 10.99", 11, 9, "* costs\n  € 10.99\n");
    expect_wrap("about 55 % of", 11, 9, "* about\n  55 % of\n");
    expect_wrap("costs EUR 10.99", 13, 9, "* costs\n  EUR 10.99\n");
    expect_wrap("the BBC 10 times", 11, 9, "* the\n  BBC 10\n  times\n");
    expect_wrap("took 371 s", 10, 9, "* took\n  371 s\n");
    expect_wrap("took 371 ms", 10, 9, "* took\n  371 ms\n");
    expect_wrap("has 3 sheep", 8, 9, "* has 3\n  sheep\n"); /* no unit */
}

static void code_points_come_out_whole(void **state)
{
    const char *p = "a€\xff𝄞";
    assert_int_equal(plain_next(&p), 'a');
    assert_int_equal(plain_next(&p), 0x20ac);
    assert_int_equal(plain_next(&p), PLAIN_INVALID);
    assert_int_equal(plain_next(&p), 0x1d11e);
    assert_int_equal(*p, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_never_pass),
        cmocka_unit_test(invalid_utf8_is_replaced_byte_by_byte),
        cmocka_unit_test(ascii_spells_signs_out),
        cmocka_unit_test(every_byte_pair_is_made_safe),
        cmocka_unit_test(width_counts_columns),
        cmocka_unit_test(fit_cuts_with_an_ellipsis),
        cmocka_unit_test(fit_never_exceeds_its_columns),
        cmocka_unit_test(wrap_breaks_at_spaces),
        cmocka_unit_test(wrap_keeps_figures_together),
        cmocka_unit_test(code_points_come_out_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
