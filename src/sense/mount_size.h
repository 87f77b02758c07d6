/* SPDX-License-Identifier: MIT */
/*
 * mount_size: the size of a file system as the job sees it, which may have mounts of its own.
 */
#ifndef GPUFEED_SENSE_MOUNT_SIZE_H
#define GPUFEED_SENSE_MOUNT_SIZE_H

#include "base/rootfs.h"
#include "sense/source.h"

/* Of the mount at `point` (in the job's name space where o names a job); false: not known. */
bool mount_size(const struct source_opts *o, const char *point, struct rootfs_size *ret);

#endif
