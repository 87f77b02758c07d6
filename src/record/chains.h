/* SPDX-License-Identifier: MIT */
/*
 * chains: which wait chains are kept as examples. Internal to the room.
 *
 * A fixed number of slots; no cause may take all of them, so that one long
 * startup does not push out every other example.
 */
#ifndef GPUFEED_RECORD_CHAINS_H
#define GPUFEED_RECORD_CHAINS_H

#include "record/record.h"

struct chain_slots {
    struct {
        int64_t ns;
        uint8_t cause;
    } slot[RECORD_CHAINS];
    int count;
};

/* The slot for a wait of this length, which is then taken; -1: not among the longest. */
int chain_slots_offer(struct chain_slots *s, uint8_t cause, int64_t ns);

#endif
