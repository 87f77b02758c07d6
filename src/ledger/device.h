/* SPDX-License-Identifier: MIT */
/*
 * device: one accelerator in the ledger: who holds it, what runs, and its account.
 */
#ifndef GPUFEED_LEDGER_DEVICE_H
#define GPUFEED_LEDGER_DEVICE_H

#include "ledger/account.h"
#include "ledger/steps.h"
#include "ledger/thread.h"
#include "ledger/timeline.h"

#define HOLDERS_MAX 64
#define STEPPERS_MAX 8
#define LATE_RANKS_MAX 8 /* the ones seen first; late-peer rows hold all */

/* From `t` on the device is held (pid of one holder) or not (0). */
struct hold {
    int64_t t;
    uint32_t pid;
};

struct unseen {
    int64_t t0, t1;
};

struct device_sums {
    uint64_t launches, pageable_bytes, pinned_bytes, pageable_copies;
    int64_t gap_ns, kernel_ns, pageable_ns; /* the last: of the accelerator's time */
    int64_t pageable_copy_ns;               /* of the copies, whatever else ran */
    uint64_t gaps;
    uint64_t large_bytes; /* of copies from and to pinned memory that tell the speed of the link */
    int64_t large_ns;     /* their durations */
    int64_t orphan_ns;    /* gaps before work that no thread is known to have launched */
    /* of a foreign trace: */
    int64_t late_ns;       /* launched work did not begin ... */
    int64_t late_first_ns; /* ... the first that is told of its stream */
    int64_t awaited_ns;    /* foreign.h */
};

/* A rank that came late to what this device's threads waited for. */
struct late_rank {
    uint32_t tid; /* its launching thread */
    struct shares did;
};

struct device {
    uint32_t number;
    struct threads *threads; /* borrowed, as the next three */
    const struct intern *names;
    struct replay_log *log;
    void *chain_arg;
    void (*chain)(void *arg, const struct chain_example *chain);
    bool waits_seen;
    struct timeline timeline;
    struct account account;
    uint32_t holder[HOLDERS_MAX];
    int holders;
    struct hold *hold; /* owned; sorted by t */
    size_t hold_count, hold_cap;
    struct unseen *unseen; /* owned; sorted by t0 */
    size_t unseen_count, unseen_cap;
    uint32_t launcher;                   /* the thread that launched last */
    struct steps *stepper[STEPPERS_MAX]; /* owned; one per launching thread */
    int steppers;
    struct chain_example longest; /* of the window that is open */
    int64_t longest_window;
    bool calls_only; /* no activity records: busy from a launch to the next synchronisation */
    int64_t pending_launch; /* calls_only: the first launch since; INT64_MIN none */
    int64_t pending_launch_end;
    struct device_sums sums;
    struct late_rank late[LATE_RANKS_MAX];
    int late_ranks;
};

void device_init(struct device *d, uint32_t number);
void device_clear(struct device *d);
bool device_hold(struct device *d, const struct event_device *e);
bool device_span(struct device *d, const struct event_span *e);
/* Driver calls alone, seen from outside: bounds on when the device worked. */
bool device_call(struct device *d, const struct event_call *e);
bool device_unseen(struct device *d, int64_t t0, int64_t t1);
/* Books up to `until`; `last` books an open gap too. The account must have begun. */
void device_advance(struct device *d, int64_t until, bool last);
/* Hands out what the open window holds so far. */
void device_flush(struct device *d);
/* When the device was first taken / last released; INT64_MAX / INT64_MIN unknown. */
int64_t device_taken(const struct device *d);
int64_t device_released(const struct device *d);

#endif
