/* SPDX-License-Identifier: MIT */
/*
 * gap: what the launching thread did while its device had nothing to do.
 *
 * The gap runs from the end of the last device activity to the beginning of the
 * next. Its causes are those of the thread that launched the next activity, up
 * to the moment of that launch; from there on it is `launch`. Deliveries from one
 * group of makers (the loader's workers, one helper thread) belong to the last one before
 * the launch, since in-order loaders are woken by batches that are not their turn yet.
 */
#ifndef GPUFEED_LEDGER_GAP_H
#define GPUFEED_LEDGER_GAP_H

#include "ledger/walk.h"

struct gap {
    int64_t t0, t1;
    int64_t launch_t0, launch_t1; /* of the activity that ended it; t1 if nobody launched */
    const struct thread *thread;  /* the launching thread; NULL unknown */
    bool ended_by_copy_call;      /* the launch is a copy of pageable memory */
    bool waits_seen;              /* false: no source watches the threads: only calls are known */
};

/* The parts add up to t1 - t0. `links`, unless NULL, receives the chain in words. */
void gap_explain(struct threads *threads, const struct intern *names, const struct gap *gap,
                 struct shares *ret, enum evidence *evidence, struct chain_links *links);

/* Host time up to this long between two launches is launching; beyond, it is other code. A
 * framework takes 5 to 100 us from one launch to the next (facts: PyTorch eager operators). */
#define GAP_LAUNCH_CPU_NS (250 * NS_PER_US)

#endif
