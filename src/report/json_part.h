/* SPDX-License-Identifier: MIT */
/*
 * report/json_part: the parts of JSON that several documents share.
 */
#ifndef GPUFEED_REPORT_JSON_PART_H
#define GPUFEED_REPORT_JSON_PART_H

#include "base/json.h"
#include "model/report.h"

#define JSON_PART_SELF "gpufeed" /* source of evidence about the measurement itself */

/* One piece of evidence as an object; value: the text unless NULL, else the number. */
void json_part_item(struct json *j, const char *name, double value, const char *text,
                    const char *unit, const char *source);
/* One object each; the array is the caller's. */
void json_part_evidence(struct json *j, const struct evidence_list *l);
/* The key "findings" with all of them: id, severity, title, evidence, and what `rest` adds to each. */
void json_part_findings(struct json *j, const struct report *r,
                        void (*rest)(struct json *j, const struct report_finding *f));

#endif
