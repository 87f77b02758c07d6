/* SPDX-License-Identifier: MIT */
/*
 * asleep: for the side that ends another's wait. It begins only once the other sleeps, so that the wait
 * is there to be seen on however busy a machine.
 */
#ifndef GPUFEED_TESTS_BPF_ASLEEP_H
#define GPUFEED_TESTS_BPF_ASLEEP_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define ASLEEP_PATIENCE_S 50 /* after which the other counts as hanging */

/* The state of a thread as /proc shows it, 0: it is gone. */
static inline char thread_state(pid_t tid)
{
    char path[32], text[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
    FILE *f = fopen(path, "r");
    const char *end = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
    if (f)
        fclose(f);
    return end && end[1] == ' ' ? end[2] : 0;
}

/* Waits without sleeping until that thread sleeps; ends the process where it never does. */
static inline void await_asleep(pid_t tid)
{
    time_t end = time(NULL) + ASLEEP_PATIENCE_S;
    while (thread_state(tid) != 'S') {
        if (time(NULL) > end)
            _exit(99);
        sched_yield();
    }
}

#endif
