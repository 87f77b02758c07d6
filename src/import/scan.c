/* SPDX-License-Identifier: MIT */
#include "import/scan.h"

#include "base/mem.h"
#include "import/scan_bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAD 64
/* A token begins only when this much is at hand, or all there is: most need no second look. */
#define AHEAD ((size_t)4 << 10)

/* White space may have used that up: then at least a word must be whole. Texts and numbers see to themselves. */
#define WORD_MAX 16

enum expect { VALUE, FIRST_VALUE, FIRST_KEY, NEXT, NOTHING };

void scan_init(struct scan *s, struct source *source, struct error *error)
{
    *s = (struct scan){.source = source, .error = error, .expect = VALUE};
}

void scan_clear(struct scan *s)
{
    free(s->buffer);
    *s = (struct scan){0};
}

static uint64_t offset_of(const struct scan *s, const char *at)
{
    return s->end_offset - (uint64_t)(s->end - at);
}

static enum scan_token fail(struct scan *s, const char *at, const char *what)
{
    if (!s->error->status)
        error_set(s->error, STATUS_INPUT, "\"%s\": %s at byte %llu", source_path(s->source), what,
                  (unsigned long long)offset_of(s, at));
    return SCAN_ERROR;
}

int scan_wrong(struct scan *s, const char *what)
{
    fail(s, s->text && s->text < s->at ? s->text : s->at, what);
    return s->error->status;
}

/* ---- the buffer ---- */

/* Appends the next block; what was read is let go, but for what is pinned. False: error. */
static bool refill(struct scan *s)
{
    const char *block, *from = s->pin ? s->pin : s->at;
    size_t size, kept = s->buffer ? (size_t)(s->end - from) : 0;
    if (source_next(s->source, &block, &size, s->error))
        return false;
    s->ended = !size;
    if (kept > SCAN_TOKEN_MAX)
        return fail(s, from, "a value of more than 16 MiB") != SCAN_ERROR;
    size_t at = s->buffer ? (size_t)(s->at - from) : 0,
           text = s->text ? (size_t)(s->text - from) : 0;
    bool text_kept = s->text && s->text >= from;
    if (kept)
        memmove(s->buffer, from, kept);
    if (!mem_grow((void **)&s->buffer, &s->cap, kept + size + PAD, 1)) {
        error_set(s->error, STATUS_MEMORY, "\"%s\": out of memory", source_path(s->source));
        return false;
    }
    if (size)
        memcpy(s->buffer + kept, block, size);
    memset(s->buffer + kept + size, 0, PAD);
    s->at = s->buffer + at;
    s->end = s->buffer + kept + size;
    s->text = text_kept ? s->buffer + text : NULL;
    s->pin = s->pin ? s->buffer : NULL;
    if (!s->end_offset && size >= 3 && !memcmp(s->buffer, "\xef\xbb\xbf", 3))
        s->at += 3; /* a byte order mark, as some editors put it */
    s->end_offset += size;
    return true;
}

void scan_pin(struct scan *s)
{
    s->pin = s->at;
}

void scan_unpin(struct scan *s)
{
    s->pin = NULL;
}

/* ---- strings ---- */

/* Past an escape that begins at p, or NULL: it is none (or not all there: *cut). */
static const char *past_escape(const struct scan *s, const char *p, bool *cut)
{
    *cut = s->end - p < 6 && !s->ended;
    if (p[1] == 'u')
        return hex4(p + 2) ? p + 6 : NULL;
    return p[1] && strchr("\"\\/bfnrt", p[1]) ? p + 2 : NULL;
}

/* s->at is the opening quote. Fills s->text and moves past the closing quote; false: error. */
static inline bool take_string(struct scan *s)
{
    for (;;) {
        unsigned high = 0;
        bool cut = false;
        const char *p = s->at + 1;
        while (*(p = plain_end(p, &high)) == '\\') {
            const char *next = past_escape(s, p, &cut);
            if (!next || cut)
                break;
            p = next;
        }
        if (__builtin_expect(*p == '"' && p < s->end, 1)) {
            s->text = s->at + 1;
            s->len = (size_t)(p - s->text);
            s->at = p + 1;
            if (__builtin_expect(high != 0, 0) && !is_utf8(s->text, s->len))
                s->bad_utf8++;
            return true;
        }
        if ((p >= s->end || cut) && !s->ended) {
            if (!refill(s))
                return false;
            continue;
        }
        fail(s, p < s->end ? p : s->end,
             p >= s->end  ? "the file ends within a string"
             : *p == '\\' ? "an escape that JSON does not have"
                          : "a control character in a string");
        return false;
    }
}

/* ---- numbers and words ---- */

/* Reads on until the run of such bytes at s->at ends within the buffer. */
static bool whole_number(struct scan *s)
{
    for (;;) {
        const char *p = s->at;
        while (in_number(*p))
            p++;
        if (p < s->end || s->ended)
            return true;
        if (!refill(s))
            return false;
    }
}

static enum scan_token take_number(struct scan *s)
{
    const char *q = past_number(s->at);
    if (__builtin_expect(!q || q >= s->end, 0)) {
        if (!whole_number(s))
            return SCAN_ERROR;
        if (!(q = past_number(s->at)))
            return fail(s, s->at,
                        s->at + 1 >= s->end ? "the file ends within a number"
                                            : "a number that JSON does not have");
    }
    s->text = s->at;
    s->len = (size_t)(q - s->at);
    s->at = q;
    return SCAN_NUMBER;
}

static bool take_literal(struct scan *s, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n))
        return false;
    s->text = s->at;
    s->len = n;
    s->at += n;
    return true;
}

static enum scan_token take_word(struct scan *s)
{
    static const char *const nans[] = {"NaN",       "nan",  "Infinity", "inf",
                                       "-Infinity", "-inf", "-nan",     "-NaN"};
    if (take_literal(s, "true"))
        return SCAN_TRUE;
    if (take_literal(s, "false"))
        return SCAN_FALSE;
    if (take_literal(s, "null"))
        return SCAN_NULL;
    for (size_t i = 0; i < sizeof(nans) / sizeof(nans[0]); i++)
        if (take_literal(s, nans[i])) {
            s->nans++;
            return SCAN_NULL;
        }
    return fail(s, s->at,
                s->at >= s->end ? "the file ends in the middle of a value"
                                : "something that is no JSON");
}

/* ---- the grammar ---- */

static inline bool is_object(const struct scan *s)
{
    return s->in_object[(s->depth - 1) / 64] >> ((s->depth - 1) % 64) & 1;
}

static enum scan_token open_one(struct scan *s, bool object)
{
    if (s->depth == SCAN_DEPTH_MAX)
        return fail(s, s->at, "values nested more than 256 deep");
    uint64_t bit = UINT64_C(1) << (s->depth % 64);
    if (object)
        s->in_object[s->depth / 64] |= bit;
    else
        s->in_object[s->depth / 64] &= ~bit;
    s->depth++;
    s->at++;
    s->expect = object ? FIRST_KEY : FIRST_VALUE;
    return object ? SCAN_OBJECT : SCAN_ARRAY;
}

static enum scan_token close_one(struct scan *s, char c)
{
    bool object = is_object(s);
    if (c != (object ? '}' : ']'))
        return fail(s, s->at,
                    object ? "\"]\" where \"}\" should be" : "\"}\" where \"]\" should be");
    s->at++;
    s->depth--;
    s->expect = s->depth ? NEXT : NOTHING;
    return object ? SCAN_OBJECT_END : SCAN_ARRAY_END;
}

/* Brings s->at to the next byte that is no white space, with enough behind it. */
static inline bool settle(struct scan *s)
{
    for (;;) {
        if (__builtin_expect((size_t)(s->end - s->at) < AHEAD && !s->ended, 0) && !refill(s))
            return false;
        s->at = skip_space(s->at);
        if (__builtin_expect(s->end - s->at >= WORD_MAX || s->ended, 1))
            return true;
        if (!refill(s))
            return false;
    }
}

static enum scan_token take_key(struct scan *s)
{
    if (*s->at != '"')
        return fail(s, s->at,
                    s->at >= s->end ? "the file ends within an object"
                                    : "no key where one should be");
    if (!take_string(s))
        return SCAN_ERROR;
    if (__builtin_expect(*s->at == ':' && s->end - s->at > 1, 1)) {
        s->at++;
    } else {
        size_t len = s->len;
        const char *pin = s->pin;
        if (!pin)
            s->pin = s->text; /* the key must outlive a refill */
        bool ok = settle(s);
        s->pin = pin ? s->pin : NULL;
        s->len = len;
        if (!ok)
            return SCAN_ERROR;
        if (*s->at != ':')
            return fail(s, s->at,
                        s->at >= s->end ? "the file ends within an object"
                                        : "no \":\" after a key");
        s->at++;
    }
    s->expect = VALUE;
    return SCAN_KEY;
}

static enum scan_token take_value(struct scan *s)
{
    enum scan_token t;
    char c = *s->at;
    if (c == '{' || c == '[')
        return open_one(s, c == '{');
    if (c == '"')
        t = take_string(s) ? SCAN_STRING : SCAN_ERROR;
    else if ((c >= '0' && c <= '9') || (c == '-' && s->at[1] >= '0' && s->at[1] <= '9'))
        t = take_number(s);
    else
        t = take_word(s);
    s->expect = s->depth ? NEXT : NOTHING;
    return t;
}

static enum scan_token after_value(struct scan *s)
{
    char c = *s->at;
    if (c == ',') {
        s->at++;
        if (!settle(s))
            return SCAN_ERROR;
        return is_object(s) ? take_key(s) : take_value(s);
    }
    if (c == '}' || c == ']')
        return close_one(s, c);
    return fail(s, s->at,
                s->at >= s->end ? "the file ends in the middle" : "no \",\" between two values");
}

enum scan_token scan_next(struct scan *s)
{
    if (s->error->status || !settle(s))
        return SCAN_ERROR;
    switch ((enum expect)s->expect) {
    case NEXT:
        return after_value(s);
    case FIRST_KEY:
        return *s->at == '}' ? close_one(s, '}') : take_key(s);
    case FIRST_VALUE:
        return *s->at == ']' ? close_one(s, ']') : take_value(s);
    case VALUE:
        return take_value(s);
    default:
        return s->at < s->end ? fail(s, s->at, "more after the end of the JSON value") : SCAN_END;
    }
}

/* ---- skipping ---- */

/* Past the string at p, or NULL: it needs a closer look (escapes, bytes beyond ASCII, the buffer's end). */
static inline const char *past_plain(const char *p)
{
    unsigned high = 0;
    p = plain_end(p + 1, &high);
    return *p == '"' && !high ? p + 1 : NULL;
}

static inline const char *past_plain_value(const char *p)
{
    switch (*p) {
    case '"':
        return past_plain(p);
    case 't':
        return memcmp(p, "true", 4) ? NULL : p + 4;
    case 'f':
        return memcmp(p, "false", 5) ? NULL : p + 5;
    case 'n':
        return memcmp(p, "null", 4) ? NULL : p + 4;
    default:
        return past_number(p);
    }
}

static inline const char *past_plain_key(const char *p)
{
    if (*p != '"' || !(p = past_plain(p)))
        return NULL;
    p = skip_space(p);
    return *p == ':' ? skip_space(p + 1) : NULL;
}

/*
 * Takes plain tokens after a value until `depth` is reached, without telling what they are. Stops before the
 * first that is not plain, or that is near the end of the buffer: scan_next takes that one, or says what is
 * wrong with it. p only moves on when a whole token (comma, key and value) was plain.
 */
static void skip_plain(struct scan *s, int depth)
{
    const char *p = s->at, *limit = s->end - AHEAD;
    while (p < limit && s->depth > depth && s->expect == NEXT) {
        const char *q = skip_space(p);
        bool object = is_object(s);
        if (*q == (object ? '}' : ']')) {
            s->at = q;
            close_one(s, *q);
            p = s->at;
            continue;
        }
        if (*q != ',')
            break;
        q = skip_space(q + 1);
        if (object && !(q = past_plain_key(q)))
            break;
        if (*q == '{' || *q == '[') {
            if (s->depth == SCAN_DEPTH_MAX || q >= s->end)
                break;
            s->at = q;
            open_one(s, *q == '{');
            p = s->at;
            break;
        }
        if (!(q = past_plain_value(q)) || q >= s->end)
            break;
        p = q;
    }
    if (p > s->at)
        s->at = p;
}

bool scan_skip_rest(struct scan *s)
{
    int depth = s->depth - 1;
    while (s->depth > depth) {
        if (scan_next(s) == SCAN_ERROR)
            return false;
        if (s->expect == NEXT && (size_t)(s->end - s->at) > AHEAD)
            skip_plain(s, depth);
    }
    return true;
}

bool scan_skip(struct scan *s)
{
    switch (scan_next(s)) {
    case SCAN_ERROR:
        return false;
    case SCAN_OBJECT:
    case SCAN_ARRAY:
        return scan_skip_rest(s);
    default:
        return true;
    }
}
