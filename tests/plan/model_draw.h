/* SPDX-License-Identifier: MIT */
/* model_draw: random numbers that depend on (seed, what, purpose) alone. */
#ifndef GPUFEED_TESTS_PLAN_MODEL_DRAW_H
#define GPUFEED_TESTS_PLAN_MODEL_DRAW_H

#include "model.h"

enum purpose {
    FOR_READ = 1,
    FOR_DECODE = 65,
    FOR_KERNEL = 129,
    FOR_HOST,
    FOR_COPY,
    FOR_WAKE,
    FOR_NEIGHBOUR,
    FOR_SLICE,
    FOR_CONFIG = 200
};

/* Between 0 and 1, neither included. */
double draw_uniform(uint64_t seed, uint64_t what, uint64_t purpose);
/* Of mean 1. */
double draw_tail(enum model_tail kind, double spread, uint64_t seed, uint64_t what,
                 uint64_t purpose);

#endif
