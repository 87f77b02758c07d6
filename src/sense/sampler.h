/* SPDX-License-Identifier: MIT */
/*
 * sampler: the wait source for users without privileges.
 *
 * Looks at /proc/PID/task/TID of the job's threads 50 to 100 times a second and emits the
 * events that the wait chain emits, as EVENT_WAIT with WAIT_SAMPLED set, EVENT_THREAD and
 * EVENT_CHANNEL and EVENT_CLOSED. Amounts on a core, without a core and asleep come from counters and are
 * exact; what was waited for is what the sample saw; times are +- half a period.
 *
 * It reads only what the kernel lets this user see: processes of the same user that may
 * be traced. Under Yama (ptrace_scope 1) these are descendants, so the caller that started
 * the job must be its subreaper. Others are counted as denied, never guessed.
 *
 * Time on a core in which a thread filled files is a TARGET_WRITE wait, too.
 *
 * A wait that lasts is told of every 0.3 s with WAIT_OPEN_END, and again, whole, when it ends.
 *
 * The period grows until the sampler's own CPU time is at most `cost_max` of a core.
 * Events of one thread come in order of time. One thread at a time per sampler.
 */
#ifndef GPUFEED_SENSE_SAMPLER_H
#define GPUFEED_SENSE_SAMPLER_H

#include "base/error.h"
#include "model/event.h"
#include "sense/resource.h"

#include <stdint.h>

struct sampler_opts {
    uint32_t root_pid;           /* the job: this process and all that descend from it */
    uint32_t reaper_pid;         /* whose new children are orphans of the job; 0 none */
    int64_t period_ns;           /* 0: 10 ms */
    double cost_max;             /* share of one core; 0: 0.03 */
    struct resources *resources; /* names what is waited for; borrowed; NULL: no names */
};

struct sampler;
/* The receiver of events; they are only valid during the call. */
typedef void (*sampler_fn)(void *arg, const struct event *e);

/* STATUS_MISSING when /proc cannot tell what a thread waits on. */
int sampler_open(struct sampler **ret, const struct sampler_opts *o, struct error *e);
/* Looks once; now_ns is CLOCK_MONOTONIC. Returns when to look next. */
int64_t sampler_tick(struct sampler *s, int64_t now_ns, sampler_fn fn, void *arg);
/* This thread launches work: look at it each time. */
void sampler_hot(struct sampler *s, uint32_t tid);
/* All waits that are still going on, as EVENT_WAIT with WAIT_OPEN_END and t_in = now_ns. */
void sampler_open_waits(struct sampler *s, int64_t now_ns, sampler_fn fn, void *arg);
/* The same for the last time, when no further tick follows. */
void sampler_finish(struct sampler *s, int64_t now_ns, sampler_fn fn, void *arg);
void sampler_close(struct sampler *s);

struct sampler_stats {
    uint64_t ticks;
    int64_t period_ns;           /* as it is now */
    int64_t cpu_ns;              /* spent in ticks */
    uint32_t processes, threads; /* now */
    uint32_t denied;             /* processes whose waits this user may not see */
    bool counted;                /* schedstat is there: amounts are exact */
};
struct sampler_stats sampler_stats(const struct sampler *s);

#endif
