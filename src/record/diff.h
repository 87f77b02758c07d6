/* SPDX-License-Identifier: MIT */
/*
 * diff: two reports side by side, equal in shape to gpufeed.diff/1. Pure.
 *
 * Shares are of all accelerators' time of the run they belong to, so runs of
 * different length compare. Unknown figures are NAN.
 */
#ifndef GPUFEED_RECORD_DIFF_H
#define GPUFEED_RECORD_DIFF_H

#include "base/error.h"
#include "model/report.h"

struct diff_figure {
    double before, after;
};

enum diff_change { DIFF_GONE, DIFF_NEW, DIFF_KEPT, DIFF_CHANGE_COUNT };
const char *diff_change_name(enum diff_change c); /* "gone", "new", "kept" */

/* One rule's findings; where it has several in a report, the first counts. */
struct diff_finding {
    char *id, *title; /* owned; the title of the later report that has it */
    enum diff_change change;
    int severity_before, severity_after; /* enum severity; -1: not there */
    struct diff_figure gain_seconds;     /* NAN where not there or unknown */
};

#define DIFF_NOTES_MAX 6

struct diff {
    char *title_before, *title_after; /* owned; NULL unknown */
    struct diff_figure span_seconds;
    double speedup; /* span before / span after; NAN unknown */
    struct diff_figure utilisation;
    struct diff_figure state[STATE_COUNT]; /* shares */
    struct diff_figure cause[CAUSE_COUNT]; /* shares of wait, comm and copy */
    char *currency;                        /* owned; NULL: no price, or two currencies */
    struct diff_figure rate_per_hour, spent, waited;
    struct diff_figure money_by_cause[CAUSE_COUNT];
    struct diff_finding *findings; /* owned: gone, then new, then kept; each in report order */
    size_t finding_count, finding_cap;
    char *sentence;              /* owned */
    char *notes[DIFF_NOTES_MAX]; /* owned: why the two do not compare as they stand */
    size_t note_count;
};

/* Copies what it needs. ret is untouched on failure (STATUS_MEMORY). */
int diff_make(const struct report *before, const struct report *after, struct diff *ret,
              struct error *e);
/* Part of diff_make: fills notes of *d; false: out of memory. */
bool diff_add_notes(struct diff *d, const struct report *before, const struct report *after);
void diff_clear(struct diff *d);

#endif
