/* SPDX-License-Identifier: MIT */
/*
 * same_job: whether files of one report are ranks of one job, as far as they tell. Internal to the room.
 *
 * Ranks of a job run at the same time, under different numbers, and name one size of the job. Two tools seldom
 * record different ranks: their files may show one rank twice.
 */
#ifndef GPUFEED_IMPORT_SAME_JOB_H
#define GPUFEED_IMPORT_SAME_JOB_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAME_JOB_PIDS 8u

/* What a file with device activity tells of itself. */
struct same_job_file {
    const char *path, *tool; /* borrowed */
    int rank, world;         /* -1, 0: unknown */
    char host[64];           /* "" unknown */
    bool clocked;            /* t0, t1: on the clock of the wall, its zero the same for all files */
    bool moved; /* it lies at another time than those before it and was put beside them */
    int64_t t0, t1;
    uint32_t pid[SAME_JOB_PIDS]; /* that hold its devices */
    unsigned pids;
};

/* What is to be said of `mine` beside the files before it, appended to `line` without its name; false: nothing. */
bool same_job_line(const struct same_job_file *before, size_t count,
                   const struct same_job_file *mine, struct str *line);

#endif
