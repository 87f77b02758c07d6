/* SPDX-License-Identifier: MIT */
/*
 * show: reads a recording and writes its report in the form asked for; what
 * `run`, `record` and `report` share.
 */
#ifndef GPUFEED_CMD_SHOW_H
#define GPUFEED_CMD_SHOW_H

#include "cmd/cmd.h"
#include "report/text.h"

struct show_options {
    double price; /* per hour; NAN: none */
    const char *currency, *rules;
    bool json, chains;
    const char *html; /* file for the HTML report, "-": standard output; NULL none */
    const char *to;   /* file for the report, "-" as above; NULL: `stream` */
    int fail_on;      /* enum severity; -1 never */
    bool quiet;       /* nothing to `stream` */
};

void show_init(struct show_options *o);
/* Handles one of the options that all share (getopt value); false: not one of them. On a bad
 * value *bad says what is wrong with it. */
bool show_option(struct show_options *o, int option, const char *value, const char **bad);

/* getopt_long values of the shared options, and their rows. */
enum {
    SHOW_PRICE = 256,
    SHOW_CURRENCY,
    SHOW_RULES,
    SHOW_JSON,
    SHOW_CHAINS,
    SHOW_HTML,
    SHOW_FAIL_ON,
    SHOW_LAST
};
/* clang-format off */
#define SHOW_OPTIONS                                                                               \
    {"price", required_argument, NULL, SHOW_PRICE},                                                \
    {"currency", required_argument, NULL, SHOW_CURRENCY},                                          \
    {"rules", required_argument, NULL, SHOW_RULES},                                                \
    {"json", no_argument, NULL, SHOW_JSON},                                                        \
    {"chains", no_argument, NULL, SHOW_CHAINS},                                                    \
    {"html", required_argument, NULL, SHOW_HTML},                                                  \
    {"fail-on", required_argument, NULL, SHOW_FAIL_ON}
/* clang-format on */

/* How to write text to this stream: colour, width, character set. */
struct report_text_options show_text_options(const struct show_options *o, FILE *stream);
/* Writes the report of the recording at `path`. EXIT_DONE, EXIT_FINDINGS or an error's code. */
int show_recording(const struct command *c, const char *path, const struct show_options *o,
                   FILE *stream);
/* Reads a file of either kind, by its content, into *ret. */
int show_load(const char *path, const struct show_options *o, struct report *ret, struct error *e);
/* EXIT_FINDINGS if a finding is at or above fail_on (enum severity; -1 never), else EXIT_DONE. */
int show_exit_code(const struct report *r, int fail_on);
/* The same of foreign files, each a rank of one job. */
int show_foreign(const struct command *c, char *const *paths, size_t count,
                 const struct show_options *o, FILE *stream);
/* Is this name of a file the standard output's, "-"? */
bool show_is_stdout(const char *to);
/* What is wrong where two reports are to go to the standard output; NULL: nothing. */
const char *show_clash(const struct show_options *o, bool report_to_stdout);
/* Writes text to a file (whole or not at all; "-": to the standard output) or, without one, to the stream. */
int show_write(const struct str *text, const char *to, FILE *stream, struct error *e);

#endif
