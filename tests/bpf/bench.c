/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include "base/mem.h"
#include "base/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOB_LIMIT_MS 60000
#define POLL_MS 5

int64_t bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

bool bench_possible(void)
{
    struct intern names = {0};
    struct resources *r = NULL;
    struct wait_bpf *w = NULL;
    struct error e = {0};
    struct resource_opts ro = {.names = &names};
    if (resources_new(&r, &ro, &e))
        abort();
    struct wait_bpf_opts wo = {.resources = r};
    int rc = wait_bpf_open(&w, &wo, &e);
    if (rc)
        printf("skipped: %s\n", e.text);
    wait_bpf_close(w);
    resources_free(r);
    intern_clear(&names);
    if (rc && rc != STATUS_DENIED && rc != STATUS_MISSING)
        exit(1);
    return rc == STATUS_OK;
}

void bench_open(struct bench *b, const struct wait_bpf_opts *o)
{
    struct error e = {0};
    *b = (struct bench){.go = -1};
    struct resource_opts ro = {.names = &b->names};
    assert_int_equal(resources_new(&b->resources, &ro, &e), STATUS_OK);
    struct wait_bpf_opts wo = o ? *o : (struct wait_bpf_opts){0};
    wo.resources = b->resources;
    wo.as_old = getenv("GPUFEED_TEST_AS_OLD") != NULL;
    if (wait_bpf_open(&b->wait, &wo, &e))
        fail_msg("%s", e.text);
    b->truth =
        mmap(NULL, sizeof(*b->truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(b->truth, MAP_FAILED);
}

void bench_fork(struct bench *b, job_fn job, void *arg, bool watch)
{
    struct error e = {0};
    int fds[2];
    char byte;
    assert_int_equal(pipe(fds), 0);
    b->job = fork();
    assert_true(b->job >= 0);
    if (b->job == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(fds[1]);
        if (read(fds[0], &byte, 1) == 1) {
            b->truth->begun = bench_now();
            job(b->truth, arg);
        }
        _exit(0);
    }
    close(fds[0]);
    b->go = fds[1];
    if (watch)
        assert_int_equal(wait_bpf_watch(b->wait, (uint32_t)b->job, &e), STATUS_OK);
}

void bench_go(struct bench *b)
{
    assert_int_equal(write(b->go, "x", 1), 1);
}

int bench_keep(void *arg, const struct event *event)
{
    struct bench *b = arg;
    assert_true(mem_grow((void **)&b->events, &b->cap, b->count + 1, sizeof(*b->events)));
    b->events[b->count++] = *event;
    return 0;
}

static void check_end(struct bench *b, int options)
{
    int status;
    if (waitpid(b->job, &status, options) != b->job)
        return;
    b->done = true;
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        fail_msg("the job ended with status %#x", status);
}

void bench_poll(struct bench *b, int ms)
{
    for (int at = 0; at < ms; at += POLL_MS) {
        struct timespec pause = {0, POLL_MS * NS_PER_MS};
        nanosleep(&pause, NULL);
        assert_int_equal(wait_bpf_poll(b->wait, 0, bench_keep, b), 0);
    }
}

void bench_await(struct bench *b, const volatile uint64_t *number)
{
    for (int ms = 0; ms < JOB_LIMIT_MS && !*number; ms += POLL_MS)
        bench_poll(b, POLL_MS);
    assert_true(*number != 0);
}

void bench_finish(struct bench *b)
{
    for (int ms = 0; ms < JOB_LIMIT_MS && !b->done; ms += POLL_MS) {
        bench_poll(b, POLL_MS);
        check_end(b, WNOHANG);
    }
    if (!b->done) {
        kill(b->job, SIGKILL);
        fail_msg("the job did not end");
    }
    assert_int_equal(wait_bpf_poll(b->wait, 0, bench_keep, b), 0);
}

void bench_run(struct bench *b, job_fn job, void *arg)
{
    bench_open(b, NULL);
    bench_fork(b, job, arg, true);
    bench_go(b);
    bench_finish(b);
}

void bench_close(struct bench *b)
{
    if (b->job > 0 && !b->done) {
        kill(b->job, SIGKILL);
        waitpid(b->job, NULL, 0);
    }
    if (b->go >= 0)
        close(b->go);
    wait_bpf_close(b->wait);
    resources_free(b->resources);
    intern_clear(&b->names);
    munmap(b->truth, sizeof(*b->truth));
    free(b->events);
}

const struct event_wait *bench_longest(const struct bench *b, uint32_t tid, enum target target)
{
    const struct event_wait *best = NULL;
    for (size_t i = 0; i < b->count; i++) {
        const struct event_wait *w = &b->events[i].wait;
        if (b->events[i].kind == EVENT_WAIT && w->target == target && (!tid || w->tid == tid) &&
            w->t_out >= b->truth->begun && (!best || blocked_ns(w) > blocked_ns(best)))
            best = w;
    }
    return best;
}

void bench_ended_between(const struct event_wait *w, uint64_t from, uint64_t to)
{
    assert_non_null(w);
    assert_true(w->t_out < (int64_t)from && (int64_t)from <= w->t_wake);
    assert_true(w->t_wake <= (int64_t)to && w->t_wake <= w->t_in);
}

const char *bench_resource(const struct bench *b, const struct event_wait *w)
{
    return intern_text(&b->names, w->resource);
}

const struct event_thread *bench_thread(const struct bench *b, uint32_t tid,
                                        enum thread_change change)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->events[i].kind == EVENT_THREAD && b->events[i].thread.tid == tid &&
            b->events[i].thread.change == change)
            return &b->events[i].thread;
    return NULL;
}

uint64_t bench_lost(const struct bench *b)
{
    uint64_t counts[BPF_LOST_COUNT], sum = 0;
    wait_bpf_lost(b->wait, counts);
    for (int i = 0; i < BPF_LOST_COUNT; i++)
        sum += counts[i];
    return sum;
}
