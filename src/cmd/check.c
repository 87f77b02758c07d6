/* SPDX-License-Identifier: MIT */
#include "cmd/check_fix.h"
#include "cmd/check_look.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/say.h"
#include "import/machine.h"
#include "measure/dump.h"
#include "measure/survey.h"
#include "report/check.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help_text[] =
    "usage: gpufeed check [options]\n"
    "\n"
    "Says what is wrong with this machine, or with a job on it, before or while it\n"
    "runs: disks, mounts, limits, cores, memory, GPUs, network. It only reads;\n"
    "--apply and --undo change things.\n"
    "\n"
    "  -p, --pid PID        look at this job too: its limits, open files,\n"
    "                       environment, workers\n"
    "      --cgroup NAME    the same for the job in a control group: its folder in\n"
    "                       /sys/fs/cgroup\n"
    "      --data PATH      where the job will read its data (again: more places)\n"
    "      --nccl-log FILE  what NCCL or RCCL wrote with NCCL_DEBUG=INFO (again: more\n"
    "                       files)\n"
    "      --vm-size NAME   the size of this cloud machine, where gpufeed cannot tell\n"
    "      --dump FILE      write what was looked at as a tar archive, without\n"
    "                       secrets, names and addresses, for a bug report: --root\n"
    "                       reads it (-: to stdout, the findings then go to stderr)\n"
    "      --root WHERE     look at another machine's files: a folder with its proc\n"
    "                       and sys, or a tar archive (.tar, .tar.gz) such as --dump\n"
    "                       writes\n"
    "      --interval TIME  watch counters for so long: 1, 500ms, 10s (default: 1s,\n"
    "                       and 5s more where that shows a load that may pass)\n"
    "      --json           as JSON (gpufeed.check/1, doc/check.schema.json)\n"
    "      --verbose        why each finding matters, which rules could not be\n"
    "                       judged, all facts\n"
    "      --rules DIR      more rules, or others of the same name\n"
    "      --fail-on LEVEL  exit 1 if a finding is info, warning or critical, or\n"
    "                       worse (default: warning)\n"
    "      --fix            show what could be changed now, safely and so that it can\n"
    "                       be undone\n"
    "      --apply          with --fix: do it\n"
    "      --scratch TEXT   with --fix: mount empty disks,\n"
    "                       /dev/X[,/dev/Y...]:/FOLDER; disks that hold anything are\n"
    "                       left alone\n"
    "      --undo           take back what --fix --apply did, but for what was\n"
    "                       changed since\n"
    "      --journal FILE   what was changed (default: /var/lib/gpufeed/fix.journal)\n"
    "\n"
    "Exit code: 0 done, 1 findings at or above --fail-on (with --apply and --undo: a\n"
    "step failed), 2 bad usage or input, 4 not permitted.\n"
    "\n"
    "examples:\n"
    "  gpufeed check\n"
    "  gpufeed check -p $(pgrep -o -f train.py)\n"
    "  gpufeed check --data /mnt/share/imagenet --fix\n"
    "  gpufeed check --nccl-log nccl.rank0.log --nccl-log nccl.rank8.log\n"
    "  gpufeed check --json | jq '.findings[].title'\n";

enum {
    CHECK_ROOT = SHOW_LAST,
    CHECK_INTERVAL,
    CHECK_VERBOSE,
    CHECK_CGROUP,
    CHECK_DATA,
    CHECK_VM_SIZE,
    CHECK_FIX,
    CHECK_APPLY,
    CHECK_SCRATCH,
    CHECK_UNDO,
    CHECK_JOURNAL,
    CHECK_DUMP,
    CHECK_NCCL_LOG
};
#define DATA_MAX 16
#define LOGS_MAX 1024

static const struct option long_options[] = {{"pid", required_argument, NULL, 'p'},
                                             {"root", required_argument, NULL, CHECK_ROOT},
                                             {"interval", required_argument, NULL, CHECK_INTERVAL},
                                             {"json", no_argument, NULL, SHOW_JSON},
                                             {"verbose", no_argument, NULL, CHECK_VERBOSE},
                                             {"rules", required_argument, NULL, SHOW_RULES},
                                             {"fail-on", required_argument, NULL, SHOW_FAIL_ON},
                                             {"cgroup", required_argument, NULL, CHECK_CGROUP},
                                             {"data", required_argument, NULL, CHECK_DATA},
                                             {"vm-size", required_argument, NULL, CHECK_VM_SIZE},
                                             {"dump", required_argument, NULL, CHECK_DUMP},
                                             {"nccl-log", required_argument, NULL, CHECK_NCCL_LOG},
                                             {"fix", no_argument, NULL, CHECK_FIX},
                                             {"apply", no_argument, NULL, CHECK_APPLY},
                                             {"scratch", required_argument, NULL, CHECK_SCRATCH},
                                             {"undo", no_argument, NULL, CHECK_UNDO},
                                             {"journal", required_argument, NULL, CHECK_JOURNAL},
                                             {"help", no_argument, NULL, 'h'},
                                             {0}};

struct check_command {
    struct show_options show;
    const char *root, *cgroup, *vm_size, *dump;
    struct machine_files files;     /* of root */
    const char *data[DATA_MAX + 1]; /* NULL at the end */
    size_t data_count;
    const char *logs[LOGS_MAX];
    size_t log_count;
    uint32_t pid;
    int64_t interval_ns; /* as given; -1: a second, and longer where it must be */
    bool verbose, fix_shown, undo;
    struct check_fix fix;
};

static void add_data(struct check_command *o, const char *value, const char **bad)
{
    if (value[0] != '/')
        *bad = "--data wants a path that begins with /";
    else if (o->data_count == DATA_MAX)
        *bad = "--data was given too often";
    else
        o->data[o->data_count++] = value;
}

static void set_pid(struct check_command *o, const char *value, const char **bad)
{
    char *end;
    long long pid = strtoll(value, &end, 10);
    o->pid = (uint32_t)pid;
    if (*end || pid <= 0 || pid > INT32_MAX)
        *bad = "-p wants the number of a process";
}

/* Those of --fix and --undo. */
static bool fix_option(struct check_command *o, int option, const char *value)
{
    switch (option) {
    case CHECK_FIX:
        return o->fix_shown = true;
    case CHECK_APPLY:
        return o->fix.apply = true;
    case CHECK_SCRATCH:
        o->fix.scratch = value;
        return true;
    case CHECK_UNDO:
        return o->undo = true;
    case CHECK_JOURNAL:
        o->fix.journal = value;
        return true;
    default:
        return false;
    }
}

static bool own_option(void *arg, int option, const char *value, const char **bad)
{
    struct check_command *o = arg;
    switch (option) {
    case 'p':
        set_pid(o, value, bad);
        return true;
    case CHECK_ROOT:
        o->root = value;
        return true;
    case CHECK_INTERVAL:
        o->interval_ns = unit_parse_ns(value);
        if (o->interval_ns < 0 || o->interval_ns > S_PER_HOUR * NS_PER_S)
            *bad = "--interval wants a time of at most an hour, such as 500ms or 10s";
        return true;
    case CHECK_VERBOSE:
        o->verbose = true;
        return true;
    case CHECK_NCCL_LOG:
        if (o->log_count == LOGS_MAX)
            *bad = "--nccl-log was given too often";
        else
            o->logs[o->log_count++] = value;
        return true;
    case CHECK_DUMP:
        o->dump = value;
        return true;
    case CHECK_CGROUP:
        o->cgroup = value;
        return true;
    case CHECK_DATA:
        add_data(o, value, bad);
        return true;
    case CHECK_VM_SIZE:
        o->vm_size = value;
        return true;
    default:
        return fix_option(o, option, value);
    }
}

/* What is read; NULL: this machine. */
static const char *root_of(const struct check_command *o)
{
    return o->root ? o->files.root : NULL;
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

static int write_dump(const struct check_command *o, const struct look *l, struct error *e)
{
    char host[HOST_NAME_MAX + 1] = "";
    struct str out = {0};
    gethostname(host, sizeof(host) - 1);
    dump_write(l->options.dump, &l->options, &l->seen, host, &out);
    int status = show_write(&out, o->dump, stdout, e);
    str_clear(&out);
    return status;
}

/* A dump that goes to the standard output has it alone. */
static FILE *stream_of(const struct check_command *o)
{
    return show_is_stdout(o->dump) ? stderr : stdout;
}

static int print(const struct check_command *o, const struct check_report *r,
                 const struct fix_plan *plan)
{
    struct str out = {0};
    struct error e = {0};
    struct report_check_options to = {show_text_options(&o->show, stream_of(o)), o->verbose};
    if (o->show.json && plan)
        check_fix_json(plan, &out);
    else if (o->show.json)
        report_check_json(r, GPUFEED_VERSION, &out);
    else {
        if (r)
            report_check_text(r, &to, &out);
        if (plan) {
            str_add(&out, r ? "\n" : "");
            check_fix_text(&o->fix, plan, &out);
        }
    }
    int rc = show_write(&out, NULL, stream_of(o), &e);
    str_clear(&out);
    return rc ? cmd_fail(&cmd_check, &e) : EXIT_DONE;
}

static int fix(const struct check_command *o, const struct check_report *r)
{
    struct fix_plan plan;
    struct error e = {0};
    struct fix_context c = {.root = root_of(o), .pid = o->pid};
    int status = check_fix_run(&o->fix, &c, r, &plan, &e);
    int code = status && !plan.stopped ? EXIT_DONE : print(o, r, &plan);
    if (status)
        code = cmd_fail(&cmd_check, &e);
    else if (!code)
        code = o->fix.apply ? check_fix_code(&plan) : show_exit_code(&r->found, o->show.fail_on);
    fix_plan_clear(&plan);
    return code;
}

static int undo(const struct check_command *o)
{
    struct fix_plan plan;
    struct error e = {0};
    int status = check_fix_undo(&o->fix, &plan, &e);
    int code = status && !plan.stopped ? EXIT_DONE : print(o, NULL, &plan);
    if (status)
        code = cmd_fail(&cmd_check, &e);
    else if (!code)
        code = check_fix_code(&plan);
    fix_plan_clear(&plan);
    return code;
}

/* What does not go together; NULL: all is well. */
static const char *contradiction(const struct check_command *o)
{
    if (o->undo && (o->fix_shown || o->fix.apply || o->root || o->pid || o->cgroup))
        return "--undo goes with --journal alone";
    if ((o->fix.apply || o->fix.scratch) && !o->fix_shown)
        return "--apply and --scratch go with --fix";
    if (o->fix.apply && o->root)
        return "another machine cannot be changed from here: --apply does not go with --root";
    if (o->fix.journal && !o->fix.apply && !o->undo)
        return "--journal goes with --fix --apply and with --undo";
    if (o->pid && o->cgroup)
        return "a job is named by -p or by --cgroup, not by both";
    if (show_is_stdout(o->dump) && o->show.json)
        return "--dump - takes the standard output: write the dump to a file";
    if (show_is_stdout(o->fix.journal))
        return "--journal wants a file: it is read again by --undo";
    return NULL;
}

static int find_job(struct check_command *o)
{
    char path[64];
    struct error e = {0};
    if (o->cgroup && survey_cgroup(root_of(o), o->cgroup, &o->pid, &e))
        return cmd_fail(&cmd_check, &e);
    snprintf(path, sizeof(path), "/proc/%u", o->pid);
    if (o->pid && !rootfs_exists(root_of(o), path))
        return cmd_usage(&cmd_check, "there is no process %u", o->pid);
    return EXIT_DONE;
}

/* Is the place there, in the job's mounts or in ours? Of another machine that cannot be known. */
static int find_data(const struct check_command *o)
{
    for (size_t i = 0; i < o->data_count && !o->root; i++) {
        struct str path = {0};
        struct stat st;
        if (o->pid)
            str_addf(&path, "/proc/%u/root", o->pid);
        str_add(&path, o->data[i]);
        bool absent =
            !path.failed && stat(str_text(&path), &st) && (errno == ENOENT || errno == ENOTDIR);
        str_clear(&path);
        if (absent)
            return cmd_usage(&cmd_check, "--data: there is no \"%s\"", o->data[i]);
    }
    return EXIT_DONE;
}

static int check_machine(const struct check_command *o)
{
    struct look l;
    struct error e = {0};
    struct look_options lo = {.survey = {.root = root_of(o),
                                         .pid = o->pid,
                                         .interval_ns = o->interval_ns,
                                         .data = o->data_count ? o->data : NULL,
                                         .vm_size = o->vm_size},
                              .logs = o->logs,
                              .log_count = o->log_count,
                              .rules_dir = o->show.rules,
                              .facts = o->verbose,
                              .dump = o->dump};
    int status = look_at(&lo, &l, &e);
    if (status)
        return cmd_fail(&cmd_check, &e);
    struct check_report *r = &l.report;
    r->interval_seconds = unit_seconds(l.seen.interval_ns);
    r->what = what(o, &l.seen);
    int code = EXIT_DONE;
    if (l.options.dump && write_dump(o, &l, &e))
        code = cmd_fail(&cmd_check, &e);
    if (!code)
        code = o->fix_shown ? fix(o, r) : print(o, r, NULL);
    if (!code && !o->fix_shown)
        code = show_exit_code(&r->found, o->show.fail_on);
    look_clear(&l);
    return code;
}

static int check(int argc, char **argv)
{
    struct check_command o = {.interval_ns = -1};
    struct error e = {0};
    int code = options_parse(&cmd_check, argc, argv, ":p:h", long_options, &o.show, own_option, &o);
    if (code >= 0)
        return code;
    if (optind < argc)
        return cmd_usage(&cmd_check, "what is \"%s\"? A job is named by -p PID", argv[optind]);
    const char *bad = contradiction(&o);
    if (bad)
        return cmd_usage(&cmd_check, "%s", bad);
    if (o.undo)
        return undo(&o);
    if (o.vm_size && !survey_vm_size_known(o.vm_size))
        say("check", "what a machine of size \"%s\" should have is not known: it is not compared",
            o.vm_size);
    if (o.show.fail_on < 0)
        o.show.fail_on = SEVERITY_WARNING;
    if (o.root && machine_open(o.root, &o.files, &e))
        return cmd_fail(&cmd_check, &e);
    code = find_job(&o);
    if (!code)
        code = find_data(&o);
    if (!code)
        code = check_machine(&o);
    machine_close(&o.files);
    return code;
}

const struct command cmd_check = {"check", "say what is wrong with a machine or a job", help_text,
                                  check};
