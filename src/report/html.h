/* SPDX-License-Identifier: MIT */
/*
 * report/html: the view as one self-contained page: no script, no request to
 * anywhere (a Content-Security-Policy in the page says so), inline SVG and CSS.
 *
 * It follows the reader's light or dark setting, fits from 360 px up, and every
 * chart has its figures as text beside or below it. All texts are escaped.
 */
#ifndef GPUFEED_REPORT_HTML_H
#define GPUFEED_REPORT_HTML_H

#include "base/str.h"
#include "model/report.h"

/* Appends to *out; out->failed when memory ran out. */
void report_html(const struct report *r, struct str *out);

#endif
