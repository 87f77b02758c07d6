/* SPDX-License-Identifier: MIT */
/*
 * report/check: what a check found, as text and as gpufeed.check/1 (doc/check.schema.json).
 * Both append to *out; out->failed when memory ran out.
 *
 * A machine with nothing wrong gets one line of text.
 */
#ifndef GPUFEED_REPORT_CHECK_H
#define GPUFEED_REPORT_CHECK_H

#include "model/check.h"
#include "report/text.h"

struct report_check_options {
    struct report_text_options text;
    bool verbose; /* which rules could not be judged, why each finding matters, and the facts */
};

void report_check_text(const struct check_report *c, const struct report_check_options *options,
                       struct str *out);
void report_check_json(const struct check_report *c, const char *version, struct str *out);

#endif
