/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>

/* Nearer than this a timer costs more than it saves. */
#define TOO_NEAR_TO_SLEEP_NS (4 * NS_PER_US)

static void sleep_until(int64_t when)
{
    struct timespec at = {.tv_sec = when / NS_PER_S, .tv_nsec = when % NS_PER_S};
    int slack = prctl(PR_GET_TIMERSLACK);
    int error;

    prctl(PR_SET_TIMERSLACK, 1UL);
    do {
        error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    } while (error == EINTR);
    prctl(PR_SET_TIMERSLACK, slack > 0 ? (unsigned long)slack : 0UL);
}

void sim_wait_until(int64_t when, enum sim_wait_mode mode)
{
    int64_t left;

    while ((left = when - sim_now()) > 0) {
        if (mode == SIM_WAIT_SLEEP && left > TOO_NEAR_TO_SLEEP_NS)
            sleep_until(when);
        else if (mode == SIM_WAIT_YIELD)
            sched_yield();
    }
}
