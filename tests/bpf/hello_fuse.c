/* SPDX-License-Identifier: MIT */
/*
 * hello_fuse MOUNTPOINT: a file system with one file, "hello", whose every read
 * takes 40 ms of sleep in the daemon, once the reader sleeps too. Runs in the foreground until it is killed or unmounted.
 */
#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fuse.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "asleep.h"

#define FILE_BYTES 65536
#define READ_NS 40000000L

static int hello_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
    memset(st, 0, sizeof(*st));
    if (strcmp(path, "/") == 0) {
        st->st_mode = S_IFDIR | 0755;
        st->st_nlink = 2;
        return 0;
    }
    if (strcmp(path, "/hello") != 0)
        return -ENOENT;
    st->st_mode = S_IFREG | 0444;
    st->st_nlink = 1;
    st->st_size = FILE_BYTES;
    return 0;
}

static int hello_open(const char *path, struct fuse_file_info *fi)
{
    fi->direct_io = 1;
    return strcmp(path, "/hello") == 0 ? 0 : -ENOENT;
}

static int hello_read(const char *path, char *buf, size_t size, off_t offset,
                      struct fuse_file_info *fi)
{
    struct timespec pause = {0, READ_NS};
    await_asleep(fuse_get_context()->pid);
    nanosleep(&pause, NULL);
    memset(buf, 'h', size);
    return (int)size;
}

static const struct fuse_operations operations = {
    .getattr = hello_getattr,
    .open = hello_open,
    .read = hello_read,
};

int main(int argc, char **argv)
{
    char foreground[] = "-f", one_thread[] = "-s", type[] = "-osubtype=hello_fuse";
    char *args[] = {argv[0], argv[1], foreground, one_thread, type, NULL};
    return argc == 2 ? fuse_main(5, args, &operations, NULL) : 2;
}
