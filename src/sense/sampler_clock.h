/* SPDX-License-Identifier: MIT */
/*
 * sampler_clock: turns readings of one thread, taken at intervals, into times off
 * its core. Pure.
 *
 * A reading says whether the thread was blocked at that instant, and three counters of
 * /proc/PID/schedstat: ns on a core, ns runnable without a core, and how often it got
 * on a core. With them only the *place* of a wait within one interval is a guess: time
 * on the core and time without one are booked as counted, and what is left was sleep.
 *
 * Rules: a blocked thread that got no core since was in the same wait all along. The
 * counter of a running thread lags by up to a scheduler tick, so the end of a runnable
 * thread's time stays open until later readings settle it. Pieces come in order and
 * never overlap; between pieces the thread ran.
 */
#ifndef GPUFEED_SENSE_SAMPLER_CLOCK_H
#define GPUFEED_SENSE_SAMPLER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct sampler_clock {
    int64_t done;                       /* what was before is booked, or part of the open wait */
    int64_t t_out;                      /* start of the open wait, while blocked */
    int64_t last;                       /* time of the last reading */
    uint64_t run_ns, wait_ns, switches; /* counters, as far as they are booked */
    bool begun, blocked;
};

struct sampler_reading {
    int64_t t;
    uint64_t run_ns, wait_ns, switches;
    bool counted; /* the kernel keeps the counters */
    bool blocked; /* else on a core or runnable */
    bool same;    /* blocked on the same thing as at the last reading */
};

enum sampler_piece_kind {
    SAMPLER_ENDED, /* the wait that was open has ended */
    SAMPLER_CORE,  /* runnable without a core */
    SAMPLER_SLEPT, /* slept between two readings that both saw it runnable */
    SAMPLER_WROTE, /* on a core, filling files: of sampler_write, never of the clock */
};

struct sampler_piece {
    int64_t t_out, t_wake, t_in;
    enum sampler_piece_kind kind;
    int64_t t_seen; /* SAMPLER_ENDED: the last reading that saw it */
};

#define SAMPLER_PIECES 3

/* The thread was made at t: its counters began at 0, and it was runnable. */
void sampler_clock_born(struct sampler_clock *c, int64_t t);

/* Takes in a reading; returns how many pieces (at most SAMPLER_PIECES) it wrote to out. */
int sampler_clock_read(struct sampler_clock *c, const struct sampler_reading *r,
                       struct sampler_piece out[SAMPLER_PIECES]);

#endif
