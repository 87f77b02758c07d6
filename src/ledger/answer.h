/* SPDX-License-Identifier: MIT */
/*
 * answer: wakes of a worker's process that only answer a question about what was handed over before.
 *
 * PyTorch puts tensors into shared memory: who takes a batch fetches their descriptors from a thread of the
 * worker that made it (the sharer), beside the one that said that the batch is there.
 */
#ifndef GPUFEED_LEDGER_ANSWER_H
#define GPUFEED_LEDGER_ANSWER_H

#include "ledger/turn.h"

#include "base/unit.h"

/* A turn that began with a question and was this short, but for waits for a lock, is an answer, not a
 * making. */
#define ANSWER_NS (2 * NS_PER_MS)
/* What it answers about was handed over at most this long before. */
#define ANSWER_REACH_NS (20 * NS_PER_MS)

/* Did x in this turn, which was for another process, only answer? */
bool answer_only(const struct thread *x, const struct turn *turn);
/* Does x ask y, by what its last wakes before `at` tell? Room that x made in y's pipe is no question. */
bool answer_asked(const struct thread *x, const struct thread *y, int64_t at);
/* The thread of x's process that handed over what x then answered for: it woke the consumer just before, at
 * *ret_t. NULL: the consumer did not wait for that. */
const struct thread *answer_follows(const struct threads *t, const struct thread *x,
                                    const struct thread *consumer, int64_t at, int64_t *ret_t);
/* The thread that x's process makes its deliveries with, and the one that takes them from it: as remembered,
 * else its main thread and whom that woke last (not x, who only answers), else made with the first delivery.
 * false: none is known. */
bool answer_maker(const struct threads *t, const struct thread *x, const struct thread **ret_maker,
                  const struct thread **ret_hop);

#endif
