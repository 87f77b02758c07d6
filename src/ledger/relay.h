/* SPDX-License-Identifier: MIT */
/*
 * relay: a thread of the launching process that takes what other processes make and hands it on (PyTorch's
 * pin-memory thread, the one of a pool that takes results).
 */
#ifndef GPUFEED_LEDGER_RELAY_H
#define GPUFEED_LEDGER_RELAY_H

#include "ledger/turn.h"

/* Did x's wait end with something that another process made? One that only answers, and makes nothing
 * (the manager of PyTorch's shared memory), has none to hand on. */
bool relay_takes(const struct threads *t, const struct thread *x, const struct event_wait *w);

/*
 * As turn_find. Where x is a relay, turn->source is its last wait for what it handed on (NULL: it did not
 * wait, or is none), and its turn begins no earlier than its waiting for that process: whenever it waits for
 * another one's it has handed on those before, though nobody may have waited for them.
 */
bool relay_turn(const struct threads *t, const struct thread *x, const struct thread *consumer,
                const struct thread *const *chain, int depth, int64_t at, struct turn *ret);

/*
 * What x, a relay, handed on at `at` without having waited for it, lay there: it is of the maker that handed
 * over last of those that x waits for at other times. False: x is none, or no such maker is known.
 */
bool relay_found(const struct threads *t, const struct thread *x, int64_t at,
                 const struct thread **ret_maker, const struct thread **ret_hop, int64_t *ret_put);

#endif
