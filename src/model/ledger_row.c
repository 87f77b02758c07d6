/* SPDX-License-Identifier: MIT */
#include "model/ledger_row.h"

const char *evidence_name(enum evidence e)
{
    static const char *const names[EVIDENCE_COUNT] = {"chain", "device", "sampled", "bound",
                                                      "counters"};
    return (unsigned)e < EVIDENCE_COUNT ? names[e] : "bound";
}
