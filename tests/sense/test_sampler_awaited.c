/* SPDX-License-Identifier: MIT */
/* Threads and child processes that are awaited: seen at the next look, named as who ended the wait, and
 * gone when they have ended, though nobody has asked how. The job does each thing when it is told. */
#include "base/unit.h"
#include "sense/sampler_int.h"
#include "user.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define PATIENCE (60 * NS_PER_S)
#define STEP (10 * NS_PER_MS) /* between two looks, as the sampler is told */

/* Of the job and of the test: what to do, and what was made. */
static struct board {
    _Atomic int told, done;
    _Atomic uint32_t made; /* thread or process that is awaited, or that has ended */
} * board;

static void wait_for(_Atomic int *what, int value)
{
    for (int64_t until = now() + PATIENCE; *what < value && now() < until;)
        sleep_ns(NS_PER_MS / 2);
}

static void *helper(void *arg)
{
    (void)arg;
    board->made = (uint32_t)gettid();
    wait_for(&board->told, 2);
    return NULL;
}

/* Beside the work: so that more than one thread could have ended the wait. */
static void *busy(void *arg)
{
    for (;;)
        sleep_ns(NS_PER_MS);
    return arg;
}

static void join_thread(void)
{
    pthread_t t;
    pthread_create(&t, NULL, helper, NULL);
    pthread_join(t, NULL);
}

static void wait_for_child(void)
{
    pid_t child = fork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        helper(NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void leave_zombie(void)
{
    siginfo_t info;
    pid_t child = fork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        helper(NULL);
        _exit(0);
    }
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    board->done = 1;
    for (;;)
        pause();
}

static pid_t start_job(void (*body)(void))
{
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(board, MAP_FAILED);
    *board = (struct board){0};
    pid_t job = fork();
    if (!job) {
        pthread_t t;
        become_user();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_create(&t, NULL, busy, NULL);
        wait_for(&board->told, 1);
        body();
        board->done = 1;
        for (;;)
            pause();
    }
    return job;
}

static void end_job(pid_t job)
{
    kill(job, SIGKILL);
    waitpid(job, NULL, 0);
    munmap(board, sizeof(*board));
}

struct seen {
    uint32_t job, made; /* whom to look for */
    bool start, exit, woken;
    int64_t born;
    struct event_wait wait; /* of the job's first thread, that `made` ended */
};

static void see(void *arg, const struct event *e)
{
    struct seen *s = arg;
    if (e->kind == EVENT_THREAD && e->thread.tid == s->made && s->made) {
        s->start |= e->thread.change == THREAD_START;
        s->exit |= e->thread.change == THREAD_EXIT;
        s->born = e->thread.change == THREAD_START ? e->thread.t : s->born;
    }
    if (e->kind == EVENT_WAIT && e->wait.tid == s->job && e->wait.waker_tid == s->made && s->made) {
        s->wait = e->wait;
        s->woken = true;
    }
}

struct looking {
    struct sampler *sampler;
    struct seen seen;
    int64_t t; /* as the sampler is told */
};

static void begin_looking(struct looking *l, pid_t job)
{
    struct sampler_opts o = {.root_pid = (uint32_t)job};
    *l = (struct looking){.t = now(), .seen.job = (uint32_t)job};
    assert_int_equal(sampler_open(&l->sampler, &o, NULL), 0);
    while (sampler_stats(l->sampler).threads < 2)
        l->t = sampler_tick(l->sampler, l->t, see, &l->seen);
}

/* One look, as long after the last as a look takes. */
static void look(struct looking *l)
{
    l->t += STEP;
    sampler_tick(l->sampler, l->t, see, &l->seen);
}

/* One look that is not due to look at all processes there are. */
static void look_for_new(struct looking *l)
{
    l->sampler->tree_read = l->t + STEP;
    l->sampler->new_next = 0;
    look(l);
}

/* Until the first thread of the job has been seen in its wait. */
static void look_until_blocked(struct looking *l, uint8_t target)
{
    const struct sampler_thread *t = sampler_thread(l->sampler, l->seen.job);
    for (int64_t end = now() + PATIENCE; now() < end; sleep_ns(NS_PER_MS)) {
        look(l);
        t = sampler_thread(l->sampler, l->seen.job);
        if (t && t->clock.blocked && t->what.target == target && t->what.waker == l->seen.made)
            return;
    }
}

static void look_until(struct looking *l, const bool *until)
{
    for (int64_t end = now() + PATIENCE; !*until && now() < end; sleep_ns(NS_PER_MS))
        look(l);
}

static void find_made(struct looking *l)
{
    board->told = 1;
    for (int64_t end = now() + PATIENCE; !board->made && now() < end;)
        sleep_ns(NS_PER_MS / 2);
    l->seen.made = board->made;
    assert_int_not_equal(l->seen.made, 0);
}

static void look_at_awaited(void (*body)(void), uint8_t target)
{
    struct looking l;
    pid_t job = start_job(body);
    begin_looking(&l, job);
    find_made(&l);
    look_until(&l, &l.seen.start);
    assert_true(l.seen.start);
    look_until_blocked(&l, target);
    board->told = 2;
    look_until(&l, &l.seen.woken);
    assert_true(l.seen.woken);
    assert_int_equal(l.seen.wait.target, target);
    look_until(&l, &l.seen.exit);
    assert_true(l.seen.exit);
    sampler_close(l.sampler);
    end_job(job);
}

static void test_a_thread_is_joined(void **state)
{
    (void)state;
    look_at_awaited(join_thread, TARGET_FUTEX);
}

static void test_a_child_is_awaited(void **state)
{
    (void)state;
    look_at_awaited(wait_for_child, TARGET_CHILD);
}

/* Nobody has asked for its status: it has ended all the same, once. */
static void test_a_zombie_has_ended(void **state)
{
    struct looking l;
    (void)state;
    pid_t job = start_job(leave_zombie);
    begin_looking(&l, job);
    find_made(&l);
    look_until(&l, &l.seen.start);
    board->told = 2;
    wait_for(&board->done, 1);
    look_until(&l, &l.seen.exit);
    assert_true(l.seen.exit);
    l.seen.start = false;
    for (int i = 0; i < 300; i++) /* looks at all processes among them */
        look(&l);
    assert_false(l.seen.start);
    sampler_close(l.sampler);
    end_job(job);
}

/* The next look sees it, without a look at all processes, and says when it was made. */
static void test_a_new_thread_is_seen_at_once(void **state)
{
    static void (*const bodies[])(void) = {join_thread, wait_for_child};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        bool found = false;
        for (int tries = 0; tries < 20 && !found; tries++) { /* others made too many: once more */
            struct looking l;
            pid_t job = start_job(bodies[i]);
            begin_looking(&l, job);
            look_for_new(&l);
            find_made(&l);
            look_for_new(&l);
            found = l.seen.start;
            if (found)
                assert_in_range(l.seen.born, l.t - STEP, l.t);
            sampler_close(l.sampler);
            end_job(job);
        }
        assert_true(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_is_joined),
        cmocka_unit_test(test_a_child_is_awaited),
        cmocka_unit_test(test_a_zombie_has_ended),
        cmocka_unit_test(test_a_new_thread_is_seen_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
