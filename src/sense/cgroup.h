/* SPDX-License-Identifier: MIT */
/*
 * cgroup: the control group folders of a process, version 1 and 2 alike.
 *
 * Source: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1 of the kernel.
 */
#ifndef GPUFEED_SENSE_CGROUP_H
#define GPUFEED_SENSE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct cgroup_dir {
    char path[PATH_MAX]; /* folder of the process's group, below the root folder */
    unsigned base;       /* length of the mount point within path */
    bool v2;
};

/* The folder in which `controller` ("cpu", "memory") rules process pid; false if none is seen. */
bool cgroup_find(const char *root, uint32_t pid, const char *controller, struct cgroup_dir *ret);
/* Goes to the parent; false when at the top. */
bool cgroup_up(struct cgroup_dir *d);
/* Smallest limit in files `name` from the group up; "max" and absent are no limit: false. */
bool cgroup_limit(const char *root, const struct cgroup_dir *d, const char *name, uint64_t *ret);
/* Cores that the CPU quota of the group and its parents leaves; false: no quota. */
bool cgroup_quota(const char *root, const struct cgroup_dir *d, double *ret);

#endif
