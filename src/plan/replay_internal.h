/* SPDX-License-Identifier: MIT */
/*
 * replay_internal: the packed log, shared by the files of plan/replay only.
 *
 * A part is eight bytes: key = resource (24 bits) | kind (2) | cause (6); time in ns up to 2^31,
 * beyond that in us with the top bit set.
 */
#ifndef GPUFEED_PLAN_REPLAY_INTERNAL_H
#define GPUFEED_PLAN_REPLAY_INTERNAL_H

#include "base/unit.h"
#include "plan/replay_log.h"

struct packed_part {
    uint32_t key, time;
};

struct packed_delivery {
    int64_t start, end;
    uint32_t idle; /* packed time */
    uint32_t parts_at;
    uint16_t worker, queue;
    uint8_t startup, part_count;
};

struct packed_step {
    int64_t t0, t1, end;
    uint64_t delivery;
    uint32_t ops_at;
    uint32_t op_count;
};

struct parts {
    struct packed_part *v; /* owned */
    size_t count, cap;
};

struct log_consumer {
    uint32_t tid, device;
    struct packed_delivery *deliveries; /* owned */
    size_t delivery_count, delivery_cap;
    struct packed_step *steps; /* owned */
    size_t step_count, step_cap;
    struct parts parts, ops;
    uint64_t delivery_base, step_base; /* serials of the first kept */
    int64_t first_ever;                /* valid once seen */
    bool seen;
};

struct replay_log {
    uint32_t max_steps;
    int consumer_count;
    struct log_consumer consumers[REPLAY_CONSUMERS_MAX];
};

_Static_assert(CAUSE_COUNT <= 64, "a cause takes six bits");

static inline uint32_t part_key(uint8_t kind, uint8_t cause, uint32_t resource)
{
    if (resource >= UINT32_C(1) << 24)
        resource = 0;
    return resource << 8 | (uint32_t)(kind & 3) << 6 |
           (cause < CAUSE_COUNT ? cause : CAUSE_UNKNOWN);
}

static inline uint8_t key_kind(uint32_t key)
{
    return key >> 6 & 3;
}

static inline uint8_t key_cause(uint32_t key)
{
    return key & 63;
}

static inline uint32_t key_resource(uint32_t key)
{
    return key >> 8;
}

#define TIME_IN_US (UINT32_C(1) << 31)

static inline uint32_t time_pack(int64_t ns)
{
    if (ns < 0)
        return 0;
    if (ns < (int64_t)TIME_IN_US)
        return (uint32_t)ns;
    int64_t us = (ns + NS_PER_US / 2) / NS_PER_US;
    return TIME_IN_US | (uint32_t)(us < (int64_t)TIME_IN_US ? us : (int64_t)TIME_IN_US - 1);
}

static inline int64_t time_unpack(uint32_t time)
{
    return time & TIME_IN_US ? (int64_t)(time & ~TIME_IN_US) * NS_PER_US : time;
}

/* The consumer with the serials of a chunk's first step and delivery; used by replay_decode. */
bool log_begin_chunk(struct log_consumer *c, uint64_t first_step, uint64_t first_delivery,
                     int64_t first_ever);

#endif
