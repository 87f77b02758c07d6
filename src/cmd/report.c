/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "import/import.h"

#include <unistd.h>

static const char help_text[] =
    "usage: gpufeed report FILE... [options]\n"
    "\n"
    "Prints the report of a recording, or of what another tool recorded: a trace of\n"
    "the PyTorch profiler (.json, .json.gz) or an export of Nsight Systems (.sqlite).\n"
    "What a file is, its content says. Several such files are the ranks of one job.\n"
    "It reads debug logs of NCCL and RCCL, dumps of PyTorch's flight recorder, JSON\n"
    "of NCCL RAS and Inspector, and scrapes of Prometheus exporters, too.\n"
    "\n"
    "      --json           as JSON (gpufeed.report/1, doc/report.schema.json)\n"
    "      --html FILE      write one self-contained HTML page to FILE (-: to stdout)\n"
    "      --chains         print the longest wait chains, link by link\n"
    "      --price AMOUNT   what the machine costs per hour (default: what run was\n"
    "                       told)\n"
    "      --currency CODE  of the price (default: what run was told, else EUR)\n"
    "      --rules DIR      more rules, or others of the same name\n"
    "      --fail-on LEVEL  exit 1 if a finding is info, warning or critical, or\n"
    "                       worse\n"
    "\n"
    "Exit code: 0 done, 1 findings at or above --fail-on, 2 a file cannot be read as\n"
    "any of these.\n"
    "\n"
    "examples:\n"
    "  gpufeed report job.gpufeed --price 28\n"
    "  gpufeed report job.gpufeed --json | jq .verdict\n"
    "  gpufeed report job.gpufeed --html job.html\n"
    "  gpufeed report trace.json.gz\n"
    "  gpufeed report profile.sqlite\n"
    "  gpufeed report rank*.json.gz --price 98\n"
    "  gpufeed report nccl-*.log\n"
    "  gpufeed report /tmp/nccl_trace_rank_*\n"
    "  gpufeed report before.prom after.prom\n";

static const struct option long_options[] = {SHOW_OPTIONS, {"help", no_argument, NULL, 'h'}, {0}};

static int show_files(char *const *paths, size_t count, const struct show_options *o)
{
    size_t foreign = 0;
    const char *recording = NULL;
    struct error e = {0};
    for (size_t i = 0; i < count; i++) {
        enum import_kind kind = import_look(paths[i], &e);
        foreign += kind == IMPORT_FOREIGN;
        recording = kind == IMPORT_RECORDING ? paths[i] : recording;
        if (kind == IMPORT_UNKNOWN)
            return cmd_fail(&cmd_report, &e);
    }
    if (foreign == count)
        return show_foreign(&cmd_report, paths, count, o, stdout);
    if (count > 1) {
        error_set(&e, STATUS_INPUT,
                  "\"%s\" is a recording: it is read alone, not together with other files",
                  recording);
        return cmd_fail(&cmd_report, &e);
    }
    return show_recording(&cmd_report, paths[0], o, stdout);
}

static int report(int argc, char **argv)
{
    struct show_options o;
    int code = options_parse(&cmd_report, argc, argv, ":h", long_options, &o, NULL, NULL);
    if (code >= 0)
        return code;
    if (optind == argc)
        return cmd_usage(&cmd_report, "which recording?");
    for (int i = optind; i < argc; i++)
        if (show_is_stdout(argv[i]) && access(argv[i], F_OK)) /* a file may be called so */
            return cmd_usage(&cmd_report, "it reads files, not the standard input: which one?");
    o.quiet = o.html && !o.json && !o.chains;
    const char *clash = show_clash(&o, true);
    if (clash)
        return cmd_usage(&cmd_report, "%s", clash);
    return show_files(argv + optind, (size_t)(argc - optind), &o);
}

const struct command cmd_report = {"report", "print the report of a recording", help_text, report};
