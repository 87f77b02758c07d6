/* SPDX-License-Identifier: MIT */
/*
 * verdict: one sentence on what limited the job and what to do first. Internal.
 */
#ifndef GPUFEED_RECORD_VERDICT_H
#define GPUFEED_RECORD_VERDICT_H

#include "record/price.h"

/* Fills r->verdict from rows, findings and money; false: out of memory. */
bool verdict_fill(struct report *r, const struct price_verdict *price);

#endif
