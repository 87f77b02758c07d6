/* SPDX-License-Identifier: MIT */
/*
 * read: a recording becomes the typed view of model/report.h.
 *
 * The file is never trusted: it may be truncated, hostile, foreign or from
 * another version; then one line names it and says why (STATUS_INPUT), nothing
 * is written and no library state is left behind. A recording whose writer was
 * killed, or is at work, is read up to its last commit, from a read-only folder
 * too, and the view says which in `cut_short`.
 *
 * For each accelerator the rows add up to its ns exactly. Its time is its own, from its being taken
 * to its release; the span covers all of them.
 */
#ifndef GPUFEED_RECORD_READ_H
#define GPUFEED_RECORD_READ_H

#include "base/error.h"
#include "model/report.h"

struct record_options {
    /* Of the whole machine or job. 0: no money; NAN: as the recording says. */
    double price_per_hour;
    const char *currency;  /* NULL: as the recording says, else "EUR" */
    const char *rules_dir; /* more rules, record/rules.h; NULL none */
};

/* Windows of the view: neighbours are summed until there are at most this many. */
#define RECORD_WINDOWS_MAX 600

/* ret is untouched on failure; else report_clear it. */
int record_report(const char *path, const struct record_options *options, struct report *ret,
                  struct error *e);

/* Of a finished recording in memory (record_create_memory), which may only be closed afterwards. */
struct record;
int record_report_memory(struct record *record, const struct record_options *options,
                         struct report *ret, struct error *e);

#endif
