/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "measure/survey.h"
#include "record/check.h"
#include "report/check.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char help_text[] =
    "usage: gpufeed check [options]\n"
    "\n"
    "Says what is wrong with this machine, or with a job on it, before or while it runs: disks,\n"
    "mounts, limits, cores, memory, GPUs, network. It only reads.\n"
    "\n"
    "  -p, --pid PID        look at this job too: its limits, open files, environment, workers\n"
    "      --root DIR       look at the files of another machine, kept below DIR\n"
    "      --interval TIME  watch counters for so long: 1, 500ms, 10s (default: 1s)\n"
    "      --json           as JSON (gpufeed.check/1, doc/check.schema.json)\n"
    "      --verbose        why each finding matters, which rules could not be judged, all facts\n"
    "      --rules DIR      more rules, or others of the same name\n"
    "      --fail-on LEVEL  exit 1 if a finding is info, warning or critical, or worse\n"
    "                       (default: warning)\n"
    "\n"
    "Exit code: 0 done, 1 findings at or above --fail-on, 2 bad usage or input.\n"
    "\n"
    "examples:\n"
    "  gpufeed check\n"
    "  gpufeed check -p $(pgrep -o -f train.py)\n"
    "  gpufeed check --json | jq '.findings[].title'\n";

enum { CHECK_ROOT = SHOW_LAST, CHECK_INTERVAL, CHECK_VERBOSE };

static const struct option long_options[] = {{"pid", required_argument, NULL, 'p'},
                                             {"root", required_argument, NULL, CHECK_ROOT},
                                             {"interval", required_argument, NULL, CHECK_INTERVAL},
                                             {"json", no_argument, NULL, SHOW_JSON},
                                             {"verbose", no_argument, NULL, CHECK_VERBOSE},
                                             {"rules", required_argument, NULL, SHOW_RULES},
                                             {"fail-on", required_argument, NULL, SHOW_FAIL_ON},
                                             {"help", no_argument, NULL, 'h'},
                                             {0}};

struct check_command {
    struct show_options show;
    const char *root;
    uint32_t pid;
    int64_t interval_ns;
    bool verbose;
};

static bool own_option(void *arg, int option, const char *value, const char **bad)
{
    struct check_command *o = arg;
    struct stat st;
    char *end;
    switch (option) {
    case 'p': {
        long long pid = strtoll(value, &end, 10);
        o->pid = (uint32_t)pid;
        if (*end || pid <= 0 || pid > INT32_MAX)
            *bad = "-p wants the number of a process";
        return true;
    }
    case CHECK_ROOT:
        o->root = value;
        if (stat(value, &st) || !S_ISDIR(st.st_mode))
            *bad = "--root wants a folder that holds another machine's files (proc, sys, ...)";
        return true;
    case CHECK_INTERVAL:
        o->interval_ns = unit_parse_ns(value);
        if (o->interval_ns < 0 || o->interval_ns > S_PER_HOUR * NS_PER_S)
            *bad = "--interval wants a time of at most an hour, such as 500ms or 10s";
        return true;
    case CHECK_VERBOSE:
        o->verbose = true;
        return true;
    default:
        return false;
    }
}

static char *what(const struct check_command *o, const struct survey *seen)
{
    struct str s = {0};
    if (seen->pid)
        str_addf(&s, "process %u", seen->pid);
    else
        str_add(&s, o->root ? "the machine" : "this machine");
    if (o->root)
        str_addf(&s, " of \"%s\"", o->root);
    char *text = s.failed ? NULL : mem_strdup(str_text(&s));
    str_clear(&s);
    return text;
}

struct keep {
    struct check *check;
    struct error e;
};

static int keep_fact(void *arg, const struct fact *fact)
{
    struct keep *k = arg;
    return check_fact(k->check, fact, &k->e);
}

static int look(const struct check_command *o, struct check_report *ret, struct error *e)
{
    struct keep k = {0};
    struct survey seen;
    struct survey_options so = {.root = o->root, .pid = o->pid, .interval_ns = o->interval_ns};
    struct check_options co = {.rules_dir = o->show.rules, .facts = o->verbose};
    int status = check_new(&k.check, e);
    if (status)
        return status;
    status = survey_run(&so, keep_fact, &k, &seen, e);
    if (k.e.status)
        *e = k.e;
    if (!status)
        status = check_run(k.check, &co, ret, e);
    check_free(k.check);
    if (status)
        return status;
    ret->interval_seconds = unit_seconds(seen.interval_ns);
    ret->what = what(o, &seen);
    return STATUS_OK;
}

static int show(const struct check_command *o, const struct check_report *r)
{
    struct str out = {0};
    struct error e = {0};
    struct report_check_options to = {show_text_options(&o->show, stdout), o->verbose};
    if (o->show.json)
        report_check_json(r, GPUFEED_VERSION, &out);
    else
        report_check_text(r, &to, &out);
    int rc = show_write(&out, NULL, stdout, &e);
    str_clear(&out);
    return rc ? cmd_fail(&cmd_check, &e) : EXIT_DONE;
}

static int check(int argc, char **argv)
{
    struct check_command o = {.interval_ns = NS_PER_S};
    struct check_report r;
    struct error e = {0};
    char path[64];
    int code = options_parse(&cmd_check, argc, argv, ":p:h", long_options, &o.show, own_option, &o);
    if (code >= 0)
        return code;
    if (optind < argc)
        return cmd_usage(&cmd_check, "what is \"%s\"? A job is named by -p PID", argv[optind]);
    snprintf(path, sizeof(path), "/proc/%u", o.pid);
    if (o.pid && !rootfs_exists(o.root, path))
        return cmd_usage(&cmd_check, "there is no process %u", o.pid);
    if (o.show.fail_on < 0)
        o.show.fail_on = SEVERITY_WARNING;
    if (look(&o, &r, &e))
        return cmd_fail(&cmd_check, &e);
    code = show(&o, &r);
    if (!code)
        code = show_exit_code(&r.found, o.show.fail_on);
    check_report_clear(&r);
    return code;
}

const struct command cmd_check = {"check", "say what is wrong with a machine or a job", help_text,
                                  check};
