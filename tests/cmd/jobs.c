/* SPDX-License-Identifier: MIT */
/*
 * jobs: small badly behaved jobs for the tests of the command line. Each drives
 * libcuda.so.1 itself where it needs a device and says on standard output only
 * what its test wants to read back.
 *
 *     jobs kernels COUNT MS [DEVICE]      kernels one after another
 *     jobs crash SIGNAL                   takes a device, computes, dies of the signal
 *     jobs daemon FILE MS CODE            leaves a daemon that computes and then writes FILE
 *     jobs until FILE MS                  kernels one after another until FILE is there
 *     jobs timed COUNT MS                 kernels; says how long it held its device (below)
 *     jobs flood COUNT GO DONE            once GO is there launches as fast as it can; then makes DONE
 *     jobs switch COUNT GO DONE           once GO is there two threads wake each other as often
 *     jobs child COUNT MS                 a forked child takes the device, not the parent
 *     jobs state                          what a process inherits, line by line
 *     jobs hold SECONDS                   takes a device and leaves it idle; says how long it held it
 *     jobs again COUNT MS                 kernels, then itself anew in the same process, which does as many
 *     jobs closes COUNT MS                kernels, closes all descriptors it did not open, and as many again
 *     jobs unrings FILE MS WHEN           as until; takes its ring's folder away "before" or "after" the first
 *     jobs await FILE                     takes a device and leaves it idle until FILE is there
 *     jobs stuck                          takes a device, says so, and waits on a pipe for ever
 *     jobs loads FILE SECONDS             for so long reads FILE whole, works on it, and runs a kernel
 *
 * How long a device was held: two numbers of seconds, at least and at most, since what the driver does
 * between two readings of the clock is the driver's own.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry spin(.param .u64 ns)\n{\nret;\n}\n";

struct device {
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*context_create)(void **, unsigned, int);
    int (*context_destroy)(void *);
    int (*module_load)(void **, const void *);
    int (*get_function)(void **, void *, const char *);
    int (*stream_create)(void **, unsigned);
    int (*stream_wait)(void *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    void *context, *spin, *stream;
};

static void check(int result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "jobs: %s: %d\n", what, result);
        exit(99);
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void nap(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&t, NULL);
}

static void open_device(struct device *d, int number)
{
    const struct {
        const char *name;
        void *at;
    } calls[] = {{"cuInit", &d->init},
                 {"cuDeviceGet", &d->device_get},
                 {"cuCtxCreate_v2", &d->context_create},
                 {"cuCtxDestroy_v2", &d->context_destroy},
                 {"cuModuleLoadData", &d->module_load},
                 {"cuModuleGetFunction", &d->get_function},
                 {"cuStreamCreate", &d->stream_create},
                 {"cuStreamSynchronize", &d->stream_wait},
                 {"cuLaunchKernel", &d->launch}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *module;
    int handle;

    check(library ? 0 : 1, "no libcuda.so.1");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *f = dlsym(library, calls[i].name);
        check(f ? 0 : 1, calls[i].name);
        memcpy(calls[i].at, &f, sizeof(f));
    }
    check(d->init(0), "cuInit");
    check(d->device_get(&handle, number), "cuDeviceGet");
    check(d->context_create(&d->context, 0, handle), "cuCtxCreate");
    check(d->module_load(&module, ptx), "cuModuleLoadData");
    check(d->get_function(&d->spin, module, "spin"), "cuModuleGetFunction");
    check(d->stream_create(&d->stream, 1), "cuStreamCreate");
}

static void launch(struct device *d, double ms)
{
    uint64_t ns = (uint64_t)(ms * 1e6);
    void *parameters[] = {&ns};

    check(d->launch(d->spin, 1, 1, 1, 1, 1, 1, 0, d->stream, parameters, NULL), "cuLaunchKernel");
}

static void run_kernel(struct device *d, double ms)
{
    launch(d, ms);
    check(d->stream_wait(d->stream), "cuStreamSynchronize");
}

static void compute(int count, double ms, int number)
{
    struct device d = {0};

    open_device(&d, number);
    for (int i = 0; i < count; i++)
        run_kernel(&d, ms);
    check(d.context_destroy(d.context), "cuCtxDestroy");
}

#define PATIENCE_S 300 /* after which the test that makes the file is taken for gone */

static bool is_there(const char *path)
{
    static double begun;

    if (begun == 0)
        begun = now();
    check(now() - begun > PATIENCE_S, "nobody ends this job");
    return access(path, F_OK) == 0;
}

static void await_file(const char *path)
{
    while (!is_there(path))
        nap(0.005);
}

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0644);

    check(fd < 0, path);
    close(fd);
}

static int job_kernels(char **a)
{
    compute(atoi(a[0]), atof(a[1]), a[2] ? atoi(a[2]) : 0);
    return 0;
}

static int job_until(char **a)
{
    struct device d = {0};

    open_device(&d, 0);
    while (!is_there(a[0]))
        run_kernel(&d, atof(a[1]));
    check(d.context_destroy(d.context), "cuCtxDestroy");
    return 0;
}

/* Computes, or idles where count is 0, and says how long the device was held. */
static int held(int count, double ms, double idle)
{
    struct device d = {0};
    double outer = now(), inner;

    open_device(&d, 0);
    inner = now();
    for (int i = 0; i < count; i++)
        run_kernel(&d, ms);
    if (idle > 0)
        nap(idle);
    inner = now() - inner;
    check(d.context_destroy(d.context), "cuCtxDestroy");
    printf("%.9f %.9f\n", inner, now() - outer);
    return 0;
}

static int job_timed(char **a)
{
    return held(atoi(a[0]), atof(a[1]), 0);
}

static int job_crash(char **a)
{
    struct device d = {0};
    struct rlimit none = {0, 0};

    setrlimit(RLIMIT_CORE, &none);
    open_device(&d, 0);
    for (int i = 0; i < 10; i++) {
        launch(&d, 5);
        check(d.stream_wait(d.stream), "cuStreamSynchronize");
    }
    launch(&d, 1000);
    signal(atoi(a[0]), SIG_DFL);
    raise(atoi(a[0]));
    return 98;
}

static int job_daemon(char **a)
{
    if (fork() == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        close(0);
        close(1);
        close(2);
        compute((int)(atof(a[1]) / 10), 10, 0);
        int fd = open(a[0], O_WRONLY | O_CREAT | O_TRUNC, 0644);
        _exit(write(fd, "done\n", 5) == 5 ? 0 : 1);
    }
    return atoi(a[2]);
}

static int job_flood(char **a)
{
    struct device d = {0};
    long count = atol(a[0]);

    open_device(&d, 0);
    while (!is_there(a[1]))
        run_kernel(&d, 5);
    for (long i = 0; i < count; i++) {
        launch(&d, 0.004);
        if (i % 8 == 7)
            check(d.stream_wait(d.stream), "cuStreamSynchronize");
    }
    check(d.stream_wait(d.stream), "cuStreamSynchronize");
    make_file(a[2]);
    check(d.context_destroy(d.context), "cuCtxDestroy");
    return 0;
}

static int pipes[2][2];

static void *echo(void *end)
{
    char c;

    while (read(pipes[0][0], &c, 1) == 1 && c != 'q') {
        if (write(pipes[1][1], &c, 1) != 1)
            break;
    }
    return end;
}

static int job_switch(char **a)
{
    struct device d = {0};
    pthread_t thread;
    long count = atol(a[0]);
    char c = 'x';

    open_device(&d, 0);
    check(pipe(pipes[0]) | pipe(pipes[1]), "pipe");
    check(pthread_create(&thread, NULL, echo, NULL), "pthread_create");
    await_file(a[1]);
    for (long i = 0; i < count; i++)
        check(write(pipes[0][1], &c, 1) != 1 || read(pipes[1][0], &c, 1) != 1, "pipe");
    make_file(a[2]);
    check(write(pipes[0][1], "q", 1) == 1 ? 0 : 1, "write");
    pthread_join(thread, NULL);
    run_kernel(&d, 5);
    check(d.context_destroy(d.context), "cuCtxDestroy");
    return 0;
}

static int job_child(char **a)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        compute(atoi(a[0]), atof(a[1]), 0);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}

static void print_lines(const char *path, const char *const *keys)
{
    char line[512];
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof(line), file)) {
        for (int i = 0; keys[i]; i++) {
            if (strncmp(line, keys[i], strlen(keys[i])) == 0)
                fputs(line, stdout);
        }
    }
    if (file)
        fclose(file);
}

static int job_state(char **a)
{
    static const char *const status[] = {"SigBlk",     "SigIgn",       "SigCgt",
                                         "NoNewPrivs", "Seccomp:",     "Umask",
                                         "Uid",        "Cpus_allowed", NULL};
    static const char *const all[] = {"", NULL};
    int death = 0;
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *e;
    char cwd[4096];

    for (int fd = 0; folder && (e = readdir(folder));) {
        fd = atoi(e->d_name);
        if (e->d_name[0] != '.' && fd != dirfd(folder))
            printf("fd %d\n", fd);
    }
    if (folder)
        closedir(folder);
    prctl(PR_GET_PDEATHSIG, &death);
    print_lines("/proc/self/status", status);
    print_lines("/proc/self/limits", all);
    print_lines("/proc/self/oom_score_adj", all);
    print_lines("/proc/self/timerslack_ns", all);
    printf("death signal %d\nnice %d\ncwd %s\n", death, getpriority(PRIO_PROCESS, 0),
           getcwd(cwd, sizeof(cwd)));
    printf("scheduler %d dumpable %d subreaper-free\n", sched_getscheduler(0),
           prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    return 0;
}

static int job_hold(char **a)
{
    return held(0, 0, atof(a[0]));
}

static int job_again(char **a)
{
    struct device d = {0};

    open_device(&d, 0);
    for (int i = 0; i < atoi(a[0]); i++)
        run_kernel(&d, atof(a[1]));
    execl("/proc/self/exe", "jobs", "kernels", a[0], a[1], (char *)NULL);
    return 96;
}

static int job_closes(char **a)
{
    struct device d = {0};

    open_device(&d, 0);
    for (int i = 0; i < 2 * atoi(a[0]); i++) {
        if (i == atoi(a[0]))
            for (int fd = 0; fd < 1024; fd++)
                close(fd);
        run_kernel(&d, atof(a[1]));
    }
    check(d.context_destroy(d.context), "cuCtxDestroy");
    return 0;
}

static void remove_rings(void)
{
    char command[4200];
    const char *folder = getenv("GPUFEED_RING_DIR");

    snprintf(command, sizeof(command), "rm -rf '%s'", folder ? folder : "/nonexistent");
    check(system(command), command);
}

static int job_unrings(char **a)
{
    struct device d = {0};

    if (strcmp(a[2], "before") == 0)
        remove_rings();
    open_device(&d, 0);
    for (int i = 0; i == 0 || !is_there(a[0]); i++) {
        run_kernel(&d, atof(a[1]));
        if (i == 0 && strcmp(a[2], "after") == 0)
            remove_rings();
    }
    check(d.context_destroy(d.context), "cuCtxDestroy");
    return 0;
}

static int job_await(char **a)
{
    struct device d = {0};

    open_device(&d, 0);
    await_file(a[0]);
    check(d.context_destroy(d.context), "cuCtxDestroy");
    return 0;
}

static int job_stuck(char **a)
{
    struct device d = {0};
    char c;

    (void)a;
    open_device(&d, 0);
    puts("taken");
    fflush(stdout);
    check(pipe(pipes[0]), "pipe");
    return (int)read(pipes[0][0], &c, 1);
}

static void spin(double seconds)
{
    double end = now() + seconds;

    while (now() < end) {
    }
}

static int job_loads(char **a)
{
    static char buffer[1 << 20];
    struct device d = {0};
    double end = now() + atof(a[1]);

    open_device(&d, 0);
    while (now() < end) {
        int fd = open(a[0], O_RDONLY);
        while (read(fd, buffer, sizeof(buffer)) > 0) {
        }
        close(fd);
        spin(0.02);
        run_kernel(&d, 5);
    }
    check(d.context_destroy(d.context), "cuCtxDestroy");
    return 0;
}

static const struct {
    const char *name;
    int (*run)(char **arguments);
    int arguments;
} jobs[] = {{"kernels", job_kernels, 2}, {"until", job_until, 2},     {"timed", job_timed, 2},
            {"crash", job_crash, 1},     {"daemon", job_daemon, 3},   {"flood", job_flood, 3},
            {"switch", job_switch, 3},   {"child", job_child, 2},     {"state", job_state, 0},
            {"hold", job_hold, 1},       {"await", job_await, 1},     {"again", job_again, 2},
            {"closes", job_closes, 2},   {"unrings", job_unrings, 3}, {"stuck", job_stuck, 0},
            {"loads", job_loads, 2}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        if (strcmp(argv[1], jobs[i].name) == 0 && argc >= 2 + jobs[i].arguments)
            return jobs[i].run(argv + 2);
    }
    fputs("jobs: no such job\n", stderr);
    return 2;
}
