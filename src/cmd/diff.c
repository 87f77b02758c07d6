/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "record/diff.h"
#include "cmd/show.h"
#include "report/diff.h"

static const char help_text[] =
    "usage: gpufeed diff BEFORE AFTER [options]\n"
    "\n"
    "Compares two recordings, or two files of another tool that report reads: what\n"
    "became of the waits, the findings and the money.\n"
    "\n"
    "      --json           as JSON (gpufeed.diff/1, doc/diff.schema.json)\n"
    "      --price AMOUNT   what the machine costs per hour\n"
    "      --currency CODE  of the price (default: EUR)\n"
    "      --rules DIR      more rules, or others of the same name\n"
    "\n"
    "Exit code: 0 done, 2 a file cannot be read as any of these.\n"
    "\n"
    "examples:\n"
    "  gpufeed diff before.gpufeed after.gpufeed --price 28\n"
    "  gpufeed diff before.gpufeed after.gpufeed --json | jq .speedup\n"
    "  gpufeed diff before.json.gz after.json.gz\n";

static const struct option long_options[] = {{"price", required_argument, NULL, SHOW_PRICE},
                                             {"currency", required_argument, NULL, SHOW_CURRENCY},
                                             {"rules", required_argument, NULL, SHOW_RULES},
                                             {"json", no_argument, NULL, SHOW_JSON},
                                             {"help", no_argument, NULL, 'h'},
                                             {0}};

static int show(const struct show_options *o, const struct report *before,
                const struct report *after)
{
    struct error e = {0};
    struct diff d;
    struct str out = {0};
    if (diff_make(before, after, &d, &e))
        return cmd_fail(&cmd_diff, &e);
    if (o->json) {
        report_diff_json(&d, &out);
    } else {
        struct report_text_options to = show_text_options(o, stdout);
        report_diff_text(&d, &to, &out);
    }
    int rc = show_write(&out, NULL, stdout, &e);
    diff_clear(&d);
    str_clear(&out);
    return rc ? cmd_fail(&cmd_diff, &e) : EXIT_DONE;
}

static int compare(const struct show_options *o, char *const *path)
{
    struct error e = {0};
    struct report before, after;
    if (show_load(path[0], o, &before, &e))
        return cmd_fail(&cmd_diff, &e);
    int code = EXIT_DONE;
    if (show_load(path[1], o, &after, &e)) {
        code = cmd_fail(&cmd_diff, &e);
    } else {
        code = show(o, &before, &after);
        report_clear(&after);
    }
    report_clear(&before);
    return code;
}

static int diff(int argc, char **argv)
{
    struct show_options o;
    int code = options_parse(&cmd_diff, argc, argv, ":h", long_options, &o, NULL, NULL);
    if (code >= 0)
        return code;
    if (optind + 2 != argc)
        return cmd_usage(&cmd_diff, "it compares two recordings: BEFORE and AFTER");
    return compare(&o, argv + optind);
}

const struct command cmd_diff = {"diff", "compare two recordings", help_text, diff};
