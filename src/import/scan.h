/* SPDX-License-Identifier: MIT */
/*
 * scan: JSON (RFC 8259) read token by token from a source, as a stream.
 *
 * All of the text is checked, also what is skipped. Two things are taken that the grammar does not have, and
 * counted: bytes in strings that are no UTF-8, and the numbers NaN and Infinity that some
 * writers put where they had none. Depth and the length of one token are bounded.
 *
 * The first failure fills the error with file and offset; from then on every token is SCAN_ERROR.
 */
#ifndef GPUFEED_IMPORT_SCAN_H
#define GPUFEED_IMPORT_SCAN_H

#include "base/error.h"
#include "import/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_DEPTH_MAX 256
#define SCAN_TOKEN_MAX ((size_t)16 << 20)

enum scan_token {
    SCAN_ERROR,
    SCAN_END, /* of the file, after one whole value */
    SCAN_OBJECT,
    SCAN_OBJECT_END,
    SCAN_ARRAY,
    SCAN_ARRAY_END,
    SCAN_KEY, /* of an object; its value follows */
    SCAN_STRING,
    SCAN_NUMBER,
    SCAN_TRUE,
    SCAN_FALSE,
    SCAN_NULL, /* and NaN, Infinity */
};

struct scan {
    /* of the last key, string or number: its bytes as they stand in the file (no quotes; escapes are not
     * resolved), valid until the next call unless pinned */
    const char *text;
    size_t len;
    uint64_t bad_utf8, nans; /* seen so far */
    int depth;               /* of open objects and arrays */

    /* internal */
    const char *at, *end; /* what of the buffer is unread; 64 NULs follow */
    const char *pin;      /* NULL: none */
    char *buffer;         /* owned */
    size_t cap;
    uint64_t end_offset; /* of `end` in the source */
    struct source *source;
    struct error *error;
    uint8_t expect;
    bool ended;
    uint64_t in_object[SCAN_DEPTH_MAX / 64];
};

/* The first byte of a JSON text that is neither white space nor a byte order mark; NUL: there is none. */
char scan_begin(const char *head, size_t size);

/* source is borrowed; error must not be NULL and is filled at the first SCAN_ERROR. */
void scan_init(struct scan *s, struct source *source, struct error *error);
void scan_clear(struct scan *s);

enum scan_token scan_next(struct scan *s);
/* After a key, or where a value comes: takes the whole value. False: SCAN_ERROR. */
bool scan_skip(struct scan *s);
/* After SCAN_OBJECT or SCAN_ARRAY: takes all up to its end. */
bool scan_skip_rest(struct scan *s);
/* What comes next is no value that the caller can use: "expected WHAT". Returns error's status. */
int scan_wrong(struct scan *s, const char *what);

/* From here on the bytes stay in memory, at s->pin + x, however much is read; NULL pointers end with
 * scan_unpin. Texts found meanwhile are kept as offsets from s->pin. */
void scan_pin(struct scan *s);
void scan_unpin(struct scan *s);

/* Is the last text this one? */
static inline bool scan_is(const struct scan *s, const char *text, size_t len)
{
    return s->len == len && !__builtin_memcmp(s->text, text, len);
}
#define SCAN_IS(s, literal) scan_is(s, literal, sizeof(literal) - 1)

/* Copies a text with its escapes resolved and always terminates; true if all fitted. Invalid surrogates
 * become U+FFFD; \u0000 becomes U+FFFD too. */
bool scan_text(const char *text, size_t len, char *to, size_t size);

/* A decimal number, as it stands in the text, times 10^`shift` as an integer, cut towards zero. False: it has an
 * exponent that takes it out of range, or no integer holds it. Exact: no floating point. */
bool scan_decimal(const char *text, size_t len, int shift, int64_t *ret);
/* NAN if it is none. */
double scan_number(const char *text, size_t len);

#endif
