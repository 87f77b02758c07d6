/* SPDX-License-Identifier: MIT */
#include "measure/ringdir.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/str.h"
#include "probe/ring.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ringdir_make(char *buf, size_t size, struct error *e)
{
    const char *tmp = getenv("TMPDIR");
    const char *const base[] = {"/dev/shm", tmp && tmp[0] == '/' ? tmp : "/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof(base) / sizeof(base[0]); i++) {
        int n = snprintf(buf, size, "%s/gpufeed-XXXXXX", base[i]);
        if (n > 0 && (size_t)n < size && mkdtemp(buf))
            return STATUS_OK;
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

char *ringdir_probe_env(void)
{
    static const char *const names[] = {"src/probe/libgpufeed-probe.so",
                                        "../lib/gpufeed/libgpufeed-probe.so",
                                        "libgpufeed-probe.so", NULL};
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
