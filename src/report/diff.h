/* SPDX-License-Identifier: MIT */
/*
 * report/diff: two runs side by side, as text and as gpufeed.diff/1
 * (doc/diff.schema.json). Both append to *out; out->failed when memory ran out.
 *
 * In JSON a pair of figures is {"before","after"}, null where unknown. Waits without
 * a cause count as unknown.
 */
#ifndef GPUFEED_REPORT_DIFF_H
#define GPUFEED_REPORT_DIFF_H

#include "record/diff.h"
#include "report/text.h"

void report_diff_text(const struct diff *d, const struct report_text_options *options,
                      struct str *out);
void report_diff_json(const struct diff *d, struct str *out);

#endif
