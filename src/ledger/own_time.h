/* SPDX-License-Identifier: MIT */
/*
 * own_time: what a launching thread did between two takes of a delivery, as the ops of a step.
 *
 * The spans that it launched are kept until the step that they belong to has ended.
 */
#ifndef GPUFEED_LEDGER_OWN_TIME_H
#define GPUFEED_LEDGER_OWN_TIME_H

#include "ledger/thread.h"
#include "plan/replay_log.h"

/* A span as its launching thread saw it. */
struct launched {
    int64_t t0, t1; /* the call */
    int64_t adds;   /* exclusive device time */
    enum cause cause;
    bool sync_copy;
};

struct launches {
    struct launched *item; /* owned; sorted by t0 */
    size_t first, count, cap;
};

void launches_clear(struct launches *q);
/* A span was walked; `adds` as in timeline.h. false: out of memory. */
bool launches_add(struct launches *q, const struct event_span *span, int64_t adds);
void launches_forget(struct launches *q, int64_t before);
/* Did the thread make a driver call that began in [a, b)? */
bool launches_between(const struct launches *q, const struct thread *th, int64_t a, int64_t b);

/* Was the thread inside a call that launched something at t? A copy may wait for the driver's own
 * threads in there. */
bool launches_over(const struct launches *q, int64_t t);
/* When the last call that ended by `t` did; INT64_MIN: none did. */
int64_t launches_end_before(const struct launches *q, int64_t t);

/* Fills the ops of [a, b) in the order of the thread's own time. */
void own_time(const struct launches *launches, const struct threads *threads,
              const struct intern *names, const struct thread *th, struct replay_step *step,
              int64_t a, int64_t b);

#endif
