/* SPDX-License-Identifier: MIT */
#include "sense/peers.h"

#include "base/str.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct name_row {
    const char *pattern, *what;
};

struct port_row {
    uint16_t low, high;
    const char *what;
};

#define NAME(pattern, what) {pattern, what},
#define PORT(low, high, what)
static const struct name_row name_rows[] = {
#include "peers_list.h"
};
#undef NAME
#undef PORT

#define NAME(pattern, what)
#define PORT(low, high, what) {low, high, what},
static const struct port_row port_rows[] = {
#include "peers_list.h"
};

const char *peer_storage_name(const char *host)
{
    for (size_t i = 0; i < sizeof(name_rows) / sizeof(name_rows[0]); i++)
        if (fnmatch(name_rows[i].pattern, host, FNM_CASEFOLD) == 0)
            return name_rows[i].what;
    return NULL;
}

const char *peer_storage_port(uint16_t port)
{
    for (size_t i = 0; i < sizeof(port_rows) / sizeof(port_rows[0]); i++)
        if (port >= port_rows[i].low && port <= port_rows[i].high)
            return port_rows[i].what;
    return NULL;
}

struct scheme {
    const char *name, *host; /* format with the first part of the path */
};

static const struct scheme schemes[] = {
    {"azblob", "%s.blob.core.windows.net"},
    {"abfss", "%s"},
    {"s3", "%s.s3.*amazonaws.com"},
    {"gs", "storage.googleapis.com"},
};

/* 1 to 65535 in decimal digits. */
static bool read_port(const char *text, uint16_t *ret)
{
    size_t n = strspn(text, "0123456789");
    unsigned long port = n && n <= 5 ? strtoul(text, NULL, 10) : 0;
    if (text[n] || !port || port > UINT16_MAX)
        return false;
    *ret = (uint16_t)port;
    return true;
}

/* Splits "host:port" or "[v6]:port"; a bare IPv6 address has several colons and no port. */
static bool split_port(struct peer_origin *o)
{
    if (o->host[0] == '[') {
        char *close = strchr(o->host, ']');
        if (!close || (close[1] && (close[1] != ':' || !read_port(close + 2, &o->port))))
            return false;
        *close = '\0';
        memmove(o->host, o->host + 1, strlen(o->host));
        return true;
    }
    char *colon = strchr(o->host, ':');
    if (colon && !strchr(colon + 1, ':')) {
        if (!read_port(colon + 1, &o->port))
            return false;
        *colon = '\0';
    }
    return true;
}

static void apply_scheme(struct peer_origin *o, const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (strlen(schemes[i].name) != length || strncasecmp(schemes[i].name, text, length) != 0)
            continue;
        char first[128];
        str_copy(first, sizeof(first), o->host);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(o->host, sizeof(o->host), schemes[i].host, first);
#pragma GCC diagnostic pop
    }
}

bool peer_origin_parse(struct peer_origin *ret, const char *text)
{
    struct peer_origin o = {0};
    const char *scheme_end = strstr(text, "://");
    const char *host = scheme_end ? scheme_end + 3 : text;
    size_t length = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', length); /* container@account, or user:password */
    if (at) {
        length -= (size_t)(at + 1 - host);
        host = at + 1;
    }
    if (!length || length >= sizeof(o.host))
        return false;
    memcpy(o.host, host, length);
    for (size_t i = 0; i < length; i++)
        if (isspace((unsigned char)o.host[i]) || iscntrl((unsigned char)o.host[i]))
            return false;
    if (!split_port(&o) || !o.host[0])
        return false;
    if (scheme_end)
        apply_scheme(&o, text, (size_t)(scheme_end - text));
    *ret = o;
    return true;
}

bool peer_origin_matches(const struct peer_origin *o, const char *host, const char *address,
                         uint16_t port)
{
    if (o->port && o->port != port)
        return false;
    return (host && fnmatch(o->host, host, FNM_CASEFOLD) == 0) ||
           (address && strcasecmp(o->host, address) == 0);
}
