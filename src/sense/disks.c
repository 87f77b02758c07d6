/* SPDX-License-Identifier: MIT */
/*
 * disks: whole block devices, what they are, where they are mounted, how busy they were.
 *
 * A disk is `local` when it is NVMe and sits in this machine: clouds also show network
 * volumes as NVMe, and only the model tells them apart. `in_use` says whether anything
 * mounts it, or a part of it, or builds upon it (disk_use.h). Source of the columns:
 * Documentation/admin-guide/iostats.rst.
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/disk_use.h"
#include "sense/out.h"
#include "sense/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR 512.0
#define DISK_NAME 48

/* Network volumes that present themselves as NVMe, by a part of their model. */
static const char *const remote_models[] = {
    "MSFT NVMe Accelerator", /* Azure managed disk */
    "Amazon Elastic Block Store",
    "nvme_card-pd", /* Google persistent disk */
    "PersistentDisk",
    "Alibaba Cloud Elastic Block",
};

static const char *const pseudo_names[] = {"loop", "ram", "zram", "sr", "fd", "nbd"};

enum column {
    READS,
    READ_SECTORS,
    READ_MS,
    WRITES,
    WRITE_SECTORS,
    WRITE_MS,
    BUSY_MS,
    QUEUE_MS,
    COLUMNS
};
/* Words of a diskstats line after the name. */
static const unsigned char column_word[COLUMNS] = {0, 2, 3, 4, 6, 7, 9, 10};

struct disk {
    char name[DISK_NAME];
    double first[COLUMNS];
};

struct disks {
    const char *root;
    bool guest; /* a hypervisor is below */
    int64_t t0;
    struct disk *disks; /* owned */
    size_t count, cap;
    bool failed;
};

static bool read_number(const struct disks *d, const char *disk, const char *file, double *ret)
{
    char path[256];
    int64_t v;
    snprintf(path, sizeof(path), "/sys/block/%s/%s", disk, file);
    if (!rootfs_int(d->root, path, &v))
        return false;
    *ret = (double)v;
    return true;
}

static bool read_text(const struct disks *d, const char *disk, const char *file, char *buf,
                      size_t size)
{
    char path[256];
    snprintf(path, sizeof(path), "/sys/block/%s/%s", disk, file);
    if (!rootfs_line(d->root, path, buf, size))
        return false;
    size_t n = strlen(buf);
    while (n && isspace((unsigned char)buf[n - 1]))
        buf[--n] = '\0';
    return n > 0;
}

static bool pseudo(const char *name)
{
    for (size_t i = 0; i < sizeof(pseudo_names) / sizeof(pseudo_names[0]); i++) {
        size_t n = strlen(pseudo_names[i]);
        if (!strncmp(name, pseudo_names[i], n) && isdigit((unsigned char)name[n]))
            return true;
    }
    return false;
}

/* The counters of a disk or partition out of the text of /proc/diskstats. */
static void find_counters(const char *text, const char *name, double v[COLUMNS])
{
    const char *line;
    size_t len;
    for (int i = 0; i < COLUMNS; i++)
        v[i] = NAN;
    while (text_line(&text, &line, &len)) {
        char word[DISK_NAME];
        const char *p = line;
        bool ok = text_word(&p, word, sizeof(word)) && text_word(&p, word, sizeof(word)) &&
                  text_word(&p, word, sizeof(word)) && !strcmp(word, name);
        for (unsigned w = 0, c = 0; ok && c < COLUMNS && text_word(&p, word, sizeof(word)); w++)
            if (w == column_word[c])
                v[c++] = strtod(word, NULL);
        if (ok)
            return;
    }
}

static void add_disk(void *arg, const char *name)
{
    struct disks *d = arg;
    double sectors, hidden; /* hidden: one path of several to a disk */
    if (strlen(name) >= DISK_NAME || pseudo(name) || !read_number(d, name, "size", &sectors) ||
        !(sectors > 0) || (read_number(d, name, "hidden", &hidden) && hidden > 0))
        return;
    if (!mem_grow((void **)&d->disks, &d->cap, d->count + 1, sizeof(*d->disks))) {
        d->failed = true;
        return;
    }
    struct disk *disk = &d->disks[d->count++];
    memset(disk, 0, sizeof(*disk));
    str_copy(disk->name, sizeof(disk->name), name);
}

static void disks_stop(void *self)
{
    struct disks *d = self;
    if (d)
        free(d->disks);
    free(d);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct disk *)a)->name, ((const struct disk *)b)->name);
}

static int disks_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    struct disks *d = mem_zalloc(sizeof(*d));
    struct str text = {0};
    if (!d)
        return error_set(e, STATUS_MEMORY, "out of memory for the disks");
    d->root = o->root;
    d->t0 = now;
    if (!rootfs_bytes(o->root, "/proc/cpuinfo", 64 * KIB, &text))
        str_reset(&text);
    d->guest = strstr(str_text(&text), " hypervisor") != NULL;
    bool there = rootfs_each(o->root, "/sys/block", add_disk, d);
    if (!there || d->failed) {
        bool failed = d->failed;
        str_clear(&text);
        disks_stop(d);
        return failed ? error_set(e, STATUS_MEMORY, "out of memory for the disks")
                      : error_set(e, STATUS_MISSING, "\"/sys/block\" is absent: is /sys mounted?");
    }
    if (d->count)
        qsort(d->disks, d->count, sizeof(*d->disks), by_name);
    rootfs_read(o->root, "/proc/diskstats", &text, NULL);
    for (size_t i = 0; i < d->count; i++)
        find_counters(str_text(&text), d->disks[i].name, d->disks[i].first);
    str_clear(&text);
    *ret = d;
    return STATUS_OK;
}

static void use_facts(const struct disks *d, const struct disk_uses *uses, struct out *o,
                      const char *disk)
{
    struct rootfs_size v;
    struct disk_use u;
    disk_use_of(uses, disk, &u);
    bool mounted = u.where.len > 0;
    o->source = "/proc/self/mountinfo";
    out_text(o, "mounted_at", str_text(&u.where));
    if (!uses->no_mounts)
        out_number(o, "mounted", mounted, "1");
    if (mounted || u.held || !u.unsure)
        out_number(o, "in_use", mounted || u.held, "1");
    if (u.first[0] && rootfs_size(d->root, u.first, &v)) {
        o->source = "statvfs";
        out_number(o, "free", v.free_bytes, "bytes");
    }
    str_clear(&u.where);
}

/* A file of the disk's controller, and as a link its device. With several paths to a disk (nvme_core.multipath) the
 * disk hangs at a subsystem, and its controllers are folders of that: the first counts. */
struct controller {
    const struct disks *d;
    const char *disk;
    char path[300]; /* "" none found */
};

static void see_controller(void *arg, const char *name)
{
    struct controller *c = arg;
    char path[300];
    if (c->path[0] || strncmp(name, "nvme", 4) || !isdigit((unsigned char)name[4]) ||
        name[4 + strspn(name + 4, "0123456789")] ||
        snprintf(path, sizeof(path), "/sys/block/%s/device/%s", c->disk, name) >= (int)sizeof(path))
        return;
    str_copy(c->path, sizeof(c->path), path);
}

static void find_controller(struct controller *c)
{
    char path[160];
    snprintf(path, sizeof(path), "/sys/block/%s/device", c->disk);
    rootfs_each(c->d->root, path, see_controller, c);
    if (!c->path[0])
        str_copy(c->path, sizeof(c->path), path);
}

/* Where the disk hangs in the PCIe tree, and how a RAID of the kernel is doing (md(4)). */
static void link_facts(const struct disks *d, const char *name, const struct controller *c,
                       struct out *o)
{
    char path[320], link[512], state[64];
    double v;
    snprintf(path, sizeof(path), "%s/device", c->path);
    if (c->path[0] && rootfs_link(d->root, path, link, sizeof(link)))
        out_text(o, "pci", text_last_part(link));
    if (read_number(d, name, "md/degraded", &v))
        out_number(o, "raid_missing", v, "count");
    if (read_text(d, name, "md/sync_action", state, sizeof(state)))
        out_text(o, "raid_state", state);
}

/* Virtual disks call themselves rotating whatever they lie on: "no" is told by the host, "yes" is not. */
static bool is_virtual(const char *name, const char *model)
{
    static const char *const names[] = {"vd", "xvd"};
    static const char *const models[] = {"QEMU",   "VBOX",        "PersistentDisk",
                                         "Amazon", "BlockVolume", "Volume",
                                         "LUN",    "LIO-ORG",     "iSCSI"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return true;
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
        if (!strncasecmp(model, models[i], strlen(models[i])))
            return true;
    return strcasestr(model, "virtual") != NULL;
}

static void kind_facts(const struct disks *d, const char *name, struct out *o)
{
    char text[128], model[128] = "", path[320];
    double v;
    bool nvme = !strncmp(name, "nvme", 4), remote = false;
    struct controller c = {.d = d, .disk = name};
    if (nvme)
        find_controller(&c);
    o->source = "/sys/block";
    if (read_number(d, name, "size", &v))
        out_number(o, "size", v * SECTOR, "bytes");
    read_text(d, name, "device/model", model, sizeof(model));
    if (read_number(d, name, "queue/rotational", &v) &&
        (!v || !(d->guest || is_virtual(name, model))))
        out_number(o, "rotational", v, "1");
    out_text(o, "model", model);
    for (size_t i = 0; i < sizeof(remote_models) / sizeof(remote_models[0]); i++)
        remote |= strstr(model, remote_models[i]) != NULL;
    snprintf(path, sizeof(path), "%s/transport", c.path);
    if (nvme && rootfs_line(d->root, path, text, sizeof(text))) {
        out_text(o, "transport", text);
        remote |= strcmp(text, "pcie") != 0; /* NVMe over a network */
    }
    out_number(o, "nvme", nvme, "1");
    if (nvme)
        out_number(o, "local", !remote, "1");
    link_facts(d, name, &c, o);
    if (read_text(d, name, "queue/scheduler", text, sizeof(text)))
        out_text(o, "scheduler", text);
    if (read_number(d, name, "queue/read_ahead_kb", &v))
        out_number(o, "read_ahead", v * (double)KIB, "bytes");
}

static void rate_facts(const struct disk *disk, const double v[COLUMNS], int64_t ns, struct out *o)
{
    const double *a = disk->first;
    o->source = "/proc/diskstats";
    out_rate(o, "busy_share", a[BUSY_MS] * (double)NS_PER_MS / (double)NS_PER_S,
             v[BUSY_MS] * (double)NS_PER_MS / (double)NS_PER_S, ns, "1");
    out_rate(o, "read_rate", a[READ_SECTORS] * SECTOR, v[READ_SECTORS] * SECTOR, ns, "bytes/s");
    out_rate(o, "write_rate", a[WRITE_SECTORS] * SECTOR, v[WRITE_SECTORS] * SECTOR, ns, "bytes/s");
    out_rate(o, "reads_rate", a[READS], v[READS], ns, "1/s");
    out_rate(o, "queue_mean", a[QUEUE_MS] * (double)NS_PER_MS / (double)NS_PER_S,
             v[QUEUE_MS] * (double)NS_PER_MS / (double)NS_PER_S, ns, "count");
    double ms_ns = (double)NS_PER_MS / (double)NS_PER_S;
    if (v[READS] > a[READS])
        out_number(o, "read_latency", (v[READ_MS] - a[READ_MS]) * ms_ns / (v[READS] - a[READS]),
                   "s");
    if (v[WRITES] > a[WRITES])
        out_number(o, "write_latency",
                   (v[WRITE_MS] - a[WRITE_MS]) * ms_ns / (v[WRITES] - a[WRITES]), "s");
}

static int disks_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct disks *d = self;
    struct out o = {.fn = fn, .arg = arg, .kind = "disk"};
    struct str stats = {0};
    struct disk_uses uses;
    double v[COLUMNS];
    rootfs_read(d->root, "/proc/diskstats", &stats, NULL);
    disk_uses_read(&uses, d->root);
    for (size_t i = 0; i < d->count && !o.rc; i++) {
        o.subject = d->disks[i].name;
        kind_facts(d, o.subject, &o);
        use_facts(d, &uses, &o, o.subject);
        find_counters(str_text(&stats), o.subject, v);
        rate_facts(&d->disks[i], v, now - d->t0, &o);
    }
    str_clear(&stats);
    disk_uses_clear(&uses);
    return o.rc;
}

const struct source source_disks = {
    "disks",     "block devices: kind, size, mounts, busy share, latency",
    disks_start, NULL,
    disks_facts, disks_stop,
};
