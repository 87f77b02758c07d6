/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"
#include "cmd/options.h"


static const char help_text[] =
    "usage: gpufeed report FILE [options]\n"
    "\n"
    "Prints the report of a recording.\n"
    "\n"
    "      --json           as JSON (gpufeed.report/1, doc/report.schema.json)\n"
    "      --html FILE      write one self-contained HTML page to FILE\n"
    "      --chains         print the longest wait chains, link by link\n"
    "      --price AMOUNT   what the machine costs per hour\n"
    "      --currency CODE  of the price (default: EUR)\n"
    "      --rules DIR      more rules, or others of the same name\n"
    "      --fail-on LEVEL  exit 1 if a finding is info, warning or critical, or worse\n"
    "\n"
    "Exit code: 0 done, 1 findings at or above --fail-on, 2 the file is not a recording.\n"
    "\n"
    "examples:\n"
    "  gpufeed report job.gpufeed --price 28\n"
    "  gpufeed report job.gpufeed --json | jq .verdict\n"
    "  gpufeed report job.gpufeed --html job.html\n";

static const struct option long_options[] = {SHOW_OPTIONS, {"help", no_argument, NULL, 'h'}, {0}};

static int report(int argc, char **argv)
{
    struct show_options o;
    int code = options_parse(&cmd_report, argc, argv, ":h", long_options, &o, NULL, NULL);
    if (code >= 0)
        return code;
    if (optind + 1 != argc)
        return cmd_usage(&cmd_report, optind == argc ? "which recording?" : "one recording at a time");
    o.quiet = o.html && !o.json && !o.chains;
    return show_recording(&cmd_report, argv[optind], &o, stdout);
}

const struct command cmd_report = {"report", "print the report of a recording", help_text, report};
