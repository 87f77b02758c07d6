/* SPDX-License-Identifier: MIT */
/*
 * ring_file: reading one activity ring (probe/ring.h) that a workload wrote.
 *
 * Nothing in the file is trusted: it is read with pread, never mapped, so a
 * file cut short under us is a short read and not a SIGBUS; sizes and counters
 * are checked each time. Single-threaded.
 */
#ifndef GPUFEED_SENSE_RING_FILE_H
#define GPUFEED_SENSE_RING_FILE_H

#include "base/error.h"
#include "probe/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ring_file {
    int fd;
    dev_t dev;
    ino_t ino;
    uid_t owner;
    uint32_t pid, capacity, header_bytes;
    uint32_t cuda_version, cupti_version;
    int64_t start_ns;
    uint64_t tail; /* records read so far: kept here, the file's copy is for the writer only */
};

/* Opens `name` below the folder `dir_fd` ("PID.ring"). What is no ring of ours is STATUS_INPUT
 * with one line that names the file; then *f is not open. */
int ring_file_open(struct ring_file *f, int dir_fd, const char *name, struct error *e);
void ring_file_close(struct ring_file *f);

struct ring_state {
    int64_t beat_ns, alive_ns;
    uint64_t head, lost;
};

/* The counters as they are now. STATUS_INPUT where they contradict what was read before. */
int ring_file_state(struct ring_file *f, struct ring_state *ret, struct error *e);

/* Copies up to max unread records below `head`; ring_file_taken moves past those used. */
ssize_t ring_file_peek(struct ring_file *f, uint64_t head, struct ring_record *out, size_t max);
void ring_file_taken(struct ring_file *f, size_t records);

/* Device `index` of the ring as text-safe values; false while its uuid is not known. */
bool ring_file_device(struct ring_file *f, unsigned index, struct ring_device *ret);

/* The process that holds the ring's lock, by its number here; without one the number in its name. */
uint32_t ring_file_writer(const struct ring_file *f);

/* Whether the process that writes the ring still runs: it holds its lock, or it is in /proc and
 * its last sign of life is not old. */
bool ring_file_alive(const struct ring_file *f, int64_t alive_ns, int64_t now);

#endif
