/* SPDX-License-Identifier: MIT */
/*
 * report/json: the view as gpufeed.report/1, one line of JSON (doc/report.schema.json).
 *
 * Unknown figures are null. What the shape has no key for (mode, cut short, exit
 * code, notes, slowdown bound) stands in the top `evidence` with source "gpufeed";
 * a gain that is only an upper bound has an evidence item "gain_bound".
 */
#ifndef GPUFEED_REPORT_JSON_H
#define GPUFEED_REPORT_JSON_H

#include "base/str.h"
#include "model/report.h"

/* Appends to *out; out->failed when memory ran out. */
void report_json(const struct report *r, struct str *out);

#endif
