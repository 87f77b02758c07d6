/* SPDX-License-Identifier: MIT */
/* Whether a mount writes the times of reads: mount_setattr(2), which leaves all else as it is. */
#include "fix/knob.h"

#include "base/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    uint64_t attribute;
} modes[] = {{"noatime", MOUNT_ATTR_NOATIME},
             {"relatime", MOUNT_ATTR_RELATIME},
             {"strictatime", MOUNT_ATTR_STRICTATIME}};
#define MODES (sizeof(modes) / sizeof(modes[0]))

static bool may(const char *target, const char *value)
{
    if (target[0] != '/')
        return false;
    for (size_t i = 0; i < MODES; i++)
        if (!strcmp(modes[i].name, value))
            return true;
    return false;
}

static int get(const char *root, const char *target, char value[KNOB_VALUE], struct error *e)
{
    struct statvfs v;
    if (root && *root)
        return error_set(e, STATUS_MISSING, "a dump has no mount to change");
    if (statvfs(target, &v))
        return error_errno(e, "cannot look at \"%s\"", target);
    str_copy(value, KNOB_VALUE,
             v.f_flag & ST_NOATIME    ? "noatime"
             : v.f_flag & ST_RELATIME ? "relatime"
                                      : "strictatime");
    return STATUS_OK;
}

static int set(const char *root, const char *target, const char *value, struct error *e)
{
    struct mount_attr a = {.attr_clr = MOUNT_ATTR__ATIME};
    for (size_t i = 0; i < MODES; i++)
        if (!strcmp(modes[i].name, value))
            a.attr_set = modes[i].attribute;
    if (syscall(SYS_mount_setattr, AT_FDCWD, target, 0, &a, sizeof(a)))
        return error_errno(e, "cannot change the mount \"%s\"", target);
    return STATUS_OK;
}

const struct knob knob_atime = {"atime", may, get, set, NULL};
