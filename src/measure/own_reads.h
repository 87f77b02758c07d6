/* SPDX-License-Identifier: MIT */
/*
 * own_reads: what the main threads of processes that hold a device read by themselves, from the page cache too:
 * such reads block nobody, so no wait shows them.
 */
#ifndef GPUFEED_MEASURE_OWN_READS_H
#define GPUFEED_MEASURE_OWN_READS_H

#include <stddef.h>
#include <stdint.h>

#define OWN_READS_MAX 16 /* processes */

struct own_reads {
    struct own_reader {
        uint32_t pid;
        int64_t taken;    /* when it took its device */
        int64_t t0, t1;   /* first and last look; 0: none yet */
        double read, now; /* bytes by then */
    } of[OWN_READS_MAX];
    size_t count;
};

/* That process has taken a device; told again, or beyond OWN_READS_MAX, it changes nothing. */
void own_reads_add(struct own_reads *o, uint32_t pid, int64_t now);
/* Looks at each of them: a few us. What is read in the second after a device was taken is the program. */
void own_reads_look(struct own_reads *o, int64_t now);
/* Bytes a second of the one that reads most; NAN: no two looks lie a second apart. */
double own_reads_rate(const struct own_reads *o);

#endif
