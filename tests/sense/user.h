/* SPDX-License-Identifier: MIT */
/* For tests of the sampler: an ordinary user, and its time. */
#ifndef GPUFEED_TESTS_SENSE_USER_H
#define GPUFEED_TESTS_SENSE_USER_H

#include "base/unit.h"

#include <grp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534

static inline int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static inline void sleep_ns(int64_t ns)
{
    struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};
    nanosleep(&t, NULL);
}

/* Becomes an ordinary user that may look at its own processes, as setpriv + exec would. */
static inline void become_user(void)
{
    if (geteuid() == 0 && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
        _exit(90);
    prctl(PR_SET_DUMPABLE, 1);
}

#endif
