/* SPDX-License-Identifier: MIT */
/*
 * check: what `gpufeed check` found: the view that its renderers walk. Pure data, texts owned
 * (check_report_clear frees them).
 *
 * A rule is judged when all facts that it needs are known; what it then does not match is all
 * right. A rule that is not judged says nothing about the machine.
 */
#ifndef GPUFEED_MODEL_CHECK_H
#define GPUFEED_MODEL_CHECK_H

#include "model/report.h"

struct check_unjudged {
    char *id;
    char *missing; /* the first fact that it needs and that is not known: "KIND/NAME" */
};

struct check_fact {
    char *kind, *subject, *name, *text, *unit, *source; /* text NULL: see number */
    double number;
};

struct check_report {
    char *what;                      /* "this machine", "process 4711", "the dump DIR" */
    struct report found;             /* findings, worst first, and notes; all else empty */
    size_t rules, judged;            /* judged + unjudged_count = rules */
    struct check_unjudged *unjudged; /* by id */
    size_t unjudged_count, unjudged_cap;
    struct check_fact *facts; /* by kind, subject, name; empty unless asked for */
    size_t fact_count, fact_cap;
    double interval_seconds; /* over which rates were taken; 0 none */
};

void check_report_init(struct check_report *c);
void check_report_clear(struct check_report *c);
/* Moves the findings of `from` to `to` whose id is not among those of `to`, but for those that `but` is true
 * of. Worst first, as before. false: out of memory, and some are still in `from`. */
bool check_report_join(struct check_report *to, struct check_report *from,
                       bool (*but)(const struct report_finding *f));

#endif
