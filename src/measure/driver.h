/* SPDX-License-Identifier: MIT */
/*
 * driver: which process of the job has loaded the CUDA driver, and why the probe is not
 * in it. Read from /proc, now and then.
 */
#ifndef GPUFEED_MEASURE_DRIVER_H
#define GPUFEED_MEASURE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* When to look: soon, then ever more seldom, since a look reads all of /proc. Zero-initialised. */
struct driver_looks {
    int64_t next, pause;
};
bool driver_look_is_due(struct driver_looks *l, int64_t now);

/* A process below `root` (or it itself, if `self`) that maps the driver, 0 there is none; with a
 * path to the driver's file. */
uint32_t driver_find(uint32_t root, bool self, char *path, size_t size);
/* Whether a process that maps the driver at `path` has the simulated one. */
bool driver_is_simulated(uint32_t pid, const char *path);
/* Looks among our descendants, none of which has a ring in ring_dir, for one that maps the driver
 * and cannot have one: why, with the way out, and in `line` that with its name. NULL: there is
 * none, or it may yet make its first call of the driver. */
const char *driver_unseen(const char *ring_dir, char *line, size_t size);

/* Why the driver calls of a job that runs already are not seen, with the way out; in `line` as a
 * sentence. `by_choice`: --sampler was asked for. */
const char *driver_calls_unseen(bool by_choice, char *line, size_t size);

#endif
