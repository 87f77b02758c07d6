/* SPDX-License-Identifier: MIT */
/*
 * check_look: one look at the machine for `check`: facts of the survey and of NCCL's logs, judged by the rules.
 */
#ifndef GPUFEED_CMD_CHECK_LOOK_H
#define GPUFEED_CMD_CHECK_LOOK_H

#include "measure/survey.h"
#include "model/check.h"

struct look_options {
    /* interval_ns -1: a second, and longer where it must be; dump is set by look_at. */
    struct survey_options survey;
    const char *const *logs; /* of NCCL or RCCL: several files are several ranks of one job */
    size_t log_count;
    const char *rules_dir; /* NULL none */
    bool facts;            /* wanted in the report */
    bool dump;             /* keep what is read */
};

struct look {
    struct survey_options options; /* dump: owned */
    struct survey seen;
    struct check_report report;
};

/* A machine is looked at for a second; where that shows a load that may be gone again, for longer, and
 * what that shows is said. Faults that the first look alone has counted stay. On failure there is
 * nothing to clear. */
int look_at(const struct look_options *o, struct look *ret, struct error *e);
void look_clear(struct look *l);

#endif
