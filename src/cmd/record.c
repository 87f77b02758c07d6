/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/options.h"
#include "cmd/place.h"
#include "base/redact.h"
#include "base/rootfs.h"
#include "base/unit.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMMAND_MAX (64 * KIB)

static const char help_text[] =
    "usage: gpufeed record -p PID [-d TIME] [-o FILE] [options]\n"
    "\n"
    "Watches a job that runs already, with its children, until it ends, TIME has\n"
    "passed or Ctrl-C; the job is not touched. Without the probe (see 'gpufeed run')\n"
    "the device's own activity is bounded by its driver calls.\n"
    "\n"
    "  -p, --pid PID        the job's first process\n"
    "  -d, --duration TIME  for how long: 60, 90s, 5m, 1h (default: until it ends)\n"
    "  -o, --output FILE    the recording (default: ./NAME-PID.gpufeed)\n"
    "      --origin TEXT    where the data set lives; connections there count as\n"
    "                       storage\n"
    "      --sampler        sample /proc instead of following wake-ups with BPF\n"
    "      --price AMOUNT, --currency CODE, --rules DIR, --json, --chains,\n"
    "      --html FILE, --fail-on LEVEL  as for 'gpufeed report'\n"
    "  -q, --quiet          no report, only the recording\n"
    "\n"
    "examples:\n"
    "  gpufeed record -p 4711 -d 60 -o job.gpufeed\n"
    "  gpufeed record -p $(pgrep -o -f train.py) -d 5m --price 28\n";

static const struct option long_options[] = {LIVE_OPTIONS,
                                             {"pid", required_argument, NULL, 'p'},
                                             {"duration", required_argument, NULL, 'd'},
                                             {0}};

struct record_command {
    struct live_options live;
    struct str title; /* owned */
    pid_t pid;
    int64_t duration; /* ns; -1 until it ends */
};

static bool own_option(void *arg, int option, const char *value, const char **bad)
{
    struct record_command *o = arg;
    char *end;
    long pid;
    switch (option) {
    case 'p':
        pid = strtol(value, &end, 10);
        o->pid = (pid_t)pid;
        if (*end || pid <= 0 || pid > INT_MAX)
            *bad = "-p wants the number of a process";
        return true;
    case 'd':
        o->duration = unit_parse_ns(value);
        if (o->duration <= 0)
            *bad = "-d wants a time, such as 60, 90s or 5m";
        return true;
    default:
        return live_option(&o->live, option, value, bad);
    }
}

static int parse(int argc, char **argv, struct record_command *o)
{
    o->duration = -1;
    int code = options_parse(&cmd_record, argc, argv, ":p:d:o:qh", long_options, &o->live.show,
                             own_option, o);
    if (code >= 0)
        return code;
    if (optind < argc)
        return cmd_usage(&cmd_record, "what is \"%s\"? To run a command, use 'gpufeed run'",
                         argv[optind]);
    if (!o->pid)
        return cmd_usage(&cmd_record, "which process? Give -p PID");
    const char *clash = show_clash(&o->live.show, true);
    return clash ? cmd_usage(&cmd_record, "%s", clash) : -1;
}

/* The report by the command line, as with `run`; the recording by the name that the kernel shows. */
static void name_job(struct record_command *o)
{
    char path[64], comm[64] = "job";
    struct str words = {0};
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)o->pid);
    if (rootfs_line(NULL, path, comm, sizeof(comm)))
        comm[strcspn(comm, "/")] = '\0';
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)o->pid);
    if (rootfs_bytes(NULL, path, COMMAND_MAX, &words))
        redact_add_cmdline(&o->title, words.data, words.len);
    else /* a thread of the kernel, or a process that is over */
        str_add(&o->title, comm);
    str_addf(&o->title, " (pid %d)", (int)o->pid);
    str_clear(&words);
    say_default_path(o->live.path, sizeof(o->live.path), comm, o->pid);
}

/* From here on Ctrl-C ends the measurement, not the program. */
static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error to be told */
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Until the job ends, the time is up, or somebody asks to stop. */
static void watch(struct measure *m, const struct record_command *o, int pidfd, int signals)
{
    struct error e = {0};
    int64_t end, now = measure_now();
    if (o->duration < 0 || __builtin_add_overflow(now, o->duration, &end))
        end = INT64_MAX;
    struct pollfd p[2] = {{.fd = signals, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
    while (measure_now() < end && !p[0].revents && !p[1].revents) {
        poll(p, 2, measure_poll_ms(m));
        if (measure_tick(m, &e))
            say(cmd_record.name, "%s; what was recorded until now stays readable", e.text);
    }
}

/* A descriptor that tells of the job's end; negative: a status. */
static int open_job(pid_t pid, struct error *e)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0 && (errno == EINVAL || errno == ENOENT)) /* older and newer kernels */
        return error_set(e, STATUS_INPUT, "%d is a thread: give -p the number of its process",
                         (int)pid);
    if (fd < 0)
        return error_errno(e, "cannot watch process %d", (int)pid);
    if (kill(pid, 0) && errno == EPERM) {
        close(fd);
        return error_set(e, STATUS_DENIED,
                         "process %d is another user's: watch it as that user or as root",
                         (int)pid);
    }
    return fd;
}

static int measured(struct record_command *o, int pidfd, int signals)
{
    struct measure *m = NULL;
    struct error e = {0};
    name_job(o);
    live_name(&o->live, str_text(&o->title));
    o->live.measure.attach = true;
    if (measure_open(&o->live.measure, &m, &e))
        return cmd_fail(&cmd_record, &e);
    measure_watch(m, o->pid);
    watch(m, o, pidfd, signals);
    if (measure_finish(m, -1, &e))
        say(cmd_record.name, "%s", e.text);
    place_rescue(cmd_record.name, m, o->live.path);
    measure_close(m);
    int code = show_recording(&cmd_record, o->live.path, &o->live.show, stdout);
    if (!o->live.show.quiet && !o->live.show.json)
        say_recording(o->live.path);
    return code;
}

static int record(int argc, char **argv)
{
    struct record_command o = {0};
    struct error e = {0};
    int code = parse(argc, argv, &o);
    if (code >= 0)
        return code;
    int pidfd = open_job(o.pid, &e);
    if (pidfd < 0)
        return cmd_fail(&cmd_record, &e);
    int signals = open_signals();
    if (signals < 0) {
        error_errno(&e, "cannot wait for signals");
        code = cmd_fail(&cmd_record, &e);
    } else {
        code = measured(&o, pidfd, signals);
        close(signals);
    }
    close(pidfd);
    str_clear(&o.title);
    return code;
}

const struct command cmd_record = {"record", "watch a job that runs already", help_text, record};
