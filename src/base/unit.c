/* SPDX-License-Identifier: MIT */
#include "base/unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MONEY_LEAST 0.0001 /* what four decimals can tell */

/* Three significant digits, without an exponent. */
static void format_3(char *buf, size_t size, double v, const char *unit)
{
    double a = fabs(v);
    int decimals = a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2;
    if (v == floor(v) && a < 1000.0)
        decimals = 0;
    snprintf(buf, size, "%.*f %s", decimals, v, unit);
}

char *unit_format_ns(char *buf, size_t size, int64_t ns)
{
    int64_t a = ns < 0 ? -ns : ns;
    if (a < NS_PER_US)
        snprintf(buf, size, "%lld ns", (long long)ns);
    else if (a < NS_PER_MS)
        format_3(buf, size, (double)ns / (double)NS_PER_US, "µs");
    else if (a < NS_PER_S)
        format_3(buf, size, (double)ns / (double)NS_PER_MS, "ms");
    else if (a < 3600 * NS_PER_S)
        format_3(buf, size, unit_seconds(ns), "s");
    else
        snprintf(buf, size, "%lld h %02lld min", (long long)(ns / (3600 * NS_PER_S)),
                 (long long)(a / (60 * NS_PER_S) % 60));
    return buf;
}

char *unit_format_bytes(char *buf, size_t size, uint64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t i = 0;
    double v = (double)bytes;
    while (v >= 1024.0 && i + 1 < sizeof(names) / sizeof(names[0])) {
        v /= 1024.0;
        i++;
    }
    format_3(buf, size, v, names[i]);
    return buf;
}

char *unit_format_share(char *buf, size_t size, double share)
{
    double p = share * 100.0;
    snprintf(buf, size, fabs(p) < 9.95 && p != 0.0 ? "%.1f %%" : "%.0f %%", p);
    return buf;
}

char *unit_format_money(char *buf, size_t size, double amount, const char *currency)
{
    const char *sign = currency && *currency ? currency : "";
    if (!strcmp(sign, "EUR"))
        sign = "€";
    else if (!strcmp(sign, "USD"))
        sign = "$";
    else if (!strcmp(sign, "GBP"))
        sign = "£";
    bool less = amount != 0.0 && fabs(amount) < MONEY_LEAST / 2; /* it would read as nothing */
    int decimals = fabs(amount) >= 0.095 || amount == 0.0 ? 2 : 4;
    snprintf(buf, size, "%s%s%s%.*f", less ? "< " : "", sign, *sign ? " " : "", decimals,
             less ? MONEY_LEAST : amount);
    return buf;
}

int64_t unit_parse_ns(const char *text)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"", 1e9}, {"s", 1e9},  {"ms", 1e6},   {"us", 1e3},
                 {"ns", 1}, {"m", 6e10}, {"min", 6e10}, {"h", 3.6e12}};
    char *end = NULL;
    if (!text || !*text)
        return -1;
    double v = strtod(text, &end);
    if (end == text || !isfinite(v) || v < 0)
        return -1;
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(end, units[i].name))
            return v * units[i].ns < 9.2e18 ? (int64_t)(v * units[i].ns + 0.5) : -1;
    return -1;
}

#define SI_STEP 1000.0
#define SI_MAX 1e18

char *unit_format_si(char *buf, size_t size, double value, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    const char *word = !strcmp(unit, "bit/s") ? "b/s" : !strcmp(unit, "Hz") ? "Hz" : NULL;
    size_t i = 0;
    if (!word || !(value >= 0 && value < SI_MAX))
        return NULL;
    while (value >= SI_STEP && i + 1 < sizeof(prefixes) / sizeof(prefixes[0])) {
        value /= SI_STEP;
        i++;
    }
    snprintf(buf, size, "%.3g %s%s", value, prefixes[i], word);
    return buf;
}
