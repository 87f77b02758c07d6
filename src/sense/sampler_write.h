/* SPDX-License-Identifier: MIT */
/*
 * sampler_write: how much of a thread's time on a core went into the page cache. Pure.
 *
 * A write() that only copies never blocks, and a running thread does not say in which
 * system call it is. The kernel counts the bytes of the page cache that a thread made dirty
 * (write_bytes in /proc/PID/io; it leaves out memory file systems, and mappings are in it). A
 * reading with many of them between two others was all writing; of those at the edges of such a
 * row the bytes tell the time, at the speed of the readings within rows.
 */
#ifndef GPUFEED_SENSE_SAMPLER_WRITE_H
#define GPUFEED_SENSE_SAMPLER_WRITE_H

#include <stdbool.h>
#include <stdint.h>

struct sampler_write {
    uint64_t dirtied;        /* bytes at the last reading */
    double rate;             /* bytes per ns, learnt within rows; 0 unknown */
    double fastest, pending; /* surely reached once; of the last reading, if the one before wrote */
    int64_t owed;            /* ns of writing for which no time on a core was counted yet */
    bool begun, wrote;
};

/* `dirtied` bytes so far, at a reading; since the last the thread was on a core in [t0, t1).
 * True: [*ret_t0, *ret_t1) of it was writing. */
bool sampler_write_read(struct sampler_write *w, uint64_t dirtied, int64_t t0, int64_t t1,
                        int64_t *ret_t0, int64_t *ret_t1);

#endif
