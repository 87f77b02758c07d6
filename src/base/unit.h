/* SPDX-License-Identifier: MIT */
/*
 * unit: the only place where quantities are converted and formatted.
 *
 * Times are int64 nanoseconds, sizes uint64 bytes, shares doubles of 1.
 * Every formatter writes a NUL-terminated text into buf and returns buf.
 */
#ifndef GPUFEED_BASE_UNIT_H
#define GPUFEED_BASE_UNIT_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define S_PER_HOUR 3600.0
#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1024) * KIB)
#define GIB (UINT64_C(1024) * MIB)

static inline double unit_seconds(int64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static inline int64_t unit_ns(double seconds)
{
    return (int64_t)(seconds * (double)NS_PER_S + (seconds < 0 ? -0.5 : 0.5));
}

/* The part of `whole` that `part` is of `of`, rounded down; none negative, part <= of, of > 0. A division
 * of 128 bits is many times slower than one of 64 and seldom needed. */
static inline int64_t unit_part(int64_t whole, int64_t part, int64_t of)
{
    unsigned __int128 product = (unsigned __int128)whole * (uint64_t)part;

    if (part == of)
        return whole;
    if (product >> 64)
        return (int64_t)(product / (uint64_t)of);
    return (int64_t)((uint64_t)product / (uint64_t)of);
}

/* "4.1 ms", "612 s", "2 h 05 min": three significant digits, a fixed unit per magnitude. */
char *unit_format_ns(char *buf, size_t size, int64_t ns);
/* "1.5 GiB": binary units. */
char *unit_format_bytes(char *buf, size_t size, uint64_t bytes);
/* "55 %", "0.4 %": one decimal below 10 %. */
char *unit_format_share(char *buf, size_t size, double share);
/* A mean number of things, such as idle cores, at the two decimals that it is told with. */
static inline double unit_round_count(double v)
{
    return v > -1e13 && v < 1e13 ? (double)(int64_t)(v * 100 + (v < 0 ? -0.5 : 0.5)) / 100 : v;
}
/* "400 Gb/s" for bit/s, "1.98 GHz" for Hz: decimal, three digits. NULL: another unit, or a value that
 * is negative, not finite or out of range. */
char *unit_format_si(char *buf, size_t size, double value, const char *unit);
/* "€ 11.48", "$ 3.20", "CHF 2.00": sign for EUR, USD, GBP; code otherwise. What four decimals would round to
 * nothing is "< € 0.0001". */
char *unit_format_money(char *buf, size_t size, double amount, const char *currency);
/* Parses "10", "1.5s", "200ms", "5m", "1h" into ns (bare number: seconds); -1 on bad text. */
int64_t unit_parse_ns(const char *text);

#endif
