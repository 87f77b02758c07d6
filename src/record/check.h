/* SPDX-License-Identifier: MIT */
/*
 * check: the rules that ask facts alone (data/check, and a user's with "for: check"), run over facts
 * in memory. No file is made.
 *
 * Facts are kept as in a recording: a second one of the same kind, subject and name replaces the
 * first, and secrets in texts are blanked.
 */
#ifndef GPUFEED_RECORD_CHECK_H
#define GPUFEED_RECORD_CHECK_H

#include "base/error.h"
#include "model/check.h"
#include "model/fact.h"

struct check;

int check_new(struct check **ret, struct error *e);
void check_free(struct check *c); /* NULL is fine */
int check_fact(struct check *c, const struct fact *fact, struct error *e);

struct check_options {
    const char *rules_dir; /* more rules; NULL none */
    bool facts;            /* hand out the facts too */
};

/* Once, after the last fact. ret is untouched on failure; else check_report_clear it. */
int check_run(struct check *c, const struct check_options *o, struct check_report *ret,
              struct error *e);

#endif
