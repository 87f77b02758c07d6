/* SPDX-License-Identifier: MIT */
/*
 * bench: runs a small job in a forked process under the wait chain and keeps
 * every event, for tests that compare what was seen with what the job did.
 */
#ifndef GPUFEED_TESTS_BPF_BENCH_H
#define GPUFEED_TESTS_BPF_BENCH_H

#include "sense/wait_bpf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define EXIT_SKIP 77
#define TRUTH_NUMBERS 16

/* Shared with the job: what it really did, and what each side waits for of the other. */
struct truth {
    volatile uint64_t number[TRUTH_NUMBERS];
    int64_t begun; /* CLOCK_MONOTONIC when the job's own code began: before, it awaited bench_go */
};

struct bench {
    struct intern names;
    struct resources *resources;
    struct wait_bpf *wait;
    struct event *events; /* owned */
    size_t count, cap;
    struct truth *truth;
    pid_t job;
    int go;    /* written to: the job starts */
    bool done; /* the job has ended */
};

typedef void (*job_fn)(struct truth *truth, void *arg);

/* true: the wait chain works here; else prints why and the test program exits 77. */
bool bench_possible(void);
/* Opens the wait chain; nothing is watched yet. o: ring and variants, NULL for the usual. With
 * GPUFEED_TEST_AS_OLD in the environment nothing is used that old kernels lack. */
void bench_open(struct bench *b, const struct wait_bpf_opts *o);
/* Forks the job; it waits until bench_go. watch: it is watched from its start. */
void bench_fork(struct bench *b, job_fn job, void *arg, bool watch);
void bench_go(struct bench *b);
/* Polls until the job has ended; fails the test when it does not exit with 0 in a minute. */
void bench_finish(struct bench *b);
/* Polls for a while. */
void bench_poll(struct bench *b, int ms);
void bench_close(struct bench *b);
/* All of it: open, fork, watch, go, finish. */
void bench_run(struct bench *b, job_fn job, void *arg);

int bench_keep(void *bench, const struct event *event);

/* The longest wait with this target of thread tid (0: any), once the job had begun; NULL: none. */
const struct event_wait *bench_longest(const struct bench *b, uint32_t tid, enum target target);
/* Fails the test unless the wait was on when the job noted `from` and was ended before it noted `to`. */
void bench_ended_between(const struct event_wait *w, uint64_t from, uint64_t to);
/* Polls until *number is not 0, for a minute at most. */
void bench_await(struct bench *b, const volatile uint64_t *number);
int64_t bench_now(void);
const char *bench_resource(const struct bench *b, const struct event_wait *w);
/* The first such change of a thread; NULL: none. */
const struct event_thread *bench_thread(const struct bench *b, uint32_t tid,
                                        enum thread_change change);
uint64_t bench_lost(const struct bench *b);

static inline int64_t blocked_ns(const struct event_wait *w)
{
    return w->t_wake - w->t_out;
}

#endif
