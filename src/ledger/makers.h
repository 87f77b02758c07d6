/* SPDX-License-Identifier: MIT */
/*
 * makers: who makes the deliveries of one launching thread, and what lies there untaken.
 *
 * A maker is a loader process, or a thread of the launching process. What it hands over is read
 * off its wakes (or, where nobody waited, off its own waits for work), pushed into the replay log
 * and queued here until the launching thread takes it.
 */
#ifndef GPUFEED_LEDGER_MAKERS_H
#define GPUFEED_LEDGER_MAKERS_H

#include "ledger/steps.h"

#define MAKERS_MAX 256
#define MAKERS_QUEUE_MAX 256

/* One worker: a loader process, or a thread of this process. */
struct made_by {
    uint32_t key;      /* tgid of a process, tid of a thread */
    uint32_t tid, hop; /* the thread that makes; the one it hands over to */
    int64_t seen;      /* deliveries up to here are in the log */
    uint64_t queue[MAKERS_QUEUE_MAX]; /* serials not consumed yet, a ring */
    int64_t ends[MAKERS_QUEUE_MAX];
    unsigned head, tail;
    unsigned most; /* delivered and not taken at most: its prefetch; 0 not known */
    uint64_t consumed;
    int64_t last;
};

struct makers {
    struct threads *threads; /* borrowed, as the next two */
    const struct intern *names;
    struct replay_log *log;
    int consumer; /* of the log */
    struct made_by *maker[MAKERS_MAX]; /* owned */
    int count;
    uint32_t distinct; /* makers ever seen */
    struct steps_totals totals;
};

struct taken {
    uint64_t serial;
    int64_t end;
};

void makers_clear(struct makers *ms);
/* The maker behind a wake of the launching thread `th`; NULL: not a loader's. */
struct made_by *makers_of_wake(struct makers *ms, const struct thread *th,
                               const struct event_wait *w);
/* Brings what all makers handed over up to `until` into the log and their queues. */
void makers_update(struct makers *ms, const struct thread *th, int64_t until);
/* Takes the oldest delivery of a maker that has one. */
struct taken makers_take(struct made_by *m);
/*
 * Takes, before the next of `m` is taken at t0, what must have been taken without a wait, oldest
 * first. `fresh`: the thread was woken by m's newest delivery, which ended then, so what m
 * delivered before was taken unnoticed; INT64_MIN: it was not. Returns the number.
 */
int makers_unnoticed(struct makers *ms, struct made_by *m, int64_t t0, int64_t fresh,
                     struct taken taken[MAKERS_QUEUE_MAX]);

#endif
