/* SPDX-License-Identifier: MIT */
#include "sense/fuse_daemon.h"

#include "base/redact.h"
#include "base/rootfs.h"
#include "base/unit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Types of mounts, and the programs that serve them as /proc/PID/comm shows them. */
static const struct {
    const char *fstype, *comm;
} daemons[] = {
    {"fuse.s3fs", "s3fs"},         {"fuse.rclone", "rclone"}, {"fuse.mountpoint-s3", "mount-s3"},
    {"fuse.gcsfuse", "gcsfuse"},   {"fuse.goofys", "goofys"}, {"fuse.blobfuse2", "blobfuse2"},
    {"fuse.blobfuse", "blobfuse"}, {"fuse.sshfs", "sshfs"},   {"fuse.geesefs", "geesefs"},
};

struct search {
    const struct source_opts *o;
    const char *comm, *point;
    struct str *out;
    bool found;
};

/* Is the mount point among the words? A '/' may follow it. */
static bool names_point(const struct str *text, const char *point)
{
    size_t n = strlen(point);
    for (size_t i = 0; i < text->len; i += strlen(text->data + i) + 1) {
        const char *word = text->data + i;
        if (!strncmp(word, point, n) && (!word[n] || (word[n] == '/' && !word[n + 1])))
            return true;
    }
    return false;
}

static void see(void *arg, const char *name)
{
    struct search *s = arg;
    char path[64], comm[32];
    struct str text = {0};
    if (s->found || !isdigit((unsigned char)name[0]))
        return;
    snprintf(path, sizeof(path), "/proc/%.20s/comm", name);
    if (!rootfs_line(s->o->root, path, comm, sizeof(comm)) || strcmp(comm, s->comm))
        return;
    snprintf(path, sizeof(path), "/proc/%.20s/cmdline", name);
    if (rootfs_bytes(s->o->root, path, 64 * KIB, &text)) {
        bool dump = s->o->root && *s->o->root && !memchr(text.data, '\0', text.len);
        s->found = dump ? strstr(text.data, s->point) != NULL : names_point(&text, s->point);
        if (s->found)
            redact_add_cmdline(s->out, text.data, text.len);
    }
    str_clear(&text);
}

bool fuse_daemon_add(struct str *out, const struct source_opts *o, const char *fstype,
                     const char *point)
{
    for (size_t i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++) {
        struct search s = {o, daemons[i].comm, point, out, false};
        if (strcmp(daemons[i].fstype, fstype))
            continue;
        rootfs_each(o->root, "/proc", see, &s);
        return s.found;
    }
    return false;
}
