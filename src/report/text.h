/* SPDX-License-Identifier: MIT */
/*
 * report/text: the view on one terminal screen.
 *
 * From top to bottom: the job, a bar of states per accelerator, the waits by
 * cause and resource, what is unknown and why, the longest wait in words, the
 * findings by gain, notes, the verdict, gpufeed's own cost. Whatever does not
 * fit into `lines` is shortened and counted ("3 more"). A job with nothing to fix
 * gets a short report. Texts from outside are made safe (report/plain.h).
 *
 * In a time column "~" marks figures from samples and "<=" upper bounds.
 */
#ifndef GPUFEED_REPORT_TEXT_H
#define GPUFEED_REPORT_TEXT_H

#include "base/str.h"
#include "model/report.h"

struct report_text_options {
    bool colour;  /* ANSI colours */
    bool unicode; /* else plain ASCII */
    int width;    /* columns; 0 is 100; kept within 40 and 160 */
    /* at most; 0 is 40; the least possible is about 30; twice as many below 60 columns */
    int lines;
};

/* Appends to *out; out->failed when memory ran out. */
void report_text(const struct report *r, const struct report_text_options *options,
                 struct str *out);

#endif
