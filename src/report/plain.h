/* SPDX-License-Identifier: MIT */
/*
 * report/plain: text from anywhere made safe for a terminal, and laid out in columns.
 *
 * Names of files, hosts and processes are hostile: control characters, escape
 * sequences, direction marks and invalid UTF-8 become one replacement character
 * each, a line break or tab a space. Without `unicode` the output is ASCII: a few
 * signs are spelt out ("€" is "EUR"), all others become "?".
 */
#ifndef GPUFEED_REPORT_PLAIN_H
#define GPUFEED_REPORT_PLAIN_H

#include "base/str.h"

#include <stdint.h>

#define PLAIN_INVALID UINT32_MAX

/* The next code point; *text moves on. PLAIN_INVALID for a byte that is no UTF-8. */
uint32_t plain_next(const char **text);
/* True for code points that no output may carry as they are. */
bool plain_is_unsafe(uint32_t code);

/* True if a space between these belongs to a figure, "55 %", "4.1 ms", "€ 11.48": no place to
 * break a line. `after` begins behind the space. */
bool plain_is_glue(uint32_t before, const char *after);

void plain_add(struct str *out, const char *text, bool unicode);
/* Columns that a safe text takes on a terminal. */
int plain_width(const char *safe);

enum plain_cut { PLAIN_CUT_END, PLAIN_CUT_MIDDLE };

/* Adds text made safe, cut to `columns` with an ellipsis where it is longer; returns its columns.
 * The middle cut keeps both ends: of a path or URL either may tell. */
int plain_fit(struct str *out, const char *text, int columns, bool unicode, enum plain_cut cut);

struct plain_block {
    const char *first, *next; /* safe texts before the first and each further line; same width */
    int width;                /* columns of a whole line */
    int lines;                /* at most; the last then ends with an ellipsis */
    bool unicode;
    const char *on, *off; /* around the text of each line, such as colour; "" none */
};

/* Adds text made safe, broken at spaces (or within a word that is too long). A line break in
 * `text` stays one. Every line ends with a newline. Returns the number of lines. */
int plain_wrap(struct str *out, const char *text, const struct plain_block *b);

#endif
