/* SPDX-License-Identifier: MIT */
#include "base/tar.h"

#include <stdio.h>
#include <string.h>

#define BLOCK 512
#define NAME 100
#define LINK_AT 157

static void pad(struct str *out, size_t len)
{
    static const char zeros[BLOCK];
    if (len % BLOCK)
        str_addn(out, zeros, BLOCK - len % BLOCK);
}

/* POSIX.1-2017, pax: name 0, mode 100, uid 108, gid 116, size 124, mtime 136, sum 148, type 156,
 * link 157, magic 257. */
static void header(struct str *out, const char *name, char type, const char *link, size_t len)
{
    char h[BLOCK] = {0}, field[16];
    unsigned sum = 0;
    snprintf(h, NAME + 1, "%s", name);
    memcpy(h + 100, type == '5' ? "0000755" : "0000644", 7);
    memcpy(h + 108, "0000000", 7);
    memcpy(h + 116, "0000000", 7);
    snprintf(field, sizeof(field), "%011llo", (unsigned long long)len);
    memcpy(h + 124, field, 11);
    memcpy(h + 136, "00000000000", 11);
    memset(h + 148, ' ', 8);
    h[156] = type;
    for (size_t i = 0; link && link[i] && i < NAME; i++)
        h[LINK_AT + i] = link[i];
    memcpy(h + 257, "ustar\00000", 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)h[i];
    snprintf(field, sizeof(field), "%06o", sum);
    memcpy(h + 148, field, 7);
    str_addn(out, h, BLOCK);
}

/* "LEN key=value\n", where LEN counts itself. */
static void pax_record(struct str *out, const char *key, const char *value)
{
    size_t bare = strlen(key) + strlen(value) + 3, len = bare + 1;
    for (size_t digits = 1, ten = 10; len >= ten; ten *= 10)
        len = bare + ++digits;
    str_addf(out, "%zu %s=%s\n", len, key, value);
}

static void entry(struct str *out, const char *name, char type, const char *link, const char *data,
                  size_t len)
{
    struct str pax = {0};
    if (strlen(name) > NAME)
        pax_record(&pax, "path", name);
    if (link && strlen(link) > NAME)
        pax_record(&pax, "linkpath", link);
    if (pax.len) {
        header(out, "pax", 'x', NULL, pax.len);
        str_addn(out, pax.data, pax.len);
        pad(out, pax.len);
    }
    out->failed |= pax.failed;
    str_clear(&pax);
    header(out, name, type, link, len);
    if (len)
        str_addn(out, data, len);
    pad(out, len);
}

void tar_file(struct str *out, const char *name, const char *data, size_t len)
{
    entry(out, name, '0', NULL, data, len);
}

void tar_link(struct str *out, const char *name, const char *target)
{
    entry(out, name, '2', target, NULL, 0);
}

void tar_folder(struct str *out, const char *name)
{
    entry(out, name, '5', NULL, NULL, 0);
}

void tar_end(struct str *out)
{
    static const char zeros[2 * BLOCK];
    str_addn(out, zeros, sizeof(zeros));
}
