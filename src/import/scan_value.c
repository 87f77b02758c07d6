/* SPDX-License-Identifier: MIT */
#include "import/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char scan_begin(const char *head, size_t size)
{
    size_t i = size >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (i < size && head[i] && strchr(" \t\r\n", head[i]))
        i++;
    return i < size ? head[i] : '\0';
}

/* ---- texts ---- */

static unsigned hex(const char *p)
{
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        unsigned char c = (unsigned char)p[i];
        v = v << 4 | (c <= '9' ? c - 0x30u : (c | 0x20u) - 'a' + 10u);
    }
    return v;
}

static size_t put_utf8(unsigned c, char *to)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3f));
    to[2] = (char)(0x80 | (c >> 6 & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* The character of the escape at text[i], and how many bytes it takes. */
static size_t take_escape(const char *text, size_t len, size_t i, unsigned *ret)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    if (i + 1 >= len) {
        *ret = 0xfffd;
        return 1;
    }
    const char *at = strchr(from, text[i + 1]);
    if (text[i + 1] != 'u' || i + 6 > len) {
        *ret = at ? (unsigned char)to[at - from] : (unsigned char)text[i + 1];
        return 2;
    }
    unsigned c = hex(text + i + 2), low;
    *ret = 0xfffd;
    if (c < 0xd800 || c > 0xdfff) {
        *ret = c ? c : 0xfffd;
        return 6;
    }
    if (c > 0xdbff || i + 12 > len || text[i + 6] != '\\' || text[i + 7] != 'u')
        return 6;
    low = hex(text + i + 8);
    if (low < 0xdc00 || low > 0xdfff)
        return 6;
    *ret = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    return 12;
}

bool scan_text(const char *text, size_t len, char *to, size_t size)
{
    size_t n = 0, i = 0;
    while (i < len) {
        char one[4] = {text[i]};
        size_t wide = 1, taken = 1;
        if (text[i] == '\\') {
            unsigned c;
            taken = take_escape(text, len, i, &c);
            wide = put_utf8(c, one);
        }
        if (n + wide >= size)
            break;
        memcpy(to + n, one, wide);
        n += wide;
        i += taken;
    }
    to[n] = '\0';
    return i == len;
}

/* ---- numbers ---- */

/* The exponent after the e at p, clamped to what no number needs. */
static int exponent(const char *p, const char *end)
{
    int v = 0;
    bool minus = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        v = v < 100000 ? v * 10 + (*p - '0') : v;
    return minus ? -v : v;
}

/* Numbers of up to 18 characters without sign and exponent, of which no more than `shift` are after the point:
 * nearly all. */
static bool short_decimal(const char *text, size_t len, int shift, int64_t *ret)
{
    static const int64_t powers[] = {1, 10, 100, 1000};
    int64_t v = 0;
    size_t i = 0;
    if (len > 18 || shift > 3 || shift < 0)
        return false;
    for (; i < len && (unsigned char)(text[i] - '0') < 10; i++)
        v = v * 10 + (text[i] - '0');
    if (i < len) {
        if (text[i] != '.' || len - i - 1 > (size_t)shift)
            return false;
        for (i++; i < len; i++, shift--) {
            if ((unsigned char)(text[i] - '0') >= 10)
                return false;
            v = v * 10 + (text[i] - '0');
        }
    }
    *ret = v * powers[shift];
    return len > 0;
}

bool scan_decimal(const char *text, size_t len, int shift, int64_t *ret)
{
    if (short_decimal(text, len, shift, ret))
        return true;
    const char *p = text, *end = text + len;
    bool minus = p < end && *p == '-', point = false;
    uint64_t v = 0;
    int after = 0; /* digits after the point that are in v */
    for (p += minus; p < end; p++) {
        unsigned d = (unsigned)(unsigned char)*p - '0';
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (d > 9)
            break;
        if (point && after >= 18)
            continue; /* far below what is kept */
        if (v > (UINT64_MAX - d) / 10) {
            if (!point)
                return false;
            continue;
        }
        v = v * 10 + d;
        after += point;
    }
    shift -= after;
    if (p < end && (*p | 0x20) == 'e')
        shift += exponent(p + 1, end);
    for (; shift > 0 && v; shift--)
        if (__builtin_mul_overflow(v, 10, &v))
            return false;
    for (; shift < 0 && v; shift++)
        v /= 10;
    if (v > INT64_MAX)
        return false;
    *ret = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

double scan_number(const char *text, size_t len)
{
    char buf[64], *end;
    if (!len || len >= sizeof(buf))
        return NAN;
    memcpy(buf, text, len);
    buf[len] = '\0';
    double v = strtod(buf, &end);
    return end == buf || *end ? NAN : v;
}
