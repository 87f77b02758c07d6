/* SPDX-License-Identifier: MIT */
/* render VIEW FACE [WIDTH] [colour] [ascii]: prints a made-up view, for tests and screenshots.
 * A view BEFORE..AFTER has the faces text and json of a diff. */
#include "fixture.h"

#include "report/chains.h"
#include "report/diff.h"
#include "report/html.h"
#include "report/json.h"
#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void)
{
    fputs("usage: render VIEW[..VIEW] text|json|html|chains [WIDTH] [colour] [ascii]\n", stderr);
    return 2;
}

static bool render(const char *view, const char *face, const struct report_text_options *o,
                   struct str *out)
{
    struct report r;
    bool known = true;
    if (!fixture_make(view, &r))
        return false;
    if (!strcmp(face, "text"))
        report_text(&r, o, out);
    else if (!strcmp(face, "chains"))
        report_chains(&r, o, out);
    else if (!strcmp(face, "html"))
        report_html(&r, out);
    else if (!strcmp(face, "json"))
        report_json(&r, out);
    else
        known = false;
    report_clear(&r);
    return known;
}

static bool render_diff(const char *before, const char *after, const char *face,
                        const struct report_text_options *o, struct str *out)
{
    struct report b, a;
    struct diff d;
    if (!fixture_make(before, &b) || !fixture_make(after, &a) || diff_make(&b, &a, &d, NULL))
        return false;
    if (!strcmp(face, "json"))
        report_diff_json(&d, out);
    else
        report_diff_text(&d, o, out);
    diff_clear(&d);
    report_clear(&b);
    report_clear(&a);
    return true;
}

int main(int argc, char **argv)
{
    struct report_text_options o = {.unicode = true};
    struct str out = {0};
    if (argc < 3)
        return usage();
    for (int i = 3; i < argc; i++) {
        o.colour |= !strcmp(argv[i], "colour");
        o.unicode &= strcmp(argv[i], "ascii") != 0;
        if (atoi(argv[i]) > 0)
            o.width = atoi(argv[i]);
    }
    char *dots = strstr(argv[1], "..");
    if (dots)
        *dots = '\0';
    bool known = dots ? render_diff(argv[1], dots + 2, argv[2], &o, &out)
                      : render(argv[1], argv[2], &o, &out);
    if (!known)
        return usage();
    fputs(str_text(&out), stdout);
    bool failed = out.failed;
    str_clear(&out);
    return failed;
}
