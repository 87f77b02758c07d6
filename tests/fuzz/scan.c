/* SPDX-License-Identifier: MIT */
/*
 * Our scanner and the JSON library's parser on the same bytes: both refuse them, or both read the
 * same tokens. Only what our scanner takes on purpose (bytes that are no UTF-8, NaN) or refuses on
 * purpose (depth) is left out. Bytes are also fed so that tokens meet the end of a block.
 */
#include "fuzz.h"

#include "import/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>

/* What both say, in the order in which they say it. */
struct said {
    uint64_t hash;
    uint64_t tokens;
    int depth, deepest;
};

static void say(struct said *s, char kind, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    s->hash = (s->hash ^ (unsigned char)kind) * UINT64_C(1099511628211);
    for (size_t i = 0; i < len; i++)
        s->hash = (s->hash ^ p[i]) * UINT64_C(1099511628211);
    s->tokens++;
}

static int on_null(void *a)
{
    say(a, '0', "", 0);
    return 1;
}
static int on_bool(void *a, int v)
{
    say(a, v ? 't' : 'f', "", 0);
    return 1;
}
static int on_number(void *a, const char *p, size_t n)
{
    say(a, 'n', p, n);
    return 1;
}
static int on_string(void *a, const unsigned char *p, size_t n)
{
    say(a, 's', "", 0);
    (void)p;
    (void)n;
    return 1;
}
static int on_key(void *a, const unsigned char *p, size_t n)
{
    say(a, 'k', "", 0);
    (void)p;
    (void)n;
    return 1;
}

static void deeper(struct said *s, int by)
{
    s->depth += by;
    s->deepest = s->depth > s->deepest ? s->depth : s->deepest;
}
static int on_map(void *a)
{
    say(a, '{', "", 0);
    deeper(a, 1);
    return 1;
}
static int on_map_end(void *a)
{
    say(a, '}', "", 0);
    deeper(a, -1);
    return 1;
}
static int on_array(void *a)
{
    say(a, '[', "", 0);
    deeper(a, 1);
    return 1;
}
static int on_array_end(void *a)
{
    say(a, ']', "", 0);
    deeper(a, -1);
    return 1;
}

static int by_yajl(const uint8_t *data, size_t size, struct said *s)
{
    static const yajl_callbacks calls = {on_null,    on_bool,   NULL,        NULL,
                                         on_number,  on_string, on_map,      on_key,
                                         on_map_end, on_array,  on_array_end};
    yajl_handle y = yajl_alloc(&calls, NULL, s);
    int ok =
        yajl_parse(y, data, size) == yajl_status_ok && yajl_complete_parse(y) == yajl_status_ok;
    yajl_free(y);
    return ok;
}

static int by_scan(const char *path, int skip, struct said *said, struct scan *ret, int *trailing)
{
    static const char kinds[] = "!.{}[]ksntf0";
    struct error e = {0};
    struct source *source;
    struct scan s;
    enum scan_token t;
    if (source_open(path, &source, &e))
        return -1;
    scan_init(&s, source, &e);
    while ((t = scan_next(&s)) > SCAN_END) {
        say(said, kinds[t], t == SCAN_NUMBER ? s.text : "", t == SCAN_NUMBER ? s.len : 0);
        if (skip && (t == SCAN_OBJECT || t == SCAN_ARRAY) && !scan_skip_rest(&s)) {
            t = SCAN_ERROR;
            break;
        }
    }
    *ret = s;
    *trailing = strstr(e.text, "more after the end") != NULL;
    scan_clear(&s);
    source_close(source);
    return t == SCAN_END;
}

static void demand(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static void compare(const uint8_t *data, size_t size, const char *path)
{
    struct said ours = {0}, skipped = {0}, theirs = {0};
    struct scan s, k;
    int trailing;
    int got = by_scan(path, 0, &ours, &s, &trailing),
        quick = by_scan(path, 1, &skipped, &k, &trailing);
    if (got < 0)
        return;
    demand(got == quick, "reading and skipping do not agree");
    demand(!got || (s.bad_utf8 == k.bad_utf8 && s.nans == k.nans),
           "reading and skipping count differently");
    int want = by_yajl(data, size, &theirs);
    /* the library overlooks a text that begins after the value and does not end, and takes \v and \f for blanks */
    if (trailing || memchr(data, '\v', size) || memchr(data, '\f', size) || s.bad_utf8 || s.nans ||
        theirs.deepest > SCAN_DEPTH_MAX || (size >= 3 && !memcmp(data, "\xef\xbb\xbf", 3)))
        return;
    if (got != want || (got && (ours.hash != theirs.hash || ours.tokens != theirs.tokens))) {
        while (size > 1 && *data == ' ') {
            data++;
            size--;
        }
        fprintf(stderr, "ours %d (%llu tokens), the library %d (%llu): %.*s\n", got,
                (unsigned long long)ours.tokens, want, (unsigned long long)theirs.tokens,
                (int)(size < 2000 ? size : 2000), (const char *)data);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    if (size >= 2 && data[0] == 0x1f && data[1] == 0x8b)
        return 0; /* the source would inflate it */
    for (int far = 0; far < 2 && (!far || size % 8 == 3);
         far++) { /* far back: only some, it takes long */
        /* the second time so far back that the middle of it meets the end of a block */
        size_t before = far ? SOURCE_BLOCK - size / 2 % SOURCE_BLOCK : 0;
        uint8_t *all = malloc(before + size + 1);
        int fd = memfd_create("fuzz", 0);
        demand(all && fd >= 0, "no file in memory");
        memset(all, ' ', before);
        memcpy(all + before, data, size);
        demand(write(fd, all, before + size) == (ssize_t)(before + size), "no file in memory");
        lseek(fd, 0, SEEK_SET);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (!far || !(size >= 3 && !memcmp(data, "\xef\xbb\xbf", 3)))
            compare(all, before + size, path);
        close(fd);
        free(all);
    }
    return 0;
}
