/* SPDX-License-Identifier: MIT */
/*
 * account: the rows of one accelerator, window by window.
 *
 * Time is added in order, without holes; a window's rows go to the sink when
 * time passes its end, and add up to exactly the window. Parts of a wait that
 * spans windows are split in proportion, exact to the nanosecond.
 */
#ifndef GPUFEED_LEDGER_ACCOUNT_H
#define GPUFEED_LEDGER_ACCOUNT_H

#include "ledger/shares.h"

#include <stdbool.h>
#include <stddef.h>

#define ACCOUNT_ROWS_MAX 128

struct account_sink {
    void *arg;
    void (*row)(void *arg, const struct ledger_row *row);
};

struct account {
    struct account_sink sink;
    int64_t window_ns, origin; /* windows begin at origin + n * window_ns */
    int64_t at;                /* all before is booked; INT64_MIN: not begun */
    uint32_t accelerator;
    int64_t window; /* start of the open window */
    struct ledger_row row[ACCOUNT_ROWS_MAX];
    int count;
    int64_t state_ns[STATE_COUNT]; /* sums over all windows */
    int64_t cause_ns[CAUSE_COUNT];
};

void account_init(struct account *a, uint32_t accelerator, int64_t window_ns,
                  struct account_sink sink);
/* The first nanosecond that is accounted for. */
void account_begin(struct account *a, int64_t t);
/* Books [a->at, t1) as one state shared over `parts`; an empty `parts` means CAUSE_NONE. */
void account_add(struct account *a, int64_t t1, enum state state, const struct shares *parts,
                 uint32_t workload, enum evidence evidence);
/* Hands out the open window. */
void account_close(struct account *a);

#endif
