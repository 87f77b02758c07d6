/* SPDX-License-Identifier: MIT */
/*
 * waits SWITCHER: what the wait chain costs at about 20,000 context switches a
 * second, as a share of one core: the kernel side by its own count, the reader by its CPU time.
 * The bound is 3 % for both together. Needs root; exits 77 where BPF does not work.
 */
#include "base/unit.h"
#include "sense/wait_bpf.h"

#include <bpf/bpf.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_SKIP 77
#define BOUND 0.03
#define SECONDS "3"
#define ROUNDS_PER_S "10000"
#define POLL_MS 20

struct tally {
    uint64_t waits;
};

static int count(void *arg, const struct event *event)
{
    struct tally *t = arg;
    t->waits += event->kind == EVENT_WAIT;
    return 0;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static pid_t start(const char *switcher, const char *mode, int *go, int *result)
{
    int in[2], out[2];
    char byte;
    if (pipe(in) || pipe(out))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        close(in[1]);
        dup2(out[1], STDOUT_FILENO);
        if (read(in[0], &byte, 1) == 1)
            execl(switcher, switcher, mode, ROUNDS_PER_S, SECONDS, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    *go = in[1];
    *result = out[0];
    return pid;
}

static long switches_of(int result)
{
    char text[256] = "";
    ssize_t n = read(result, text, sizeof(text) - 1);
    const char *at = n > 0 ? strstr(text, "switches ") : NULL;
    close(result);
    return at ? atol(at + strlen("switches ")) : 0;
}

/* The share of one core; negative where the job failed. */
static double measure(struct wait_bpf *w, const char *switcher, const char *mode)
{
    struct tally t = {0};
    struct error e = {0};
    int go, result, status;
    pid_t pid = start(switcher, mode, &go, &result);
    if (pid < 0 || wait_bpf_watch(w, (uint32_t)pid, &e))
        return -1;
    int64_t kernel = wait_bpf_run_time_ns(w, NULL), cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    int64_t begin = clock_ns(CLOCK_MONOTONIC);
    if (write(go, "x", 1) != 1)
        return -1;
    while (waitpid(pid, &status, WNOHANG) == 0)
        wait_bpf_poll(w, POLL_MS, count, &t);
    wait_bpf_poll(w, 0, count, &t);
    double wall = (double)(clock_ns(CLOCK_MONOTONIC) - begin);
    double reader = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / wall;
    double bpf = (double)(wait_bpf_run_time_ns(w, NULL) - (kernel > 0 ? kernel : 0)) / wall;
    long switches = switches_of(result);
    close(go);
    printf("%-6s %7.0f switches/s %7.0f waits/s: kernel %.2f %%, reader %.2f %%, both %.2f %%\n",
           mode, (double)switches / wall * NS_PER_S, (double)t.waits / wall * NS_PER_S, bpf * 100,
           reader * 100, (bpf + reader) * 100);
    return switches ? bpf + reader : -1;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"futex", "pipe", "tcp", "epoll"};
    struct intern names = {0};
    struct resources *r = NULL;
    struct wait_bpf *w = NULL;
    struct error e = {0};
    struct resource_opts ro = {.names = &names};
    int failed = argc != 2;
    if (failed || resources_new(&r, &ro, &e))
        return 2;
    int stats = bpf_enable_stats(BPF_STATS_RUN_TIME); /* until this process ends */
    struct wait_bpf_opts wo = {.resources = r};
    if (stats < 0 || wait_bpf_open(&w, &wo, &e)) {
        printf("skipped: %s\n", e.text[0] ? e.text : "BPF statistics are not permitted");
        return EXIT_SKIP;
    }
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        double share = measure(w, argv[1], modes[i]);
        failed |= share < 0 || share > BOUND;
    }
    wait_bpf_close(w);
    resources_free(r);
    intern_clear(&names);
    printf("%s: the bound is %.0f %%\n", failed ? "too much" : "holds", BOUND * 100);
    return failed;
}
