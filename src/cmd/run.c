/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"
#include "cmd/job.h"
#include "cmd/options.h"
#include "cmd/place.h"
#include "cmd/say.h"
#include "cmd/signals.h"
#include "measure/ringdir.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>

/* A command that forks away gets this long to take a device in what it left behind. */
#define FORKED_AWAY_NS (2 * NS_PER_S)
#define SIMULATED_MAX 16 /* doc/sim.md */

static const char help_text[] =
    "usage: gpufeed run [options] -- COMMAND [ARGUMENT...]\n"
    "\n"
    "Runs COMMAND, watches what its accelerators wait for, and reports at its end.\n"
    "The command's output, input and exit code stay its own; the report goes to\n"
    "stderr.\n"
    "\n"
    "  -o, --output FILE    the recording (default: ./NAME-PID.gpufeed)\n"
    "      --report FILE    write the report to FILE instead of stderr (-: to stdout)\n"
    "      --json           report as JSON (gpufeed.report/1)\n"
    "      --html FILE      write an HTML report too (-: to stdout)\n"
    "      --chains         print the longest wait chains instead of the summary\n"
    "      --price AMOUNT   what the machine costs per hour\n"
    "      --currency CODE  of the price (default: EUR)\n"
    "      --origin TEXT    where the data set lives: azblob://acct/container,\n"
    "                       s3://bucket, host:port; connections there count as\n"
    "                       storage\n"
    "      --simulate[=N]   give the command N simulated accelerators (default 1)\n"
    "      --sampler        sample /proc instead of following wake-ups with BPF\n"
    "      --rules DIR      more rules, or others of the same name\n"
    "      --fail-on LEVEL  exit 1 if a finding is info, warning or critical, or\n"
    "                       worse (only when the command itself exits 0)\n"
    "  -q, --quiet          no report but to files: --report, --html\n"
    "\n"
    "Exit code: the command's own; 128+N if signal N ended it; 126 not executable,\n"
    "127 not found; 2 wrong usage.\n"
    "\n"
    "examples:\n"
    "  gpufeed run -- python3 train.py\n"
    "  gpufeed run --price 28 -o job.gpufeed -- torchrun --nproc_per_node 8 train.py\n"
    "  gpufeed run --simulate -- ./job\n";

struct run_options {
    struct live_options live;
    char sim_dir[PATH_MAX];
    char sim_devices[48];
    char **argv;           /* of the command */
    char folder[PATH_MAX]; /* made for a recording that had no room where it should go; "" none */
};

enum { OPT_REPORT = LIVE_LAST, OPT_SIMULATE };

static const struct option long_options[] = {LIVE_OPTIONS,
                                             {"report", required_argument, NULL, OPT_REPORT},
                                             {"simulate", optional_argument, NULL, OPT_SIMULATE},
                                             {0}};

static bool simulate(struct run_options *o, const char *devices, const char **bad)
{
    const char *set = getenv("GPUFEED_SIM_DEVICES"), *text = devices ? devices : set ? set : "1";
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < 1 || n > SIMULATED_MAX)
        *bad = "--simulate wants 1 to 16 accelerators";
    snprintf(o->sim_devices, sizeof(o->sim_devices), "GPUFEED_SIM_DEVICES=%ld", n);
    setenv("GPUFEED_SIM_DEVICES", strchr(o->sim_devices, '=') + 1, 1); /* for NVML, in here */
    if (!ringdir_sim(o->sim_dir, sizeof(o->sim_dir)))
        *bad = "the simulated accelerator is not beside this program: run it from its build folder "
               "or install it";
    o->live.measure.sim_dir = o->sim_dir;
    return true;
}

static bool own_option(void *arg, int option, const char *value, const char **bad)
{
    struct run_options *o = arg;
    if (option == OPT_SIMULATE)
        return simulate(o, value, bad);
    if (option != OPT_REPORT)
        return live_option(&o->live, option, value, bad);
    o->live.show.to = value;
    if (!value[0])
        *bad = "--report wants the name of a file";
    return true;
}

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, struct run_options *o)
{
    int code =
        options_parse(&cmd_run, argc, argv, "+:o:qh", long_options, &o->live.show, own_option, o);
    if (code >= 0)
        return code;
    if (optind >= argc)
        return cmd_usage(&cmd_run, "no command to run; put it after --");
    const char *clash = show_clash(&o->live.show, false);
    if (clash)
        return cmd_usage(&cmd_run, "%s", clash);
    o->argv = argv + optind;
    return -1;
}

static void title_of(char *const *argv, struct str *title)
{
    for (; *argv; argv++)
        str_addf(title, "%s%s", title->len ? " " : "", *argv);
}

/* Measures until the command ended and nothing that it left behind holds a device, or somebody
 * asks to stop waiting for that. */
static void measure_until_end(struct measure *m, struct job *job, struct signals *signals)
{
    struct error e = {0};
    int64_t ended = 0;
    for (;;) {
        struct pollfd p = {.fd = signals->fd, .events = POLLIN};
        poll(&p, 1, measure_poll_ms(m));
        bool stop = job->ended && signals_came(signals);
        if (!job->ended)
            signals_pass(signals, job->pid);
        if (measure_tick(m, &e))
            say(cmd_run.name, "%s; the job goes on, what was recorded until now stays readable",
                e.text);
        bool left = job_reap(job);
        if (!job->ended)
            continue;
        if (!ended) {
            ended = measure_now();
            signals_job_ended(signals);
        }
        if (stop || !left || (!measure_holds_device(m) && measure_now() - ended > FORKED_AWAY_NS))
            return;
    }
}

static void remove_recording(const struct run_options *o)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char path[PATH_MAX + 8];
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", o->live.path, suffixes[i]);
        unlink(path);
    }
    if (o->folder[0])
        rmdir(o->folder);
}

/* Where the recording cannot be written, it goes among the temporary files. NULL: unmeasured. */
static struct measure *begin(struct run_options *o)
{
    struct error e = {0}, again = {0};
    struct measure *m = NULL;
    char place[PATH_MAX];
    if (!measure_open(&o->live.measure, &m, &e))
        return m;
    if (place_make(o->live.path, place, o->folder)) {
        str_copy(o->live.path, sizeof(o->live.path), place);
        if (!measure_open(&o->live.measure, &m, &again)) {
            say(cmd_run.name, "%s; the recording goes to \"%s\"", e.text, o->live.path);
            return m;
        }
        rmdir(o->folder);
    }
    say(cmd_run.name, "%s; the command runs unmeasured", e.text);
    return NULL;
}

static int cannot_run(const char *command, int err)
{
    say(cmd_run.name, "cannot run \"%s\": %s", command, strerror(err));
    return err == ENOENT ? JOB_NOT_FOUND : JOB_NOT_EXECUTABLE;
}

static int cannot_find(const char *command, int err, const char *hint)
{
    say(cmd_run.name, "cannot run \"%s\": %s; %s%s", command, strerror(err), hint, command);
    return err == ENOENT ? JOB_NOT_FOUND : JOB_NOT_EXECUTABLE;
}

/* What may have been meant: `--simulate 2` (what is optional follows an equals sign), or a script. */
static int not_found(const struct run_options *o, int err)
{
    const char *name = o->argv[0], *dot = strrchr(name, '.');
    if (o->sim_devices[0] && *name && strspn(name, "0123456789") == strlen(name))
        return cannot_find(name, err, "for so many accelerators, --simulate=");
    if (dot && !strcmp(dot, ".py") && !access(name, F_OK))
        return cannot_find(name, err, "a script is an argument of its interpreter: python3 ");
    return cannot_run(name, err);
}

/* The job with nobody watching: what is left when measuring cannot begin. */
static int run_unmeasured(struct job *job, struct signals *signals)
{
    job_go(job);
    while (!job->ended) {
        struct pollfd p = {.fd = signals->fd, .events = POLLIN};
        poll(&p, 1, -1);
        signals_pass(signals, job->pid);
        job_reap(job);
    }
    return job->code;
}

/* No process or descriptor is left to start the command beside us: it takes our place. */
static int become_job(const struct run_options *o, struct measure *m, const struct job *job,
                      const char *const *env, const struct error *e)
{
    say(cmd_run.name, "%s; the command runs unmeasured", e->text);
    if (m)
        remove_recording(o);
    job_restore(job, env);
    measure_close(m);
    execvp(o->argv[0], o->argv);
    return cannot_run(o->argv[0], errno);
}

static int measured(struct run_options *o, struct measure *m, struct job *job,
                    struct signals *signals)
{
    struct error e = {0};
    measure_watch(m, job->pid);
    job_go(job);
    measure_until_end(m, job, signals);
    if (measure_finish(m, job->code, &e))
        say(cmd_run.name, "%s", e.text);
    if (!job->exec_errno)
        place_rescue(cmd_run.name, m, o->live.path);
    measure_close(m);
    if (job->exec_errno) {
        remove_recording(o);
        return cannot_run(o->argv[0], job->exec_errno);
    }
    int shown = show_recording(&cmd_run, o->live.path, &o->live.show, stderr);
    if (!o->live.show.quiet && !o->live.show.json)
        say_recording(o->live.path);
    return job->code == 0 && shown == EXIT_FINDINGS ? EXIT_FINDINGS : job->code;
}

static int let_run(struct run_options *o, struct measure *m, struct job *job,
                   struct signals *signals)
{
    signals_start_witness(signals);
    return m ? measured(o, m, job, signals) : run_unmeasured(job, signals);
}

/* The signals that we take for ourselves; the job gets them back as they were. */
static void take_signals(struct job *job, struct signals *signals)
{
    job->child_was = signal(SIGCHLD, SIG_DFL); /* ignored, the job's end would not be told */
    signals_open(signals);
    job->was = signals->was;
    /* that our report's reader goes, or our file grows too large, is no failure of the job */
    job->pipe_was = signal(SIGPIPE, SIG_IGN);
    job->size_was = signal(SIGXFSZ, SIG_IGN);
}

#define ENV_MAX 16

/* What the job's environment gets, NULL at the end; all of it outlives the job but *ret_sim, which is the
 * caller's to free. */
static void environment_of(const struct run_options *o, struct measure *m, const char *env[ENV_MAX],
                           char **ret_sim)
{
    int n = 0;
    *ret_sim = !m && o->live.measure.sim_dir
                   ? ringdir_sim_env("LD_LIBRARY_PATH=", o->live.measure.sim_dir, true)
                   : NULL; /* the simulated devices are there all the same */
    for (const char *const *v = m ? measure_environment(m) : NULL; v && *v && n < ENV_MAX - 3; v++)
        env[n++] = *v;
    if (*ret_sim)
        env[n++] = *ret_sim;
    if (o->sim_devices[0])
        env[n++] = o->sim_devices;
    env[n] = NULL;
}

static int run(int argc, char **argv)
{
    struct run_options o = {0};
    struct job job = {.gate = -1};
    struct signals signals;
    struct error e = {0};
    struct str title = {0};
    const char *env[ENV_MAX];
    char *sim;
    int code = parse(argc, argv, &o);
    if (code >= 0)
        return code;
    int err = job_find(o.argv[0]);
    if (err) /* before an older recording of that name is replaced */
        return not_found(&o, err);
    title_of(o.argv, &title);
    say_default_path(o.live.path, sizeof(o.live.path), o.argv[0], getpid());
    live_name(&o.live, str_text(&title));
    take_signals(&job, &signals);
    struct measure *m = begin(&o);
    environment_of(&o, m, env, &sim);
    if (job_fork(&job, o.argv, env, &e))
        code = become_job(&o, m, &job, env, &e);
    else
        code = let_run(&o, m, &job, &signals);
    signals_close(&signals);
    free(sim);
    str_clear(&title);
    return code;
}

const struct command cmd_run = {"run", "run a command, measure it, report at its end", help_text,
                                run};
