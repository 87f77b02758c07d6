/* SPDX-License-Identifier: MIT */
#include "base/anonymous.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_MIN 3  /* shorter names are words */
#define UUID_LEN 40 /* "GPU-" and 36 characters */

static bool word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Number of the n bytes at text; 0: out of memory. */
static uint32_t number(struct intern *t, const char *text, size_t n)
{
    char copy[128];
    if (n >= sizeof(copy))
        n = sizeof(copy) - 1;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return intern_put(t, copy);
}

/* "10.0.0.4", with nothing of a longer number around it: its length, 0 none. */
static size_t ip4_at(const char *p, unsigned part[4])
{
    size_t n = 0;
    for (int i = 0; i < 4; i++) {
        char *end;
        if (!isdigit((unsigned char)p[n]))
            return 0;
        unsigned long v = strtoul(p + n, &end, 10);
        if (v > 255 || end - (p + n) > 3)
            return 0;
        part[i] = (unsigned)v;
        n = (size_t)(end - p);
        if (i < 3 && p[n++] != '.')
            return 0;
    }
    return isalnum((unsigned char)p[n]) || (p[n] == '.' && isdigit((unsigned char)p[n + 1])) ? 0
                                                                                             : n;
}

static size_t add_ip4(struct anonymous *a, struct str *out, const char *p)
{
    unsigned part[4];
    size_t n = ip4_at(p, part);
    if (!n || part[0] == 0 || part[0] == 127 || part[0] == 255)
        return 0;
    uint32_t i = number(&a->ip4, p, n);
    str_addf(out, "198.%u.%u.%u", 18 + (i >> 16 & 1), i >> 8 & 255, i & 255); /* RFC 2544 */
    return n;
}

/* Groups of `digits` hex digits with ':' between; the number of groups, 0 none. */
static int groups_at(const char *p, int digits)
{
    int groups = 0;
    for (;;) {
        for (int i = 0; i < digits; i++)
            if (!isxdigit((unsigned char)*p++))
                return 0;
        groups++;
        if (*p != ':')
            return isxdigit((unsigned char)*p) ? 0 : groups;
        p++;
    }
}

static bool zeros(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != '0' && p[i] != ':')
            return false;
    return true;
}

/* MAC addresses (6 of 2, 20 of 2), GUIDs (4 of 4), GIDs and full IPv6 addresses (8 of 4). */
static size_t add_hex(struct anonymous *a, struct str *out, const char *p)
{
    int two = groups_at(p, 2), four = groups_at(p, 4);
    size_t n = two == 6 || two == 20 ? (size_t)two * 3 - 1 : four == 4 ? 19 : four == 8 ? 39 : 0;
    if (!n || zeros(p, n))
        return 0;
    uint32_t i = number(&a->hex, p, n);
    unsigned low = i & 0xff, high = i >> 8 & 0xff;
    if (two == 6)
        str_addf(out, "02:00:00:00:%02x:%02x", high, low);
    else if (two == 20)
        str_addf(out, "00:00:00:00:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:%02x:%02x", high, low);
    else if (four == 4)
        str_addf(out, "0200:0000:0000:%02x%02x", high, low);
    else if (!strncasecmp(p, "0000:0000:0000:0000:0000:ffff:", 30))
        str_addf(out, "0000:0000:0000:0000:0000:ffff:c612:%02x%02x", high, low);
    else
        str_addf(out, "%.20s0200:0000:0000:%02x%02x", p, high, low); /* the prefix stays */
    return n;
}

static size_t add_user(struct anonymous *a, struct str *out, const char *p)
{
    if (strncmp(p, "/home/", 6) || !word(p[6]))
        return 0;
    size_t n = 6;
    while (word(p[n]))
        n++;
    str_addf(out, "/home/user%u", number(&a->users, p + 6, n - 6));
    return n;
}

static size_t add_uuid(struct anonymous *a, struct str *out, const char *p)
{
    if (strncmp(p, "GPU-", 4) || strspn(p + 4, "0123456789abcdefABCDEF-") != UUID_LEN - 4)
        return 0;
    str_addf(out, "GPU-%08x-0000-0000-0000-000000000000", number(&a->uuids, p, UUID_LEN));
    return UUID_LEN;
}

static size_t add_host(const struct anonymous *a, struct str *out, const char *p, bool begins)
{
    size_t n = a->host ? strlen(a->host) : 0;
    if (n < HOST_MIN || !begins || strncmp(p, a->host, n) || isalnum((unsigned char)p[n]))
        return 0;
    str_add(out, "host");
    return n;
}

void anonymous_add(struct anonymous *a, struct str *out, const char *text)
{
    for (const char *p = text; *p;) {
        bool begins = p == text || !isalnum((unsigned char)p[-1]);
        bool fresh = begins && (p == text || (p[-1] != '.' && p[-1] != ':'));
        size_t n = 0;
        if (fresh && isdigit((unsigned char)*p))
            n = add_ip4(a, out, p);
        if (!n && fresh && isxdigit((unsigned char)*p))
            n = add_hex(a, out, p);
        if (!n && *p == '/')
            n = add_user(a, out, p);
        if (!n && begins && *p == 'G')
            n = add_uuid(a, out, p);
        if (!n)
            n = add_host(a, out, p, begins);
        if (!n)
            str_addn(out, p, n = 1);
        p += n;
    }
}

void anonymous_clear(struct anonymous *a)
{
    intern_clear(&a->ip4);
    intern_clear(&a->hex);
    intern_clear(&a->users);
    intern_clear(&a->uuids);
}
