/* SPDX-License-Identifier: MIT */
/*
 * fs_name: what a person calls a file system, from its row in the mount table
 * or, where it is mounted nowhere we can see, from its device and magic.
 */
#ifndef GPUFEED_SENSE_FS_NAME_H
#define GPUFEED_SENSE_FS_NAME_H

#include "base/str.h"
#include "sense/mounts.h"

#include <stdbool.h>
#include <stdint.h>

#define FS_MAGIC_FUSE 0x65735546u

/* Is a file system of this type on another machine, or served by a daemon? */
bool fs_type_remote(const char *fstype);
bool fs_magic_remote(uint32_t magic); /* linux/magic.h and the file systems' own sources */

/* "nfs://10.0.0.4/data", "fuse:blobfuse2 /mnt/data", "disk nvme0n1 (/data)", "tmpfs /dev/shm". */
void fs_name_add(struct str *out, const char *root, const struct mount *m, bool *remote);
/* Without a mount: "disk vda", "fuse", "tmpfs", "file system 0:45". Returns whether it is remote.
 */
bool fs_name_add_unmounted(struct str *out, const char *root, uint32_t dev, uint32_t magic);

/* The mount that holds an overlay's upper, else first lower layer; NULL: no overlay or not seen. */
const struct mount *fs_overlay_layer(const struct mounts *all, const struct mount *m);

#endif
