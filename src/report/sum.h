/* SPDX-License-Identifier: MIT */
/*
 * report/sum: the rows of a view added up the way people read them.
 *
 * The waits are all time with a cause (wait, exposed comm and copy) by cause and
 * resource over all accelerators; shares are of all accelerators' time.
 */
#ifndef GPUFEED_REPORT_SUM_H
#define GPUFEED_REPORT_SUM_H

#include "model/report.h"

#define SUM_UNKNOWN_MAX 0.05 /* more unknown than this is said in the summary */
#define SUM_QUIET_MAX 0.10   /* less wait than this, and no advice: nothing to talk about */

struct sum_wait {
    enum cause cause;
    const char *resource; /* borrowed from the view; NULL none */
    int64_t ns;
    double share;           /* NAN: no time was accounted for */
    double money;           /* the cause's amount in proportion; NAN unknown */
    enum evidence evidence; /* the weakest of its rows */
};

struct sum {
    int64_t ns, state_ns[STATE_COUNT], cause_ns[CAUSE_COUNT];
    int64_t waited_ns;      /* of all waits */
    struct sum_wait *waits; /* owned; longest first */
    size_t wait_count, wait_cap;
    double unknown_share; /* cause unknown; NAN as above */
    double unseen_share;
    bool quiet; /* nothing is worth fixing: renderers leave out the chain */
};

/* False: out of memory, *ret is then empty. The view must outlive *ret. */
bool sum_of(const struct report *r, struct sum *ret);
void sum_clear(struct sum *s);

#define SUM_LABEL 64 /* bytes; what is longer is cut */

/* Accelerators that spent their time alike, for one line of a report. */
struct sum_group {
    char label[SUM_LABEL]; /* "GPU 0", "GPU 0-6, 8-15" by the N of their ids */
    size_t members;
    int64_t ns, state_ns[STATE_COUNT];
};

/* Up to `apart_max` accelerators stay one group each; more are put together where all states
 * are within SUM_ALIKE of the group's first. Groups come with the most wait first when any were
 * put together, else in the view's order. Returns false when out of memory; *ret is owned. */
#define SUM_ALIKE 0.03
bool sum_groups(const struct report *r, size_t apart_max, struct sum_group **ret,
                size_t *ret_count);

/* The N at the end of an accelerator's id; its index where the id has none. */
unsigned sum_device_number(const struct report *r, size_t index);
/* "GPU 0"; "GPU 0 (rank 3)" where several have that N, by the rest of their ids. Returns buf. */
char *sum_device_label(const struct report *r, size_t index, char buf[SUM_LABEL]);

#endif
