/* SPDX-License-Identifier: MIT */
/*
 * probe_ring: all activity rings of a folder (one per process that loaded the
 * probe) as events of one stream, with one table of accelerators.
 *
 * Events come per ring in the order written. Spans of several streams or
 * processes are NOT sorted; probe_rings_complete_until says up to where
 * nothing is missing. A device is known by its UUID, so that two processes
 * with other ordinals (CUDA_VISIBLE_DEVICES) agree. A process that ends
 * without releasing its devices gets its release made up at its last sign of
 * life. A ring's file loses its name as soon as it is open here: a kill of either
 * side leaves nothing behind. Files of other users are read only if a process of that
 * user below the calling one wrote them.
 * Single-threaded; the folder is not owned.
 */
#ifndef GPUFEED_SENSE_PROBE_RING_H
#define GPUFEED_SENSE_PROBE_RING_H

#include "base/error.h"
#include "model/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probe_rings;

/* NULL and *e filled when the folder cannot be read or memory is out. */
struct probe_rings *probe_rings_new(const char *dir, struct error *e);
/* Takes NULL. */
void probe_rings_free(struct probe_rings *r);

struct probe_accelerator {
    char id[80]; /* "GPU-uuid:N", "sim-GPU-uuid:N"; N is its number in events */
    char uuid[48], name[64];
    bool simulated;
    bool used; /* some process took it */
};

/* Makes known a device that another source (NVML) found, so that numbers follow that source's
 * order. Returns its number or a negative status. */
int probe_rings_add_device(struct probe_rings *r, const char *uuid, const char *name,
                           bool simulated, struct error *e);

size_t probe_rings_accelerator_count(const struct probe_rings *r);
/* Valid until the next poll or add. */
const struct probe_accelerator *probe_rings_accelerator(const struct probe_rings *r, size_t number);

/* Receives one event, valid during the call; a negative return stops the poll and is passed on. */
typedef int (*probe_event_fn)(void *arg, const struct event *event);

/* Looks for new rings and hands over everything unread: EVENT_SPAN, CALL, DEVICE and LOST. now is
 * CLOCK_MONOTONIC. A ring that is damaged is given up with a note; that is no error. */
int probe_rings_poll(struct probe_rings *r, int64_t now, probe_event_fn sink, void *arg,
                     struct error *e);

/* All spans that ended before this were handed over; INT64_MAX while no process is observed. */
int64_t probe_rings_complete_until(const struct probe_rings *r);

/* Lines for the report: why a process was not seen, which file was refused. Never shrinks. */
size_t probe_rings_note_count(const struct probe_rings *r);
const char *probe_rings_note(const struct probe_rings *r, size_t i);

struct probe_totals {
    uint64_t processes;     /* rings ever read */
    uint64_t blind;         /* ... of which the probe gave up */
    uint64_t spans, calls;  /* handed over */
    uint64_t lost;          /* records dropped: ring full, CUPTI out of buffers, refused */
    uint32_t cuda_version;  /* of the driver, 13000 is 13.0; 0 unknown */
    uint32_t cupti_version; /* CUPTI_API_VERSION; 0 unknown */
    int64_t clock_error_ns; /* largest error bound of a device clock pair; -1 none was taken */
};
struct probe_totals probe_rings_totals(const struct probe_rings *r);

#endif
