/* SPDX-License-Identifier: MIT */
/* Every renderer on every made-up view: memory, size, safety. */
#include "report/chains.h"
#include "report/diff.h"
#include "report/html.h"
#include "report/json.h"
#include "report/text.h"

#include "base/mem.h"
#include "fixture.h"
#include "report/plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum face { FACE_TEXT, FACE_COLOUR, FACE_CHAINS, FACE_JSON, FACE_HTML, FACE_COUNT };

static void render(const struct report *r, enum face face, int width, struct str *out)
{
    struct report_text_options o = {
        .colour = face == FACE_COLOUR, .unicode = width % 40, .width = width};
    if (face == FACE_TEXT || face == FACE_COLOUR)
        report_text(r, &o, out);
    else if (face == FACE_CHAINS)
        report_chains(r, &o, out);
    else if (face == FACE_JSON)
        report_json(r, out);
    else
        report_html(r, out);
}

/* The n-th allocation fails, for all n: the renderer says so, and nothing leaks or breaks. */
static void every_failing_allocation_is_reported(void **state)
{
    for (int i = 0; fixture_names[i]; i++)
        for (int face = 0; face < FACE_COUNT; face++) {
            struct report r;
            assert_true(fixture_make(fixture_names[i], &r));
            struct str whole = {0};
            render(&r, face, 100, &whole);
            assert_false(whole.failed);
            /* beyond the first few hundred, every seventh */
            for (long n = 0;; n += n < 200 ? 1 : 7) {
                struct str out = {0};
                mem_fail_after(n);
                render(&r, face, 100, &out);
                mem_fail_after(-1);
                bool failed = out.failed;
                if (!failed)
                    assert_string_equal(str_text(&out), str_text(&whole));
                str_clear(&out);
                if (!failed)
                    break;
            }
            str_clear(&whole);
            report_clear(&r);
        }
}

static void diffs_survive_failing_allocations(void **state)
{
    for (int i = 0; fixture_names[i]; i++)
        for (int json = 0; json < 2; json++) {
            struct report before, after;
            struct diff d;
            struct report_text_options o = {.unicode = true, .width = 100};
            bool failed = true;
            assert_true(fixture_make(fixture_names[i], &before));
            assert_true(fixture_make("starving", &after));
            assert_int_equal(diff_make(&before, &after, &d, NULL), 0);
            for (long n = 0; failed; n++) {
                struct str out = {0};
                mem_fail_after(n);
                if (json)
                    report_diff_json(&d, &out);
                else
                    report_diff_text(&d, &o, &out);
                mem_fail_after(-1);
                failed = out.failed;
                assert_true(n > 0 || failed);
                str_clear(&out);
            }
            diff_clear(&d);
            report_clear(&before);
            report_clear(&after);
        }
}

static void the_page_fits_the_screen(void **state)
{
    static const int widths[] = {40, 47, 60, 80, 100, 120, 160};
    for (int i = 0; fixture_names[i]; i++)
        for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
            struct report r;
            struct str out = {0};
            int lines = 0;
            assert_true(fixture_make(fixture_names[i], &r));
            render(&r, FACE_TEXT, widths[w], &out);
            for (char *line = out.data, *end; line && (end = strchr(line, '\n')); line = end + 1) {
                *end = '\0';
                lines++;
                if (plain_width(line) > widths[w])
                    fail_msg("%s at %d: %s", fixture_names[i], widths[w], line);
            }
            if (lines > (widths[w] < 60 ? 80 : 40))
                fail_msg("%s at %d: %d lines", fixture_names[i], widths[w], lines);
            str_clear(&out);
            report_clear(&r);
        }
}

/* Only line breaks and, with colour, our own escape sequences are control characters. */
static void hostile_names_stay_text(void **state)
{
    for (int face = 0; face < FACE_COUNT; face++) {
        struct report r;
        struct str out = {0};
        assert_true(fixture_make("hostile", &r));
        render(&r, face, 100, &out);
        const char *p = str_text(&out);
        while (*p) {
            const char *at = p;
            uint32_t code = plain_next(&p);
            assert_int_not_equal(code, PLAIN_INVALID);
            if (code == 033) {
                assert_int_equal(face, FACE_COLOUR);
                assert_true(!strncmp(at, "\033[0m", 4) || !strncmp(at, "\033[1m", 4) ||
                            !strncmp(at, "\033[2m", 4) || !strncmp(at, "\033[38;5;", 7) ||
                            !strncmp(at, "\033[1;38;5;", 9));
            } else if (code != '\n') {
                assert_false(plain_is_unsafe(code) && code != 0xfffd);
            }
        }
        assert_null(face == FACE_HTML ? strstr(str_text(&out), "<img") : NULL);
        str_clear(&out);
        report_clear(&r);
    }
}

static void colour_changes_nothing_but_escapes(void **state)
{
    for (int i = 0; fixture_names[i]; i++) {
        struct report r;
        struct str plain = {0}, colour = {0}, stripped = {0};
        assert_true(fixture_make(fixture_names[i], &r));
        struct report_text_options o = {.unicode = false, .width = 100};
        report_text(&r, &o, &plain);
        o.colour = true;
        report_text(&r, &o, &colour);
        for (const char *p = str_text(&colour); *p; p++) {
            if (*p == '\033') {
                p = strchr(p, 'm');
                assert_non_null(p);
            } else {
                str_addn(&stripped, p, 1);
            }
        }
        assert_string_equal(str_text(&plain), str_text(&stripped));
        assert_true(colour.len > plain.len);
        str_clear(&plain);
        str_clear(&colour);
        str_clear(&stripped);
        report_clear(&r);
    }
}

static void renderers_append(void **state)
{
    for (int face = 0; face < FACE_COUNT; face++) {
        struct report r;
        struct str once = {0}, twice = {0};
        assert_true(fixture_make("starving", &r));
        render(&r, face, 100, &once);
        render(&r, face, 100, &twice);
        render(&r, face, 100, &twice);
        assert_int_equal(twice.len, 2 * once.len);
        assert_memory_equal(twice.data + once.len, once.data, once.len);
        str_clear(&once);
        str_clear(&twice);
        report_clear(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_allocation_is_reported),
        cmocka_unit_test(diffs_survive_failing_allocations),
        cmocka_unit_test(the_page_fits_the_screen),
        cmocka_unit_test(hostile_names_stay_text),
        cmocka_unit_test(colour_changes_nothing_but_escapes),
        cmocka_unit_test(renderers_append),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
