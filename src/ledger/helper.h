/* SPDX-License-Identifier: MIT */
/*
 * helper: a thread that works for another one of its process (of a pool, or one that runs an event loop): what
 * it did before it was given work was not for what it handed over. In the launching process turn.h tells that.
 */
#ifndef GPUFEED_LEDGER_HELPER_H
#define GPUFEED_LEDGER_HELPER_H

#include "ledger/turn.h"

/* Where x is a helper of `consumer`, its turn begins no earlier than its last wait for work ended. */
void helper_begin(const struct threads *t, const struct thread *x, const struct thread *consumer,
                  struct turn *turn);

/* Does x, a thread of y's process, work for y: it reads, or y waits for it? A queue's thread, which takes from y
 * what that has made, does neither. */
bool helper_of(const struct thread *x, const struct thread *y);

/* Does what x wakes at t only learn that it has started? CPython waits for that. */
bool helper_starts(const struct thread *x, int64_t t);

/* Was this wait of a thread for a lock, which another one of its process kept no longer than such are kept? */
bool helper_awaits_lock(const struct event_wait *w);

/* Does x only hand CPython's interpreter lock over to y, a thread of the same process, as far as is remembered?
 * Nothing is delivered so: the two contend. */
bool helper_only_locks(const struct thread *x, const struct thread *y);

#endif
