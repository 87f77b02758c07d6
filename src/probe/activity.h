/* SPDX-License-Identifier: MIT */
/*
 * activity: CUPTI's buffers, and their records as records of the ring.
 *
 * Buffers are small (CUPTI hands one back only when all that is in it has
 * ended) and come from mmap, not from the job's allocator. No lock of ours is
 * held while CUPTI is called.
 */
#ifndef GPUFEED_PROBE_ACTIVITY_H
#define GPUFEED_PROBE_ACTIVITY_H

#include "probe/clock_pair.h"
#include "probe/cupti.h"
#include "probe/join.h"
#include "probe/kernel_class.h"
#include "probe/ring_write.h"

struct activity {
    struct ring_writer *ring; /* borrowed, as are join and cupti */
    struct join *join;
    const struct cupti *cupti;
    struct kernel_cache names;
    pthread_mutex_t lock; /* of what follows; never held while CUPTI is called */
    struct clock_map clock;
    uint8_t *free_buffers; /* linked through their first bytes */
    unsigned buffer_count;
    uint64_t unreadable; /* records without a time: cut off, or before the first clock pair */
    uint64_t spans;      /* written to the ring */
    uint16_t flush;      /* number of the flush under way, from 1 */
};

void activity_init(struct activity *a, struct ring_writer *ring, struct join *join,
                   const struct cupti *cupti);

void activity_buffer_get(struct activity *a, uint8_t **buffer, size_t *size, size_t *max_records);
/* Parses what is valid in the buffer into the ring and keeps the buffer for later. */
void activity_buffer_done(struct activity *a, uint8_t *buffer, size_t valid);

/* Takes a clock pair and numbers the flush that follows. Writes RING_CLOCK now and then. */
void activity_begin_flush(struct activity *a);
/* Dropped and unreadable records since the last call. */
uint64_t activity_take_lost(struct activity *a);

#endif
