/* SPDX-License-Identifier: MIT */
/*
 * join: driver calls waiting for their activity records, by correlation id.
 *
 * A table of fixed size, written by the calling threads and read by whoever
 * parses a buffer, without locks: a slot is good while its id is the one asked
 * for. Ids grow with each driver call, so a slot is written over only by a call
 * JOIN_SLOTS ids later; the older one is then "launch unknown". A second array
 * keeps the calls in order and tells since when something is missing.
 */
#ifndef GPUFEED_PROBE_JOIN_H
#define GPUFEED_PROBE_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#define JOIN_SLOTS 32768u /* a power of two */

enum join_state {
    JOIN_CLAIMED, /* being written */
    JOIN_OPEN,    /* inside the call */
    JOIN_CLOSED,
    JOIN_FAILED, /* the call returned an error: no record will come */
};

struct join_slot {
    /* id << 32 | length of the call in units of 8 ns, saturated << 3 | many << 2 | join_state:
     * one word, so that a thread which was overtaken inside its call cannot spoil its successor */
    uint64_t word;
    uint64_t seen; /* id << 32 | number of the flush that last brought a record, from 1 */
    int64_t t0;
    uint32_t tid;
};

struct join {
    uint64_t head, tail;        /* of order */
    uint64_t order[JOIN_SLOTS]; /* position << 32 | id */
    struct join_slot slots[JOIN_SLOTS];
};

void join_enter(struct join *j, uint32_t id, uint32_t tid, int64_t t0, bool many);
void join_exit(struct join *j, uint32_t id, int64_t now, bool failed);

struct join_call {
    int64_t t0;
    uint32_t ns, tid; /* ns in steps of 8, at most 4.2 s */
    bool open;        /* still inside the call: ns unknown */
};
/* The call behind an activity record; false: not known (any more). */
bool join_find(struct join *j, uint32_t id, uint16_t flush, struct join_call *ret);

/* The start of the oldest call whose records are still missing; INT64_MAX if there is none,
 * INT64_MIN if that cannot be told right now.
 * Calls that returned more than patience before now are given up: they left no record (captured
 * into a graph, zero bytes). One thread only. `flush`: the number of the flush just made. */
int64_t join_oldest_missing(struct join *j, int64_t now, int64_t patience, uint16_t flush);

#endif
