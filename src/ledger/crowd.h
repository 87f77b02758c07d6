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

#endif
