/* SPDX-License-Identifier: MIT */
/*
 * scan_bytes: what JSON's bytes are, over a buffer that ends in 64 NULs: white space, the plain part of a string,
 * characters, numbers. Nothing here reads on or knows of a grammar. For scan.c alone, and inline since it is
 * what scanning costs.
 */
#ifndef GPUFEED_IMPORT_SCAN_BYTES_H
#define GPUFEED_IMPORT_SCAN_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---- white space and strings, 16 bytes at a time where the machine can ---- */

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *skip_space(const char *p)
{
    if ((unsigned char)*p > ' ')
        return p;
    if (*p == ' ' && (unsigned char)p[1] > ' ')
        return p + 1;
#ifdef __SSE2__
    for (;; p += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)p);
        __m128i space = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8(' ')),
                                                  _mm_cmpeq_epi8(x, _mm_set1_epi8('\n'))),
                                     _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('\r')),
                                                  _mm_cmpeq_epi8(x, _mm_set1_epi8('\t'))));
        unsigned mask = (unsigned)_mm_movemask_epi8(space) ^ 0xffffu;
        if (mask)
            return p + __builtin_ctz(mask);
    }
#else
    while (is_space(*p))
        p++;
    return p;
#endif
}

/* The first byte of p that ends or marks a string: quote, backslash, control; *high: bytes beyond
 * ASCII came before it. */
static inline const char *plain_end(const char *p, unsigned *high)
{
#ifdef __SSE2__
    for (;; p += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)p);
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);
        __m128i end = _mm_or_si128(low, _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')),
                                                     _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'))));
        unsigned mask = (unsigned)_mm_movemask_epi8(end);
        unsigned wide = (unsigned)_mm_movemask_epi8(x);
        if (mask) {
            unsigned n = (unsigned)__builtin_ctz(mask);
            *high |= wide & ((1u << n) - 1);
            return p + n;
        }
        *high |= wide;
    }
#else
    for (; (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\'; p++)
        *high |= (unsigned char)*p & 0x80;
    return p;
#endif
}

static inline bool hex4(const char *p)
{
    for (int i = 0; i < 4; i++)
        if (!((p[i] >= '0' && p[i] <= '9') || ((p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'f')))
            return false;
    return true;
}

/* Length of the well-formed character at p, 0 if it is not. */
static inline size_t utf8_length(const unsigned char *p, size_t left)
{
    size_t n = *p < 0x80                 ? 1
               : *p >= 0xc2 && *p < 0xe0 ? 2
               : (*p & 0xf0) == 0xe0     ? 3
               : *p >= 0xf0 && *p < 0xf5 ? 4
                                         : 0;
    if (!n || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
        (*p == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

static inline bool is_utf8(const char *text, size_t len)
{
    for (size_t i = 0, n; i < len; i += n)
        if (!(n = utf8_length((const unsigned char *)text + i, len - i)))
            return false;
    return true;
}

/* ---- numbers ---- */

static inline const char *digits(const char *p)
{
    while ((unsigned char)(*p - '0') < 10)
        p++;
    return p;
}

/* Past the number at p, NULL if it is none. */
static inline const char *past_number(const char *p)
{
    const char *q;
    p += *p == '-';
    q = digits(p);
    if (q == p || (*p == '0' && q > p + 1))
        return NULL;
    if (*q == '.') {
        p = q + 1;
        if ((q = digits(p)) == p)
            return NULL;
    }
    if (*q == 'e' || *q == 'E') {
        p = q + 1;
        p += *p == '+' || *p == '-';
        if ((q = digits(p)) == p)
            return NULL;
    }
    return q;
}

static inline bool in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

#endif
