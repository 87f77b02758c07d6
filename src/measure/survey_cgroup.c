/* SPDX-License-Identifier: MIT */
#include "measure/survey.h"

#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/procfs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 6 /* groups within the group */

struct search {
    const char *root;
    char path[PATH_MAX];
    unsigned depth;
    uint32_t pid; /* that has run longest so far; 0 none */
    uint64_t start;
};

static void see_process(struct search *s, unsigned long pid)
{
    char path[64];
    struct str text = {0};
    struct procfs_stat st;
    snprintf(path, sizeof(path), "/proc/%lu/stat", pid);
    if (pid && pid <= INT32_MAX && rootfs_bytes(s->root, path, 4 * KIB, &text) &&
        procfs_parse_stat(str_text(&text), &st) && (!s->pid || st.start_ticks < s->start)) {
        s->pid = (uint32_t)pid;
        s->start = st.start_ticks;
    }
    str_clear(&text);
}

static void see_group(struct search *s);

static void see_entry(void *arg, const char *name)
{
    struct search *s = arg;
    size_t n = strlen(s->path), more = strlen(name) + 1;
    if (strchr(name, '.') && !strstr(name, ".slice") && !strstr(name, ".scope") &&
        !strstr(name, ".service"))
        return; /* "cpu.max": a file */
    if (s->depth >= DEPTH_MAX || n + more >= sizeof(s->path))
        return;
    s->path[n] = '/';
    memcpy(s->path + n + 1, name, more);
    see_group(s);
    s->path[n] = '\0';
}

static void see_group(struct search *s)
{
    char file[PATH_MAX + 32];
    struct str text = {0};
    snprintf(file, sizeof(file), "%s/cgroup.procs", s->path);
    if (rootfs_bytes(s->root, file, MIB, &text))
        for (char *p = text.data, *end; *p; p = end) {
            see_process(s, strtoul(p, &end, 10));
            if (end == p)
                break;
        }
    str_clear(&text);
    s->depth++;
    rootfs_each(s->root, s->path, see_entry, s);
    s->depth--;
}

/* Where the hierarchies of version 2 and 1 that list a job's processes are mounted. */
static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified",
                                     "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory"};

int survey_cgroup(const char *root, const char *name, uint32_t *ret_pid, struct error *e)
{
    struct search s = {.root = root};
    bool full = !strncmp(name, "/sys/fs/cgroup/", 15), there = false;
    if (strstr(name, ".."))
        return error_set(e, STATUS_INPUT, "\"%s\" is no control group", name);
    while (!full && *name == '/')
        name++;
    for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]) && !s.pid; i++) {
        int n = full ? snprintf(s.path, sizeof(s.path), "%s", name)
                     : snprintf(s.path, sizeof(s.path), "%s/%s", mounts[i], name);
        if (n <= 0 || (size_t)n >= sizeof(s.path) || !rootfs_exists(root, s.path))
            continue;
        there = true;
        see_group(&s);
    }
    if (!s.pid)
        return error_set(e, STATUS_MISSING,
                         there ? "no process is seen in the control group \"%s\""
                               : "there is no control group \"%s\" below /sys/fs/cgroup",
                         name);
    *ret_pid = s.pid;
    return STATUS_OK;
}
