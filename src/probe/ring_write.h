/* SPDX-License-Identifier: MIT */
/*
 * ring_write: the probe's side of ring.h: one file per process, written by any
 * of its threads, never waiting for the reader.
 *
 * The file is allocated on disk before it is mapped, so that a full disk is
 * found here and not by a SIGBUS inside the job. It appears under its name
 * only once its header is whole. The mapping is not inherited by fork.
 */
#ifndef GPUFEED_PROBE_RING_WRITE_H
#define GPUFEED_PROBE_RING_WRITE_H

#include "probe/ring.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct ring_writer {
    struct ring_header *header; /* NULL: no ring */
    struct ring_record *records;
    size_t mapped_bytes;
    int fd; /* kept open: its POSIX lock tells the reader that this process lives */
    pthread_mutex_t lock;
    int64_t lost_t0; /* time of the first record that found the ring full; 0 none */
    uint64_t lost_count;
};

/* Makes dir/PID.ring for this process. False (errno set; EPIPE: the reader has gone) leaves *w
 * unusable but closable. */
bool ring_writer_open(struct ring_writer *w, const char *dir, int64_t now);

/* Appends n records, or counts those that do not fit. Thread-safe. */
void ring_writer_push(struct ring_writer *w, const struct ring_record *records, size_t n,
                      int64_t now);

/* All spans that ended before `until` are in the ring; never goes back. And we live, now. */
void ring_writer_beat(struct ring_writer *w, int64_t until, int64_t now);

/* After fork, in the child: forgets the parent's ring without touching it. */
void ring_writer_abandon(struct ring_writer *w);

#endif
