/* SPDX-License-Identifier: MIT */
#include "sense/mounts.h"

#include "base/mem.h"
#include "base/rootfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOUNTS_MAX 65536
#define DEV_MINOR_BITS 20

static void mount_clear(struct mount *m)
{
    free(m->root);
    free(m->point);
    free(m->fstype);
    free(m->source);
    free(m->options);
    free(m->flags);
}

void mounts_clear(struct mounts *m)
{
    for (size_t i = 0; i < m->count; i++)
        mount_clear(&m->list[i]);
    free(m->list);
    *m = (struct mounts){0};
}

/* The next word of the line, cut off in place; NULL at its end. */
static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " ");
    if (!*word)
        return NULL;
    char *end = word + strcspn(word, " ");
    *at = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* Blank, tab, newline and backslash come as three octal digits. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in;) {
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' && in[2] <= '7' &&
            in[3] >= '0' && in[3] <= '7') {
            *out++ = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 4;
        } else {
            *out++ = *in++;
        }
    }
    *out = '\0';
}

/* "https://user:secret@host/x" and "user:secret@host:x" lose everything before the '@';
 * "10.0.0.1@tcp:/fs" and "user@host:/x" hold no secret and stay. */
static void cut_secret(char *source)
{
    char *scheme = strstr(source, "://");
    char *start = scheme ? scheme + 3 : source;
    size_t host = strcspn(start, "/");
    char *at = scheme ? memrchr(start, '@', host) : memchr(start, '@', host);
    if (at && (scheme || memchr(start, ':', (size_t)(at - start))))
        memmove(start, at + 1, strlen(at + 1) + 1);
}

static bool parse_dev(const char *text, uint32_t *ret)
{
    char *end;
    unsigned long major = strtoul(text, &end, 10);
    if (end == text || *end != ':')
        return false;
    const char *minor_text = end + 1;
    unsigned long minor = strtoul(minor_text, &end, 10);
    if (end == minor_text || *end || major >= 1ul << (32 - DEV_MINOR_BITS) ||
        minor >= 1ul << DEV_MINOR_BITS)
        return false;
    *ret = (uint32_t)(major << DEV_MINOR_BITS | minor);
    return true;
}

/* "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
static bool split(char *line, char *cells[6], uint32_t *dev)
{
    char *at = line, *word;
    char *id = next_word(&at), *parent = next_word(&at), *device = next_word(&at);
    cells[0] = next_word(&at);
    cells[1] = next_word(&at);
    cells[5] = next_word(&at);
    if (!id || !parent || !device || !cells[0] || !cells[1] || !cells[5])
        return false;
    do
        word = next_word(&at);
    while (word && strcmp(word, "-") != 0);
    if (!word)
        return false;
    cells[2] = next_word(&at);
    cells[3] = next_word(&at);
    cells[4] = next_word(&at);
    if (!cells[2] || !cells[3])
        return false;
    return parse_dev(device, dev) && cells[1][0] == '/';
}

/* 0, or STATUS_MEMORY */
static int add_line(struct mounts *m, char *line)
{
    char *cells[6];
    uint32_t dev;
    if (m->count >= MOUNTS_MAX || !split(line, cells, &dev)) {
        m->bad++;
        return STATUS_OK;
    }
    for (int i = 0; i < 4; i++)
        unescape(cells[i]);
    cut_secret(cells[3]);
    if (!mem_grow((void **)&m->list, &m->cap, m->count + 1, sizeof(*m->list)))
        return STATUS_MEMORY;
    struct mount new = {.dev = dev,
                        .root = mem_strdup(cells[0]),
                        .point = mem_strdup(cells[1]),
                        .fstype = mem_strdup(cells[2]),
                        .source = mem_strdup(cells[3]),
                        .options = mem_strdup(cells[4] ? cells[4] : ""),
                        .flags = mem_strdup(cells[5])};
    if (!new.root || !new.point || !new.fstype || !new.source || !new.options || !new.flags) {
        mount_clear(&new);
        return STATUS_MEMORY;
    }
    m->list[m->count++] = new;
    return STATUS_OK;
}

int mounts_parse(struct mounts *m, const char *text, struct error *e)
{
    mounts_clear(m);
    AUTOFREE char *copy = mem_strdup(text);
    int rc = copy ? STATUS_OK : STATUS_MEMORY;
    for (char *line = copy, *next; !rc && line && *line; line = next) {
        char *end = line + strcspn(line, "\n");
        next = *end ? end + 1 : end;
        *end = '\0';
        if (*line)
            rc = add_line(m, line);
    }
    if (rc) {
        mounts_clear(m);
        return error_set(e, STATUS_MEMORY, "out of memory reading the mount table");
    }
    return STATUS_OK;
}

int mounts_read(struct mounts *m, const char *root, uint32_t pid, struct error *e)
{
    char path[64];
    struct str text = {0};
    if (pid)
        snprintf(path, sizeof(path), "/proc/%u/mountinfo", pid);
    else
        snprintf(path, sizeof(path), "/proc/self/mountinfo");
    int rc = rootfs_read(root, path, &text, e);
    if (!rc)
        rc = mounts_parse(m, str_text(&text), e);
    str_clear(&text);
    return rc;
}

const struct mount *mounts_by_dev(const struct mounts *m, uint32_t dev)
{
    const struct mount *best = NULL;
    for (size_t i = 0; i < m->count; i++) {
        const struct mount *this = &m->list[i];
        if (this->dev != dev)
            continue;
        bool whole = strcmp(this->root, "/") == 0;
        bool best_whole = best && strcmp(best->root, "/") == 0;
        if (!best || (whole && !best_whole) ||
            (whole == best_whole && strlen(this->point) < strlen(best->point)))
            best = this;
    }
    return best;
}

static bool lies_in(const char *path, const char *point, size_t length)
{
    if (length == 1)
        return path[0] == '/';
    return strncmp(path, point, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

const struct mount *mounts_by_path(const struct mounts *m, const char *path)
{
    const struct mount *best = NULL;
    size_t best_length = 0;
    for (size_t i = 0; i < m->count; i++) {
        size_t length = strlen(m->list[i].point);
        if (length >= best_length && lies_in(path, m->list[i].point, length)) {
            best = &m->list[i];
            best_length = length;
        }
    }
    return best;
}
