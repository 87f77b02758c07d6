/* SPDX-License-Identifier: MIT */
/*
 * kineto_event: one event of a trace, as kineto_event.c reads it and kineto_take.c takes it. Internal to both.
 */
#ifndef GPUFEED_IMPORT_KINETO_EVENT_H
#define GPUFEED_IMPORT_KINETO_EVENT_H

#include "import/kineto.h"

/* What of an event matters, by its category. */
enum kineto_category {
    KINETO_OTHER,
    KINETO_KERNEL, /* from here to KINETO_MEMSET: activity of a device */
    KINETO_MEMCPY,
    KINETO_MEMSET,
    KINETO_RUNTIME, /* from here to KINETO_ANNOTATION: what threads did */
    KINETO_CODE,
    KINETO_ANNOTATION,
    KINETO_FLOW,
    KINETO_OTHER_DEVICE,
    KINETO_PYTHON
};

/* A text of the event: offset from scan.pin. */
struct kineto_piece {
    uint32_t at, len;
};

struct kineto_event_in {
    char phase; /* 0: none told */
    enum kineto_category category;
    struct kineto_piece name, ts, dur;
    struct kineto_piece collective, dtype, argument; /* args: "name" */
    struct kineto_piece ranks, group_name, group_words;
    bool has_ts, has_dur;
    int64_t pid, tid, device, stream, correlation, bytes;
    int64_t elements_in, elements_out, group, flow;
    bool has_device;
};

static inline const char *kineto_text(const struct kineto *k, struct kineto_piece p)
{
    return k->scan.pin + p.at;
}

/* What it means; nothing for kinds that are not looked at. False: out of memory. */
bool kineto_take(struct kineto *k, const struct kineto_event_in *ev);

#endif
