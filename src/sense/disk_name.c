/* SPDX-License-Identifier: MIT */
#include "sense/disk_name.h"

#include "base/rootfs.h"
#include "base/str.h"
#include "sense/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 6 /* file system on encryption on volume on RAID on partition on disk */
#define NAME_BYTES 64

struct only_one {
    char name[NAME_BYTES];
    int count;
};

static void note_one(void *arg, const char *name)
{
    struct only_one *o = arg;
    if (!o->count++)
        str_copy(o->name, sizeof(o->name), name);
}

/* The disk that a partition is part of: the folder above it in the device tree. */
static void parent_of_partition(const char *root, char *name, size_t size)
{
    char path[PATH_MAX], target[PATH_MAX];
    snprintf(path, sizeof(path), "/sys/class/block/%s/partition", name);
    if (!rootfs_exists(root, path))
        return;
    snprintf(path, sizeof(path), "/sys/class/block/%s", name);
    if (!rootfs_link(root, path, target, sizeof(target)))
        return;
    char *slash = strrchr(target, '/');
    if (slash && slash != target) {
        *slash = '\0';
        str_copy(name, size, text_last_part(target));
    }
}

/* Goes down from the kernel's name of a block device; false: a name too long. */
static bool descend(const char *root, char *name, size_t size)
{
    char path[PATH_MAX], mapper[NAME_BYTES];
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        parent_of_partition(root, name, size);
        struct only_one below = {.count = 0};
        snprintf(path, sizeof(path), "/sys/class/block/%s/slaves", name);
        if (!rootfs_each(root, path, note_one, &below) || below.count != 1)
            break;
        str_copy(name, size, below.name);
    }
    snprintf(path, sizeof(path), "/sys/class/block/%s/dm/name", name);
    if (rootfs_line(root, path, mapper, sizeof(mapper)))
        return str_copy(name, size, mapper);
    return true;
}

bool disk_name_of_dev(const char *root, uint32_t dev, char *buf, size_t size)
{
    char path[64], target[PATH_MAX];
    snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", dev >> 20, dev & 0xfffff);
    if (!rootfs_link(root, path, target, sizeof(target)))
        return false;
    return str_copy(buf, size, text_last_part(target)) && descend(root, buf, size);
}

struct mapper_search {
    const char *root, *wanted;
    char found[NAME_BYTES];
};

static void match_mapper(void *arg, const char *name)
{
    struct mapper_search *s = arg;
    char path[PATH_MAX], mapper[NAME_BYTES];
    snprintf(path, sizeof(path), "/sys/class/block/%s/dm/name", name);
    if (rootfs_line(s->root, path, mapper, sizeof(mapper)) && strcmp(mapper, s->wanted) == 0)
        str_copy(s->found, sizeof(s->found), name);
}

bool disk_name_of_node(const char *root, const char *node, char *buf, size_t size)
{
    char path[PATH_MAX];
    const char *name = text_last_part(node);
    if (!*name)
        return false;
    snprintf(path, sizeof(path), "/sys/class/block/%s", name);
    if (rootfs_exists(root, path))
        return str_copy(buf, size, name) && descend(root, buf, size);
    struct mapper_search search = {.root = root, .wanted = name};
    rootfs_each(root, "/sys/class/block", match_mapper, &search);
    return search.found[0] && str_copy(buf, size, search.found) && descend(root, buf, size);
}
