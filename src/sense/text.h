/* SPDX-License-Identifier: MIT */
/*
 * text: picking numbers out of /proc and /sys files. Nothing here trusts its
 * input: what does not parse is absent (NAN or false).
 */
#ifndef GPUFEED_SENSE_TEXT_H
#define GPUFEED_SENSE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number after `key` at the start of a line ("MemTotal:   12 kB", "pswpin 3"): NAN if
 * the key or the number is missing. The key must be followed by ':', '=', blank or tab. */
double text_number(const char *text, const char *key);
/* Sum over all lines whose key begins with `prefix` ("allocstall_"); NAN if there is none. */
double text_sum(const char *text, const char *prefix);
/* Splits off the next word (blanks and tabs) of the line at *p into buf; false at its end. */
bool text_word(const char **p, char *buf, size_t size);
/* The next line of a text: from *p to the newline, which is skipped; false at the end. */
bool text_line(const char **p, const char **ret_line, size_t *ret_len);
/* What stands behind the last '/' of a path; all of it where there is none. */
const char *text_last_part(const char *path);
/* Number of CPUs in a list such as "0-3,8,10-11"; bit n of set[n/64] is set for those below
 * 64*words (set may be NULL). 0 on bad text. */
unsigned text_cpu_list(const char *text, uint64_t *set, size_t words);

#endif
