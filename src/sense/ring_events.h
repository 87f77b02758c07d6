/* SPDX-License-Identifier: MIT */
/*
 * ring_events: the records of one ring as events; the inside of probe_ring.
 */
#ifndef GPUFEED_SENSE_RING_EVENTS_H
#define GPUFEED_SENSE_RING_EVENTS_H

#include "base/map.h"
#include "sense/probe_ring.h"
#include "sense/ring_file.h"

struct ring {
    struct ring_file file;
    char file_name[32];
    char process[24];
    int64_t complete_until;
    int64_t last_sign; /* latest time seen in it */
    uint64_t gaps;     /* lost records that a RING_UNSEEN told of */
    bool refused_record;
    int64_t number[RING_DEVICES]; /* in accelerators; -1 not yet known */
    bool held[RING_DEVICES];
};

struct probe_rings {
    char *dir;
    int dir_fd;
    struct ring **rings; /* owned */
    size_t ring_count, ring_cap;
    struct probe_accelerator *accelerators; /* owned */
    size_t accelerator_count, accelerator_cap;
    char **notes; /* owned */
    size_t note_count, note_cap;
    struct map seen;    /* files that were opened or refused */
    uint64_t strangers; /* of them, files of users outside the job */
    struct probe_totals totals;
};

/* One poll's sink, and what it said. */
struct delivery {
    struct probe_rings *r;
    struct ring *ring;
    int64_t now;
    probe_event_fn sink;
    void *arg;
};

/* One more line for the report; lost when memory is out, which loses no data. */
void probe_rings_add_note(struct probe_rings *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

enum ring_taken { RING_RECORD_TAKEN, RING_RECORD_LATER };

/* Hands over one record. RING_RECORD_LATER: its device has no name yet, leave it in the ring;
 * negative: the sink's or an own error. */
int ring_events_take(struct delivery *d, const struct ring_record *rec, struct error *e);
/* The process is gone and its ring is read to the end: what was lost last, and the release of the
 * devices that it still held. */
int ring_events_finish(struct delivery *d, const struct ring_state *state);

#endif
