/* SPDX-License-Identifier: MIT */
/*
 * late: which other rank a thread waited for in a gap, and what that rank did meanwhile.
 *
 * A wait for bytes cannot tell a slow line from a rank that comes late: the first bytes end both. Where
 * the other rank runs on this machine its launching thread is watched too, and shows: while it
 * computes, reads or sleeps it has not come to the collective; while it waits for bytes itself, or for a
 * thread of its own that does, it has.
 */
#ifndef GPUFEED_LEDGER_LATE_H
#define GPUFEED_LEDGER_LATE_H

#include "ledger/gap.h"

struct late {
    /* the launching thread of the rank that came last; NULL: none known */
    const struct thread *rank;
    int64_t ns;        /* of the gap in which it had not come */
    struct shares did; /* adds up to ns; CAUSE_NONE: its device computed */
};

/* Of the parts of a gap that was spent on ranks, what the last of them was late becomes `late-peer`;
 * the sum stays. *ret is the rank and what it did, up to the time that stands as late-peer. */
void late_explain(struct threads *threads, const struct intern *names, const struct gap *gap,
                  struct shares *parts, struct late *ret);
/* Adds to a chain what the rank did most meanwhile, which need not be what made it late. */
void late_tell(struct chain_links *links, const struct late *late, const struct intern *names);

#endif
