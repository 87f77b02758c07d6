/* SPDX-License-Identifier: MIT */
/*
 * ring: the shared-memory seam from the probe inside a workload to gpufeed.
 *
 * The probe creates one file per process, $GPUFEED_RING_DIR/PID.ring (mode
 * 0600), maps it and is its only writer; gpufeed maps it and is its only
 * reader, which takes the file's name away once it has it open. `head` counts records ever written, `tail` records ever read; a
 * record is at slot (n % capacity). The writer never waits: when full it
 * counts into `lost` and leaves. All times are CLOCK_MONOTONIC ns; device times
 * have been converted by the probe with the pair in the last RING_CLOCK record.
 * A reader checks magic and version first and never trusts a number in the
 * file: the file belongs to the workload.
 */
#ifndef GPUFEED_PROBE_RING_H
#define GPUFEED_PROBE_RING_H

#include <stdint.h>

#define RING_MAGIC UINT32_C(0x67667231) /* "gfr1" */
#define RING_VERSION 1
#define RING_CAPACITY 65536u /* records; a power of two */
#define RING_DIR_ENV "GPUFEED_RING_DIR"
#define RING_NONE "none" /* PID.none, empty: there was no room for PID.ring */
/* the reader holds a flock on it; nobody does: there is no reader any more */
#define RING_LOCK "lock"
#define RING_DEVICES 64

enum ring_kind {
    RING_SPAN = 1, /* t0..t1 on the device, launch_t0..launch_t1 in the call */
    RING_CALL,     /* t0..t1: a synchronisation or other blocking driver call of tid */
    RING_TAKEN,    /* a context was made on `device` at t0 */
    RING_RELEASED, /* the last context on `device` went at t0 */
    RING_CLOCK,    /* t0 monotonic ns, t1 device clock ns, bytes: error bound in ns */
    RING_UNSEEN,   /* t0..t1 not seen; `bytes` records dropped; span_kind is an enum ring_unseen */
    RING_BLIND,    /* the probe gave up at t0; span_kind is an enum ring_blind */
};

enum ring_blind {
    RING_BLIND_NO_CUPTI = 1, /* no CUPTI library found */
    RING_BLIND_TAKEN,        /* another subscriber holds CUPTI */
    RING_BLIND_ERROR,        /* CUPTI answered with an error; `bytes` is its code */
};

enum ring_unseen {
    RING_UNSEEN_FULL = 1, /* the ring was full: `bytes` records, also counted in `lost` */
    RING_UNSEEN_DROPPED,  /* CUPTI ran out of buffers, or the work was cut off by the exit */
    RING_UNSEEN_TAKEN,    /* the job's own profiler took CUPTI over */
};

enum ring_span_kind { RING_COMPUTE, RING_COMM, RING_COPY, RING_MEMSET };
enum ring_call_kind {
    RING_CALL_LAUNCH,
    RING_CALL_COPY,
    RING_CALL_SYNC,
    RING_CALL_MEMORY,
    RING_CALL_CONTEXT,
    RING_CALL_OTHER
}; /* same order as enum call_kind of model/event.h */

enum ring_flag {
    RING_HOST_COPY = 1, /* one side is host memory */
    RING_PAGEABLE = 2,  /* ... that is not pinned */
    RING_SYNC_COPY = 4, /* the call returned only after the copy */
};

struct ring_record {
    int64_t t0, t1;
    int64_t launch_t0;
    uint32_t launch_ns; /* launch_t1 - launch_t0, saturated */
    uint32_t tid;       /* launching or calling thread; 0 unknown */
    uint64_t bytes;
    uint32_t stream;
    uint16_t device;   /* CUDA ordinal in this process; UINT16_MAX unknown */
    uint8_t kind;      /* enum ring_kind */
    uint8_t span_kind; /* enum ring_span_kind or ring_call_kind or ring_blind */
    uint8_t flags;
    uint8_t pad[15];
}; /* 64 bytes */

struct ring_device {
    char uuid[48]; /* "GPU-..." ; empty until known */
    char name[64];
    uint8_t simulated;
    uint8_t pad[15];
};

struct ring_header {
    uint32_t magic, version;
    uint32_t pid, header_bytes; /* records start at header_bytes */
    uint32_t capacity, record_bytes;
    int64_t start_ns; /* when the probe woke up */
    uint32_t cuda_version, cupti_version;
    _Alignas(64) uint64_t head; /* atomic, release by the writer */
    _Alignas(64) uint64_t tail; /* atomic, release by the reader */
    _Alignas(64) uint64_t lost; /* atomic: records dropped because the ring was full */
    uint64_t beat_ns;  /* last time the probe flushed: all spans that ended before are written */
    uint64_t alive_ns; /* last time the probe did anything: its sign of life */
    uint32_t device_count;
    struct ring_device devices[RING_DEVICES];
};

_Static_assert(sizeof(struct ring_record) == 64, "ring_record is part of the seam");

#endif
