/* SPDX-License-Identifier: MIT */
#include "sense/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CPU_LIMIT 65536

static double number_at(const char *p)
{
    char *end;
    while (*p == ' ' || *p == '\t')
        p++;
    if (!isdigit((unsigned char)*p) && *p != '-' && *p != '.')
        return NAN;
    double v = strtod(p, &end);
    return end == p ? NAN : v;
}

double text_number(const char *text, const char *key)
{
    size_t n = strlen(key), len;
    const char *line;
    while (text_line(&text, &line, &len))
        if (len > n && !memcmp(line, key, n) && strchr(":= \t", line[n]))
            return number_at(line + n + 1);
    return NAN;
}

double text_sum(const char *text, const char *prefix)
{
    size_t n = strlen(prefix), len;
    const char *line;
    double sum = NAN;
    while (text_line(&text, &line, &len)) {
        if (len <= n || memcmp(line, prefix, n))
            continue;
        const char *gap = memchr(line, ' ', len);
        double v = gap ? number_at(gap) : NAN;
        if (isfinite(v))
            sum = isfinite(sum) ? sum + v : v;
    }
    return sum;
}

bool text_word(const char **p, char *buf, size_t size)
{
    const char *s = *p;
    size_t n = 0;
    while (*s == ' ' || *s == '\t')
        s++;
    while (*s && !isspace((unsigned char)*s)) {
        if (n + 1 < size)
            buf[n++] = *s;
        s++;
    }
    buf[n] = '\0';
    *p = s;
    return n > 0;
}

bool text_line(const char **p, const char **ret_line, size_t *ret_len)
{
    const char *s = *p;
    if (!s || !*s)
        return false;
    size_t len = strcspn(s, "\n");
    *ret_line = s;
    *ret_len = len;
    *p = s + len + (s[len] == '\n');
    return true;
}

const char *text_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

unsigned text_cpu_list(const char *text, uint64_t *set, size_t words)
{
    unsigned count = 0;
    const char *p = text;
    while (isdigit((unsigned char)*p)) {
        char *end;
        unsigned long a = strtoul(p, &end, 10), b = a;
        if (*end == '-')
            b = strtoul(end + 1, &end, 10);
        if (b < a || b >= CPU_LIMIT)
            return 0;
        for (unsigned long c = a; c <= b; c++) {
            if (set && c / 64 < words)
                set[c / 64] |= UINT64_C(1) << (c % 64);
            count++;
        }
        p = *end == ',' ? end + 1 : end;
    }
    while (*p == ' ' || *p == '\t' || *p == '\n')
        p++;
    return *p ? 0 : count;
}
