/* SPDX-License-Identifier: MIT */
/*
 * measure: one live measurement. It opens the sources that are there, pushes their
 * events through the ledger and writes the rows into a recording.
 *
 * Order of calls: measure_open, measure_watch (once the job's first pid is known),
 * measure_tick every measure_poll_ms, measure_finish, measure_close. A failure of one
 * source becomes a note; a failure of the recording (disk full) is returned once, and
 * measuring goes on without it. Nothing here ever fails the job. One thread.
 */
#ifndef GPUFEED_MEASURE_MEASURE_H
#define GPUFEED_MEASURE_MEASURE_H

#include "base/error.h"
#include "base/unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MEASURE_TICK_NS (50 * NS_PER_MS)

struct measure;

struct measure_options {
    const char *path;  /* of the recording */
    const char *title; /* the command line, or what is attached to */
    const char *version;
    const char *origin;    /* --origin: where the data set lives; NULL unknown */
    const char *sim_dir;   /* folder of the simulated libraries; NULL: real ones */
    double price_per_hour; /* for reports of the recording; 0 or NAN: none */
    const char *currency;  /* NULL is "EUR" */
    bool no_bpf;           /* --sampler: do not try BPF */
    bool attach;           /* the job runs already and has no probe */
};

/* Does the text name a place that connections can lead to? A path does not: mounts are known by themselves. */
bool measure_origin_valid(const char *origin);
/* Makes the ring folder and the recording. */
int measure_open(const struct measure_options *options, struct measure **ret, struct error *e);
/* NAME=VALUE texts that the job needs; NULL-terminated, owned by m. */
const char *const *measure_environment(const struct measure *m);
/* Begins to watch the process tree below pid. */
void measure_watch(struct measure *m, pid_t pid);
/* One round. STATUS_OK, or the recording's first failure. */
int measure_tick(struct measure *m, struct error *e);
/* Milliseconds until the next round is due, as poll(2) wants them; 1 at the least. */
int measure_poll_ms(const struct measure *m);
/* Does any process of the job hold a device now? */
bool measure_holds_device(const struct measure *m);
/* Reads what is left and ends the recording. exit_code: of the job, -1 unknown. */
int measure_finish(struct measure *m, int exit_code, struct error *e);
/* Is the recording no longer found under its name? Then measure_save writes all of it to another. */
bool measure_moved(const struct measure *m);
int measure_save(struct measure *m, const char *path, struct error *e);
/* Frees all, removes the ring folder; NULL is fine. */
void measure_close(struct measure *m);
/* CLOCK_MONOTONIC. */
int64_t measure_now(void);

#endif
