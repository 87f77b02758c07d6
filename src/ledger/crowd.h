/* SPDX-License-Identifier: MIT */
/*
 * crowd: the share rule without wake-ups. Samples do not say who ended a wait, only
 * who could have: the processes that hold the other end of the pipe or socket,
 * else the children, or for a futex the other threads of the process.
 *
 * All that these did is summed: a worker's turns are a fair sample of its time, so
 * over many waits the sum tends to the shares that the turns would give.
 */
#ifndef GPUFEED_LEDGER_CROWD_H
#define GPUFEED_LEDGER_CROWD_H

#include "ledger/shares.h"
#include "ledger/walk.h"

/* Adds what those who could have ended wait `w` of the launching thread did; empty: nobody did
 * anything that was seen. */
void crowd_share(const struct walk *k, const struct event_wait *w, struct shares *ret);

/* Could a child process of the one that waited have ended the wait? One for work from the launching process is
 * none; what threads of that process wait for at a pipe is told by who is known to write to it, and
 * many of them poll all the time for whatever may come. */
bool crowd_awaits_child(const struct walk *k, const struct event_wait *w);
/* Adds `ns` that x waited for its child processes in [t0, t1), by what those did then; false: none was
 * seen, and nothing is added. */
bool crowd_children(const struct walk *k, const struct thread *x, int64_t ns, int64_t t0,
                    int64_t t1, struct shares *ret);

#endif
