/* SPDX-License-Identifier: MIT */
/*
 * made_up: the events of a made-up job for the ledger: 50 steps a second of a copy and 60 kernels
 * each on one device, batches from 8 loader processes that read from four stores and lose their
 * cores, a wake from their queue for every one, checkpoints. No clock: the same number of
 * seconds gives the same events.
 */
#ifndef GPUFEED_BENCH_MADE_UP_H
#define GPUFEED_BENCH_MADE_UP_H

#include "ledger/ledger.h"

#define MADE_UP_KERNELS 60 /* a step: 3,000 kernels a second */

/* Announces the job's threads; `names` gets the stores. */
void made_up_begin(struct ledger *l, struct intern *names);
/* Pushes `seconds` of the job and ends it. Calls tick (may be NULL) ten times a second of the job
 * with the time reached, after the ledger was told of it. Returns the number of spans. */
uint64_t made_up_run(struct ledger *l, int64_t seconds, void (*tick)(void *arg, int64_t t),
                     void *arg);

#endif
