/* SPDX-License-Identifier: MIT */
/*
 * too_short: runs that show too little for a verdict. Internal.
 *
 * What was seen of them is shown; nothing is concluded from it: no finding that rests on the ledger, no gain, no
 * bound of other machines.
 */
#ifndef GPUFEED_RECORD_TOO_SHORT_H
#define GPUFEED_RECORD_TOO_SHORT_H

#include "record/rules.h"

/* Sets r->too_short where less than half a second and fewer than ten
 * steps (0: none is known) were seen after the start-up. A trace of another tool is some steps by habit: it never is too
 * short. False: out of memory. */
bool too_short_look(struct report *r, uint64_t steps);
/* Takes the findings that rest on the ledger out of the report, and their scenarios. */
void too_short_drop(struct report *r, struct rule_scenarios *scenarios);

#endif
