/* SPDX-License-Identifier: MIT */
/*
 * ops: what a thread was in, as a foreign trace tells it (event_op), one queue a kind.
 *
 * Invariant: the pieces of a queue are sorted and do not overlap; what lies inside an earlier piece is
 * dropped, what overlaps one begins at its end. Forgotten from the start.
 */
#ifndef GPUFEED_LEDGER_OPS_H
#define GPUFEED_LEDGER_OPS_H

#include "model/event.h"

#include <stddef.h>

struct op_piece {
    int64_t t0, t1;
    uint32_t resource;
    uint8_t cause; /* enum cause */
    bool awaits_device, loads;
};

struct ops {
    struct op_piece *item;    /* owned */
    size_t first, count, cap; /* live: item[first .. count) */
};

void ops_clear(struct ops *o);
/* In order of t0. False: out of memory. */
bool ops_push(struct ops *o, const struct event_op *e);
/* Index of the first piece that ends after t; count if none. */
size_t ops_after(const struct ops *o, int64_t t);
void ops_trim(struct ops *o, int64_t horizon);

#endif
