/* SPDX-License-Identifier: MIT */
#include "record/secret.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const key_ends[] = {
    "token",      "secret",      "password",   "passwd",      "passphrase", "pwd",
    "signature",  "accountkey",  "account_key", "account-key", "accesskey",  "access_key",
    "access-key", "apikey",      "api_key",    "api-key",     "secretkey",  "secret_key",
    "secret-key", "private_key", "private-key", "credential",  "credentials",
};
static const char *const key_wholes[] = {"sig", "sas", "pass"};
static const char *const schemes[] = {"bearer", "basic"};

static bool key_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool same(const char *key, size_t n, const char *word)
{
    return strlen(word) == n && !strncasecmp(key, word, n);
}

static bool secret_key(const char *key, size_t n)
{
    while (n && *key == '-') {
        key++;
        n--;
    }
    for (size_t i = 0; i < sizeof(key_wholes) / sizeof(key_wholes[0]); i++)
        if (same(key, n, key_wholes[i]))
            return true;
    for (size_t i = 0; i < sizeof(key_ends) / sizeof(key_ends[0]); i++) {
        size_t k = strlen(key_ends[i]);
        if (n >= k && same(key + n - k, k, key_ends[i]))
            return true;
    }
    return false;
}

/* Length of the value at p: quoted, or up to a separator. */
static size_t value_length(const char *p)
{
    if (*p == '"' || *p == '\'') {
        const char *end = strchr(p + 1, *p);
        return end ? (size_t)(end - p) + 1 : strlen(p);
    }
    return strcspn(p, " \t\n&;,\"'<>|)]}");
}

/* What stands between a secret's key and its value; 0: none follows. */
static size_t separator_length(const char *word, const char *p)
{
    size_t n = 0;
    if (*p == '"' || *p == '\'') /* "key": "value" */
        n = 1;
    if (p[n] == '=' || p[n] == ':') {
        n++;
        n += strspn(p + n, " \t");
        return p[n] ? n : 0;
    }
    if (word[0] == '-' && (*p == ' ' || *p == '\t')) {
        n = strspn(p, " \t");
        return p[n] && p[n] != '-' ? n : 0;
    }
    return 0;
}

static bool auth_scheme(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (same(word, n, schemes[i]))
            return true;
    return false;
}

/* "//user:password@": the length up to and with the colon; 0: no password here. */
static size_t userinfo_length(const char *p)
{
    if (strncmp(p, "//", 2))
        return 0;
    size_t n = 2 + strcspn(p + 2, "/?# \t\n@");
    if (p[n] != '@')
        return 0;
    const char *colon = memchr(p + 2, ':', n - 2);
    return colon ? (size_t)(colon - p) + 1 : 0;
}

static const char *add_word(struct str *out, const char *p)
{
    size_t n = 0;
    while (key_char(p[n]))
        n++;
    str_addn(out, p, n);
    if (auth_scheme(p, n) && p[n] == ' ' && value_length(p + n + 1) >= 6) {
        str_add(out, " ***");
        return p + n + 1 + value_length(p + n + 1);
    }
    size_t gap = secret_key(p, n) ? separator_length(p, p + n) : 0;
    if (!gap)
        return p + n;
    const char *value = p + n + gap;
    size_t scheme = strcspn(value, " ");
    if (auth_scheme(value, scheme)) { /* left to the next word */
        str_addn(out, p + n, gap);
        return value;
    }
    str_addn(out, p + n, gap);
    str_add(out, "***");
    return value + value_length(value);
}

void secret_add(struct str *out, const char *text)
{
    const char *p = text;
    while (*p) {
        size_t user = userinfo_length(p);
        if (user) {
            str_addn(out, p, user);
            str_add(out, "***");
            p = strchr(p + user, '@');
        } else if (key_char(*p)) {
            p = add_word(out, p);
        } else {
            str_addn(out, p++, 1);
        }
    }
}
