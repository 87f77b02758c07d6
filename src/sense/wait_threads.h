/* SPDX-License-Identifier: MIT */
/*
 * wait_threads: which threads are known and what they are called, and which
 * processes outside the job wake it so often that they should be followed.
 */
#ifndef GPUFEED_SENSE_WAIT_THREADS_H
#define GPUFEED_SENSE_WAIT_THREADS_H

#include "base/map.h"
#include "bpf/wait.h"
#include "model/event.h"

#define WAIT_OUTSIDE_MAX 64  /* processes outside the job that are followed */
#define WAIT_OUTSIDE_WAKES 8 /* after as many wakes; a FUSE daemon after the first */

struct wait_thread {
    uint32_t tid, tgid;
    bool job;
    char name[16];
};

struct wait_threads {
    struct map by_tid;        /* index + 1 into list */
    struct map by_tgid;       /* number of known threads of a process */
    struct map wakes;         /* tgid outside -> wakes seen */
    struct wait_thread *list; /* owned; free slots have tid 0 */
    size_t count, cap;
    uint32_t free_slot; /* index + 1 of a free slot, chained through tgid */
    uint32_t own_tgid;
    unsigned outside; /* processes followed */
};

void wait_threads_clear(struct wait_threads *t);
/* Fills *ret from a task record; false: nothing new (a thread announced twice). */
bool wait_threads_task(struct wait_threads *t, const struct bpf_task *r, struct event_thread *ret);
/* true: the thread has a new name, *ret tells it. */
bool wait_threads_name(struct wait_threads *t, const struct bpf_off *o, struct event_thread *ret);
/* true: the waker of this wait is outside the job, worth following, and now counted as followed. */
bool wait_threads_follow(struct wait_threads *t, const struct bpf_off *o);

#endif
