/* SPDX-License-Identifier: MIT */
#include "import/nccl_line.h"

#include "base/str.h"
#include "import/nccl_decode.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum level { LEVEL_ANY, LEVEL_INFO, LEVEL_WARN };

static const struct shape {
    enum level level;
    enum nccl_kind kind;
    const char *word, *shape;
} shapes[] = {
#define LINE(level, kind, word, shape) {level, NCCL_##kind, word, shape},
#include "nccl_lines_list.h"
#undef LINE
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

bool nccl_line_like(const char *text, const char *shape)
{
    const char *star = NULL, *again = NULL;
    while (*text) {
        if (*shape == '*') {
            star = ++shape;
            again = text;
        } else if (*shape == *text || *shape == '?') {
            shape++;
            text++;
        } else if (star) {
            shape = star;
            text = ++again;
        } else {
            return false;
        }
    }
    while (*shape == '*')
        shape++;
    return !*shape;
}

/* Behind an escape sequence (ECMA-48: ESC [ ... final, ESC ] ... BEL, ESC x). */
static const char *behind_escape(const char *p, const char *end)
{
    if (p < end && *p == '[') {
        for (p++; p < end && !(*p >= '@' && *p <= '~'); p++)
            ;
        return p < end ? p + 1 : end;
    }
    if (p < end && *p == ']') {
        while (p < end && *p != '\a')
            p++;
    }
    return p < end ? p + 1 : end;
}

size_t nccl_line_clean(char *out, const char *line, size_t len)
{
    size_t n = 0;
    for (const char *p = line, *end = line + len; p < end && n < NCCL_LINE_MAX;) {
        unsigned char c = (unsigned char)*p++;
        if (c == 0x1b)
            p = behind_escape(p, end);
        else if (c >= ' ' && c != 0x7f)
            out[n++] = (char)c;
        else if (c == '\t')
            out[n++] = ' ';
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    return n;
}

/* Digits that end before p; where they begin, or NULL without any. */
static const char *digits_before(const char *from, const char *p, uint32_t *ret)
{
    const char *q = p;
    while (q > from && isdigit((unsigned char)q[-1]))
        q--;
    if (q == p || p - q > 10)
        return NULL;
    *ret = (uint32_t)strtoul(q, NULL, 10);
    return q;
}

static bool host_char(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* "HOST:PID:TID [DEVICE]" that ends at p (behind the bracket); its begin, or NULL. */
static const char *prefix_before(const char *from, const char *p, struct nccl_line *l)
{
    uint32_t device, tid, pid;
    if (p <= from || p[-1] != ']')
        return NULL;
    const char *q = digits_before(from, p - 1, &device);
    if (q && q > from && q[-1] == '-')
        q--;
    if (!q || q - from < 3 || q[-1] != '[' || q[-2] != ' ' ||
        !(q = digits_before(from, q - 2, &tid)) || q == from || q[-1] != ':' ||
        !(q = digits_before(from, q - 1, &pid)) || q == from || q[-1] != ':')
        return NULL;
    const char *end = q - 1, *host = end;
    while (host > from && host_char(host[-1]))
        host--;
    const char *dot = memchr(host, '.', (size_t)(end - host));
    size_t n = (size_t)((dot ? dot : end) - host);
    if (!n || n >= sizeof(l->host))
        return NULL;
    memcpy(l->host, host, n);
    l->host[n] = '\0';
    l->pid = pid;
    l->tid = tid;
    l->device = p[-2] == '1' && p[-3] == '-' ? -1 : (int)device;
    l->prefixed = true;
    l->glued = host > from && !strchr(" ])}>:", host[-1]);
    return host;
}

/* The prefix before "NCCL WARN" may have "FILE:LINE (FUNCTION) " or a time behind it. */
static const char *find_prefix(const char *from, const char *mark, struct nccl_line *l)
{
    const char *p = mark;
    while (p > from && p[-1] == ' ')
        p--;
    for (int tries = 0; p > from && tries < 600; tries++, p--) {
        const char *begin = p[-1] == ']' ? prefix_before(from, p, l) : NULL;
        if (begin)
            return begin;
    }
    return NULL;
}

static const char *find_mark(const char *p, enum level *ret, size_t *ret_len)
{
    static const struct {
        const char *text;
        enum level level;
    } marks[] = {{"NCCL INFO ", LEVEL_INFO},
                 {"NCCL WARN ", LEVEL_WARN},
                 {"NCCL TRACE ", LEVEL_ANY},
                 {"NCCL CALL ", LEVEL_ANY}};
    for (; (p = strstr(p, "NCCL ")); p++)
        for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
            if (!strncmp(p, marks[i].text, strlen(marks[i].text))) {
                *ret = marks[i].level;
                *ret_len = strlen(marks[i].text);
                return p;
            }
    return NULL;
}

static void reset(struct nccl_line *l)
{
    *l = (struct nccl_line){.device = NCCL_NONE,
                            .rank = NCCL_NONE,
                            .nranks = NCCL_NONE,
                            .gpu = NCCL_NONE,
                            .nvml = NCCL_NONE,
                            .channel = NCCL_NONE,
                            .from = NCCL_NONE,
                            .to = NCCL_NONE,
                            .net_dev = NCCL_NONE,
                            .count = NCCL_NONE,
                            .count2 = NCCL_NONE,
                            .count3 = NCCL_NONE,
                            .number = NAN};
}

static void classify(struct nccl_line *l, enum level level, const char *text)
{
    for (size_t i = 0; i < SHAPES; i++) {
        const struct shape *s = &shapes[i];
        if ((s->level != LEVEL_ANY && s->level != level) || !nccl_line_like(text, s->shape))
            continue;
        l->kind = s->kind;
        l->word = s->word;
        nccl_decode(l, text);
        break;
    }
    if (level == LEVEL_WARN && (l->kind == NCCL_UNKNOWN || l->kind == NCCL_KNOWN)) {
        l->kind = NCCL_PROBLEM;
        l->word = "other";
    }
}

/* A line without a prefix: whose version it is, or what PyTorch's watchdog saw. */
static bool bare_line(const char *line, struct nccl_line *l)
{
    const char *version = strstr(line, "NCCL version ");
    if (!version)
        version = strstr(line, "RCCL version ");
    if (version && (version == line || version[-1] == ' ')) {
        str_copy(l->text, sizeof(l->text), version);
        classify(l, LEVEL_ANY, version);
        return l->kind == NCCL_VERSION;
    }
    return nccl_decode_watchdog(l, line);
}

bool nccl_line_next(const char **at, struct nccl_line *ret)
{
    enum level level, unused;
    size_t len, unused_len;
    const char *line = *at, *mark = find_mark(line, &level, &len);
    reset(ret);
    if (!*line)
        return false;
    if (!mark) {
        *at = line + strlen(line);
        return bare_line(line, ret);
    }
    find_prefix(line, mark, ret);
    char text[NCCL_LINE_MAX + 1];
    const char *end = line + strlen(line), *next = find_mark(mark + len, &unused, &unused_len);
    struct nccl_line other;
    const char *begin = next ? find_prefix(mark + len, next, &other) : NULL;
    if (begin)
        end = begin;
    size_t n = (size_t)(end - (mark + len));
    memcpy(text, mark + len, n);
    text[n] = '\0';
    while (n && text[n - 1] == ' ')
        text[--n] = '\0';
    ret->warn = level == LEVEL_WARN;
    str_copy(ret->text, sizeof(ret->text), text);
    if (level != LEVEL_ANY)
        classify(ret, level, text);
    else
        ret->kind = NCCL_KNOWN; /* traces */
    *at =
        begin ? end - 1 : end; /* what stands before a host's name tells whether it runs into it */
    return true;
}
