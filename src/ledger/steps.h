/* SPDX-License-Identifier: MIT */
/*
 * steps: turns what a launching thread and its workers did into the replay log.
 *
 * A step begins when the thread took a delivery. Several waits without a driver
 * call between them are one: an in-order loader is woken by batches that it puts
 * aside. Deliveries that nobody waited for are put where they were taken (deliveries.h). A step
 * that nothing ends is ended after some seconds, so that memory is bounded.
 */
#ifndef GPUFEED_LEDGER_STEPS_H
#define GPUFEED_LEDGER_STEPS_H

#include "ledger/thread.h"
#include "plan/replay_log.h"

struct steps; /* of one launching thread on one device */

struct steps_totals {
    uint64_t deliveries, awaited; /* steps, and those that had to wait */
    uint32_t workers;             /* distinct makers that delivered, alive at once at most */
    uint32_t generations;         /* times that workers were started anew after a delivery */
    bool processes;               /* makers are processes, not threads */
};

/* origin: when the device was taken. */
struct steps *steps_new(struct threads *threads, const struct intern *names, struct replay_log *log,
                        uint32_t tid, uint32_t device, int64_t origin);
void steps_free(struct steps *s);
uint32_t steps_tid(const struct steps *s);
/* A span that this thread launched was walked; `adds` as in timeline.h. */
bool steps_span(struct steps *s, const struct event_span *span, int64_t adds);
/* All waits and calls that ended before `until` are known. */
void steps_advance(struct steps *s, int64_t until);
/* The end of the run: what is open is written too. */
void steps_finish(struct steps *s, int64_t until);
void steps_totals(const struct steps *s, struct steps_totals *ret);

#endif
