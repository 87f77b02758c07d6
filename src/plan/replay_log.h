/* SPDX-License-Identifier: MIT */
/*
 * replay_log: what was delivered to a launching thread and what it did with it,
 * as kept for plan/replay.
 *
 * A consumer is a launching thread with its device. It takes deliveries made by
 * workers (loader processes or threads), one a step, and between two takes it
 * spends time of its own: on its thread, and by giving the device work.
 *
 *   worker    |--idle--|start ...... parts ...... end|
 *   consumer                          |t0 wait      t1| thread, device, sync ... |end = next t0
 *
 * Invariants of what is pushed (checked; a breach is repaired, never trusted):
 *   parts of a delivery add up to end_ns - start_ns, less idle_ns where `startup` is set (a lack is
 *   booked as `unknown`);
 *   THREAD and SYNC ops of a step add up to end_ns - t1; DEVICE and SPREAD ops take no thread time.
 *
 * Units: int64 ns of the recording's one clock. Resources are interned numbers; numbers above
 * 2^24 - 1 are kept as 0. All memory is owned by the log. One thread at a time.
 */
#ifndef GPUFEED_PLAN_REPLAY_LOG_H
#define GPUFEED_PLAN_REPLAY_LOG_H

#include "base/error.h"
#include "base/str.h"
#include "model/ledger_row.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLAY_STEPS_DEFAULT 65536u /* of all consumers together */
#define REPLAY_CONSUMERS_MAX 64
#define REPLAY_WORKERS_MAX 1024u
#define REPLAY_QUEUES_MAX 65536u
#define REPLAY_PARTS_MAX 16
#define REPLAY_OPS_MAX 32
#define REPLAY_NONE UINT64_MAX

/*
 * One delivery: all that a worker did on it. start_ns is its previous delivery to the same consumer
 * or the end of its last wait for work from that consumer, whichever is later. The first delivery
 * of a worker has `startup` set and starts when the worker was started: its parts begin with what
 * it spent until it was ready for work (CAUSE_STARTUP), and idle_ns is how long it then waited for
 * work (so parts + idle_ns add up to end_ns - start_ns).
 *
 * Parts stand in the order in which they happened and may repeat (read, decode, read, decode);
 * CAUSE_CPU_STARVED is time spent runnable without a core. Order matters only where cores are
 * scarce. `worker` is a small number, the same as long as the same worker lives; a restarted
 * worker may take the old number or a new one. `queue` tells loaders apart: workers that hand over through
 * the same queue are of one loader, which makes a new one when it starts its workers anew.
 */
struct replay_delivery {
    int64_t start_ns, end_ns;
    int64_t idle_ns; /* waited for work from this consumer, right before start_ns; 0: had work.
                      * With `startup`: after its startup parts */
    uint32_t worker; /* below REPLAY_WORKERS_MAX, else counted modulo */
    uint32_t queue; /* below REPLAY_QUEUES_MAX, else counted modulo; 0 also where it is not known */
    bool startup;
    uint8_t part_count;
    struct share parts[REPLAY_PARTS_MAX];
};

/* Adds a part at the end; equal neighbours merge, and when the array is full so do equal parts that
 * stand near each other, then all equal ones. Where all differ the part joins one of its cause, else
 * the last, which is `unknown` then. ns <= 0: nothing. */
void replay_delivery_add(struct replay_delivery *d, enum cause cause, uint32_t resource,
                         int64_t ns);

enum replay_op_kind {
    /* The thread was busy or blocked on anything but its device or a delivery. cause: host, launch,
     * checkpoint, storage and prepare (a job without workers), network, memory, cpu-starved ... */
    REPLAY_THREAD,
    /* Here the device was given work that kept it busy for ns (exclusive device time of the spans
     * launched here: overlap counted once). cause NONE: compute; PAGEABLE_COPY or LINK: copies;
     * network, collective, late-peer: communication kernels. */
    REPLAY_DEVICE,
    /* The same, but handed over evenly during the THREAD ops that stand right before it: how a
     * burst of many launches is kept in few ops. */
    REPLAY_SPREAD,
    /* The thread waited here for its device. cause PAGEABLE_COPY or LINK: inside a copy call that
     * returned only after the copy (whose time is a DEVICE op before it); else NONE. */
    REPLAY_SYNC,
    REPLAY_KIND_COUNT
};

struct replay_op {
    uint8_t kind; /* enum replay_op_kind */
    struct share what;
};

/* One step of a consumer: it waited t0..t1 for `delivery` (t0 == t1: it was there), then spent its
 * own time until end_ns. A step without a delivery (no workers) has t0 == t1 and REPLAY_NONE;
 * such steps are best cut where the thread begins to fetch the next batch. The time before the
 * first take is best pushed as a step without a delivery too: starting workers (CAUSE_STARTUP)
 * costs the thread time that grows with their number. */
struct replay_step {
    int64_t t0, t1, end_ns;
    uint64_t delivery; /* serial given by replay_push_delivery, or REPLAY_NONE */
    uint8_t op_count;
    struct replay_op ops[REPLAY_OPS_MAX]; /* in order */
};

/* Adds an op at the end; equal neighbours merge. Thousands may be added: when the array is full,
 * bursts of launches become SPREAD ops and neighbouring syncs merge. ns < 0: nothing; a SYNC of
 * 0 ns is kept (it would wait if the device were slower). */
void replay_step_add(struct replay_step *s, enum replay_op_kind kind, enum cause cause,
                     uint32_t resource, int64_t ns);

struct replay_log;

/* Keeps at most max_steps steps over all consumers (0: the default); when full the oldest are
 * dropped and their time counted. NULL: out of memory. */
struct replay_log *replay_log_new(uint32_t max_steps);
void replay_log_free(struct replay_log *log); /* NULL is fine */

/* The consumer's number, made at first sight; -1 out of memory or too many. */
int replay_consumer(struct replay_log *log, uint32_t tid, uint32_t device);

/* Returns the delivery's serial (0, 1, 2 ... per consumer, in the order pushed), REPLAY_NONE when
 * out of memory or when the times run backwards. Push a delivery before the step that takes it. */
uint64_t replay_push_delivery(struct replay_log *log, int consumer,
                              const struct replay_delivery *delivery);
/* Steps are pushed in time order. False: out of memory, or it begins before the last step's end. */
bool replay_push_step(struct replay_log *log, int consumer, const struct replay_step *step);

struct replay_consumer_info {
    uint32_t tid, device;
    uint64_t steps, deliveries; /* kept */
    int64_t first_ns, last_ns;  /* of the kept steps: first t0, last end */
    uint64_t dropped_steps;
    int64_t dropped_ns; /* time from the first t0 ever to first_ns */
};

int replay_log_consumers(const struct replay_log *log);
bool replay_consumer_info(const struct replay_log *log, int consumer,
                          struct replay_consumer_info *ret);
/* The nth kept step or delivery, oldest first; false: there is none. A step's `delivery` whose
 * delivery was dropped reads REPLAY_NONE. */
bool replay_log_step(const struct replay_log *log, int consumer, uint64_t nth,
                     struct replay_step *ret);
bool replay_log_delivery(const struct replay_log *log, int consumer, uint64_t nth,
                         struct replay_delivery *ret);

/* ---- chunks: the log as bytes (layout: replay_code.c; 35 to 50 bytes a step) ---- */

/* How far a consumer's log has been written; zero-initialised: nothing yet. */
struct replay_cursor {
    uint64_t step, delivery; /* serials, dropped ones counted */
};

/* Appends to *out one self-contained chunk with all that was pushed since *at, and moves *at.
 * True and nothing appended: nothing new. False: out of memory (out->failed). Times are kept to
 * 1 us. Chunks are decoded in order; leading chunks may be missing (their time counts as dropped).
 */
bool replay_encode(const struct replay_log *log, int consumer, struct replay_cursor *at,
                   struct str *out);
/* Pushes what one chunk holds. Hostile bytes give STATUS_INPUT and leave whole steps only. */
int replay_decode(struct replay_log *log, const void *bytes, size_t size, struct error *e);

#endif
