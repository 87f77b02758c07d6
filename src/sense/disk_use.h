/* SPDX-License-Identifier: MIT */
/*
 * disk_use: what uses a disk: mounts of it, of its partitions and of all that is built upon them, as far as
 * this process sees mounts; and what the kernel tells of all namespaces, so that a container does not take
 * the host's disks for unused: file systems in /sys/fs, swap, the devices of a btrfs.
 */
#ifndef GPUFEED_SENSE_DISK_USE_H
#define GPUFEED_SENSE_DISK_USE_H

#include "base/str.h"

#include <stdbool.h>

struct disk_uses {
    const char *root;
    struct str mounts, swaps; /* /proc/self/mountinfo, /proc/swaps */
    struct str btrfs;         /* names of all devices of btrfs file systems, a blank around each */
    bool no_mounts;           /* they cannot be read */
    bool zfs;                 /* there are pools; the kernel does not tell of which disks */
};

void disk_uses_read(struct disk_uses *ret, const char *root);
void disk_uses_clear(struct disk_uses *u);

struct disk_use {
    struct str where; /* mount points, a blank between; str_clear it */
    char first[512];  /* the first mount point */
    bool held;        /* something builds upon it, or a mount elsewhere or swap lies on it */
    bool unsure;      /* where neither holds, it may still be in use */
};

void disk_use_of(const struct disk_uses *u, const char *disk, struct disk_use *ret);

#endif
