/* SPDX-License-Identifier: MIT */
/*
 * direct: what a wait was for where that shows without following a waker: a file, a fault, a TCP peer
 * (doc/ARCHITECTURE.md, "TCP peers"), a core, the accelerator's driver.
 */
#ifndef GPUFEED_LEDGER_DIRECT_H
#define GPUFEED_LEDGER_DIRECT_H

#include "ledger/thread.h"
#include "model/words.h"

/* The cause of the wait `w` of `th`. CAUSE_NONE: another thread ended it, or could have. */
enum cause direct_cause(const struct threads *threads, const struct thread *th,
                        const struct event_wait *w);

#endif
