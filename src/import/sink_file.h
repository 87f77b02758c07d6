/* SPDX-License-Identifier: MIT */
/*
 * sink_file: the life of a sink, for import.c alone.
 */
#ifndef GPUFEED_IMPORT_SINK_FILE_H
#define GPUFEED_IMPORT_SINK_FILE_H

#include "base/map.h"
#include "import/same_job.h"
#include "import/sink.h"
#include "record/record.h"

/* What all files of one report share. */
struct sink_job {
    struct record *record;
    struct intern resources;    /* over all files */
    struct map ranks;           /* the file that said to be this rank, the first of them */
    struct same_job_file *told; /* owned; files with device activity so far */
    size_t told_count, told_cap;
    uint32_t accelerators; /* given numbers so far */
    size_t files;          /* how many there are */
    int64_t window_ns;     /* of the ledger; 0: not decided yet */
    bool events;           /* any time was accounted for */
    int64_t t0, t1;        /* the span over all files; INT64_MAX, INT64_MIN: none yet */
    int64_t first_start;   /* unix ns of the first file's zero; INT64_MIN: unknown */
    uint64_t lost;
};

/* Frees all but the recording. */
void sink_job_clear(struct sink_job *job);
/* file: its number, from 0. NULL: out of memory. */
struct sink *sink_open(struct sink_job *job, size_t file, const char *path);
/* Books what is left and writes names, facts and notes. The first failure of all that was done. */
int sink_finish(struct sink *s, struct error *e);
void sink_close(struct sink *s); /* NULL is fine */

#endif
