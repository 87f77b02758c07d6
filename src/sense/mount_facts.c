/* SPDX-License-Identifier: MIT */
/*
 * mount_facts: the file systems that the job can read data from, with their type, server
 * and the options that decide how fast they are. Kernel pseudo file systems are left out.
 *
 * Sizes are asked of local ones alone: a file server that hangs would hold us too.
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/redact.h"
#include "base/rootfs.h"
#include "base/str.h"
#include "base/unit.h"
#include "sense/fs_name.h"
#include "sense/fuse_daemon.h"
#include "sense/mount_size.h"
#include "sense/mounts.h"
#include "sense/out.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOUNTS_MAX 256 /* facts of so many; containers' hosts have thousands */

static const char *const pseudo[] = {
    "proc",       "sysfs",       "devtmpfs", "devpts",   "cgroup",    "cgroup2",
    "pstore",     "bpf",         "debugfs",  "tracefs",  "mqueue",    "hugetlbfs",
    "securityfs", "configfs",    "fusectl",  "autofs",   "nsfs",      "efivarfs",
    "rpc_pipefs", "binfmt_misc", "ramfs",    "squashfs", "selinuxfs",
};

/* Options with a number that a rule may ask for. */
static const char *const numbers[] = {"rsize", "wsize", "nconnect", "actimeo", "max_read"};

struct mount_source {
    struct source_opts o;
    struct mounts mounts;
};

static bool of_interest(const struct mount *m)
{
    for (size_t i = 0; i < sizeof(pseudo) / sizeof(pseudo[0]); i++)
        if (!strcmp(m->fstype, pseudo[i]))
            return false;
    return strcmp(m->fstype, "tmpfs") || !strcmp(m->point, "/dev/shm") || !strcmp(m->point, "/tmp");
}

/* The job may have its own mount namespace; once it is gone the last table stands. */
static void look(void *self, int64_t now)
{
    struct mount_source *s = self;
    struct mounts fresh = {0};
    if (!mounts_read(&fresh, s->o.root, s->o.pid, NULL) && fresh.count) {
        mounts_clear(&s->mounts);
        s->mounts = fresh;
    } else {
        mounts_clear(&fresh);
    }
}

static void stop(void *self)
{
    struct mount_source *s = self;
    if (s)
        mounts_clear(&s->mounts);
    free(s);
}

static int start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    struct mount_source *s = mem_zalloc(sizeof(*s));
    if (!s)
        return error_set(e, STATUS_MEMORY, "out of memory for the mounts");
    s->o = *o;
    look(s, now);
    if (!s->mounts.count) {
        int rc = mounts_read(&s->mounts, o->root, 0, e);
        if (rc || !s->mounts.count) {
            stop(s);
            return rc ? rc : error_set(e, STATUS_MISSING, "\"/proc/self/mountinfo\" lists nothing");
        }
    }
    *ret = s;
    return STATUS_OK;
}

static void option_facts(const struct mount *m, struct out *o)
{
    struct str clean = {0};
    redact_add(&clean, m->options ? m->options : "");
    out_text(o, "options", str_text(&clean));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char key[32];
        double v;
        int n = snprintf(key, sizeof(key), "%s=", numbers[i]);
        for (const char *p = str_text(&clean); (p = strstr(p, key)); p += n)
            if ((p == clean.data || p[-1] == ',') && sscanf(p + n, "%lf", &v) == 1)
                out_number(o, numbers[i], v, "");
    }
    str_clear(&clean);
}

/* Bytes that the kernel reads ahead of a sequential reader. */
static void read_ahead_fact(const struct mount_source *s, const struct mount *m, struct out *o)
{
    char path[96];
    int64_t kib;
    snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", m->dev >> 20,
             m->dev & 0xfffff);
    o->source = "/sys/class/bdi";
    if (rootfs_int(s->o.root, path, &kib) && kib >= 0) {
        out_number(o, "read_ahead", (double)kib * (double)KIB, "bytes");
        snprintf(path, sizeof(path), "%u:%u", m->dev >> 20, m->dev & 0xfffff);
        out_text(o, "device", path);
    }
}

static void size_facts(const struct mount_source *s, const struct mount *m, struct out *o)
{
    struct rootfs_size v;
    o->source = "statvfs";
    if (!mount_size(&s->o, m->point, &v))
        return;
    out_number(o, "size", v.bytes, "bytes");
    out_number(o, "free", v.free_bytes, "bytes");
    out_number(o, "files", v.files, "count");
    out_number(o, "files_free", v.free_files, "count");
}

static void mount_facts(const struct mount_source *s, const struct mount *m, struct out *o)
{
    struct str name = {0}, from = {0}, daemon = {0};
    bool remote = fs_type_remote(m->fstype);
    o->subject = m->point;
    o->source = "/proc/PID/mountinfo";
    fs_name_add(&name, s->o.root, m, &remote);
    redact_add(&from, m->source ? m->source : "");
    out_text(o, "fstype", m->fstype);
    out_text(o, "source", str_text(&from));
    out_text(o, "resource", str_text(&name));
    out_number(o, "remote", remote, "1");
    if (s->o.survey && fuse_daemon_add(&daemon, &s->o, m->fstype, m->point))
        out_text(o, "daemon", str_text(&daemon));
    str_clear(&daemon);
    out_text(o, "flags", m->flags);
    option_facts(m, o);
    read_ahead_fact(s, m, o);
    if (!remote)
        size_facts(s, m, o);
    str_clear(&name);
    str_clear(&from);
}

static int facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct mount_source *s = self;
    struct out o = {.fn = fn, .arg = arg, .kind = "mount"};
    size_t sent = 0;
    look(s, now);
    for (size_t i = 0; i < s->mounts.count && sent < MOUNTS_MAX && !o.rc; i++) {
        const struct mount *m = &s->mounts.list[i];
        if (!of_interest(m) || mounts_by_path(&s->mounts, m->point) != m)
            continue; /* another one lies over it */
        mount_facts(s, m, &o);
        sent++;
    }
    return o.rc;
}

const struct source source_mounts = {
    "mounts", "file systems: type, server, options", start, look, facts, stop,
};
