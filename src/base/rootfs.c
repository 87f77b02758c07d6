/* SPDX-License-Identifier: MIT */
#include "base/rootfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool full_path(char *buf, size_t size, const char *root, const char *path)
{
    int n = snprintf(buf, size, "%s%s", root ? root : "", path);
    if (n > 0 && (size_t)n < size)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

int rootfs_open(const char *root, const char *path, int flags)
{
    char full[PATH_MAX];
    if (!full_path(full, sizeof(full), root, path))
        return -1;
    return open(full, flags | O_CLOEXEC);
}

int rootfs_read(const char *root, const char *path, struct str *out, struct error *e)
{
    char buf[8192];
    ssize_t n;
    str_reset(out);
    int fd = rootfs_open(root, path, O_RDONLY);
    if (fd < 0)
        return error_errno(e, "cannot open \"%s\"", path);
    while ((n = read(fd, buf, sizeof(buf))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        str_addn(out, buf, (size_t)n);
    }
    int rc = n < 0 ? error_errno(e, "cannot read \"%s\"", path) : STATUS_OK;
    close(fd);
    if (!rc && out->failed)
        rc = error_set(e, STATUS_MEMORY, "out of memory reading \"%s\"", path);
    return rc;
}

bool rootfs_line(const char *root, const char *path, char *buf, size_t size)
{
    int fd = rootfs_open(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, buf, size - 1);
    close(fd);
    if (n <= 0)
        return false;
    buf[n] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
    return buf[0] != '\0';
}

bool rootfs_bytes(const char *root, const char *path, size_t max, struct str *out)
{
    char buf[8192];
    str_reset(out);
    int fd = rootfs_open(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    while (out->len < max) {
        size_t want = max - out->len < sizeof(buf) ? max - out->len : sizeof(buf);
        ssize_t n = read(fd, buf, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        str_addn(out, buf, (size_t)n);
    }
    close(fd);
    return out->len && !out->failed;
}

bool rootfs_int(const char *root, const char *path, int64_t *ret)
{
    char buf[64], *end;
    if (!rootfs_line(root, path, buf, sizeof(buf)))
        return false;
    errno = 0;
    long long v = strtoll(buf, &end, 0);
    if (end == buf || errno)
        return false;
    *ret = v;
    return true;
}

bool rootfs_link(const char *root, const char *path, char *buf, size_t size)
{
    char full[PATH_MAX];
    if (!full_path(full, sizeof(full), root, path))
        return false;
    ssize_t n = readlink(full, buf, size);
    if (n < 0 || (size_t)n >= size)
        return false;
    buf[n] = '\0';
    return true;
}

bool rootfs_exists(const char *root, const char *path)
{
    char full[PATH_MAX];
    return full_path(full, sizeof(full), root, path) && access(full, F_OK) == 0;
}

bool rootfs_each(const char *root, const char *folder, void (*each)(void *arg, const char *name),
                 void *arg)
{
    char full[PATH_MAX];
    struct dirent *d;
    if (!full_path(full, sizeof(full), root, folder))
        return false;
    DIR *dir = opendir(full);
    if (!dir)
        return false;
    while ((d = readdir(dir)))
        if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
            each(arg, d->d_name);
    closedir(dir);
    return true;
}
