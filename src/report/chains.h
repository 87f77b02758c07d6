/* SPDX-License-Identifier: MIT */
/*
 * report/chains: the stored wait chains, one paragraph each, link by link: who
 * waited for whom, from the launching thread to the end of the chain, the cause.
 */
#ifndef GPUFEED_REPORT_CHAINS_H
#define GPUFEED_REPORT_CHAINS_H

#include "report/text.h"

/* As report_text; `lines` has no say. */
void report_chains(const struct report *r, const struct report_text_options *options,
                   struct str *out);

#endif
