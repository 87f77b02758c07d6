/* SPDX-License-Identifier: MIT */
/*
 * Files of /sys and /proc/sys. Where the kernel lists the choices ("none [mq-deadline]") the value is
 * the one in brackets.
 */
#include "fix/knob.h"

#include "base/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Nothing here can lose data or make a machine unreachable. */
static const char *const allowed[] = {
    "/sys/block/*/queue/read_ahead_kb", "/sys/block/*/queue/scheduler",
    "/sys/class/bdi/*/read_ahead_kb",   "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "/proc/sys/vm/zone_reclaim_mode",
};

static bool may(const char *target, const char *value)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    if (strstr(target, "/.") || !*value || value[strspn(value, word)])
        return false;
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        if (!fnmatch(allowed[i], target, FNM_PATHNAME))
            return true;
    return false;
}

static int get(const char *root, const char *target, char value[KNOB_VALUE], struct error *e)
{
    char line[256];
    if (!rootfs_line(root, target, line, sizeof(line)))
        return error_set(e, STATUS_MISSING, "\"%s\" cannot be read here", target);
    char *open = strchr(line, '['), *close = open ? strchr(open, ']') : NULL;
    if (close) {
        *close = '\0';
        str_copy(value, KNOB_VALUE, open + 1);
    } else {
        line[strcspn(line, " \t")] = '\0';
        str_copy(value, KNOB_VALUE, line);
    }
    return STATUS_OK;
}

static int set(const char *root, const char *target, const char *value, struct error *e)
{
    size_t n = strlen(value);
    int fd = rootfs_open(root, target, O_WRONLY | (root && *root ? O_TRUNC : 0));
    if (fd < 0)
        return error_errno(e, "cannot open \"%s\"", target);
    ssize_t done = write(fd, value, n);
    int why = errno;
    close(fd);
    errno = why;
    return done == (ssize_t)n ? STATUS_OK : error_errno(e, "cannot write \"%s\"", target);
}

const struct knob knob_sysfs = {"sysfs", may, get, set, NULL};
