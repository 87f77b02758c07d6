/* SPDX-License-Identifier: MIT */
#include "sense/mount_size.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Does the job have our own mounts? A dump says of its mounts what it says. */
static bool same_mounts(const struct source_opts *o)
{
    char path[64], job[64], own[64];
    if (o->root && *o->root)
        return true;
    snprintf(path, sizeof(path), "/proc/%u/ns/mnt", o->pid);
    return rootfs_link(o->root, path, job, sizeof(job)) &&
           rootfs_link(o->root, "/proc/self/ns/mnt", own, sizeof(own)) && !strcmp(job, own);
}

bool mount_size(const struct source_opts *o, const char *point, struct rootfs_size *ret)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "/proc/%u/root%s", o->pid, point);
    if (o->pid && n > 0 && (size_t)n < sizeof(path) && rootfs_size(o->root, path, ret))
        return true;
    return (!o->pid || same_mounts(o)) && rootfs_size(o->root, point, ret);
}
