/* SPDX-License-Identifier: MIT */
#include "sense/disk_use.h"

#include "base/rootfs.h"
#include "sense/text.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 6 /* volume on encryption on cache on RAID on partition on disk */

struct walk {
    const struct disk_uses *u;
    struct disk_use *use;
    const char *disk;
    unsigned depth;
};

static int octal(const char *p)
{
    int v = 0;
    for (int i = 0; i < 3; i++) {
        if (p[i] < '0' || p[i] > '7')
            return -1;
        v = v * 8 + p[i] - '0';
    }
    return v;
}

/* Undoes mountinfo's \040 for blanks. */
static void unescape(char *text)
{
    char *out = text;
    for (char *p = text; *p; p++) {
        int v = *p == '\\' ? octal(p + 1) : -1;
        *out++ = v > 0 ? (char)v : *p;
        p += v > 0 ? 3 : 0;
    }
    *out = '\0';
}

static void add_where(struct disk_use *use, char *point)
{
    unescape(point);
    if (!use->where.len)
        str_copy(use->first, sizeof(use->first), point);
    str_add(&use->where, use->where.len ? " " : "");
    str_add(&use->where, point);
}

/* "36 35 259:1 /root /mount/point rw ... - ext4 /dev/x rw" */
static void add_mounts(struct walk *w, const char *dev)
{
    const char *p = str_text(&w->u->mounts), *line;
    size_t len;
    while (text_line(&p, &line, &len)) {
        char word[512];
        const char *q = line;
        bool hit = text_word(&q, word, sizeof(word)) && text_word(&q, word, sizeof(word)) &&
                   text_word(&q, word, sizeof(word)) && !strcmp(word, dev);
        if (hit && text_word(&q, word, sizeof(word)) && text_word(&q, word, sizeof(word)))
            add_where(w->use, word);
    }
}

/* "/dev/nvme0n1p2  partition  8388604  0  -2" */
static bool is_swap(const struct disk_uses *u, const char *name)
{
    const char *p = str_text(&u->swaps), *line;
    size_t len;
    char word[256];
    while (text_line(&p, &line, &len)) {
        const char *q = line;
        if (text_word(&q, word, sizeof(word)) && !strncmp(word, "/dev/", 5) &&
            !strcmp(word + 5, name))
            return true;
    }
    return false;
}

/* Does the kernel know a file system, or swap, on this device? */
static bool is_held(const struct disk_uses *u, const char *name)
{
    static const char *const types[] = {"ext4", "xfs", "f2fs"};
    char path[128];
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (snprintf(path, sizeof(path), "/sys/fs/%s/%s", types[i], name) < (int)sizeof(path) &&
            rootfs_exists(u->root, path))
            return true;
    snprintf(path, sizeof(path), " %.100s ", name);
    return strstr(str_text(&u->btrfs), path) || is_swap(u, name);
}

static void add_device(struct walk *w, const char *name, const char *folder);

static void visit_holder(void *arg, const char *name)
{
    struct walk *w = arg;
    char path[256];
    w->use->held = true;
    if (snprintf(path, sizeof(path), "/sys/block/%s", name) < (int)sizeof(path))
        add_device(w, name, path);
}

static void visit_part(void *arg, const char *name)
{
    struct walk *w = arg;
    char path[256];
    if (!strncmp(name, w->disk, strlen(w->disk)) &&
        snprintf(path, sizeof(path), "/sys/block/%s/%s", w->disk, name) < (int)sizeof(path))
        add_device(w, name, path);
}

/* Adds the uses of the block device in this folder, and of all that is built upon it. */
static void add_device(struct walk *w, const char *name, const char *folder)
{
    char path[300], dev[32];
    if (w->depth >= DEPTH_MAX)
        return;
    w->depth++;
    snprintf(path, sizeof(path), "%s/dev", folder);
    if (rootfs_line(w->u->root, path, dev, sizeof(dev)))
        add_mounts(w, dev);
    w->use->held |= is_held(w->u, name);
    snprintf(path, sizeof(path), "%s/holders", folder);
    rootfs_each(w->u->root, path, visit_holder, w);
    w->depth--;
}

void disk_use_of(const struct disk_uses *u, const char *disk, struct disk_use *ret)
{
    char path[128];
    *ret = (struct disk_use){.unsure = u->zfs || u->no_mounts};
    struct walk w = {.u = u, .use = ret, .disk = disk};
    snprintf(path, sizeof(path), "/sys/block/%s", disk);
    add_device(&w, disk, path);
    rootfs_each(u->root, path, visit_part, &w);
}

static void see_device(void *arg, const char *name)
{
    struct disk_uses *u = arg;
    str_add(&u->btrfs, name);
    str_add(&u->btrfs, " ");
}

static void see_btrfs(void *arg, const char *name)
{
    struct disk_uses *u = arg;
    char path[160];
    if (snprintf(path, sizeof(path), "/sys/fs/btrfs/%s/devices", name) < (int)sizeof(path))
        rootfs_each(u->root, path, see_device, u);
}

void disk_uses_read(struct disk_uses *ret, const char *root)
{
    *ret = (struct disk_uses){.root = root};
    ret->no_mounts = rootfs_read(root, "/proc/self/mountinfo", &ret->mounts, NULL) != STATUS_OK;
    rootfs_read(root, "/proc/swaps", &ret->swaps, NULL);
    str_add(&ret->btrfs, " ");
    rootfs_each(root, "/sys/fs/btrfs", see_btrfs, ret);
    ret->zfs = rootfs_exists(root, "/proc/spl/kstat/zfs") ||
               strstr(str_text(&ret->mounts), " - zfs ") != NULL;
}

void disk_uses_clear(struct disk_uses *u)
{
    str_clear(&u->mounts);
    str_clear(&u->swaps);
    str_clear(&u->btrfs);
}
