/* SPDX-License-Identifier: MIT */
#include "sense/cgroup.h"

#include "base/rootfs.h"
#include "base/str.h"
#include "sense/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNLIMITED (UINT64_MAX / 4) /* version 1 writes "no limit" as a page-rounded maximum */

/* Does the comma-separated list hold the word? */
static bool list_has(const char *list, size_t len, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= len; i++)
        if ((!i || list[i - 1] == ',') && !memcmp(list + i, word, n) &&
            (i + n == len || list[i + n] == ','))
            return true;
    return false;
}

/* One line of /proc/PID/cgroup, "4:cpu,cpuacct:/a/b" or "0::/a/b". */
struct line {
    const char *controllers, *path;
    size_t controllers_len, path_len;
};

static bool split(const char *text, size_t len, struct line *ret)
{
    const char *a = memchr(text, ':', len);
    const char *b = a ? memchr(a + 1, ':', len - (size_t)(a + 1 - text)) : NULL;
    if (!b || b[1] != '/' || memmem(b, len - (size_t)(b - text), "/..", 3))
        return false;
    *ret = (struct line){a + 1, b + 1, (size_t)(b - a - 1), len - (size_t)(b + 1 - text)};
    return true;
}

static bool place(const char *root, const char *mount, const struct line *l, bool v2,
                  struct cgroup_dir *ret)
{
    int n = snprintf(ret->path, sizeof(ret->path), "%s%.*s", mount,
                     l->path_len > 1 ? (int)l->path_len : 0, l->path);
    if (n < 0 || (size_t)n >= sizeof(ret->path))
        return false;
    ret->base = (unsigned)strlen(mount);
    ret->v2 = v2;
    if (!rootfs_exists(root, ret->path))
        ret->path[ret->base] = '\0'; /* in a container the host's path may not exist */
    return rootfs_exists(root, ret->path);
}

static bool place_v1(const char *root, const char *controller, const struct line *l,
                     struct cgroup_dir *ret)
{
    char mount[128];
    snprintf(mount, sizeof(mount), "/sys/fs/cgroup/%.*s", (int)l->controllers_len, l->controllers);
    if (!rootfs_exists(root, mount))
        snprintf(mount, sizeof(mount), "/sys/fs/cgroup/%s", controller);
    return place(root, mount, l, false, ret);
}

static bool place_v2(const char *root, const char *controller, const struct line *l,
                     struct cgroup_dir *ret)
{
    char list[256];
    bool plain = rootfs_exists(root, "/sys/fs/cgroup/cgroup.controllers");
    const char *mount = plain ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified";
    char file[160];
    snprintf(file, sizeof(file), "%s/cgroup.controllers", mount);
    if (!rootfs_line(root, file, list, sizeof(list)))
        return false;
    for (char *p = list; *p; p++)
        if (*p == ' ')
            *p = ',';
    return list_has(list, strlen(list), controller) && place(root, mount, l, true, ret);
}

bool cgroup_find(const char *root, uint32_t pid, const char *controller, struct cgroup_dir *ret)
{
    char path[64];
    struct str text = {0};
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
    if (!rootfs_read(root, path, &text, NULL)) {
        const char *p = str_text(&text), *line;
        size_t len;
        struct line l;
        while (!found && text_line(&p, &line, &len)) {
            if (!split(line, len, &l))
                continue;
            if (l.controllers_len == 0)
                found = place_v2(root, controller, &l, ret);
            else if (list_has(l.controllers, l.controllers_len, controller))
                found = place_v1(root, controller, &l, ret);
        }
    }
    str_clear(&text);
    return found;
}

bool cgroup_up(struct cgroup_dir *d)
{
    char *slash = strrchr(d->path + d->base, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* Reads file `name` of the folder; the first line. */
static bool read_line(const char *root, const struct cgroup_dir *d, const char *name, char *buf,
                      size_t size)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", d->path, name);
    return rootfs_line(root, path, buf, size);
}

bool cgroup_limit(const char *root, const struct cgroup_dir *d, const char *name, uint64_t *ret)
{
    struct cgroup_dir at = *d;
    uint64_t least = UINT64_MAX;
    do {
        char buf[64], *end;
        if (!read_line(root, &at, name, buf, sizeof(buf)))
            continue;
        unsigned long long v = strtoull(buf, &end, 10);
        if (end != buf && buf[0] != '-' && v < UNLIMITED && v < least)
            least = v;
    } while (cgroup_up(&at));
    if (least == UINT64_MAX)
        return false;
    *ret = least;
    return true;
}

/* Quota and period of one group, in any unit; false: none. */
static bool quota_of(const char *root, const struct cgroup_dir *d, double *ret)
{
    char buf[64], period[64];
    double quota, per;
    if (d->v2) {
        if (!read_line(root, d, "cpu.max", buf, sizeof(buf)) ||
            sscanf(buf, "%lf %lf", &quota, &per) != 2)
            return false;
    } else {
        if (!read_line(root, d, "cpu.cfs_quota_us", buf, sizeof(buf)) ||
            !read_line(root, d, "cpu.cfs_period_us", period, sizeof(period)) ||
            sscanf(buf, "%lf", &quota) != 1 || sscanf(period, "%lf", &per) != 1)
            return false;
    }
    if (!(quota > 0) || !(per > 0))
        return false;
    *ret = quota / per;
    return true;
}

bool cgroup_quota(const char *root, const struct cgroup_dir *d, double *ret)
{
    struct cgroup_dir at = *d;
    bool found = false;
    do {
        double cores;
        if (quota_of(root, &at, &cores) && (!found || cores < *ret)) {
            *ret = cores;
            found = true;
        }
    } while (cgroup_up(&at));
    return found;
}
