/* SPDX-License-Identifier: MIT */
/*
 * cmd: one command (verb) of the program, one file each, one row each in main.c.
 * Results go to stdout, messages to stderr.
 */
#ifndef GPUFEED_CMD_CMD_H
#define GPUFEED_CMD_CMD_H

#include "base/error.h"
#include "base/str.h"
#include "model/report.h"

#include <stdbool.h>
#include <stdio.h>

/* Exit codes: a seam (DESIGN.md 5). */
enum { EXIT_DONE = 0, EXIT_FINDINGS = 1, EXIT_USAGE = 2, EXIT_JOB_FAILED = 3, EXIT_DENIED = 4 };

struct command {
    const char *name;
    const char *summary;               /* one line for `gpufeed --help` */
    const char *help;                  /* usage, options and examples */
    int (*run)(int argc, char **argv); /* argv[0] is the verb; returns the exit code */
};

extern const struct command cmd_run, cmd_record, cmd_report, cmd_diff, cmd_check;

/* "gpufeed VERB: text" on stderr; returns EXIT_USAGE. */
int cmd_usage(const struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints the error and returns the exit code that fits its status. */
int cmd_fail(const struct command *c, const struct error *e);
/* Prints c->help to stdout; returns EXIT_DONE. */
int cmd_help(const struct command *c);

#endif
