/* SPDX-License-Identifier: MIT */
/* Threads, pipes, futexes, sleeps, processes and cores: what waits for whom. */
#include "asleep.h"
#include "bench.h"

#include "base/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS (40 * NS_PER_MS)

/* Where a job notes when it began and had ended what another waits for. */
enum { FROM = 8, TO = 9, NAP_FROM = 10, NAP_TO = 11 };

static void nap(int64_t ns)
{
    struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};
    nanosleep(&t, NULL);
}

static uint32_t own_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* A nap whose begin and end are noted. */
static void noted_nap(struct truth *truth, int64_t ns)
{
    truth->number[NAP_FROM] = (uint64_t)bench_now();
    nap(ns);
    truth->number[NAP_TO] = (uint64_t)bench_now();
}

/* Once that thread sleeps and after a nap: a byte through fd, noted. */
static bool wake_by_word(struct truth *truth, pid_t sleeper, int fd)
{
    uint64_t word = 1;
    await_asleep(sleeper);
    noted_nap(truth, NAP_NS);
    truth->number[FROM] = (uint64_t)bench_now();
    bool ok = write(fd, &word, sizeof(word)) == sizeof(word);
    truth->number[TO] = (uint64_t)bench_now();
    return ok;
}

/* The longest sleep of a thread is the nap that it noted. */
static void assert_napped(const struct bench *b, uint32_t tid)
{
    const struct event_wait *sleep = bench_longest(b, tid, TARGET_SLEEP);
    assert_non_null(sleep);
    assert_true(sleep->t_out >= (int64_t)b->truth->number[NAP_FROM]);
    assert_true(sleep->t_in <= (int64_t)b->truth->number[NAP_TO]);
}

/* ---- a reader and its writer over several kinds of channel ---- */

enum channel { CHANNEL_PIPE, CHANNEL_UNIX, CHANNEL_EVENTFD };

static void job_channel(struct truth *truth, void *arg)
{
    int fds[2] = {-1, -1}, fails = 0;
    uint64_t word = 1;
    switch (*(enum channel *)arg) {
    case CHANNEL_PIPE:
        fails = pipe(fds);
        break;
    case CHANNEL_UNIX:
        fails = socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
        break;
    case CHANNEL_EVENTFD:
        fds[0] = fds[1] = eventfd(0, 0);
        break;
    }
    if (fails || fds[0] < 0)
        _exit(1);
    pid_t job = getpid(), child = fork();
    if (child == 0)
        _exit(!wake_by_word(truth, job, fds[1]));
    truth->number[0] = (uint64_t)child;
    if (read(fds[0], &word, sizeof(word)) != sizeof(word))
        _exit(2);
    waitpid(child, NULL, 0);
}

static void check_channel(enum channel kind)
{
    struct bench b;
    bench_run(&b, job_channel, &kind);
    uint32_t job = (uint32_t)b.job, child = (uint32_t)b.truth->number[0];
    const struct event_wait *w = bench_longest(&b, job, TARGET_PIPE);
    bench_ended_between(w, b.truth->number[FROM], b.truth->number[TO]);
    assert_int_equal(w->waker_tid, child);
    assert_int_equal(w->waker_tgid, child);
    assert_int_equal(w->flags, 0);
    assert_int_not_equal(w->channel, 0);
    assert_napped(&b, child);
    assert_int_equal(bench_lost(&b), 0);
    bench_close(&b);
}

static void test_pipe_names_its_writer(void **state)
{
    check_channel(CHANNEL_PIPE);
}

static void test_unix_socket_names_its_writer(void **state)
{
    check_channel(CHANNEL_UNIX);
}

static void test_eventfd_names_its_writer(void **state)
{
    check_channel(CHANNEL_EVENTFD);
}

/* Both ends of a socket pair have to give the same channel, two pairs different ones. */
static void job_two_ends(struct truth *truth, void *arg)
{
    int a[2], b[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, a) || socketpair(AF_UNIX, SOCK_STREAM, 0, b))
        _exit(1);
    pid_t job = getpid(), child = fork();
    if (child == 0) {
        if (read(a[1], &byte, 1) != 1)
            _exit(1);
        await_asleep(job);
        _exit(write(a[1], "x", 1) != 1);
    }
    truth->number[0] = (uint64_t)child;
    await_asleep(child);
    if (write(a[0], "x", 1) != 1 || read(a[0], &byte, 1) != 1)
        _exit(1);
    child = fork();
    if (child == 0) {
        await_asleep(job);
        _exit(write(b[1], "x", 1) != 1);
    }
    if (read(b[0], &byte, 1) != 1)
        _exit(1);
}

static void test_channel_is_the_same_at_both_ends(void **state)
{
    struct bench b;
    uint64_t far = 0, near = 0, other = 0; /* the first pair's ends, the second pair's */
    bench_run(&b, job_two_ends, NULL);
    for (size_t i = 0; i < b.count; i++) {
        const struct event_wait *w = &b.events[i].wait;
        if (b.events[i].kind != EVENT_WAIT || w->target != TARGET_PIPE || w->t_out < b.truth->begun)
            continue;
        if (w->tid == (uint32_t)b.truth->number[0])
            far = w->channel;
        if (w->tid == (uint32_t)b.job)
            other = w->channel; /* the last; a pair may wake its reader more than once */
        if (w->tid == (uint32_t)b.job && !near)
            near = w->channel;
    }
    assert_true(far && near && other);
    assert_true(far == near);
    assert_true(near != other);
    bench_close(&b);
}

/* ---- futex ---- */

static _Atomic uint32_t word;

static void *wake_later(void *arg)
{
    struct truth *truth = arg;
    truth->number[0] = own_tid();
    await_asleep(getpid());
    nap(NAP_NS);
    truth->number[FROM] = (uint64_t)bench_now();
    atomic_store(&word, 1);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    truth->number[TO] = (uint64_t)bench_now();
    return NULL;
}

static void job_futex(struct truth *truth, void *arg)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wake_later, truth);
    while (!atomic_load(&word))
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    pthread_join(thread, NULL);
}

static void test_futex_names_the_thread(void **state)
{
    struct bench b;
    bench_run(&b, job_futex, NULL);
    const struct event_wait *w = bench_longest(&b, (uint32_t)b.job, TARGET_FUTEX);
    bench_ended_between(w, b.truth->number[FROM], b.truth->number[TO]);
    assert_int_equal(w->waker_tid, b.truth->number[0]);
    assert_int_equal(w->waker_tgid, b.job);
    assert_int_equal(w->resource, 0);
    bench_close(&b);
}

/* ---- sleep, poll without descriptors ---- */

static void job_sleep(struct truth *truth, void *arg)
{
    noted_nap(truth, NAP_NS);
}

static void test_sleep_has_no_waker(void **state)
{
    struct bench b;
    bench_run(&b, job_sleep, NULL);
    assert_napped(&b, (uint32_t)b.job);
    const struct event_wait *w = bench_longest(&b, (uint32_t)b.job, TARGET_SLEEP);
    assert_int_equal(w->waker_tid, 0);
    if (w->t_wake != w->t_in) /* equal: the wake was not seen */
        assert_int_equal(w->flags & WAIT_WAKER_IRQ, WAIT_WAKER_IRQ);
    bench_close(&b);
}

/* ---- processes and names ---- */

static void *named_thread(void *arg)
{
    struct truth *truth = arg;
    truth->number[2] = own_tid();
    prctl(PR_SET_NAME, "feeder");
    nap(NS_PER_MS);
    return NULL;
}

static void job_tree(struct truth *truth, void *arg)
{
    pthread_t thread;
    pid_t job = getpid(), child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            execl("/bin/sleep", "sleep", "0.05", (char *)NULL);
            _exit(127);
        }
        truth->number[1] = (uint64_t)grandchild;
        await_asleep(job);
        _exit(0); /* the grandchild is an orphan now, and still of the job */
    }
    truth->number[0] = (uint64_t)child;
    waitpid(child, NULL, 0);
    pthread_create(&thread, NULL, named_thread, truth);
    pthread_join(thread, NULL);
    nap(4 * NAP_NS);
}

static void test_tree_of_processes_and_names(void **state)
{
    struct bench b;
    bench_run(&b, job_tree, NULL);
    for (int i = 0; i < 600 && !bench_thread(&b, (uint32_t)b.truth->number[1], THREAD_EXIT); i++)
        bench_poll(&b, 100);
    uint32_t child = (uint32_t)b.truth->number[0], grandchild = (uint32_t)b.truth->number[1];
    uint32_t thread = (uint32_t)b.truth->number[2], job = (uint32_t)b.job;
    const struct event_thread *t = bench_thread(&b, child, THREAD_START);
    assert_non_null(t);
    assert_int_equal(t->parent_tgid, job);
    assert_true(t->job);
    t = bench_thread(&b, grandchild, THREAD_START);
    assert_non_null(t);
    assert_int_equal(t->parent_tgid, child);
    t = bench_thread(&b, grandchild, THREAD_EXEC);
    assert_non_null(t);
    assert_string_equal(t->name, "sleep");
    assert_non_null(bench_thread(&b, grandchild, THREAD_EXIT));
    assert_non_null(bench_longest(&b, grandchild, TARGET_SLEEP));
    t = bench_thread(&b, thread, THREAD_START);
    assert_non_null(t);
    assert_int_equal(t->tgid, job);
    t = bench_thread(&b, thread, THREAD_NAME);
    assert_non_null(t);
    assert_string_equal(t->name, "feeder");
    assert_non_null(bench_thread(&b, thread, THREAD_EXIT));
    assert_non_null(bench_thread(&b, job, THREAD_EXIT));
    assert_non_null(bench_longest(&b, job, TARGET_CHILD));
    bench_close(&b);
}

/* ---- a process that runs already, and waits that are still open ---- */

static int forever[2];

static void *read_forever(void *arg)
{
    char byte;
    struct truth *truth = arg;
    truth->number[0] = own_tid();
    return (void *)(intptr_t)read(forever[0], &byte, 1);
}

static void job_running(struct truth *truth, void *arg)
{
    pthread_t thread;
    if (pipe(forever))
        _exit(1);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    truth->number[1] = (uint64_t)child;
    pthread_create(&thread, NULL, read_forever, truth);
    while (!truth->number[0])
        nap(NS_PER_MS);
    await_asleep((pid_t)truth->number[0]);
    truth->number[2] = 1;
    while (truth->number[2] == 1)
        nap(NS_PER_MS);
    if (write(forever[1], "x", 1) != 1)
        _exit(1);
    pthread_join(thread, NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void test_running_process_and_open_waits(void **state)
{
    struct bench b;
    struct error e = {0};
    bench_open(&b, NULL);
    bench_fork(&b, job_running, NULL, false);
    bench_go(&b);
    bench_await(&b, &b.truth->number[2]);
    assert_int_equal(wait_bpf_watch(b.wait, (uint32_t)b.job, &e), STATUS_OK);
    bench_poll(&b, 10);
    uint32_t thread = (uint32_t)b.truth->number[0], child = (uint32_t)b.truth->number[1];
    assert_non_null(bench_thread(&b, (uint32_t)b.job, THREAD_START));
    assert_non_null(bench_thread(&b, thread, THREAD_START));
    assert_non_null(bench_thread(&b, child, THREAD_START));
    assert_null(bench_longest(&b, thread, TARGET_PIPE)); /* it slept before we looked */

    b.truth->number[2] = 2;
    bench_finish(&b);
    assert_non_null(bench_thread(&b, thread, THREAD_EXIT));
    bench_close(&b);
}

static void job_open(struct truth *truth, void *arg)
{
    char byte;
    int fds[2];
    if (pipe(fds))
        _exit(1);
    pid_t job = getpid(), child = fork();
    if (child == 0) {
        await_asleep(job);
        truth->number[0] = 1; /* the job waits */
        while (!truth->number[1])
            nap(NS_PER_MS);
        _exit(!wake_by_word(truth, job, fds[1]));
    }
    if (read(fds[0], &byte, 1) != 1)
        _exit(1);
}

static void test_open_waits_are_told(void **state)
{
    struct bench b;
    size_t open = 0;
    bench_open(&b, NULL);
    bench_fork(&b, job_open, NULL, true);
    bench_go(&b);
    bench_await(&b, &b.truth->number[0]);
    bench_poll(&b, 30);
    int64_t now = bench_now();
    assert_int_equal(wait_bpf_open_waits(b.wait, bench_keep, &b), 0);
    for (size_t i = 0; i < b.count; i++) {
        const struct event_wait *w = &b.events[i].wait;
        if (b.events[i].kind != EVENT_WAIT || !(w->flags & WAIT_OPEN_END) ||
            w->tid != (uint32_t)b.job)
            continue;
        open++;
        assert_int_equal(w->target, TARGET_PIPE);
        assert_true(w->t_out < now && w->t_in >= now);
        assert_int_equal(w->t_wake, w->t_in);
    }
    assert_int_equal(open, 1);
    b.count = 0;
    b.truth->number[1] = 1;
    bench_finish(&b);
    const struct event_wait *whole = bench_longest(&b, (uint32_t)b.job, TARGET_PIPE);
    bench_ended_between(whole, b.truth->number[FROM], b.truth->number[TO]);
    assert_int_equal(whole->flags & WAIT_OPEN_END, 0);
    bench_close(&b);
}

/* ---- cores: the sum of runnable time against the scheduler's own count ---- */

static uint64_t read_delay(void)
{
    char path[64];
    unsigned long long run = 0, delay = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%u/schedstat", own_tid());
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%llu %llu", &run, &delay) != 2)
        _exit(3);
    fclose(f);
    return delay;
}

/* The count and the time, noted as number `at`, belong together: nothing came between. */
static uint64_t run_delay(struct truth *truth, int at)
{
    uint64_t delay;
    int64_t before, after;
    do {
        before = bench_now();
        delay = read_delay();
        after = bench_now();
    } while (after - before > NS_PER_MS);
    truth->number[at] = (uint64_t)after;
    return delay;
}

static void spin(int64_t ns)
{
    for (int64_t end = bench_now() + ns; bench_now() < end;)
        ;
}

static void job_crowded(struct truth *truth, void *arg)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof(one), &one);
    pid_t child = fork();
    if (child == 0) {
        while (!truth->number[2])
            ;
        _exit(0);
    }
    uint64_t before = run_delay(truth, 1);
    for (int i = 0; i < 10 || read_delay() - before < 30 * NS_PER_MS; i++) {
        spin(NAP_NS / 2);
        nap(NS_PER_MS);
    }
    truth->number[0] = run_delay(truth, 2) - before;
    waitpid(child, NULL, 0);
}

static void test_runnable_time_adds_up(void **state)
{
    struct bench b;
    int64_t sum = 0;
    bench_run(&b, job_crowded, NULL);
    for (size_t i = 0; i < b.count; i++) {
        const struct event_wait *w = &b.events[i].wait;
        if (b.events[i].kind == EVENT_WAIT && w->tid == (uint32_t)b.job &&
            w->t_out >= (int64_t)b.truth->number[1] && w->t_in <= (int64_t)b.truth->number[2])
            sum += w->t_in - w->t_wake;
    }
    int64_t want = (int64_t)b.truth->number[0];
    assert_true(want >= 30 * NS_PER_MS);
    int64_t off = sum > want ? sum - want : want - sum;
    if (off > want / 20 + 2 * NS_PER_MS)
        fail_msg("%.1f ms runnable seen, %.1f ms true", (double)sum / NS_PER_MS,
                 (double)want / NS_PER_MS);
    bench_close(&b);
}

/* ---- nothing is missed: as many waits as the kernel counts voluntary switches ---- */

static void job_busy(struct truth *truth, void *arg)
{
    struct rusage a, z;
    struct timespec t = {0, 20 * NS_PER_US};
    nap(NS_PER_MS);
    getrusage(RUSAGE_THREAD, &a);
    truth->number[1] = (uint64_t)bench_now();
    for (int i = 0; i < 500; i++)
        nanosleep(&t, NULL);
    truth->number[2] = (uint64_t)bench_now();
    getrusage(RUSAGE_THREAD, &z);
    truth->number[0] = (uint64_t)(z.ru_nvcsw - a.ru_nvcsw);
}

static void test_no_wait_is_missed(void **state)
{
    struct bench b;
    uint64_t seen = 0;
    bench_run(&b, job_busy, NULL);
    int64_t last = 0;
    for (size_t i = 0; i < b.count; i++) {
        const struct event_wait *w = &b.events[i].wait;
        if (b.events[i].kind != EVENT_WAIT || w->tid != (uint32_t)b.job)
            continue;
        assert_true(w->t_out >= last && w->t_out <= w->t_wake && w->t_wake <= w->t_in);
        last = w->t_in;
        seen += w->target != TARGET_CORE && w->t_out >= (int64_t)b.truth->number[1] &&
                w->t_in <= (int64_t)b.truth->number[2];
    }
    if (seen != b.truth->number[0])
        fail_msg("%lu waits seen, %lu true, %lu lost", (unsigned long)seen,
                 (unsigned long)b.truth->number[0], (unsigned long)bench_lost(&b));
    assert_true(seen > 0);
    bench_close(&b);
}

/* ---- a ring that is too small ---- */

static void test_overflow_is_counted(void **state)
{
    struct bench b;
    uint64_t counts[BPF_LOST_COUNT], waits = 0;
    struct wait_bpf_opts o = {.ring_bytes = (size_t)sysconf(_SC_PAGESIZE)};
    bench_open(&b, &o);
    bench_fork(&b, job_busy, NULL, true);
    bench_go(&b);
    while (!b.truth->number[0]) /* nobody reads until the job is over */
        nap(NS_PER_MS);
    bench_finish(&b);
    wait_bpf_lost(b.wait, counts);
    for (size_t i = 0; i < b.count; i++)
        waits += b.events[i].kind == EVENT_WAIT;
    assert_true(counts[BPF_LOST_RING] > 0);
    assert_true(waits + counts[BPF_LOST_RING] >= b.truth->number[0]);
    assert_int_equal(counts[BPF_LOST_MAP], 0);
    bench_close(&b);
}

/* ---- a process outside the job that wakes it again and again ---- */

#define FEEDS 30

static void feed(pid_t eater, int fd)
{
    for (int i = 0; i < FEEDS; i++) {
        await_asleep(eater);
        nap(5 * NS_PER_MS);
        if (write(fd, "x", 1) != 1)
            _exit(1);
    }
    nap(NAP_NS);
    _exit(0);
}

static void job_eat(struct truth *truth, void *arg)
{
    char byte;
    for (int i = 0; i < FEEDS; i++)
        if (read(*(int *)arg, &byte, 1) != 1)
            _exit(1);
}

static void test_outside_waker_is_followed(void **state)
{
    struct bench b;
    int fds[2], sleeps = 0;
    assert_int_equal(pipe(fds), 0);
    bench_open(&b, NULL);
    bench_fork(&b, job_eat, &fds[0], true);
    pid_t feeder = fork();
    if (feeder == 0) {
        while (!b.truth->begun)
            nap(NS_PER_MS);
        feed(b.job, fds[1]);
    }
    bench_go(&b);
    bench_finish(&b);
    waitpid(feeder, NULL, 0);
    for (int i = 0; i < 6000 && !bench_thread(&b, (uint32_t)feeder, THREAD_EXIT); i++)
        bench_poll(&b, 10);
    const struct event_thread *t = bench_thread(&b, (uint32_t)feeder, THREAD_START);
    assert_non_null(t);
    assert_false(t->job);
    assert_non_null(bench_thread(&b, (uint32_t)feeder, THREAD_EXIT));
    for (size_t i = 0; i < b.count; i++)
        sleeps += b.events[i].kind == EVENT_WAIT && b.events[i].wait.tid == (uint32_t)feeder &&
                  b.events[i].wait.target == TARGET_SLEEP;
    assert_in_range(sleeps, FEEDS / 3, FEEDS); /* from its eighth wake on */
    assert_null(bench_thread(&b, (uint32_t)getpid(), THREAD_START));
    close(fds[0]);
    close(fds[1]);
    bench_close(&b);
}

/* ---- without privileges one line says what is missing ---- */

static void test_denied_names_the_capability(void **state)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct wait_bpf *w = NULL;
        struct error e = {0};
        struct wait_bpf_opts o = {0};
        if (setresuid(65534, 65534, 65534))
            _exit(2);
        int rc = wait_bpf_open(&w, &o, &e);
        _exit(rc != STATUS_DENIED || w || !strstr(e.text, "CAP_BPF and CAP_PERFMON") ||
              strchr(e.text, '\n'));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_missing_process(void **state)
{
    struct bench b;
    struct error e = {0};
    bench_open(&b, NULL);
    assert_int_equal(wait_bpf_watch(b.wait, 0x3ffffff0, &e), STATUS_MISSING);
    assert_non_null(strstr(e.text, "there is no process"));
    b.done = true;
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipe_names_its_writer),
        cmocka_unit_test(test_unix_socket_names_its_writer),
        cmocka_unit_test(test_eventfd_names_its_writer),
        cmocka_unit_test(test_channel_is_the_same_at_both_ends),
        cmocka_unit_test(test_futex_names_the_thread),
        cmocka_unit_test(test_sleep_has_no_waker),
        cmocka_unit_test(test_tree_of_processes_and_names),
        cmocka_unit_test(test_running_process_and_open_waits),
        cmocka_unit_test(test_open_waits_are_told),
        cmocka_unit_test(test_runnable_time_adds_up),
        cmocka_unit_test(test_no_wait_is_missed),
        cmocka_unit_test(test_overflow_is_counted),
        cmocka_unit_test(test_outside_waker_is_followed),
        cmocka_unit_test(test_denied_names_the_capability),
        cmocka_unit_test(test_missing_process),
    };
    if (!bench_possible())
        return EXIT_SKIP;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
