/* SPDX-License-Identifier: MIT */
#include "sense/fs_name.h"

#include "sense/disk_name.h"

#include <limits.h>
#include <string.h>

enum style {
    STYLE_URL,    /* scheme://source, "host:/path" becomes host/path */
    STYLE_SHARE,  /* scheme: and the source, which starts with // */
    STYLE_SOURCE, /* scheme and source as it is */
    STYLE_DAEMON, /* fuse:subtype and the mount point */
    STYLE_POINT,  /* type and mount point */
};

struct fs_row {
    const char *type, *scheme;
    enum style style;
    uint32_t magic; /* 0: shared or unknown */
    bool remote;
};

/* First match counts; a type matches with whatever follows a '.', "fuse" also "fuse.sshfs". */
static const struct fs_row rows[] = {
    {"nfs", "nfs", STYLE_URL, 0x6969, true},
    {"nfs4", "nfs", STYLE_URL, 0, true},
    {"lustre", "lustre", STYLE_URL, 0x0bd00bd0, true},
    {"cifs", "smb", STYLE_SHARE, 0xff534d42, true},
    {"smb3", "smb", STYLE_SHARE, 0xfe534d42, true},
    {"smbfs", "smb", STYLE_SHARE, 0x517b, true},
    {"ceph", "ceph", STYLE_SOURCE, 0x00c36400, true},
    {"beegfs", "beegfs", STYLE_POINT, 0x19830326, true},
    {"gpfs", "gpfs", STYLE_SOURCE, 0x47504653, true},
    {"wekafs", "weka", STYLE_SOURCE, 0, true},
    {"afs", "afs", STYLE_POINT, 0x5346414f, true},
    {"orangefs", "orangefs", STYLE_SOURCE, 0x20030528, true},
    {"9p", "9p", STYLE_POINT, 0x01021997, true},
    {"virtiofs", "virtiofs", STYLE_POINT, 0, true},
    {"fuseblk", "fuse", STYLE_DAEMON, 0, true},
    {"fuse", "fuse", STYLE_DAEMON, FS_MAGIC_FUSE, true},
    {"tmpfs", "tmpfs", STYLE_POINT, 0x01021994, false},
    {"ramfs", "ramfs", STYLE_POINT, 0x858458f6, false},
    {"overlay", "overlay", STYLE_POINT, 0x794c7630, false},
    {"proc", "proc", STYLE_POINT, 0x9fa0, false},
    {"sysfs", "sysfs", STYLE_POINT, 0x62656572, false},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct fs_row *row_of_type(const char *fstype)
{
    for (size_t i = 0; i < ROWS; i++) {
        size_t length = strlen(rows[i].type);
        if (strncmp(fstype, rows[i].type, length) == 0 &&
            (fstype[length] == '\0' || fstype[length] == '.'))
            return &rows[i];
    }
    return NULL;
}

static const struct fs_row *row_of_magic(uint32_t magic)
{
    for (size_t i = 0; i < ROWS && magic; i++)
        if (rows[i].magic == magic)
            return &rows[i];
    return NULL;
}

bool fs_type_remote(const char *fstype)
{
    const struct fs_row *row = row_of_type(fstype);
    return row && row->remote;
}

bool fs_magic_remote(uint32_t magic)
{
    const struct fs_row *row = row_of_magic(magic);
    return row && row->remote;
}

static void add_url(struct str *out, const char *scheme, const char *source)
{
    const char *colon = strstr(source, ":/");
    str_addf(out, "%s://", scheme);
    if (colon) {
        str_addn(out, source, (size_t)(colon - source));
        source = colon + 1;
    }
    str_add(out, source);
}

static void add_row(struct str *out, const struct fs_row *row, const struct mount *m)
{
    const char *subtype = strchr(m->fstype, '.');
    switch (row->style) {
    case STYLE_URL:
        add_url(out, row->scheme, m->source);
        break;
    case STYLE_SHARE:
        str_addf(out, "%s:%s", row->scheme, m->source);
        break;
    case STYLE_SOURCE:
        str_addf(out, "%s %s", row->scheme, m->source);
        break;
    case STYLE_DAEMON:
        str_addf(out, "%s:%s %s", row->scheme, subtype ? subtype + 1 : m->source, m->point);
        break;
    case STYLE_POINT:
        str_addf(out, "%s %s", row->scheme, m->point);
        break;
    }
}

void fs_name_add(struct str *out, const char *root, const struct mount *m, bool *remote)
{
    const struct fs_row *row = row_of_type(m->fstype);
    char disk[64];
    *remote = row && row->remote;
    if (row)
        add_row(out, row, m);
    else if (disk_name_of_dev(root, m->dev, disk, sizeof(disk)) ||
             (strncmp(m->source, "/dev/", 5) == 0 &&
              disk_name_of_node(root, m->source, disk, sizeof(disk))))
        str_addf(out, "disk %s (%s)", disk, m->point);
    else if (strcmp(m->fstype, "zfs") == 0)
        str_addf(out, "zfs %.*s (%s)", (int)strcspn(m->source, "/"), m->source, m->point);
    else
        str_addf(out, "%s %s", m->fstype, m->point);
}

bool fs_name_add_unmounted(struct str *out, const char *root, uint32_t dev, uint32_t magic)
{
    const struct fs_row *row = row_of_magic(magic);
    char disk[64];
    if (row)
        str_add(out, row->type);
    else if (disk_name_of_dev(root, dev, disk, sizeof(disk)))
        str_addf(out, "disk %s", disk);
    else
        str_addf(out, "file system %u:%u", dev >> 20, dev & 0xfffff);
    return row && row->remote;
}

/* The first folder of option `key` ("upperdir="), up to ',' or ':'. */
static bool option_path(const char *options, const char *key, char *buf, size_t size)
{
    size_t length = strlen(key);
    for (const char *at = options; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, key, length) != 0)
            continue;
        at += length;
        size_t n = strcspn(at, ",:");
        if (n == 0 || n >= size || at[0] != '/')
            return false;
        memcpy(buf, at, n);
        buf[n] = '\0';
        return true;
    }
    return false;
}

const struct mount *fs_overlay_layer(const struct mounts *all, const struct mount *m)
{
    char path[PATH_MAX];
    if (strcmp(m->fstype, "overlay") != 0)
        return NULL;
    if (!option_path(m->options, "upperdir=", path, sizeof(path)) &&
        !option_path(m->options, "lowerdir=", path, sizeof(path)))
        return NULL;
    const struct mount *below = mounts_by_path(all, path);
    return below && strcmp(below->fstype, "overlay") != 0 ? below : NULL;
}
