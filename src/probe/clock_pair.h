/* SPDX-License-Identifier: MIT */
/*
 * clock_pair: CUPTI's clock read on CLOCK_MONOTONIC.
 *
 * A pair is one reading of CUPTI's clock between two of ours; its error bound
 * is the width of the gap. Times between two pairs are interpolated, so a clock
 * that is slewed is followed; a step of the clock (settimeofday) is not
 * interpolated over.
 */
#ifndef GPUFEED_PROBE_CLOCK_PAIR_H
#define GPUFEED_PROBE_CLOCK_PAIR_H

#include "probe/cuda_abi.h"

#include <stdbool.h>
#include <stdint.h>

struct clock_pair {
    int64_t mono, device, error; /* error 0: no pair */
};

struct clock_map {
    struct clock_pair before, last;
};

int64_t clock_now(void); /* CLOCK_MONOTONIC, ns */

/* The tightest of several readings; false if CUPTI refused. */
bool clock_pair_take(struct clock_pair *ret, abi_cupti_result (*timestamp)(uint64_t *));
void clock_map_add(struct clock_map *m, const struct clock_pair *pair);
/* False until a pair was added. */
bool clock_map_read(const struct clock_map *m, uint64_t device, int64_t *ret);

#endif
