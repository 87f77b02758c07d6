/* SPDX-License-Identifier: MIT */
/*
 * admit: which events can be believed. Sources read what a workload wrote; an event that cannot be
 * true (times out of all bounds or out of order, no thread) is lost, and what the rest of the
 * ledger computes from the others cannot overflow.
 */
#ifndef GPUFEED_LEDGER_ADMIT_H
#define GPUFEED_LEDGER_ADMIT_H

#include "model/event.h"

/* No clock gets this far from its start: 73 years. */
#define ADMIT_TIME_MAX (INT64_MAX / 4)

/* false: the event is to be dropped. What is only partly wrong is made harmless. */
bool admit(struct event *e);

/* a + b of numbers that are not negative; INT64_MAX at most. */
int64_t admit_sum(int64_t a, int64_t b);

#endif
