/* SPDX-License-Identifier: MIT */
/*
 * options: the one loop over a verb's command line, and the options that `run` and
 * `record` share.
 */
#ifndef GPUFEED_CMD_OPTIONS_H
#define GPUFEED_CMD_OPTIONS_H

#include "cmd/show.h"
#include "measure/measure.h"

#include <getopt.h>
#include <limits.h>

/* Takes one option; false: it is not one of this verb's own. On a bad value *bad says what is
 * wrong with it. */
typedef bool (*option_fn)(void *arg, int option, const char *value, const char **bad);

/* Hands each option to `own` (NULL: none), else to show_option. -1: go on, operands begin at optind;
 * else the exit code. `shorts` as for getopt, beginning with ":" or "+:". */
int options_parse(const struct command *c, int argc, char **argv, const char *shorts,
                  const struct option *longs, struct show_options *show, option_fn own, void *arg);

/* What a live measurement is asked for, whatever it watches. */
struct live_options {
    struct show_options show;
    struct measure_options measure;
    char path[PATH_MAX]; /* of the recording; "" not given */
};

enum { LIVE_ORIGIN = SHOW_LAST, LIVE_SAMPLER, LIVE_LAST };
/* clang-format off */
#define LIVE_OPTIONS                                                                               \
    SHOW_OPTIONS,                                                                                  \
    {"output", required_argument, NULL, 'o'},                                                      \
    {"origin", required_argument, NULL, LIVE_ORIGIN},                                              \
    {"sampler", no_argument, NULL, LIVE_SAMPLER},                                                  \
    {"quiet", no_argument, NULL, 'q'},                                                             \
    {"help", no_argument, NULL, 'h'}
/* clang-format on */

bool live_option(struct live_options *o, int option, const char *value, const char **bad);

/* What the recording says of itself, once o->path is known. The title must outlive the measurement. */
void live_name(struct live_options *o, const char *title);

#endif
