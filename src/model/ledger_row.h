/* SPDX-License-Identifier: MIT */
/*
 * ledger_row: where accelerator time went, and the share vector of a wait.
 */
#ifndef GPUFEED_MODEL_LEDGER_ROW_H
#define GPUFEED_MODEL_LEDGER_ROW_H

#include "model/words.h"

#include <stdint.h>

/* How a row came to be known; the weakest of what went into it. */
enum evidence {
    EVIDENCE_CHAIN,    /* followed wake by wake */
    EVIDENCE_DEVICE,   /* device activity records alone */
    EVIDENCE_SAMPLED,  /* /proc samples */
    EVIDENCE_BOUND,    /* an upper bound from driver calls or counters */
    EVIDENCE_COUNTERS, /* a device's own counters, read now and then: what ran is not told apart */
    EVIDENCE_COUNT
};
const char *evidence_name(enum evidence e); /* "chain", "device", "sampled", "bound", "counters" */
/* What goes before a figure that is known so: "at most ", "about " or "" in a sentence, "≤ ", "~" or "" in a
 * table. */
const char *evidence_words(enum evidence e);
const char *evidence_mark(enum evidence e);

struct ledger_row {
    int64_t t0; /* start of the window the row belongs to */
    uint32_t accelerator;
    uint32_t workload; /* pid of the process that held the device; 0 none */
    uint8_t state;     /* enum state */
    uint8_t cause;     /* enum cause */
    uint8_t evidence;  /* enum evidence */
    uint32_t resource; /* interned; 0 none */
    int64_t ns;
};

/* One part of a shared-out time. */
struct share {
    uint8_t cause; /* enum cause */
    uint32_t resource;
    int64_t ns;
};

/* A link of a wait chain as it is shown: "trainer (4711)" "waited 82 ms for its loader queue". */
struct chain_link {
    char who[64];
    char did[160];
};

#define CHAIN_LINKS_MAX 12

struct chain_example {
    int64_t t0, ns;
    uint32_t accelerator;
    uint8_t cause;
    uint32_t resource;
    int count;
    struct chain_link links[CHAIN_LINKS_MAX];
};

#endif
