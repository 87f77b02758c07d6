/* SPDX-License-Identifier: MIT */
/*
 * clock: simulated device time is CLOCK_MONOTONIC, in int64 nanoseconds.
 */
#ifndef GPUFEED_SIM_CLOCK_H
#define GPUFEED_SIM_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "base/unit.h"

enum sim_wait_mode { SIM_WAIT_SLEEP, SIM_WAIT_YIELD, SIM_WAIT_SPIN };

static inline int64_t sim_clock_read(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static inline int64_t sim_now(void)
{
    return sim_clock_read(CLOCK_MONOTONIC);
}

/* Returns once sim_now() >= when. Sleeping asks for the least timer slack and puts the thread's own
 * back; signals do not cut it short. */
void sim_wait_until(int64_t when, enum sim_wait_mode mode);
/* Waits for the condition, at most until `when`, as precisely. The condition must use CLOCK_MONOTONIC:
 * sim_condition_init makes one. */
void sim_wait_condition(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t when);
void sim_condition_init(pthread_cond_t *condition);

#endif
