/* SPDX-License-Identifier: MIT */
#include "sense/ring_events.h"

#include "base/str.h"
#include "base/unit.h"

#include <inttypes.h>
#include <stdio.h>

/* How long spans may wait for the name of their device. */
#define NAME_PATIENCE NS_PER_S
/* A time further ahead of now than this is nonsense. The job goes on while its ring is read, which takes
 * seconds where there is no free core. */
#define FUTURE_SLACK (10 * NS_PER_S)

/* The number of the ring's device; -1: not named yet, try again; below: error. */
static int device_number(struct delivery *d, unsigned index, int64_t t, struct error *e)
{
    struct ring *ring = d->ring;
    struct ring_device device;

    if (ring->number[index] >= 0)
        return (int)ring->number[index];
    if (!ring_file_device(&ring->file, index, &device)) {
        if (d->now - t < NAME_PATIENCE && d->now - ring->file.start_ns < 5 * NAME_PATIENCE)
            return -1;
        snprintf(device.uuid, sizeof(device.uuid), "unknown-%u-%u", ring->file.pid, index);
        str_copy(device.name, sizeof(device.name), "unknown accelerator");
        device.simulated = 0;
    }
    int number = probe_rings_add_device(d->r, device.uuid, device.name, device.simulated != 0, e);
    if (number < 0)
        return number - 1; /* keeps clear of -1 */
    ring->number[index] = number;
    return number;
}

static int emit(struct delivery *d, const struct event *event)
{
    return d->sink(d->arg, event);
}

static int emit_span(struct delivery *d, const struct ring_record *rec, uint32_t device)
{
    bool launched = rec->launch_t0 > 0;
    struct event event = {.kind = EVENT_SPAN,
                          .span = {.t0 = rec->t0,
                                   .t1 = rec->t1,
                                   .launch_t0 = launched ? rec->launch_t0 : 0,
                                   .launch_t1 = launched ? rec->launch_t0 + rec->launch_ns : 0,
                                   .device = device,
                                   .stream = rec->stream,
                                   .pid = d->ring->file.pid,
                                   .tid = rec->tid,
                                   .kind = rec->span_kind, /* enum span_kind has the same order */
                                   .host_copy = rec->flags & RING_HOST_COPY,
                                   .pageable = rec->flags & RING_PAGEABLE,
                                   .sync_copy = rec->flags & RING_SYNC_COPY,
                                   .bytes = rec->bytes}};

    d->r->totals.spans++;
    return emit(d, &event);
}

static int emit_call(struct delivery *d, const struct ring_record *rec, uint32_t device)
{
    struct event event = {.kind = EVENT_CALL,
                          .call = {.t0 = rec->t0,
                                   .t1 = rec->t1,
                                   .device = device,
                                   .pid = d->ring->file.pid,
                                   .tid = rec->tid,
                                   .kind = rec->span_kind}};

    d->r->totals.calls++;
    return emit(d, &event);
}

static int emit_device(struct delivery *d, int64_t t, unsigned index, uint32_t device, bool taken)
{
    struct event event = {
        .kind = EVENT_DEVICE,
        .device = {.t = t, .device = device, .pid = d->ring->file.pid, .taken = taken}};

    d->ring->held[index] = taken;
    if (taken)
        d->r->accelerators[device].used = true;
    return emit(d, &event);
}

/* Lost activity is unseen time on each device that this process holds. */
static int emit_lost(struct delivery *d, int64_t t0, int64_t t1, uint64_t count)
{
    d->r->totals.lost += count;
    for (unsigned i = 0; i < RING_DEVICES; i++) {
        if (!d->ring->held[i] || d->ring->number[i] < 0)
            continue;
        struct event event = {.kind = EVENT_LOST,
                              .lost = {.t0 = t0,
                                       .t1 = t1,
                                       .device = (uint32_t)d->ring->number[i],
                                       .count = count,
                                       .spans = true}};
        int status = emit(d, &event);
        if (status < 0)
            return status;
    }
    return 0;
}

static void note_blind(struct delivery *d, const struct ring_record *rec)
{
    struct ring *ring = d->ring;

    d->r->totals.blind++;
    ring->complete_until = INT64_MAX; /* nothing will come: it holds nobody back */
    switch (rec->span_kind) {
    case RING_BLIND_NO_CUPTI:
        probe_rings_add_note(
            d->r,
            "GPU activity of %s (%u) was not seen: it has no CUPTI library; install the "
            "nvidia-cuda-cupti package of its CUDA version",
            ring->process, ring->file.pid);
        break;
    case RING_BLIND_TAKEN:
        probe_rings_add_note(
            d->r,
            "GPU activity of %s (%u) was not seen: another profiler holds CUPTI; run without it",
            ring->process, ring->file.pid);
        break;
    default:
        probe_rings_add_note(
            d->r,
            "GPU activity of %s (%u) was not seen: CUPTI answered with error %" PRIu64
            "; 35 means that profiling is kept for administrators "
            "(NVreg_RestrictProfilingToAdminUsers)",
            ring->process, ring->file.pid, rec->bytes);
    }
}

static int take_unseen(struct delivery *d, const struct ring_record *rec)
{
    if (rec->span_kind == RING_UNSEEN_FULL)
        d->ring->gaps += rec->bytes;
    if (rec->span_kind == RING_UNSEEN_TAKEN && rec->flags)
        probe_rings_add_note(
            d->r,
            "GPU activity of %s (%u) was not seen from the moment when its own profiler took "
            "CUPTI over",
            d->ring->process, d->ring->file.pid);
    return emit_lost(d, rec->t0, rec->t1, rec->bytes);
}

/* False for numbers that no probe of ours writes. */
static bool plausible(const struct delivery *d, const struct ring_record *rec)
{
    int64_t late = d->now + FUTURE_SLACK;

    if (rec->kind < RING_SPAN || rec->kind > RING_BLIND || rec->t0 < 0 || rec->t0 > late)
        return false;
    if (rec->kind == RING_CLOCK)
        return rec->bytes < (uint64_t)NS_PER_S;
    if ((rec->kind == RING_SPAN || rec->kind == RING_CALL || rec->kind == RING_UNSEEN) &&
        (rec->t1 < rec->t0 || rec->t1 > late || rec->launch_t0 < 0 || rec->launch_t0 > late))
        return false;
    if (rec->kind == RING_SPAN && (rec->span_kind > RING_MEMSET || rec->device >= RING_DEVICES))
        return false;
    if (rec->kind == RING_CALL && rec->span_kind > RING_CALL_OTHER)
        return false;
    if ((rec->kind == RING_TAKEN || rec->kind == RING_RELEASED) && rec->device >= RING_DEVICES)
        return false;
    return rec->bytes < (UINT64_C(1) << 50);
}

static int take_known(struct delivery *d, const struct ring_record *rec, uint32_t device)
{
    switch (rec->kind) {
    case RING_SPAN:
        return emit_span(d, rec, device);
    case RING_CALL:
        return emit_call(d, rec, device);
    case RING_TAKEN:
    case RING_RELEASED:
        return emit_device(d, rec->t0, rec->device, device, rec->kind == RING_TAKEN);
    case RING_UNSEEN:
        return take_unseen(d, rec);
    case RING_CLOCK:
        if ((int64_t)rec->bytes > d->r->totals.clock_error_ns)
            d->r->totals.clock_error_ns = (int64_t)rec->bytes;
        return 0;
    default:
        note_blind(d, rec);
        return 0;
    }
}

/* What it told is unseen since the last record that was believed. */
static int refuse(struct delivery *d)
{
    int64_t since = d->ring->last_sign < d->now ? d->ring->last_sign : d->now;
    if (!d->ring->refused_record)
        probe_rings_add_note(d->r,
                             "the ring of %s (%u) holds impossible records; they were left out",
                             d->ring->process, d->ring->file.pid);
    d->ring->refused_record = true;
    int status = emit_lost(d, since, d->now, 1);
    return status < 0 ? status : RING_RECORD_TAKEN;
}

int ring_events_take(struct delivery *d, const struct ring_record *rec, struct error *e)
{
    uint32_t device = UINT32_MAX;

    if (!plausible(d, rec))
        return refuse(d);
    if (rec->kind != RING_CLOCK && rec->device < RING_DEVICES) {
        int number = device_number(d, rec->device, rec->t0, e);
        if (number == -1)
            return RING_RECORD_LATER;
        if (number < -1)
            return number + 1;
        device = (uint32_t)number;
    }
    int64_t sign = rec->kind == RING_CLOCK || rec->t1 < rec->t0 ? rec->t0 : rec->t1;
    if (sign > d->ring->last_sign && sign <= d->now)
        d->ring->last_sign = sign;
    int status = take_known(d, rec, device);
    return status < 0 ? status : RING_RECORD_TAKEN;
}

int ring_events_finish(struct delivery *d, const struct ring_state *state)
{
    struct ring *ring = d->ring;
    bool later = state->alive_ns > ring->last_sign && state->alive_ns <= d->now;
    int64_t end = later ? state->alive_ns : ring->last_sign;
    int status = 0;

    if (state->lost > ring->gaps && state->lost - ring->gaps < (UINT64_C(1) << 50))
        status = emit_lost(d, ring->last_sign, end, state->lost - ring->gaps);
    if (status >= 0 && ring->complete_until < end) /* it was killed before its next flush */
        status = emit_lost(d, ring->complete_until, end, 0);
    for (unsigned i = 0; i < RING_DEVICES && status >= 0; i++) {
        if (ring->held[i])
            status = emit_device(d, end, i, (uint32_t)ring->number[i], false);
    }
    return status;
}
