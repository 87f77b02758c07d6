/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>

/* Nearer than this a timer costs more than it saves. */
#define TOO_NEAR_TO_SLEEP_NS (4 * NS_PER_US)

static struct timespec time_of(int64_t when)
{
    return (struct timespec){.tv_sec = when / NS_PER_S, .tv_nsec = when % NS_PER_S};
}

/* Returns the slack that was, for slack_restore. */
static int slack_least(void)
{
    int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1UL);
    return slack;
}

static void slack_restore(int slack)
{
    prctl(PR_SET_TIMERSLACK, slack > 0 ? (unsigned long)slack : 0UL);
}

static void sleep_until(int64_t when)
{
    struct timespec at = time_of(when);
    int slack = slack_least();
    int error;

    do {
        error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    } while (error == EINTR);
    slack_restore(slack);
}

void sim_wait_condition(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t when)
{
    struct timespec at = time_of(when);
    int slack = slack_least();

    pthread_cond_timedwait(condition, lock, &at);
    slack_restore(slack);
}

void sim_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
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
