/* SPDX-License-Identifier: MIT */
/*
 * timeline: exclusive states of one device from overlapping activity.
 *
 * Spans come in any order; timeline_advance(until) sorts those that began
 * before `until` and walks them once. With spans sorted by start, the union of
 * a class is known by the largest end seen so far, so each nanosecond gets
 * the strongest class that covers it: compute > comm > copy > nothing.
 * A span that begins before what was walked already is clipped; the part
 * that came too late is counted in `late_ns`.
 *
 * Invariant: segments are handed out in order, without holes or overlaps,
 * and only between begin and the `until` of the last advance. A gap is one segment.
 */
#ifndef GPUFEED_LEDGER_TIMELINE_H
#define GPUFEED_LEDGER_TIMELINE_H

#include "model/event.h"

#include <stddef.h>

enum segment_class {
    SEGMENT_COMPUTE,
    SEGMENT_COMM,
    SEGMENT_PAGEABLE, /* exposed copy from or to memory that is not pinned */
    SEGMENT_COPY,     /* exposed copy otherwise */
    SEGMENT_CLASSES,
    SEGMENT_IDLE = SEGMENT_CLASSES
};

/* For SEGMENT_IDLE: `next` is the span that ended it, NULL when `until` did. For
 * the other classes `next` is NULL. */
typedef void (*segment_fn)(void *arg, enum segment_class class, int64_t t0, int64_t t1,
                           const struct event_span *next);

/* Called for each span when it is walked; `adds` is the time by which it makes the
 * device busy beyond the spans that began before it. */
typedef void (*walked_fn)(void *arg, const struct event_span *span, int64_t adds);

struct timeline {
    struct event_span *spans; /* owned; not yet walked */
    size_t count, cap;
    int64_t at; /* all before is walked; INT64_MIN: not begun */
    int64_t busy_until[SEGMENT_CLASSES];
    uint32_t comm_resource; /* of the communication that lasts longest */
    int64_t last_end;       /* the latest end of any span pushed; INT64_MIN: none */
    int64_t late_ns;
    bool sorted;
};

void timeline_init(struct timeline *t);
void timeline_clear(struct timeline *t);
void timeline_begin(struct timeline *t, int64_t at);
/* false: out of memory, the span is lost */
bool timeline_push(struct timeline *t, const struct event_span *span);
/* A gap that is still open at `until` is handed out whole, once the span that ends it
 * is known; end_gap hands out what there is of it (with next NULL). */
void timeline_advance(struct timeline *t, int64_t until, bool end_gap, segment_fn fn,
                      walked_fn walked, void *arg);

#endif
