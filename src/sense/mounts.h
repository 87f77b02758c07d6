/* SPDX-License-Identifier: MIT */
/*
 * mounts: the mount table of a process, and the mount a device or a path belongs to.
 *
 * Source of the format: proc_pid_mountinfo(5). A line that does not parse is
 * counted in `bad` and left out; the rest stands. Owns all texts; a pointer to
 * a mount is good until the next parse or clear.
 */
#ifndef GPUFEED_SENSE_MOUNTS_H
#define GPUFEED_SENSE_MOUNTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mount {
    uint32_t dev;  /* the kernel's s_dev: MAJOR << 20 | MINOR */
    char *root;    /* the folder of the file system that is mounted, "/" as a rule */
    char *point;   /* where */
    char *fstype;  /* "ext4", "nfs4", "fuse.blobfuse2" */
    char *source;  /* "/dev/nvme0n1p1", "10.0.0.4:/data"; user names and passwords cut out */
    char *options; /* of the super block */
    char *flags;   /* of this mount: "rw,noatime" */
};

struct mounts {
    struct mount *list; /* in the order of the file: the last one on a point hides the others */
    size_t count, cap, bad;
};

/* Replaces the content. STATUS_MEMORY only. */
int mounts_parse(struct mounts *m, const char *text, struct error *e);
/* /proc/PID/mountinfo below root; pid 0: self. */
int mounts_read(struct mounts *m, const char *root, uint32_t pid, struct error *e);
void mounts_clear(struct mounts *m);

/* The mount that shows most of the file system: its whole tree first, the shortest point then. */
const struct mount *mounts_by_dev(const struct mounts *m, uint32_t dev);
/* The mount an absolute path lies in; NULL if none. */
const struct mount *mounts_by_path(const struct mounts *m, const char *path);

#endif
