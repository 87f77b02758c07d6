/* SPDX-License-Identifier: MIT */
/*
 * pieces: what one thread did in a stretch of time, in order and without holes.
 *
 * CPU time of up to 300 us (or a 20th of the longer wait, 1 ms at most) between two waits on the same
 * store or connection is part of the read; a wake-up of up to 2 ms while bytes are in flight costs
 * nothing.
 */
#ifndef GPUFEED_LEDGER_PIECES_H
#define GPUFEED_LEDGER_PIECES_H

#include "ledger/walk.h"

#include "base/unit.h"

/* While bytes of a collective are in flight, a wake-up as late as this costs nothing. */
#define PIECES_HIDDEN_NS (2 * NS_PER_MS)

struct piece {
    int64_t ns;    /* positive */
    bool cpu;      /* on a core, for itself; cause and resource do not count */
    uint8_t cause; /* enum cause; CAUSE_NONE: a wait that another thread ended, or could have */
    uint32_t resource;
    const struct event_wait *wait; /* the wait it is part of; NULL: none */
};

typedef void (*piece_fn)(void *arg, const struct piece *piece);

/* The pieces of [t0, t1) of x. */
void pieces_of(const struct walk *k, const struct thread *x, int64_t t0, int64_t t1, piece_fn fn,
               void *arg);

#endif
