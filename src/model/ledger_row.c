/* SPDX-License-Identifier: MIT */
#include "model/ledger_row.h"

#include <stdbool.h>

const char *evidence_name(enum evidence e)
{
    static const char *const names[EVIDENCE_COUNT] = {"chain", "device", "sampled", "bound",
                                                      "counters"};
    return (unsigned)e < EVIDENCE_COUNT ? names[e] : "bound";
}

static bool estimated(enum evidence e)
{
    return e == EVIDENCE_SAMPLED || e == EVIDENCE_COUNTERS;
}

const char *evidence_words(enum evidence e)
{
    return e == EVIDENCE_BOUND ? "at most " : estimated(e) ? "about " : "";
}

const char *evidence_mark(enum evidence e)
{
    return e == EVIDENCE_BOUND ? "\xe2\x89\xa4 " : estimated(e) ? "~" : "";
}
