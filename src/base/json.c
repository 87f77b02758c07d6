/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE_MAX 1e15 /* below it a double holds each whole number */

void json_init(struct json *j, struct str *out)
{
    *j = (struct json){.out = out};
}

static void before_value(struct json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->comma[j->depth])
        str_add(j->out, ",");
    j->comma[j->depth] = true;
}

static void open_with(struct json *j, const char *bracket)
{
    before_value(j);
    str_add(j->out, bracket);
    assert(j->depth + 1 < JSON_DEPTH_MAX);
    j->comma[++j->depth] = false;
}

static void close_with(struct json *j, const char *bracket)
{
    assert(j->depth > 0);
    j->depth--;
    str_add(j->out, bracket);
}

void json_object(struct json *j)
{
    open_with(j, "{");
}

void json_object_end(struct json *j)
{
    close_with(j, "}");
}

void json_array(struct json *j)
{
    open_with(j, "[");
}

void json_array_end(struct json *j)
{
    close_with(j, "]");
}

/* Length of a valid UTF-8 sequence at p (NUL-terminated), 0 if invalid. */
static size_t utf8_len(const unsigned char *p)
{
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xf0 && p[0] <= 0xf4 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
    if (!n || p[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

/* Two- and three-byte characters that steer a terminal or hide text: C1 controls, zero-width
 * and direction marks, line separators. */
static unsigned hidden_code(const unsigned char *p, size_t n)
{
    unsigned code = n == 2   ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
                    : n == 3 ? (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu)
                             : 0;
    bool hidden = (code >= 0x80 && code <= 0x9f) || (code >= 0x200b && code <= 0x200f) ||
                  (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
                  code == 0xfeff;
    return hidden ? code : 0;
}

static void add_escaped(struct str *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    str_add(out, "\"");
    while (*p) {
        size_t n = utf8_len(p);
        if (!n) {
            str_add(out, "\\ufffd");
            p++;
        } else if (n > 1 && hidden_code(p, n)) {
            str_addf(out, "\\u%04x", hidden_code(p, n));
            p += n;
        } else if (n > 1) {
            str_addn(out, (const char *)p, n);
            p += n;
        } else {
            if (*p == '"' || *p == '\\')
                str_addf(out, "\\%c", *p);
            else if (*p == '\n')
                str_add(out, "\\n");
            else if (*p < 0x20 || *p == 0x7f)
                str_addf(out, "\\u%04x", *p);
            else
                str_addn(out, (const char *)p, 1);
            p++;
        }
    }
    str_add(out, "\"");
}

void json_key(struct json *j, const char *key)
{
    before_value(j);
    add_escaped(j->out, key);
    str_add(j->out, ":");
    j->after_key = true;
}

void json_string(struct json *j, const char *text)
{
    before_value(j);
    if (text)
        add_escaped(j->out, text);
    else
        str_add(j->out, "null");
}

void json_int(struct json *j, int64_t v)
{
    before_value(j);
    str_addf(j->out, "%lld", (long long)v);
}

void json_number(struct json *j, double v)
{
    char buf[40];
    before_value(j);
    if (!isfinite(v)) {
        str_add(j->out, "null");
        return;
    }
    /* Counts and bytes as whole numbers, which every reader takes for such. */
    if (fabs(v) < WHOLE_MAX && v == floor(v)) {
        str_addf(j->out, "%.0f", v == 0 ? 0 : v);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(buf, sizeof(buf), "%.*g", digits, v);
        if (strtod(buf, NULL) == v)
            break;
    }
    str_add(j->out, buf);
}

void json_bool(struct json *j, bool v)
{
    before_value(j);
    str_add(j->out, v ? "true" : "false");
}

void json_null(struct json *j)
{
    json_string(j, NULL);
}

void json_kstring(struct json *j, const char *key, const char *text)
{
    json_key(j, key);
    json_string(j, text);
}

void json_kint(struct json *j, const char *key, int64_t v)
{
    json_key(j, key);
    json_int(j, v);
}

void json_knumber(struct json *j, const char *key, double v)
{
    json_key(j, key);
    json_number(j, v);
}

void json_kbool(struct json *j, const char *key, bool v)
{
    json_key(j, key);
    json_bool(j, v);
}
