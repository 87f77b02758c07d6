/* SPDX-License-Identifier: MIT */
/*
 * foreign: gaps of devices as a profiler's trace explains them. It shows no waits and no wakes, but
 * what the launching thread was in: ranges with a known cause, calls of the runtime, operators of
 * the framework (ops.h), in this order. What is left is the thread's own code.
 */
#ifndef GPUFEED_LEDGER_FOREIGN_H
#define GPUFEED_LEDGER_FOREIGN_H

#include "ledger/gap.h"

/* As gap_explain. Operators and own code of up to GAP_LAUNCH_CPU_NS in a gap are launching, more is
 * `host`, with the operator's name where one takes most of it. */
void foreign_explain(struct threads *threads, const struct intern *names, const struct gap *gap,
                     struct shares *ret, enum evidence *evidence, struct chain_links *links);

/* Launched work begins within this time on an idle device, unless its stream waits for something that
 * the trace does not show; then the cause is unknown. Launches take 2 to 20 us to arrive (CUDA), up to
 * some 100 us with a graph or on AMD. */
#define FOREIGN_BEGIN_NS (1 * NS_PER_MS)

/* How much of the end of a gap launched work took to begin; 0 where that is within FOREIGN_BEGIN_NS. */
int64_t foreign_late(const struct gap *gap);

/*
 * How much of [t0, t1), in which the device computes, the host did nothing but wait for that: some
 * thread that launches was in a call that returns when the device is done, and no other thread that
 * launches was in anything else. On a device of infinite speed this time vanishes, and nothing else
 * does: the host still needs what it needs between its synchronisations. So a faster device gives
 * at most span / (span - awaited), not span / (span - compute): the two differ by what computes
 * while the host works. (The same bound as longest path through the trace with all kernels
 * at zero; Daydream, USENIX ATC 2020, section 4, and HTA's critical path compute it from the same events.)
 */
int64_t foreign_awaited(const struct threads *threads, int64_t t0, int64_t t1);

#endif
