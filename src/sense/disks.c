/* SPDX-License-Identifier: MIT */
/*
 * disks: whole block devices, what they are, where they are mounted, how busy they were.
 *
 * A disk is `local` when it is NVMe and sits in this machine: clouds also show network
 * volumes as NVMe, and only the model tells them apart. `in_use` says whether anything
 * mounts it, or a part of it, or builds upon it. Source of the columns:
 * Documentation/admin-guide/iostats.rst.
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/out.h"
#include "sense/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR 512.0
#define DISK_NAME 48
#define DEPTH_MAX 4 /* volume on RAID on partition on disk */

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
    double sectors;
    if (strlen(name) >= DISK_NAME || pseudo(name) || !read_number(d, name, "size", &sectors) ||
        !(sectors > 0))
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
    bool there = rootfs_each(o->root, "/sys/block", add_disk, d);
    if (!there || d->failed) {
        bool failed = d->failed;
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

/* Where the devices of one disk are mounted, gathered while walking over what it carries. */
struct uses {
    const struct disks *d;
    const char *mountinfo;
    const char *name; /* the device whose folder is walked */
    unsigned depth;
    struct str where; /* mount points, blank between */
    char first[512];  /* first mount point, as a path */
    bool held;        /* a volume or RAID builds upon it */
};

static int octal(const char *p)
{
    int v = 0;
    for (int i = 0; i < 3; i++) {
        if (p[i] < '0' || p[i] > '7')
            return -1;
        v = v * 8 + p[i] - '0';
    }
    return v;
}

/* Undoes mountinfo's \040 for blanks. */
static void unescape(char *text)
{
    char *out = text;
    for (char *p = text; *p; p++) {
        int v = *p == '\\' ? octal(p + 1) : -1;
        *out++ = v > 0 ? (char)v : *p;
        p += v > 0 ? 3 : 0;
    }
    *out = '\0';
}

/* "36 35 259:1 /root /mount/point rw ... - ext4 /dev/x rw" */
static void add_mounts(struct uses *u, const char *dev)
{
    const char *p = u->mountinfo, *line;
    size_t len;
    while (text_line(&p, &line, &len)) {
        char word[512];
        const char *q = line;
        bool hit = text_word(&q, word, sizeof(word)) && text_word(&q, word, sizeof(word)) &&
                   text_word(&q, word, sizeof(word)) && !strcmp(word, dev);
        if (!hit || !text_word(&q, word, sizeof(word)) || !text_word(&q, word, sizeof(word)))
            continue;
        unescape(word);
        if (!u->where.len)
            str_copy(u->first, sizeof(u->first), word);
        str_add(&u->where, u->where.len ? " " : "");
        str_add(&u->where, word);
    }
}

static void add_uses(struct uses *u, const char *block_path);

static void visit_holder(void *arg, const char *name)
{
    struct uses *u = arg;
    char path[256];
    u->held = true;
    if (snprintf(path, sizeof(path), "/sys/block/%s", name) < (int)sizeof(path))
        add_uses(u, path);
}

static void visit_part(void *arg, const char *name)
{
    struct uses *u = arg;
    char path[256];
    if (strncmp(name, u->name, strlen(u->name)))
        return;
    if (snprintf(path, sizeof(path), "/sys/block/%s/%s", u->name, name) < (int)sizeof(path))
        add_uses(u, path);
}

/* Adds the mounts of the block device in this folder, and of all that is built upon it. */
static void add_uses(struct uses *u, const char *block_path)
{
    char path[300], dev[32];
    if (u->depth >= DEPTH_MAX)
        return;
    u->depth++;
    snprintf(path, sizeof(path), "%s/dev", block_path);
    if (rootfs_line(u->d->root, path, dev, sizeof(dev)))
        add_mounts(u, dev);
    snprintf(path, sizeof(path), "%s/holders", block_path);
    rootfs_each(u->d->root, path, visit_holder, u);
    u->depth--;
}

static void use_facts(struct uses *u, struct out *o, const char *disk)
{
    char path[128];
    struct rootfs_size v;
    u->name = disk;
    snprintf(path, sizeof(path), "/sys/block/%s", disk);
    add_uses(u, path);
    rootfs_each(u->d->root, path, visit_part, u);
    o->source = "/proc/self/mountinfo";
    out_text(o, "mounted_at", str_text(&u->where));
    out_number(o, "mounted", u->where.len > 0, "1");
    out_number(o, "in_use", u->where.len > 0 || u->held, "1");
    if (u->first[0] && rootfs_size(u->d->root, u->first, &v)) {
        o->source = "statvfs";
        out_number(o, "free", v.free_bytes, "bytes");
    }
}

/* Where the disk hangs in the PCIe tree, and how a RAID of the kernel is doing (md(4)). */
static void link_facts(const struct disks *d, const char *name, struct out *o)
{
    char path[160], link[512], state[64];
    double v;
    snprintf(path, sizeof(path), "/sys/block/%s/device/device", name);
    if (!strncmp(name, "nvme", 4) && rootfs_link(d->root, path, link, sizeof(link)))
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
    static const char *const models[] = {"QEMU", "VBOX", "PersistentDisk", "Amazon"};
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
    char text[128], model[128] = "";
    double v;
    bool nvme = !strncmp(name, "nvme", 4), remote = false;
    o->source = "/sys/block";
    if (read_number(d, name, "size", &v))
        out_number(o, "size", v * SECTOR, "bytes");
    read_text(d, name, "device/model", model, sizeof(model));
    if (read_number(d, name, "queue/rotational", &v) && (!v || !is_virtual(name, model)))
        out_number(o, "rotational", v, "1");
    out_text(o, "model", model);
    for (size_t i = 0; i < sizeof(remote_models) / sizeof(remote_models[0]); i++)
        remote |= strstr(model, remote_models[i]) != NULL;
    if (nvme && read_text(d, name, "device/transport", text, sizeof(text))) {
        out_text(o, "transport", text);
        remote |= strcmp(text, "pcie") != 0; /* NVMe over a network */
    }
    out_number(o, "nvme", nvme, "1");
    if (nvme)
        out_number(o, "local", !remote, "1");
    link_facts(d, name, o);
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
    struct str stats = {0}, mounts = {0};
    double v[COLUMNS];
    rootfs_read(d->root, "/proc/diskstats", &stats, NULL);
    rootfs_read(d->root, "/proc/self/mountinfo", &mounts, NULL);
    for (size_t i = 0; i < d->count && !o.rc; i++) {
        struct uses u = {.d = d, .mountinfo = str_text(&mounts)};
        o.subject = d->disks[i].name;
        kind_facts(d, o.subject, &o);
        use_facts(&u, &o, o.subject);
        find_counters(str_text(&stats), o.subject, v);
        rate_facts(&d->disks[i], v, now - d->t0, &o);
        str_clear(&u.where);
    }
    str_clear(&stats);
    str_clear(&mounts);
    return o.rc;
}

const struct source source_disks = {
    "disks",     "block devices: kind, size, mounts, busy share, latency",
    disks_start, NULL,
    disks_facts, disks_stop,
};
