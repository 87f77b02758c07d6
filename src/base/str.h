/* SPDX-License-Identifier: MIT */
/*
 * str: a growable byte string; always NUL-terminated once anything was added.
 *
 * A failed allocation sets `failed` and later additions do nothing, so a
 * writer checks once at its end. Zero-initialised is a valid empty string.
 */
#ifndef GPUFEED_BASE_STR_H
#define GPUFEED_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

struct str {
    char *data; /* owned; NULL while empty */
    size_t len, cap;
    bool failed;
};

void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *bytes, size_t n);
void str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Keeps the memory, forgets the content and `failed`. */
void str_reset(struct str *s);
/* Frees; the string is then empty and usable. */
void str_clear(struct str *s);
/* The text, "" while empty; never NULL. */
const char *str_text(const struct str *s);

/* strlcpy: always terminates; returns true if all fitted. */
bool str_copy(char *dst, size_t size, const char *src);

#endif
