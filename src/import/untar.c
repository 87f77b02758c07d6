/* SPDX-License-Identifier: MIT */
#include "import/untar.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)512)
#define LONG_MAX_BYTES ((uint64_t)64 << 10) /* of a name in a header of its own */
#define NOT_SAFE (-2)

struct reader {
    struct source *source;
    const char *rest; /* of the block at hand */
    size_t rest_size, block_size;
    struct error *e;
    int top; /* folder that all goes into */
    uint64_t bytes, entries;
    struct str name, link; /* of a header before the entry's own; empty: none */
    bool ended;            /* no byte more */
};

static int bad(const struct reader *r, const char *what)
{
    return error_set(r->e, STATUS_INPUT, "\"%s\": %s, at byte %llu of the archive",
                     source_path(r->source), what,
                     (unsigned long long)(source_offset(r->source) + r->block_size - r->rest_size));
}

/* Hands out at most `want` bytes as they lie; *got 0 at the end. */
static int some(struct reader *r, size_t want, const char **bytes, size_t *got)
{
    if (!r->rest_size && !r->ended) {
        int status = source_next(r->source, &r->rest, &r->rest_size, r->e);
        if (status)
            return status;
        r->block_size = r->rest_size;
        r->ended = !r->rest_size;
    }
    *got = want < r->rest_size ? want : r->rest_size;
    *bytes = r->rest;
    r->rest += *got;
    r->rest_size -= *got;
    return STATUS_OK;
}

typedef int (*bytes_fn)(void *arg, const char *bytes, size_t n);

/* The next `size` bytes to fn (NULL: none), and what pads them to whole blocks. */
static int pass(struct reader *r, uint64_t size, bytes_fn fn, void *arg)
{
    uint64_t all = size + (BLOCK - size % BLOCK) % BLOCK;
    while (all) {
        const char *p;
        size_t n;
        int status = some(r, all < SIZE_MAX ? (size_t)all : SIZE_MAX, &p, &n);
        if (status)
            return status;
        if (!n)
            return bad(r, "it is cut off");
        size_t mine = size < n ? (size_t)size : n;
        if (fn && mine && fn(arg, p, mine))
            return error_errno(r->e, "cannot unpack \"%s\"", source_path(r->source));
        size -= mine;
        all -= n;
    }
    return STATUS_OK;
}

/* Octal digits, or base 256 where the first bit is set; false: neither, or beyond 2^62. */
static bool number(const unsigned char *p, size_t n, uint64_t *ret)
{
    uint64_t v = 0;
    if (*p & 0x80) {
        for (size_t i = 0; i < n; i++) {
            if (v >> 54)
                return false;
            v = v << 8 | (i ? p[i] : p[i] & 0x7fu);
        }
        *ret = v;
        return true;
    }
    while (n && *p == ' ')
        p++, n--;
    for (; n && *p >= '0' && *p <= '7'; p++, n--) {
        if (v >> 59)
            return false;
        v = v << 3 | (unsigned)(*p - '0');
    }
    *ret = v;
    return !n || *p == ' ' || *p == '\0';
}

/* The sum of a header's bytes, its own field taken as blanks. */
static bool sum_fits(const char *head)
{
    const unsigned char *h = (const unsigned char *)head;
    uint64_t want, sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : h[i];
    return number(h + 148, 8, &want) && sum == want;
}

bool untar_recognise(const char *head, size_t size)
{
    return size >= BLOCK && head[0] && sum_fits(head);
}

/* A folder on the way, made where it is missing; links are not followed. */
static int step_into(int fd, const char *part)
{
    if (mkdirat(fd, part, 0700) && errno != EEXIST)
        return -1;
    return openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Opens the folder of a name below top and copies its last part; -1 and errno, NOT_SAFE: it leads out. */
static int parent_of(int top, const char *name, char last[NAME_MAX + 1])
{
    char part[NAME_MAX + 1];
    int fd = fcntl(top, F_DUPFD_CLOEXEC, 0);
    last[0] = '\0';
    for (const char *p = name + strspn(name, "/"); *p && fd >= 0; p += strspn(p, "/")) {
        size_t n = strcspn(p, "/");
        if (n > NAME_MAX || (n == 2 && !memcmp(p, "..", 2))) {
            close(fd);
            return NOT_SAFE;
        }
        memcpy(part, p, n);
        part[n] = '\0';
        p += n;
        if (!strcmp(part, "."))
            continue;
        if (last[0]) {
            int next = step_into(fd, last);
            int why = errno;
            close(fd);
            errno = why;
            fd = next;
        }
        memcpy(last, part, n + 1);
    }
    return fd;
}

static int write_out(void *arg, const char *bytes, size_t n)
{
    const int *fd = arg;
    while (n) {
        ssize_t done = write(*fd, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

static int add_text(void *arg, const char *bytes, size_t n)
{
    str_addn(arg, bytes, n);
    return 0;
}

static int make_file(struct reader *r, int folder, const char *last, uint64_t size)
{
    unlinkat(folder, last, 0); /* the last of a name counts */
    int fd = openat(folder, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(r->e, "cannot unpack \"%s\" of \"%s\"", last, source_path(r->source));
    int status = pass(r, size, write_out, &fd);
    close(fd);
    return status;
}

/* A second name of a file that came before; where that is missing there is none. */
static void make_name(const struct reader *r, int folder, const char *last, const char *target)
{
    char old[NAME_MAX + 1];
    int from = parent_of(r->top, target, old);
    if (from < 0)
        return;
    unlinkat(folder, last, 0);
    if (old[0] && linkat(from, old, folder, last, 0))
        errno = 0;
    close(from);
}

static int make(struct reader *r, char type, const char *name, const char *link, uint64_t size)
{
    char last[NAME_MAX + 1];
    int status = STATUS_OK, folder = parent_of(r->top, name, last);
    bool is_file = type == '0' || type == '\0' || type == '7';
    if (folder == NOT_SAFE)
        return bad(r, "the name of an entry leads out of it");
    if (folder < 0)
        return error_errno(r->e, "cannot unpack \"%s\" of \"%s\"", name, source_path(r->source));
    if (last[0] && is_file) {
        status = make_file(r, folder, last, size);
        size = 0;
    } else if (last[0] && type == '5') {
        mkdirat(folder, last, 0700);
    } else if (last[0] && type == '2') {
        unlinkat(folder, last, 0);
        if (*link && symlinkat(link, folder, last))
            status =
                error_errno(r->e, "cannot unpack \"%s\" of \"%s\"", name, source_path(r->source));
    } else if (last[0] && type == '1') {
        make_name(r, folder, last, link);
    }
    close(folder);
    return status ? status : pass(r, size, NULL, NULL);
}

/* "LEN path=VALUE\n" lines of a pax header. */
static void read_pax(struct reader *r, const char *text, size_t size)
{
    while (size) {
        char *end;
        unsigned long n = strtoul(text, &end, 10);
        size_t used = (size_t)(end - text);
        if (*end != ' ' || n <= used + 1 || n > size)
            return;
        const char *key = end + 1;
        size_t len = n - used - 2; /* without blank and newline */
        struct str *to = len > 5 && !memcmp(key, "path=", 5)       ? &r->name
                         : len > 9 && !memcmp(key, "linkpath=", 9) ? &r->link
                                                                   : NULL;
        size_t skip = to == &r->name ? 5 : 9;
        if (to) {
            str_reset(to);
            str_addn(to, key + skip, len - skip);
        }
        text += n;
        size -= n;
    }
}

/* A header that holds the name of the entry after it. */
static int long_name(struct reader *r, char type, uint64_t size)
{
    struct str text = {0};
    if (size > LONG_MAX_BYTES)
        return bad(r, "a name is longer than 64 KiB");
    int status = pass(r, size, add_text, &text);
    struct str *to = type == 'L' ? &r->name : &r->link;
    if (!status && text.len && type == 'x')
        read_pax(r, text.data, text.len);
    else if (!status && type != 'x') {
        str_reset(to);
        str_add(to, str_text(&text)); /* it ends in a NUL */
    }
    bool failed = text.failed || r->name.failed || r->link.failed;
    str_clear(&text);
    return !status && failed ? error_set(r->e, STATUS_MEMORY, "out of memory") : status;
}

static int entry(struct reader *r, const char *head)
{
    char name[260], link[101];
    uint64_t size;
    char type = head[156];
    if (!sum_fits(head) || !number((const unsigned char *)head + 124, 12, &size))
        return bad(r, "it is no tar archive, or a damaged one");
    if (type == 'x' || type == 'L' || type == 'K')
        return long_name(r, type, size);
    bool is_file = type == '0' || type == '\0' || type == '7';
    if (type == '1' || type == '2' || type == '5')
        size = 0;
    r->bytes += is_file ? size : 0;
    if (size > UNTAR_BYTES_MAX || r->bytes > UNTAR_BYTES_MAX || ++r->entries > UNTAR_ENTRIES_MAX)
        return bad(r, "it holds more than 512 MiB or a million files, so it is no machine's");
    /* a prefix is there in ustar alone: GNU writes a blank behind the word */
    if (head[345] && !memcmp(head + 257, "ustar", 6))
        snprintf(name, sizeof(name), "%.155s/%.100s", head + 345, head);
    else
        snprintf(name, sizeof(name), "%.100s", head);
    snprintf(link, sizeof(link), "%.100s", head + 157);
    const char *full = r->name.len ? str_text(&r->name) : name;
    if ((type == '0' || type == '\0') && *full && full[strlen(full) - 1] == '/')
        type = '5'; /* as before POSIX */
    int status = make(r, type, full, r->link.len ? str_text(&r->link) : link, size);
    str_reset(&r->name);
    str_reset(&r->link);
    return status;
}

static int unpack(struct reader *r)
{
    char head[BLOCK];
    for (;;) {
        size_t have = 0, n;
        while (have < BLOCK) {
            const char *p;
            int status = some(r, BLOCK - have, &p, &n);
            if (status)
                return status;
            if (!n)
                return bad(r, "it is cut off");
            memcpy(head + have, p, n);
            have += n;
        }
        if (!head[0])
            return STATUS_OK; /* blocks of zeros end it */
        int status = entry(r, head);
        if (status)
            return status;
    }
}

int untar(struct source *s, const char *folder, struct error *e)
{
    struct reader r = {.source = s, .e = e};
    r.top = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (r.top < 0)
        return error_errno(e, "cannot open \"%s\"", folder);
    int status = unpack(&r);
    str_clear(&r.name);
    str_clear(&r.link);
    close(r.top);
    return status;
}
