/* SPDX-License-Identifier: MIT */
/*
 * check_fix: the plan of `check --fix`, its application and its undoing, as text or JSON.
 */
#ifndef GPUFEED_CMD_CHECK_FIX_H
#define GPUFEED_CMD_CHECK_FIX_H

#include "base/str.h"
#include "fix/fix.h"
#include "model/check.h"

struct check_fix {
    const char *journal; /* NULL: the usual one */
    const char *scratch; /* DEVICE[,DEVICE ...]:FOLDER; NULL none */
    bool apply;
};

/* The steps that the findings and --scratch ask for; applies them where o says so. On failure ret holds
 * what was done before it, if anything was begun; clear it in either case. */
int check_fix_run(const struct check_fix *o, const struct fix_context *c,
                  const struct check_report *r, struct fix_plan *ret, struct error *e);
/* Undoes what the journal holds; ret as above. */
int check_fix_undo(const struct check_fix *o, struct fix_plan *ret, struct error *e);

/* Says how to take back what was done, too. */
void check_fix_text(const struct check_fix *o, const struct fix_plan *p, struct str *out);
/* A document of its own, gpufeed.fix/1 (doc/fix.schema.json). */
void check_fix_json(const struct fix_plan *p, struct str *out);
/* EXIT_FINDINGS if a step failed, else EXIT_DONE. */
int check_fix_code(const struct fix_plan *p);

#endif
