/* SPDX-License-Identifier: MIT */
#include "import/prom_text.h"

#include "base/unit.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LATEST_MS 8e12 /* in the year 2223; in ns it still leaves room in an int64 */

static bool name_char(char c, bool first)
{
    return isalpha((unsigned char)c) || c == '_' || c == ':' ||
           (!first && isdigit((unsigned char)c));
}

static char *skip_name(char *p)
{
    char *q = p;
    while (name_char(*q, q == p))
        q++;
    return q;
}

static char *skip_blank(char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

/* "# TYPE name counter". */
static void read_comment(char *p, struct prom_line *l)
{
    static const struct {
        const char *word;
        enum prom_type type;
    } types[] = {{"gauge", PROM_GAUGE},         {"counter", PROM_COUNTER},
                 {"histogram", PROM_HISTOGRAM}, {"summary", PROM_SUMMARY},
                 {"untyped", PROM_UNTYPED},     {"unknown", PROM_UNTYPED}};
    p = skip_blank(p + 1);
    if (strncmp(p, "TYPE", 4) || (p[4] != ' ' && p[4] != '\t'))
        return;
    char *name = skip_blank(p + 4), *end = skip_name(name), *word = skip_blank(end);
    if (end == name || end == word)
        return;
    *end = '\0';
    word[strcspn(word, " \t\r")] = '\0';
    l->kind = PROM_TYPE;
    l->name = name;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (!strcmp(word, types[i].word))
            l->type = types[i].type;
}

/* Behind the closing brace, which becomes NUL; NULL: it is not closed, or no label is well made. */
static char *skip_labels(char *p)
{
    for (;;) {
        p = skip_blank(p);
        if (*p == '}') {
            *p = '\0';
            return p + 1;
        }
        char *end = skip_name(p);
        if (end == p || *(end = skip_blank(end)) != '=')
            return NULL;
        p = skip_blank(end + 1);
        if (*p++ != '"')
            return NULL;
        for (; *p && *p != '"'; p++)
            p += *p == '\\' && p[1];
        if (*p++ != '"')
            return NULL;
        p = skip_blank(p);
        p += *p == ',';
    }
}

static bool read_value(char *p, double *ret, char **ret_end)
{
    *ret = strtod(p, ret_end); /* takes NaN, +Inf too */
    return *ret_end != p;
}

/* OpenMetrics writes seconds with a dot, Prometheus whole milliseconds. */
static bool read_time(char *p, int64_t *ret)
{
    char *end;
    double v = strtod(p, &end);
    bool seconds = memchr(p, '.', (size_t)(end - p)) != NULL;
    if (seconds)
        v *= (double)(NS_PER_S / NS_PER_MS);
    if (end == p ||
        !(v >= 0 && v < LATEST_MS)) /* a time that cannot be would hide those that are told */
        return false;
    *ret = (int64_t)v;
    end = skip_blank(end);
    return !*end || *end == '#';
}

void prom_line_read(char *line, struct prom_line *ret)
{
    char *p = skip_blank(line), *end;
    *ret = (struct prom_line){.kind = PROM_BLANK, .labels = "", .t_ms = PROM_NO_TIME};
    p[strcspn(p, "\r")] = '\0';
    if (!*p)
        return;
    if (*p == '#') {
        read_comment(p, ret);
        return;
    }
    ret->kind = PROM_BROKEN;
    end = skip_name(p);
    if (end == p)
        return;
    ret->name = p;
    p = skip_blank(end);
    if (*p == '{') {
        ret->labels = p + 1;
        if (!(p = skip_labels(p + 1)))
            return;
    } else if (p == end) {
        return;
    }
    *end = '\0';
    p = skip_blank(p);
    if (!read_value(p, &ret->value, &end) || (*end && *end != ' ' && *end != '\t'))
        return;
    p = skip_blank(end);
    if (*p && *p != '#' && !read_time(p, &ret->t_ms)) /* '#': an exemplar */
        return;
    ret->kind = PROM_SAMPLE;
}

bool prom_label(const char *labels, const char *name, char *buf, size_t size)
{
    size_t len = strlen(name), n = 0;
    for (const char *p = labels; *p;) {
        const char *equal = strchr(p, '=');
        p += strspn(p, " \t,");
        if (!equal)
            return false;
        size_t own = (size_t)(equal - p);
        while (own && (p[own - 1] == ' ' || p[own - 1] == '\t'))
            own--;
        bool match = own == len && !strncmp(p, name, len);
        p = equal + 1 + strspn(equal + 1, " \t");
        if (*p++ != '"')
            return false;
        for (; *p && *p != '"'; p++) {
            char c = *p;
            if (c == '\\' && p[1]) {
                p++;
                c = *p == 'n' ? '\n' : *p;
            }
            if (match && n + 1 < size)
                buf[n] = c;
            n += match;
        }
        p += *p == '"';
        if (match) {
            buf[n < size ? n : size - 1] = '\0';
            return n < size;
        }
        p += strspn(p, " \t,");
    }
    return false;
}

/* A line that is a type, or a sample of a name that has labels or a lower dash: not just any words. */
bool prom_recognise(const char *head, size_t size)
{
    char line[1024];
    struct prom_line l;
    int good = 0;
    for (size_t at = 0, lines = 0; at < size && lines < 64; lines++) {
        const char *end = memchr(head + at, '\n', size - at);
        size_t n = end ? (size_t)(end - head) - at : size - at;
        if (!end && size > 4096)
            break; /* the last line may be cut */
        if (n < sizeof(line) && !memchr(head + at, '\0', n)) {
            memcpy(line, head + at, n);
            line[n] = '\0';
            prom_line_read(line, &l);
            if (l.kind == PROM_TYPE)
                return true;
            if (l.kind == PROM_BROKEN)
                return false;
            good += l.kind == PROM_SAMPLE && (*l.labels || strchr(l.name, '_'));
        }
        at += n + 1;
    }
    return good > 0;
}
