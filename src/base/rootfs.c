/* SPDX-License-Identifier: MIT */
#include "base/rootfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Thread_local struct {
    rootfs_seen_fn fn;
    void *arg;
} observer;

void rootfs_observe(rootfs_seen_fn fn, void *arg)
{
    observer.fn = fn;
    observer.arg = arg;
}

static void seen(enum rootfs_kind kind, const char *path, const char *data, size_t len)
{
    if (observer.fn)
        observer.fn(observer.arg, kind, path, data, len);
}

/* The next folder of a root; false at the end. */
static bool next_folder(const char **root, char *buf, size_t size)
{
    while (**root) {
        size_t n = strcspn(*root, "\n");
        bool ok = n && n < size;
        if (ok) {
            memcpy(buf, *root, n);
            buf[n] = '\0';
        }
        *root += n + ((*root)[n] == '\n');
        if (ok)
            return true;
    }
    return false;
}

/* Below one folder; kernels before 5.6, and sandboxes, have no openat2. */
static int open_within(const char *folder, const char *path, int flags)
{
    int more = flags & O_PATH ? O_CLOEXEC : O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct open_how how = {.flags = (uint64_t)(flags | more),
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -1;
    if (!*path)
        path = "/";
    int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = openat(dir, path[1] ? path + (path[0] == '/') : ".", (int)how.flags);
    int was = errno;
    close(dir);
    errno = was;
    return fd;
}

int rootfs_open(const char *root, const char *path, int flags)
{
    char folder[PATH_MAX];
    int fd = -1;
    if (!root || !*root)
        return open(path, flags | O_CLOEXEC);
    errno = ENAMETOOLONG;
    while (fd < 0 && next_folder(&root, folder, sizeof(folder)))
        fd = open_within(folder, path, flags);
    return fd;
}

static int read_all(int fd, const char *path, struct str *out, struct error *e)
{
    char buf[8192];
    ssize_t n;
    while ((n = read(fd, buf, sizeof(buf))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(e, "cannot read \"%s\"", path);
        if (out->len + (size_t)n > ROOTFS_BYTES_MAX)
            return error_set(e, STATUS_INPUT, "\"%s\" is larger than 64 MiB", path);
        str_addn(out, buf, (size_t)n);
    }
    return out->failed ? error_set(e, STATUS_MEMORY, "out of memory reading \"%s\"", path)
                       : STATUS_OK;
}

int rootfs_read(const char *root, const char *path, struct str *out, struct error *e)
{
    str_reset(out);
    int fd = rootfs_open(root, path, O_RDONLY);
    if (fd < 0)
        return error_errno(e, "cannot open \"%s\"", path);
    int rc = read_all(fd, path, out, e);
    close(fd);
    if (!rc)
        seen(ROOTFS_FILE, path, str_text(out), out->len);
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
    seen(ROOTFS_FILE, path, buf, (size_t)n);
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
    if (out->len && !out->failed)
        seen(ROOTFS_FILE, path, out->data, out->len);
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
    ssize_t n;
    if (root && *root) {
        int fd = rootfs_open(root, path, O_PATH | O_NOFOLLOW);
        n = fd < 0 ? -1 : readlinkat(fd, "", buf, size);
        if (fd >= 0)
            close(fd);
    } else {
        n = readlink(path, buf, size);
    }
    if (n < 0 || (size_t)n >= size)
        return false;
    buf[n] = '\0';
    seen(ROOTFS_LINK, path, buf, (size_t)n);
    return true;
}

bool rootfs_exists(const char *root, const char *path)
{
    struct stat st;
    int fd = rootfs_open(root, path, O_PATH);
    if (fd < 0)
        return false;
    bool folder = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    close(fd);
    seen(folder ? ROOTFS_FOLDER : ROOTFS_ENTRY, path, NULL, 0);
    return true;
}

static void seen_entry(const char *folder, const struct dirent *d)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, d->d_name);
    if (n > 0 && (size_t)n < sizeof(path))
        seen(d->d_type == DT_DIR ? ROOTFS_FOLDER : ROOTFS_ENTRY, path, NULL, 0);
}

/* Entries of one folder of a root; those that the folders before it have were told already. */
static void each_entry(DIR *dir, const char *before, const char *folder,
                       void (*each)(void *arg, const char *name), void *arg)
{
    struct dirent *d;
    while ((d = readdir(dir))) {
        char path[PATH_MAX];
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
            continue;
        int n = snprintf(path, sizeof(path), "%s/%s", folder, d->d_name);
        int fd = *before && n < (int)sizeof(path) ? rootfs_open(before, path, O_PATH) : -1;
        if (fd >= 0) {
            close(fd);
            continue;
        }
        seen_entry(folder, d);
        each(arg, d->d_name);
    }
}

bool rootfs_each(const char *root, const char *folder, void (*each)(void *arg, const char *name),
                 void *arg)
{
    char one[PATH_MAX] = "";
    struct str before = {0};
    bool there = false, live = !root || !*root;
    while (live || next_folder(&root, one, sizeof(one))) {
        int fd = rootfs_open(one, folder, O_RDONLY | O_DIRECTORY);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        if (dir && !there)
            seen(ROOTFS_FOLDER, folder, NULL, 0);
        if (dir)
            each_entry(dir, str_text(&before), folder, each, arg);
        else if (fd >= 0)
            close(fd);
        if (dir)
            closedir(dir);
        there |= dir != NULL;
        str_addf(&before, "%s\n", one);
        if (live)
            break;
    }
    str_clear(&before);
    return there;
}

/* The line of .gpufeed/statfs that is about this path. */
static bool listed_size(const char *root, const char *path, struct rootfs_size *ret)
{
    struct str text = {0};
    size_t n = strlen(path);
    bool found = false;
    if (rootfs_read(root, ROOTFS_OWN "/statfs", &text, NULL))
        str_reset(&text);
    for (const char *p = str_text(&text); *p && !found; p += strcspn(p, "\n"), p += *p == '\n') {
        struct rootfs_size s = {NAN, NAN, NAN, NAN};
        if (strncmp(p, path, n) || p[n] != ' ')
            continue;
        found =
            sscanf(p + n, "%lf %lf %lf %lf", &s.bytes, &s.free_bytes, &s.files, &s.free_files) >= 2;
        if (found)
            *ret = s;
    }
    str_clear(&text);
    return found;
}

static void seen_size(const char *path, const struct rootfs_size *s)
{
    char line[128];
    int n = snprintf(line, sizeof(line), isnan(s->files) ? "%.0f %.0f" : "%.0f %.0f %.0f %.0f",
                     s->bytes, s->free_bytes, s->files, s->free_files);
    seen(ROOTFS_SIZE, path, line, (size_t)n);
}

bool rootfs_size(const char *root, const char *path, struct rootfs_size *ret)
{
    struct statvfs v;
    if (root && *root) {
        if (!listed_size(root, path, ret))
            return false;
        seen_size(path, ret);
        return true;
    }
    if (statvfs(path, &v))
        return false;
    *ret = (struct rootfs_size){
        (double)v.f_blocks * (double)v.f_frsize, (double)v.f_bavail * (double)v.f_frsize,
        v.f_files ? (double)v.f_files : NAN, v.f_files ? (double)v.f_favail : NAN};
    seen_size(path, ret);
    return true;
}
