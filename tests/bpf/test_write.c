/* SPDX-License-Identifier: MIT */
/* Writes that only fill the page cache: they never block, and are seen all the same. */
#include "bench.h"

#include "base/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define BYTES (96 * MIB)
#define BURN_NS (30 * NS_PER_MS)
#define TICK_NS (10 * NS_PER_MS) /* HZ is 100 at least */
/* BPF's clock can step back a little where the kernel has just adjusted it (ktime_get_mono_fast_ns in
 * kernel/time/timekeeping.c). */
#define CLOCK_NS NS_PER_US
#define TMPFS 0x01021994

/* What the job writes down about itself. */
enum { BEGIN, END, CPU, TID };

struct task {
    int fd;
    size_t piece;     /* bytes of a call */
    int64_t between;  /* ns of work between two calls */
    bool mapped;      /* stores through a mapping instead */
    struct truth *to; /* for the thread that writes */
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void burn(int64_t ns)
{
    int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

static void fill(const struct task *task)
{
    char *data = malloc(task->piece);
    memset(data, 7, task->piece);
    for (size_t at = 0; at < BYTES; at += task->piece) {
        int64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (write(task->fd, data, task->piece) != (ssize_t)task->piece)
            _exit(1);
        task->to->number[CPU] += (uint64_t)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
        if (task->between)
            burn(task->between);
    }
    free(data);
}

static void store(const struct task *task)
{
    if (ftruncate(task->fd, BYTES))
        _exit(1);
    char *data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, task->fd, 0);
    if (data == MAP_FAILED)
        _exit(1);
    memset(data, 7, BYTES);
}

static void *writes(void *arg)
{
    struct task *task = arg;
    volatile uint64_t *number = task->to->number;
    number[TID] = (uint64_t)gettid();
    burn(BURN_NS);
    number[BEGIN] = (uint64_t)clock_ns(CLOCK_MONOTONIC);
    if (task->mapped)
        store(task);
    else
        fill(task);
    number[END] = (uint64_t)clock_ns(CLOCK_MONOTONIC);
    burn(BURN_NS);
    return NULL;
}

static void job(struct truth *truth, void *arg)
{
    struct task *task = arg;
    task->to = truth;
    writes(task);
}

/* A helper that the first thread awaits, and that ends with the file. */
static void job_helper(struct truth *truth, void *arg)
{
    struct task *task = arg;
    pthread_t helper;
    task->to = truth;
    if (pthread_create(&helper, NULL, writes, task) || pthread_join(helper, NULL))
        _exit(2);
}

static int open_file(struct stat *st)
{
    struct statfs fs;
    char path[512];
    snprintf(path, sizeof(path), "%s/written-XXXXXX", SCRATCH);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(fstatfs(fd, &fs), 0);
    assert_int_equal(fstat(fd, st), 0);
    if (fs.f_type == TMPFS) { /* nothing there is ever dirty */
        close(fd);
        return -1;
    }
    return fd;
}

/* Time that the writing thread was seen to write, all of it between the marks of the job. */
static int64_t seen_writing(const struct bench *b, const struct stat *st)
{
    const volatile uint64_t *truth = b->truth->number;
    int64_t sum = 0, last = 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct event_wait *w = &b->events[i].wait;
        if (b->events[i].kind != EVENT_WAIT || w->tid != (uint32_t)truth[TID])
            continue;
        if (w->t_out < last)
            print_message("began %lld ns before the one before it ended\n",
                          (long long)(last - w->t_out));
        assert_true(w->t_out >= last - CLOCK_NS); /* in order, and no two at once */
        last = w->t_in;
        if (w->target != TARGET_WRITE)
            continue;
        assert_true(w->t_out >= (int64_t)truth[BEGIN] - TICK_NS &&
                    w->t_in <= (int64_t)truth[END] + TICK_NS);
        assert_int_equal(w->waker_tid, 0);
        assert_true(!w->channel || /* of short calls that no look found */
                    w->channel == resource_inode_channel(
                                      BPF_FILE_REGULAR, major(st->st_dev) << 20 | minor(st->st_dev),
                                      st->st_ino));
        sum += blocked_ns(w);
    }
    return sum;
}

/* How often the writing thread lost its core: each time is an edge of what was seen. */
static int edges(const struct bench *b)
{
    int n = 1;
    for (size_t i = 0; i < b->count; i++)
        n += b->events[i].kind == EVENT_WAIT && b->events[i].wait.target == TARGET_CORE &&
             b->events[i].wait.tid == (uint32_t)b->truth->number[TID];
    return n;
}

/* Looks are as far apart as ticks: each edge is right to within one of them. */
static void check(job_fn body, struct task task)
{
    struct bench b;
    struct stat st;
    task.fd = open_file(&st);
    if (task.fd < 0)
        skip();
    bench_run(&b, body, &task);
    int64_t seen = seen_writing(&b, &st), cpu = (int64_t)b.truth->number[CPU];
    print_message("%.1f ms of %.1f ms on a core were seen\n", (double)seen / NS_PER_MS,
                  (double)cpu / NS_PER_MS);
    int64_t slack = edges(&b) * TICK_NS;
    assert_true(seen > 0 && seen >= cpu * 2 / 3 - slack && seen <= cpu * 3 / 2 + slack);
    assert_int_equal(bench_lost(&b), 0);
    bench_close(&b);
    close(task.fd);
}

static void test_large_writes(void **state)
{
    check(job, (struct task){.piece = MIB});
}

static void test_one_call(void **state)
{
    check(job, (struct task){.piece = BYTES});
}

/* Some thousand short calls, half of the time. */
static void test_small_writes_with_work_between(void **state)
{
    check(job, (struct task){.piece = 8 * KIB, .between = 5 * NS_PER_US});
}

static void test_a_helper_that_ends(void **state)
{
    check(job_helper, (struct task){.piece = MIB});
}

static void test_work_between_writes_is_work(void **state)
{
    check(job, (struct task){.piece = 4 * MIB, .between = 20 * NS_PER_MS});
}

/* Stores into a mapping are the thread's own work. */
static void test_mapped_stores_are_no_writes(void **state)
{
    struct bench b;
    struct stat st;
    struct task task = {.mapped = true};
    task.fd = open_file(&st);
    if (task.fd < 0)
        skip();
    bench_run(&b, job, &task);
    for (size_t i = 0; i < b.count; i++)
        assert_false(b.events[i].kind == EVENT_WAIT && b.events[i].wait.target == TARGET_WRITE &&
                     blocked_ns(&b.events[i].wait) > 0 &&
                     !(b.events[i].wait.flags & (WAIT_IOWAIT | WAIT_WAKER_IRQ)));
    bench_close(&b);
    close(task.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_writes),
        cmocka_unit_test(test_one_call),
        cmocka_unit_test(test_small_writes_with_work_between),
        cmocka_unit_test(test_a_helper_that_ends),
        cmocka_unit_test(test_work_between_writes_is_work),
        cmocka_unit_test(test_mapped_stores_are_no_writes),
    };
    if (!bench_possible())
        return EXIT_SKIP;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
