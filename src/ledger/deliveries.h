/* SPDX-License-Identifier: MIT */
/*
 * deliveries: what the makers handed over, and when the launching thread took it.
 *
 * A take that the thread waited for shows as a wait. The others leave three traces:
 *   - a worker without work gets some when one of its deliveries is taken (loaders order anew with
 *     each take), so the end of its wait for work is the moment of a take; how many lay there then
 *     is how far it may be ahead;
 *   - deliveries of one maker are taken in order, so one that is awaited says that those before it
 *     were taken;
 *   - a loader that keeps an order takes one of each maker in turn; one that keeps none has taken
 *     all that was there when the thread begins to wait.
 */
#ifndef GPUFEED_LEDGER_DELIVERIES_H
#define GPUFEED_LEDGER_DELIVERIES_H

#include "ledger/makers.h"
#include "ledger/own_time.h"

#define DELIVERIES_TAKEN_MAX 1024

struct taken {
    uint64_t serial;
    int64_t end, at; /* when it was handed over, and taken */
};

/* Brings what all makers handed over up to `until` into the log and their queues. */
void deliveries_update(struct makers *ms, const struct thread *th, const struct launches *launches,
                       int64_t until);

/*
 * Takes what was taken without a wait between `from` and t0, when the thread began to wait for the
 * next of `m`, in the order in which it was taken. `fresh`: m's newest delivery woke it at t1.
 * Returns the number.
 */
int deliveries_unnoticed(struct makers *ms, struct made_by *m, int64_t from, int64_t t0, int64_t t1,
                         bool fresh, struct taken taken[DELIVERIES_TAKEN_MAX]);
/* The same where nothing is waited for: what is known to be taken by `until`. */
int deliveries_known(struct makers *ms, int64_t from, int64_t until,
                     struct taken taken[DELIVERIES_TAKEN_MAX]);
/* The delivery that was awaited up to t1; REPLAY_NONE: it did not show. */
uint64_t deliveries_awaited(struct makers *ms, struct made_by *m, int64_t t1);

#endif
