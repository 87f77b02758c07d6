/* SPDX-License-Identifier: MIT */
/*
 * The probe inside a job on the simulated accelerator, read through probe_rings.
 * Arguments: libgpufeed-probe.so, the simulator's folder, cuda_job.
 */
#include "base/unit.h"
#include "sense/probe_ring.h"
#include "../tidy.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const char *probe_path, *sim_dir, *job_path;

struct seen {
    int kinds[4]; /* spans by enum span_kind */
    int calls[6]; /* by enum call_kind */
    int taken, released, lost;
    int pageable, pinned, sync_copies, unjoined;
    int64_t early_ns; /* a span began so long before its launch: times of two clocks */
    int64_t compute_ns, first_t0, last_t1, taken_at, released_at, unseen_ns;
    int64_t complete_before; /* low-water mark of the poll before this */
    int late;                /* spans that ended before that mark: must not come */
    uint64_t lost_count;
    uint32_t device;
};

struct run {
    char dir[64];
    pid_t pid;
    int in;  /* its standard input: closed, it ends */
    int out; /* its standard output, a file */
    char text[1 << 20];
    int status;
    struct probe_rings *rings;
    struct seen seen;
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void see_span(struct seen *s, const struct event_span *span)
{
    s->kinds[span->kind]++;
    if (span->kind == SPAN_COMPUTE)
        s->compute_ns += span->t1 - span->t0;
    if (span->kind == SPAN_COPY && span->host_copy) {
        s->pageable += span->pageable;
        s->pinned += !span->pageable;
        s->sync_copies += span->sync_copy;
    }
    if (span->launch_t0 == 0 || span->tid == 0)
        s->unjoined++;
    else if (span->launch_t0 - span->t0 > s->early_ns)
        s->early_ns = span->launch_t0 - span->t0;
    if (span->t1 < s->complete_before)
        s->late++;
    if (s->first_t0 == 0 || span->t0 < s->first_t0)
        s->first_t0 = span->t0;
    if (span->t1 > s->last_t1)
        s->last_t1 = span->t1;
    s->device = span->device;
}

static int see(void *arg, const struct event *event)
{
    struct seen *s = arg;

    switch (event->kind) {
    case EVENT_SPAN:
        see_span(s, &event->span);
        break;
    case EVENT_CALL:
        s->calls[event->call.kind]++;
        break;
    case EVENT_DEVICE:
        event->device.taken ? s->taken++ : s->released++;
        *(event->device.taken ? &s->taken_at : &s->released_at) = event->device.t;
        break;
    case EVENT_LOST:
        s->lost++;
        s->lost_count += event->lost.count;
        s->unseen_ns += event->lost.t1 - event->lost.t0;
        break;
    default:
        break;
    }
    return 0;
}

static void start(struct run *r, const char *mode, const char *n, const char *ring_dir)
{
    struct error e = {0};
    int pipe_fds[2];
    char path[96];

    memset(r, 0, sizeof(*r));
    strcpy(r->dir, "/tmp/gpufeed-inject-test-XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    tidy_at_exit(r->dir);
    snprintf(path, sizeof(path), "%s/out", r->dir);
    r->out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(r->out >= 0);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    r->pid = fork();
    if (r->pid == 0) {
        setenv("LD_LIBRARY_PATH", sim_dir, 1);
        setenv("GPUFEED_SIM_LIBDIR", sim_dir, 1);
        setenv("GPUFEED_SIM_DIR", r->dir, 1);
        setenv("GPUFEED_SIMULATE", "1", 1);
        setenv("CUDA_INJECTION64_PATH", probe_path, 1);
        setenv("GPUFEED_RING_DIR", ring_dir ? ring_dir : r->dir, 1);
        dup2(pipe_fds[0], 0);
        dup2(r->out, 1);
        execl(job_path, job_path, mode, n, (char *)NULL);
        _exit(127);
    }
    close(pipe_fds[0]);
    r->in = pipe_fds[1];
    r->rings = probe_rings_new(r->dir, &e);
    assert_non_null(r->rings);
}

static void poll_once(struct run *r)
{
    struct error e = {0};

    assert_int_equal(probe_rings_poll(r->rings, now_ns(), see, &r->seen, &e), STATUS_OK);
    int64_t until = probe_rings_complete_until(r->rings);
    if (until != INT64_MAX && until > r->seen.complete_before)
        r->seen.complete_before = until;
}

static void nap(void)
{
    struct timespec t = {.tv_nsec = 20 * NS_PER_MS};

    nanosleep(&t, NULL);
}

static void finish(struct run *r)
{
    while (waitpid(r->pid, &r->status, WNOHANG) == 0) {
        poll_once(r);
        nap();
    }
    poll_once(r);
    poll_once(r);
    ssize_t n = pread(r->out, r->text, sizeof(r->text) - 1, 0);
    r->text[n > 0 ? n : 0] = '\0';
    close(r->out);
    close(r->in);
}

/* Until the probe has brought so many kernels. */
static void await_kernels(struct run *r, int n)
{
    for (int i = 0; i < 3000 && r->seen.kinds[SPAN_COMPUTE] < n; i++) { /* a minute */
        poll_once(r);
        nap();
    }
    assert_true(r->seen.kinds[SPAN_COMPUTE] >= n);
}

/* Steps that had ended before the last low-water mark, by what the job wrote down: all of their
 * spans were told. */
static int steps_before_mark(const struct run *r)
{
    int steps = 0;

    for (const char *line = r->text; *line; line = strchr(line, '\n') + 1) {
        if (!strchr(line, '\n'))
            break; /* written half */
        steps += strtoll(line, NULL, 10) < r->seen.complete_before;
    }
    return steps;
}

static void clear(struct run *r)
{
    char command[128];

    probe_rings_free(r->rings);
    snprintf(command, sizeof(command), "rm -rf %s", r->dir);
    assert_int_equal(system(command), 0);
}

static void run(struct run *r, const char *mode, const char *n)
{
    start(r, mode, n, NULL);
    finish(r);
}

static int ring_files(const struct run *r)
{
    char command[160];

    snprintf(command, sizeof(command), "test \"$(ls %s | grep -c ring)\" = 0", r->dir);
    return system(command);
}

static void assert_steps(const struct run *r, int n)
{
    const struct seen *s = &r->seen;

    assert_int_equal(s->kinds[SPAN_COMPUTE], n);
    assert_int_equal(s->kinds[SPAN_COMM], n);
    assert_int_equal(s->kinds[SPAN_MEMSET], n);
    assert_int_equal(s->unjoined, 0);
    assert_int_equal(s->late, 0);
    assert_int_equal(s->lost, 0);
    assert_int_equal(s->taken, 1);
    assert_int_equal(s->released, 1);
    /* Times of the device are as good as the pairs of clocks that were taken. */
    int64_t error = probe_rings_totals(r->rings).clock_error_ns;
    assert_true(error > 0);
    assert_true(s->early_ns <= error);
    assert_true(s->taken_at <= s->first_t0 + error && s->last_t1 <= s->released_at + error);
}

static void test_counts_and_joins(void **state)
{
    static struct run r;

    run(&r, "steps", "30");
    assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
    assert_steps(&r, 30);
    assert_int_equal(r.seen.pinned, 30);
    assert_int_equal(r.seen.pageable, 1);
    assert_int_equal(r.seen.sync_copies, 1);
    assert_int_equal(r.seen.calls[CALL_SYNC], 30);
    struct probe_totals totals = probe_rings_totals(r.rings);
    /* 30 kernels of 1 ms, each end of which is as good as the pairs of clocks */
    int64_t off = llabs(r.seen.compute_ns - 30 * NS_PER_MS);
    if (off > 30 * 2 * totals.clock_error_ns)
        fail_msg("30 kernels of 1 ms are wrong by %ld ns, the clocks by %ld", (long)off,
                 (long)totals.clock_error_ns);
    const struct probe_accelerator *a = probe_rings_accelerator(r.rings, 0);
    assert_true(a->simulated && strncmp(a->id, "sim-GPU-", 8) == 0);
    assert_string_equal(a->id + strlen(a->id) - 2, ":0");
    assert_int_equal(totals.cuda_version, 13000);
    assert_int_equal(probe_rings_note_count(r.rings), 0);
    assert_int_equal(ring_files(&r), 0);
    clear(&r);
}

static void test_exit_without_destroying(void **state)
{
    static struct run r;

    run(&r, "leave", "20");
    assert_int_equal(WEXITSTATUS(r.status), 0);
    assert_steps(&r, 20);
    clear(&r);
}

/* _exit: what the last flush had not brought is gone, but no more than that. */
static void test_vanish(void **state)
{
    static struct run r;

    start(&r, "vanish", "0", NULL);
    await_kernels(&r, 100);
    close(r.in);
    r.in = -1;
    finish(&r);
    assert_int_equal(WEXITSTATUS(r.status), 0);
    int steps = steps_before_mark(&r);
    assert_true(steps > 0);
    assert_true(r.seen.kinds[SPAN_COMPUTE] >= steps);
    assert_int_equal(r.seen.released, 1);
    assert_int_equal(r.seen.late, 0);
    clear(&r);
}

static void test_killed(void **state)
{
    static struct run r;

    start(&r, "forever", "0", NULL);
    await_kernels(&r, 50);
    kill(r.pid, SIGKILL);
    int64_t mark = r.seen.complete_before;
    finish(&r);
    assert_true(WIFSIGNALED(r.status));
    int steps = steps_before_mark(&r);
    assert_true(steps > 0);
    assert_true(r.seen.kinds[SPAN_COMPUTE] >= steps);
    assert_int_equal(r.seen.taken, 1);
    assert_int_equal(r.seen.released, 1);
    assert_true(r.seen.released_at >= mark &&
                r.seen.released_at <= now_ns()); /* its last sign of life */
    assert_int_equal(r.seen.late, 0);
    assert_int_equal(ring_files(&r), 0);
    clear(&r);
}

static void test_fork_child_leaves_ring_alone(void **state)
{
    static struct run r;

    run(&r, "forks", "15");
    assert_int_equal(WEXITSTATUS(r.status), 0);
    assert_non_null(strstr(r.text, "exit 7"));
    assert_steps(&r, 30);
    assert_int_equal(probe_rings_totals(r.rings).processes, 1);
    clear(&r);
}

static void test_taken(void **state)
{
    static struct run r;

    run(&r, "taken", "5");
    assert_int_equal(WEXITSTATUS(r.status), 0);
    assert_int_equal(r.seen.kinds[SPAN_COMPUTE], 0);
    assert_int_equal(probe_rings_totals(r.rings).blind, 1);
    assert_int_equal(probe_rings_note_count(r.rings), 1);
    assert_non_null(strstr(probe_rings_note(r.rings, 0), "another profiler holds CUPTI"));
    assert_true(probe_rings_complete_until(r.rings) == INT64_MAX);
    clear(&r);
}

/* The job's own profiler gets everything, we keep what was before and say what is unseen. */
static void test_profiler_takes_over(void **state)
{
    static struct run r;

    run(&r, "profiler", "100");
    assert_int_equal(WEXITSTATUS(r.status), 0);
    assert_non_null(strstr(r.text, "own 200")); /* spin and comm */
    assert_int_equal(r.seen.kinds[SPAN_COMPUTE], 100);
    assert_int_equal(r.seen.unjoined, 0);
    assert_true(r.seen.unseen_ns > 100 * NS_PER_MS); /* as many steps of more than 1 ms */
    assert_int_equal(r.seen.released, 1);
    assert_int_equal(probe_rings_note_count(r.rings), 1);
    assert_non_null(strstr(probe_rings_note(r.rings, 0), "its own profiler"));
    clear(&r);
}

/* Nobody reads: the ring fills up, the job goes on, and what was lost is counted. */
static void test_full_ring(void **state)
{
    static struct run r;

    start(&r, "storm", "70000", NULL);
    assert_int_equal(waitpid(r.pid, &r.status, 0), r.pid);
    assert_int_equal(WEXITSTATUS(r.status), 0);
    poll_once(&r);
    poll_once(&r);
    assert_true(r.seen.lost_count > 0);
    int told = r.seen.kinds[SPAN_COMPUTE] + r.seen.kinds[SPAN_COPY] + r.seen.calls[CALL_SYNC];
    assert_true(told + r.seen.lost_count >= 70000);
    assert_true(r.seen.kinds[SPAN_COMPUTE] > 60000);
    close(r.out);
    close(r.in);
    clear(&r);
}

/* A kernel that runs over many flushes holds the mark back, and nothing comes late. */
static void test_long_kernel(void **state)
{
    static struct run r;

    run(&r, "long", "300");
    assert_int_equal(WEXITSTATUS(r.status), 0);
    assert_int_equal(r.seen.late, 0);
    assert_int_equal(r.seen.kinds[SPAN_COMPUTE], 21);
    clear(&r);
}

/* Two processes, each of which sees one other device as its device 0. */
static void test_two_devices(void **state)
{
    static struct run a, b;
    struct error e = {0};

    setenv("GPUFEED_SIM_DEVICES", "2", 1);
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    start(&a, "steps", "20", NULL);
    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    start(&b, "steps", "20", a.dir);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("GPUFEED_SIM_DEVICES");
    assert_int_equal(waitpid(b.pid, &b.status, 0), b.pid);
    finish(&a);
    assert_int_equal(WEXITSTATUS(a.status) + WEXITSTATUS(b.status), 0);
    assert_int_equal(probe_rings_totals(a.rings).processes, 2);
    assert_int_equal(a.seen.taken, 2);
    assert_int_equal(a.seen.kinds[SPAN_COMPUTE], 40);
    assert_int_equal(probe_rings_accelerator_count(a.rings), 2);
    assert_string_not_equal(probe_rings_accelerator(a.rings, 0)->uuid,
                            probe_rings_accelerator(a.rings, 1)->uuid);
    assert_int_equal(probe_rings_poll(b.rings, now_ns(), see, &b.seen, &e), STATUS_OK);
    assert_int_equal(b.seen.taken, 0);
    close(b.out);
    close(b.in);
    clear(&b);
    clear(&a);
}

static void test_no_place_for_a_ring(void **state)
{
    static struct run r;

    start(&r, "steps", "2", "/nonexistent-folder");
    finish(&r);
    assert_int_equal(WEXITSTATUS(r.status), 0);
    assert_int_equal(probe_rings_totals(r.rings).processes, 0);
    clear(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_and_joins),
        cmocka_unit_test(test_exit_without_destroying),
        cmocka_unit_test(test_vanish),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_fork_child_leaves_ring_alone),
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_profiler_takes_over),
        cmocka_unit_test(test_full_ring),
        cmocka_unit_test(test_long_kernel),
        cmocka_unit_test(test_two_devices),
        cmocka_unit_test(test_no_place_for_a_ring),
    };

    if (argc < 4) {
        fprintf(stderr, "usage: inject_test PROBE.so SIM-FOLDER CUDA-JOB\n");
        return 2;
    }
    probe_path = argv[1];
    sim_dir = argv[2];
    job_path = argv[3];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
