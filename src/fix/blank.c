/* SPDX-License-Identifier: MIT */
#include "fix/blank.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PIECE (64 * KIB)
#define ENDS (16 * MIB)
#define PLACES 1024

static bool all_zero(const unsigned char *p, size_t n)
{
    return !n || (!p[0] && !memcmp(p, p + 1, n - 1));
}

/* One piece at `at`; 1 zeros, 0 not, -1 cannot be read. */
static int zero_at(int fd, uint64_t at, unsigned char *buf, uint64_t size)
{
    size_t want = size - at < PIECE ? (size_t)(size - at) : PIECE;
    for (size_t n = 0; n < want;) {
        ssize_t got = pread(fd, buf + n, want - n, (off_t)(at + n));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        n += (size_t)got;
    }
    return all_zero(buf, want);
}

static int zeros(int fd, uint64_t size, unsigned char *buf)
{
    int rc = 1;
    uint64_t end = size < ENDS ? size : ENDS;
    for (uint64_t at = 0; at < end && rc == 1; at += PIECE)
        rc = zero_at(fd, at, buf, size);
    for (uint64_t at = size - end; at < size && rc == 1; at += PIECE)
        rc = zero_at(fd, at, buf, size);
    for (uint64_t i = 1; i < PLACES && rc == 1; i++)
        rc = zero_at(fd, size / PLACES * i, buf, size);
    return rc;
}

struct parts {
    const char *name;
    bool found;
};

/* A partition is a folder of the disk that begins with its name. */
static void see(void *arg, const char *name)
{
    struct parts *p = arg;
    p->found |= !strncmp(name, p->name, strlen(p->name));
}

static void see_any(void *arg, const char *name)
{
    *(bool *)arg = true;
}

static int unused(const char *device, const struct stat *st, struct error *e)
{
    char path[128], link[PATH_MAX];
    bool held = false;
    snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(st->st_rdev), minor(st->st_rdev));
    if (!rootfs_link(NULL, path, link, sizeof(link)))
        return error_set(e, STATUS_MISSING, "\"%s\" is not known to the kernel", device);
    const char *slash = strrchr(link, '/');
    struct parts parts = {slash ? slash + 1 : link, false};
    rootfs_each(NULL, path, see, &parts);
    if (parts.found)
        return error_set(e, STATUS_INPUT, "\"%s\" is not empty: it has partitions", device);
    snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders", major(st->st_rdev),
             minor(st->st_rdev));
    rootfs_each(NULL, path, see_any, &held);
    return held ? error_set(e, STATUS_INPUT, "\"%s\" is part of a RAID or volume", device)
                : STATUS_OK;
}

static int look(int fd, const char *device, struct error *e)
{
    uint64_t size = 0;
    AUTOFREE unsigned char *buf = malloc(PIECE);
    if (!buf)
        return error_set(e, STATUS_MEMORY, "out of memory");
    if (ioctl(fd, BLKGETSIZE64, &size) || size < 2 * ENDS)
        return error_set(e, STATUS_INPUT, "\"%s\" is smaller than 32 MiB", device);
    int rc = zeros(fd, size, buf);
    if (rc < 0)
        return error_errno(e, "cannot read \"%s\"", device);
    return rc ? STATUS_OK
              : error_set(e, STATUS_INPUT,
                          "\"%s\" is not empty: it holds data, which is left alone", device);
}

int blank_check(const char *device, struct error *e)
{
    struct stat st;
    if (stat(device, &st))
        return error_errno(e, "cannot look at \"%s\"", device);
    if (!S_ISBLK(st.st_mode))
        return error_set(e, STATUS_INPUT, "\"%s\" is no disk", device);
    int status = unused(device, &st, e);
    if (status)
        return status;
    int fd = open(device, O_RDONLY | O_EXCL | O_CLOEXEC);
    if (fd < 0)
        return errno == EBUSY ? error_set(e, STATUS_INPUT, "\"%s\" is in use", device)
                              : error_errno(e, "cannot open \"%s\"", device);
    status = look(fd, device, e);
    close(fd);
    return status;
}
