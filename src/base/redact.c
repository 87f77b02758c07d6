/* SPDX-License-Identifier: MIT */
#include "base/redact.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_LEN 128
#define KEY_BASE64_MIN 80 /* 64 bytes in base64 are 88 characters */
#define TOKEN_TAIL_MIN 16
#define WORD_MAX 4096 /* looked at from one start: keeps hostile texts linear */
#define PEM_LABEL_MAX 64

/* Names are compared in lower case without '-', '_' and '.'. */
static const char *const whole_names[] = {"sig", "sas", "pass", "auth", "authorization", "cookie"};
static const char *const name_tails[] = {
    "signature",     "secret",     "password",    "passwd",      "passphrase",      "pwd",
    "token",         "credential", "credentials", "apikey",      "accesskey",       "accountkey",
    "secretkey",     "privatekey", "storagekey",  "sharedkey",   "subscriptionkey", "masterkey",
    "encryptionkey", "authkey",    "sessionkey",  "accesskeyid",
};
static const char *const token_heads[] = {
    "hf_", "ghp_",  "gho_",  "ghu_", "ghs_", "github_pat_", "glpat-",
    "sk-", "xoxb-", "xoxp-", "AKIA", "ASIA", "AIza",        "nvapi-",
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool token_char(char c)
{
    return name_char(c) || c == '+' || c == '/' || c == '~';
}

bool redact_secret_name(const char *name, size_t len)
{
    char low[NAME_MAX_LEN];
    size_t n = 0;
    bool folder = len >= 3 && !memcmp(name + len - 3, "PWD", 3) && (len == 3 || len == 6);
    for (size_t i = 0; i < len && n < sizeof(low) - 1; i++)
        if (isalnum((unsigned char)name[i]))
            low[n++] = (char)tolower((unsigned char)name[i]);
    low[n] = '\0';
    if (folder && (len == 3 || !memcmp(name, "OLD", 3)))
        return false; /* the shell's working folder */
    for (size_t i = 0; i < COUNT(whole_names); i++)
        if (!strcmp(low, whole_names[i]))
            return true;
    for (size_t i = 0; i < COUNT(name_tails); i++) {
        size_t t = strlen(name_tails[i]);
        if (n >= t && !strcmp(low + n - t, name_tails[i]))
            return true;
    }
    return false;
}

/* strcspn that looks at no more than WORD_MAX bytes. */
static size_t span_until(const char *p, const char *stops)
{
    size_t n = 0;
    while (n < WORD_MAX && p[n] && !strchr(stops, p[n]))
        n++;
    return n;
}

/* Length of a URL's "user:" at p (just after "://") when a password follows; 0 if none. */
static size_t url_user(const char *p, size_t *ret_password)
{
    size_t colon = span_until(p, ":@/?# \t\n\"'");
    if (p[colon] != ':')
        return 0;
    size_t end = colon + 1 + span_until(p + colon + 1, "@/?# \t\n\"'");
    /* A password may hold a '/' or '?': look on for an '@' in the same word. */
    if (p[end] != '@') {
        size_t word = colon + 1 + span_until(p + colon + 1, " \t\n\"'");
        const char *at = memchr(p + end, '@', word - end);
        bool port = isdigit((unsigned char)p[colon + 1]);
        if (!at || port)
            return 0;
        end = (size_t)(at - p);
    }
    *ret_password = end - colon - 1;
    return colon + 1;
}

/* Length of the token at p that is secret by its form; 0 if it is none. */
static size_t token_by_form(const char *p)
{
    size_t n = 0, dots = 0, plain = 0;
    while (n < WORD_MAX && token_char(p[n])) {
        dots += p[n] == '.';
        plain += isalnum((unsigned char)p[n]) || p[n] == '+' || p[n] == '/';
        n++;
    }
    if (n > 40 && dots == 2 && !strncmp(p, "eyJ", 3))
        return n; /* JWT */
    for (size_t i = 0; i < COUNT(token_heads); i++) {
        size_t h = strlen(token_heads[i]);
        if (!strncmp(p, token_heads[i], h) && n >= h + TOKEN_TAIL_MIN)
            return n;
    }
    if (n >= KEY_BASE64_MIN && plain == n && p[n] == '=' && p[n + 1] == '=')
        return n + 2;
    return 0;
}

/* Length of the PEM private key at p; 0 if there is none. */
static size_t pem_length(const char *p)
{
    char label[PEM_LABEL_MAX];
    size_t n = 0;
    if (strncmp(p, "-----BEGIN ", 11))
        return 0;
    for (p += 11; n < sizeof(label) - 1 && p[n] && p[n] != '-'; n++)
        label[n] = p[n];
    label[n] = '\0';
    if (p[n] != '-' || !strstr(label, "PRIVATE KEY"))
        return 0;
    const char *end = strstr(p + n, "-----END ");
    const char *stop = end ? strstr(end + 9, "-----") : NULL;
    return 11 + (stop ? (size_t)(stop + 5 - p) : strlen(p));
}

/* Length of the separator between a name and its value ('=', ':', "%3D", with quotes and
 * blanks around a ':'); *ret_quote is the quote the value ends with, or 0. */
static size_t separator(const char *p, char *ret_quote)
{
    size_t n = 0;
    *ret_quote = 0;
    if (p[n] == '\\')
        n++;
    if (p[n] == '"' || p[n] == '\'')
        n++;
    while (p[n] == ' ')
        n++;
    if (!strncmp(p + n, "%3D", 3) || !strncmp(p + n, "%3d", 3))
        return n + 3;
    if (p[n] != '=' && p[n] != ':')
        return 0;
    if (p[n] == ':' && p[n + 1] == '/')
        return 0; /* a URL whose scheme looks like a name */
    n++;
    while (p[n] == ' ')
        n++;
    if (p[n] == '\\')
        n++;
    if (p[n] == '"' || p[n] == '\'')
        *ret_quote = p[n++];
    return n;
}

static size_t value_length(const char *p, char quote)
{
    size_t n = 0;
    if (quote) {
        while (p[n] && p[n] != quote)
            n += p[n] == '\\' && p[n + 1] ? 2 : 1;
        return n;
    }
    while (p[n] && !strchr(" \t\r\n&;\"'<>", p[n])) {
        if (!strncmp(p + n, "%26", 3))
            break;
        n++;
    }
    return n;
}

/* Words of a sentence at v: letters, then a blank and a letter. */
static bool is_prose(const char *v)
{
    size_t n = 0;
    while (n < WORD_MAX && isalpha((unsigned char)v[n]))
        n++;
    bool word = n > 0;
    n += word && (v[n] == ':' || v[n] == ',');
    return word && v[n] == ' ' && isalpha((unsigned char)v[n + 1]);
}

/* An error message names a file: "/etc/passwd": Permission denied. sep is what separator() gave. */
static bool is_file_name(const char *p, size_t n, size_t sep, char before)
{
    const char *after = p + n;
    bool quoted = *after == '"' || *after == '\'';
    bool colon = memchr(after, ':', sep) && after[sep - 1] == ' ';
    return colon && (quoted || before == '/') && is_prose(after + sep);
}

/* Handles a name at p of n characters; returns what it consumed and wrote, 0: not secret. */
static size_t secret_pair(struct str *out, const char *p, size_t n, char before)
{
    char quote;
    bool flag = before == '-';
    size_t bare = n;
    while (bare && !isalnum((unsigned char)p[bare - 1]))
        bare--;
    if (!redact_secret_name(p, bare))
        return 0;
    size_t sep = separator(p + n, &quote);
    if (!sep && flag && p[n] == ' ' && p[n + 1] != '-')
        sep = 1 + strspn(p + n + 1, " ");
    size_t value = sep ? value_length(p + n + sep, quote) : 0;
    /* "Authorization: Bearer X": two words; the value is the second one. */
    const char *v = p + n + sep;
    if (!value || !strncasecmp(v, "bearer ", 7) || !strncasecmp(v, "basic ", 6))
        return 0;
    if (!quote && is_file_name(p, n, sep, before))
        return 0;
    str_addn(out, p, n + sep);
    str_add(out, REDACT_MASK);
    return n + sep + value;
}

/* "Bearer X", "Basic X". */
static size_t bearer(struct str *out, const char *p, size_t n)
{
    bool scheme =
        (n == 6 && !strncasecmp(p, "bearer", 6)) || (n == 5 && !strncasecmp(p, "basic", 5));
    if (!scheme)
        return 0;
    size_t gap = strspn(p + n, " \t");
    if (!strncmp(p + n, "%20", 3))
        gap = 3;
    size_t value = gap ? value_length(p + n + gap, 0) : 0;
    if (value < 8)
        return 0;
    str_addn(out, p, n + gap);
    str_add(out, REDACT_MASK);
    return n + gap + value;
}

/* A word that starts at p: returns what was consumed (and written to out). before: the character in front. */
static size_t take_word(struct str *out, const char *p, char before)
{
    size_t n = 0, used;
    if ((used = token_by_form(p))) {
        str_add(out, REDACT_MASK);
        return used;
    }
    while (name_char(p[n]))
        n++;
    if ((used = secret_pair(out, p, n, before)) || (used = bearer(out, p, n)))
        return used;
    str_addn(out, p, n);
    return n;
}

void redact_add(struct str *out, const char *text)
{
    const char *p = text;
    while (p && *p) {
        size_t used, password;
        if (*p == '-' && (used = pem_length(p))) {
            str_add(out, REDACT_MASK);
            p += used;
        } else if (!strncmp(p, "://", 3)) {
            str_addn(out, p, 3);
            p += 3;
            if ((used = url_user(p, &password))) {
                str_addn(out, p, used);
                str_add(out, password ? REDACT_MASK : "");
                p += used + password;
            }
        } else if (isalnum((unsigned char)*p)) {
            p += take_word(out, p, p > text ? p[-1] : '\0');
        } else {
            str_addn(out, p++, 1);
        }
    }
}

void redact_add_value(struct str *out, const char *name, const char *value)
{
    if (redact_secret_name(name, strlen(name)))
        str_add(out, *value ? REDACT_MASK : "");
    else
        redact_add(out, value);
}

/* Is arg "--token" or "-token" (no value in it)? ret_eq: "--token=value", offset of the value. */
static bool secret_flag(const char *arg, size_t *ret_value)
{
    const char *eq = strchr(arg, '=');
    size_t len = eq ? (size_t)(eq - arg) : strlen(arg);
    *ret_value = eq ? len + 1 : 0;
    return arg[0] == '-' && redact_secret_name(arg, len);
}

void redact_add_cmdline(struct str *out, const char *bytes, size_t len)
{
    bool value_next = false;
    struct str arg = {0};
    for (size_t i = 0; i < len;) {
        size_t n = strnlen(bytes + i, len - i), value;
        str_reset(&arg);
        str_addn(&arg, bytes + i, n);
        const char *text = str_text(&arg);
        if (i)
            str_add(out, " ");
        bool flag = secret_flag(text, &value);
        if (value_next && text[0] != '-') {
            str_add(out, REDACT_MASK);
        } else if (flag && value) {
            str_addn(out, text, value);
            str_add(out, REDACT_MASK);
        } else {
            redact_add(out, text);
        }
        value_next = flag && !value;
        out->failed |= arg.failed;
        i += n + 1;
    }
    str_clear(&arg);
}
