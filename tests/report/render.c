/* SPDX-License-Identifier: MIT */
/* render VIEW FACE [WIDTH] [colour] [ascii]: prints a made-up view, for tests and screenshots. */
#include "fixture.h"

#include "report/chains.h"
#include "report/html.h"
#include "report/json.h"
#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void)
{
    fputs("usage: render VIEW text|json|html|chains [WIDTH] [colour] [ascii]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct report_text_options o = {.unicode = true};
    struct report r;
    struct str out = {0};
    if (argc < 3 || !fixture_make(argv[1], &r))
        return usage();
    for (int i = 3; i < argc; i++) {
        o.colour |= !strcmp(argv[i], "colour");
        o.unicode &= strcmp(argv[i], "ascii") != 0;
        if (atoi(argv[i]) > 0)
            o.width = atoi(argv[i]);
    }
    if (!strcmp(argv[2], "text"))
        report_text(&r, &o, &out);
    else if (!strcmp(argv[2], "chains"))
        report_chains(&r, &o, &out);
    else if (!strcmp(argv[2], "html"))
        report_html(&r, &out);
    else if (!strcmp(argv[2], "json"))
        report_json(&r, &out);
    else
        return usage();
    fputs(str_text(&out), stdout);
    bool failed = out.failed;
    str_clear(&out);
    report_clear(&r);
    return failed;
}
