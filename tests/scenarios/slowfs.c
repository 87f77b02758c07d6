/* SPDX-License-Identifier: MIT */
/*
 * slowfs: a read-only FUSE view of a folder whose reads are as slow as asked.
 *
 *   slowfs --root DIR [--delay-us N] [--bandwidth BYTES/S] [--open-delay-us N] MOUNTPOINT
 *
 * Each read request sleeps --delay-us (requests overlap, as with a distant
 * server) and then shares a line of --bandwidth with all others. Files are
 * opened for direct I/O, so every read() of the job is a request and nothing is
 * cached. Runs in the foreground; SIGTERM unmounts.
 */
#define FUSE_USE_VERSION 31
#include <fuse.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define US_NS INT64_C(1000)
#define S_NS INT64_C(1000000000)

struct slowfs {
    int root;
    int64_t delay_ns, open_delay_ns;
    int64_t bandwidth; /* bytes a second, 0 unlimited */
    pthread_mutex_t lock;
    int64_t line_free_ns; /* when the shared line has sent all that was promised */
};

static struct slowfs *self(void)
{
    return fuse_get_context()->private_data;
}

/* "/a/b" as openat and friends of the root want it. */
static const char *relative(const char *path)
{
    return path[1] ? path + 1 : ".";
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * S_NS + t.tv_nsec;
}

static void sleep_until(int64_t ns)
{
    struct timespec t = {ns / S_NS, ns % S_NS};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

static int64_t line_until(struct slowfs *fs, int64_t from, size_t bytes)
{
    if (fs->bandwidth <= 0)
        return from;
    pthread_mutex_lock(&fs->lock);
    if (fs->line_free_ns < from)
        fs->line_free_ns = from;
    fs->line_free_ns += (int64_t)((double)bytes / (double)fs->bandwidth * (double)S_NS);
    int64_t until = fs->line_free_ns;
    pthread_mutex_unlock(&fs->lock);
    return until;
}

static int slow_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
    int rc = fi ? fstat((int)fi->fh, st)
                : fstatat(self()->root, relative(path), st, AT_SYMLINK_NOFOLLOW);
    return rc ? -errno : 0;
}

static int slow_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t off,
                        struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
    (void)off, (void)fi, (void)flags;
    int fd = openat(self()->root, relative(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return -errno;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (fill(buf, e->d_name, NULL, 0, 0))
            break;
    closedir(dir);
    return 0;
}

static int slow_open(const char *path, struct fuse_file_info *fi)
{
    if ((fi->flags & O_ACCMODE) != O_RDONLY)
        return -EROFS;
    int64_t came = now_ns();
    int fd = openat(self()->root, relative(path), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (self()->open_delay_ns > 0)
        sleep_until(came + self()->open_delay_ns);
    fi->fh = (uint64_t)fd;
    fi->direct_io = 1;
    return 0;
}

static int slow_read(const char *path, char *buf, size_t n, off_t off, struct fuse_file_info *fi)
{
    (void)path;
    struct slowfs *fs = self();
    int64_t came = now_ns();
    ssize_t got = pread((int)fi->fh, buf, n, off);
    if (got < 0)
        return -errno;
    int64_t until = line_until(fs, came + fs->delay_ns, (size_t)got);
    if (got > 0 && until > came)
        sleep_until(until);
    return (int)got;
}

static int slow_release(const char *path, struct fuse_file_info *fi)
{
    (void)path;
    close((int)fi->fh);
    return 0;
}

static const struct fuse_operations operations = {
    .getattr = slow_getattr,
    .readdir = slow_readdir,
    .open = slow_open,
    .read = slow_read,
    .release = slow_release,
};

static int usage(void)
{
    fputs("usage: slowfs --root DIR [--delay-us N] [--bandwidth BYTES/S] [--open-delay-us N] "
          "MOUNTPOINT\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct slowfs fs = {.root = -1, .lock = PTHREAD_MUTEX_INITIALIZER};
    int i = 1;
    for (; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--root"))
            fs.root = open(argv[i + 1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        else if (!strcmp(argv[i], "--delay-us"))
            fs.delay_ns = atoll(argv[i + 1]) * US_NS;
        else if (!strcmp(argv[i], "--open-delay-us"))
            fs.open_delay_ns = atoll(argv[i + 1]) * US_NS;
        else if (!strcmp(argv[i], "--bandwidth"))
            fs.bandwidth = atoll(argv[i + 1]);
        else
            return usage();
    }
    if (fs.root < 0 || i != argc - 1)
        return usage();
    char options[] = "ro,allow_other,fsname=slowfs,subtype=slowfs";
    char foreground[] = "-f", with[] = "-o";
    char *fuse_argv[] = {argv[0], foreground, with, options, argv[i], NULL};
    return fuse_main(5, fuse_argv, &operations, &fs);
}
