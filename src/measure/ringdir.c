/* SPDX-License-Identifier: MIT */
#include "measure/ringdir.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/str.h"
#include "base/unit.h"
#include "probe/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define PROBE "libgpufeed-probe.so"
#define ROOM (32 * MIB)
#define LEFT_S 3600 /* a folder this old without a lock file was left behind */
/* Everybody may put a file into it, nobody list it or touch another's file. */
#define SHARED_MODE 01733

/* Containers have a /dev/shm of 64 MiB, or less; each process of the job wants 4 MiB. */
static bool roomy(const char *dir)
{
    struct statvfs fs;
    return statvfs(dir, &fs) == 0 && (double)fs.f_bavail * (double)fs.f_frsize >= (double)ROOM;
}

/* Ours, and whoever read it has gone. A folder without its lock file may be about to get one. */
static bool is_left_behind(int folder)
{
    struct stat st;
    if (fstat(folder, &st) || st.st_uid != geteuid() ||
        ((st.st_mode & 07777) != 0700 && (st.st_mode & 07777) != SHARED_MODE))
        return false;
    int lock = openat(folder, RING_LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0)
        return errno == ENOENT && time(NULL) - st.st_mtime > LEFT_S;
    bool left = flock(lock, LOCK_EX | LOCK_NB) == 0;
    close(lock);
    return left;
}

static void sweep_one(void *arg, const char *name)
{
    const char *base = arg;
    char path[PATH_MAX];
    if (strncmp(name, "gpufeed-", 8) || strlen(name) != strlen("gpufeed-XXXXXX"))
        return;
    snprintf(path, sizeof(path), "%s/%s", base, name);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (is_left_behind(fd))
        ringdir_remove(path);
    close(fd);
}

/* Held until we end, in whatever way; -1: there is none, and nobody will miss it. */
static int lock_dir(const char *dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/" RING_LOCK, dir);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    fchmod(fd, 0644); /* whatever the umask is */
    flock(fd, LOCK_SH | LOCK_NB);
    return fd;
}

int ringdir_make(char *buf, size_t size, int *ret_lock, struct error *e)
{
    const char *tmp = getenv("TMPDIR");
    const char *const base[] = {"/dev/shm", tmp && tmp[0] == '/' ? tmp : "/tmp", "/tmp"};
    const size_t bases = sizeof(base) / sizeof(base[0]);
    for (size_t i = 0; i < 2 * bases; i++) { /* in a second round a small one will do */
        if (i < bases && !roomy(base[i]))
            continue;
        int n = snprintf(buf, size, "%s/gpufeed-XXXXXX", base[i % bases]);
        if (n > 0 && (size_t)n < size && mkdtemp(buf)) {
            *ret_lock = lock_dir(buf);
            if (geteuid() == 0) /* the job may change its user: sudo -u, setpriv, su */
                chmod(buf, SHARED_MODE);
            rootfs_each(NULL, base[i % bases], sweep_one, (void *)base[i % bases]);
            return STATUS_OK;
        }
    }
    int rc = error_errno(e, "cannot make a folder for the probe in /dev/shm or /tmp");
    buf[0] = '\0';
    return rc;
}

struct removing {
    const char *dir;
};

static void remove_one(void *arg, const char *name)
{
    const struct removing *r = arg;
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", r->dir, name);
    if (n > 0 && (size_t)n < sizeof(path))
        unlink(path);
}

void ringdir_remove(const char *dir)
{
    struct removing r = {dir};
    if (!dir[0])
        return;
    rootfs_each(NULL, dir, remove_one, &r);
    rmdir(dir);
}

static char *joined(const char *a, const char *b, const char *c)
{
    struct str s = {0};
    str_add(&s, a);
    str_add(&s, b);
    str_add(&s, c);
    if (!s.failed)
        return s.data;
    str_clear(&s);
    return NULL;
}

char *ringdir_env(const char *dir)
{
    return joined(RING_DIR_ENV "=", dir, "");
}

bool ringdir_beside(char *buf, size_t size, const char *const *names)
{
    char self[PATH_MAX], try[PATH_MAX * 2];
    if (!rootfs_link(NULL, "/proc/self/exe", self, sizeof(self)))
        return false;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (; *names; names++) {
        snprintf(try, sizeof(try), "%s/%s", self, *names);
        char *real = realpath(try, NULL);
        bool fits = real && str_copy(buf, size, real);
        free(real);
        if (fits)
            return true;
    }
    return false;
}

bool ringdir_sim(char *buf, size_t size)
{
    static const char *const names[] = {"sim", "../lib/gpufeed/sim", NULL};
    return ringdir_beside(buf, size, names);
}

bool ringdir_is_probe(const char *path)
{
    const char *last = strrchr(path, '/');
    return last && !strcmp(last + 1, PROBE);
}

char *ringdir_probe_env(void)
{
    static const char *const names[] = {"src/probe/" PROBE, "../lib/gpufeed/" PROBE, PROBE, NULL};
    char path[PATH_MAX];
    if (!ringdir_beside(path, sizeof(path), names))
        return mem_strdup("GPUFEED_PROBE=missing");
    return joined("CUDA_INJECTION64_PATH=", path, "");
}

char *ringdir_sim_env(const char *prefix, const char *dir, bool before)
{
    char name[64];
    str_copy(name, sizeof(name), prefix);
    name[strcspn(name, "=")] = '\0';
    const char *old = before ? getenv(name) : NULL;
    char *first = joined(prefix, dir, "");
    if (!first || !old || !*old)
        return first;
    char *both = joined(first, ":", old);
    free(first);
    return both;
}
