/* SPDX-License-Identifier: MIT */
/*
 * Local disks as scratch: disks that the user has named and that are empty beyond doubt (blank.h)
 * get a file system and are mounted; several become one RAID 0 first. "absent" takes the mount away again,
 * and no more: what was written stays on the disks.
 *
 * The target is "DEVICE[,DEVICE ...]:FOLDER". The folder must be absent or empty.
 */
#include "fix/knob.h"

#include "base/rootfs.h"
#include "fix/blank.h"
#include "fix/run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DEVICES_MAX 16
#define RAID "/dev/md/gpufeed"
#define HALF "assembled" /* the RAID is there, and not mounted */

struct scratch {
    char text[KNOB_TARGET];
    char *devices[DEVICES_MAX];
    size_t count;
    const char *folder;
};

static bool parse(const char *target, struct scratch *s)
{
    s->count = 0;
    if (!str_copy(s->text, sizeof(s->text), target))
        return false;
    char *colon = strchr(s->text, ':');
    if (!colon || colon[1] != '/' || !colon[2] || strstr(colon, "/.."))
        return false;
    *colon = '\0';
    s->folder = colon + 1;
    for (char *p = s->text, *one; (one = strsep(&p, ","));) {
        if (strncmp(one, "/dev/", 5) || strstr(one, "/.") || s->count == DEVICES_MAX)
            return false;
        for (size_t i = 0; i < s->count; i++)
            if (!strcmp(s->devices[i], one))
                return false;
        s->devices[s->count++] = one;
    }
    return s->count > 0;
}

static bool may(const char *target, const char *value)
{
    struct scratch s;
    return parse(target, &s) && (!strcmp(value, "mounted") || !strcmp(value, "absent"));
}

/* What is mounted there: the file system on the devices, or the RAID of them. */
static bool is_mounted(const struct scratch *s)
{
    struct stat folder, above, device;
    char up[PATH_MAX];
    if (snprintf(up, sizeof(up), "%s/..", s->folder) >= (int)sizeof(up) ||
        stat(s->folder, &folder) || stat(up, &above) || folder.st_dev == above.st_dev)
        return false;
    return stat(s->count > 1 ? RAID : s->devices[0], &device) == 0 &&
           device.st_rdev == folder.st_dev;
}

static int get(const char *root, const char *target, char value[KNOB_VALUE], struct error *e)
{
    struct scratch s;
    struct stat st;
    if (root && *root)
        return error_set(e, STATUS_MISSING, "a dump has no disk to mount");
    if (!parse(target, &s))
        return error_set(e, STATUS_INPUT, "want DEVICE[,DEVICE ...]:FOLDER, not \"%s\"", target);
    for (size_t i = 0; i < s.count; i++)
        if (stat(s.devices[i], &st))
            return error_errno(e, "cannot look at \"%s\"", s.devices[i]);
    bool half = s.count > 1 && !stat(RAID, &st);
    str_copy(value, KNOB_VALUE, is_mounted(&s) ? "mounted" : half ? HALF : "absent");
    return STATUS_OK;
}

static void count_entry(void *arg, const char *name)
{
    ++*(int *)arg;
}

static int folder_free(const struct scratch *s, struct error *e)
{
    struct stat st;
    int entries = 0;
    if (stat(s->folder, &st))
        return errno == ENOENT && mkdir(s->folder, 0755) == 0
                   ? STATUS_OK
                   : error_errno(e, "cannot make the folder \"%s\"", s->folder);
    if (!S_ISDIR(st.st_mode) || !rootfs_each(NULL, s->folder, count_entry, &entries) || entries)
        return error_set(e, STATUS_INPUT, "\"%s\" is no empty folder", s->folder);
    return STATUS_OK;
}

static int make_raid(const struct scratch *s, struct error *e)
{
    const char *argv[DEVICES_MAX + 8] = {"mdadm", "--create",      RAID, "--run", "--level=0",
                                         NULL,    "--homehost=any"};
    char number[48];
    size_t n = 7;
    snprintf(number, sizeof(number), "--raid-devices=%zu", s->count);
    argv[5] = number;
    for (size_t i = 0; i < s->count; i++)
        argv[n++] = s->devices[i];
    argv[n] = NULL;
    return run_program(argv, e);
}

/* xfs as the clouds' own scripts do, else ext4; neither overwrites a file system that is there. */
static int make_files(const char *device, const char **ret_type, struct error *e)
{
    const char *const xfs[] = {"mkfs.xfs", "-q", device, NULL};
    const char *const ext4[] = {"mkfs.ext4", "-q", device, NULL};
    *ret_type = "xfs";
    int status = run_program(xfs, e);
    if (status != STATUS_MISSING)
        return status;
    *ret_type = "ext4";
    return run_program(ext4, e);
}

static int put_up(const struct scratch *s, struct error *e)
{
    const char *type, *device = s->count > 1 ? RAID : s->devices[0];
    const char *const stop[] = {"mdadm", "--stop", RAID, NULL};
    int status = STATUS_OK;
    bool raid = false;
    for (size_t i = 0; i < s->count && !status; i++)
        status = blank_check(s->devices[i], e);
    if (!status)
        status = folder_free(s, e);
    if (!status && s->count > 1) {
        status = make_raid(s, e);
        raid = !status;
    }
    if (!status)
        status = make_files(device, &type, e);
    if (!status && mount(device, s->folder, type, MS_NOATIME, NULL))
        status = error_errno(e, "cannot mount \"%s\" at \"%s\"", device, s->folder);
    if (status && raid)
        run_program(stop, NULL);
    return status;
}

static int take_down(const struct scratch *s, struct error *e)
{
    const char *const stop[] = {"mdadm", "--stop", RAID, NULL};
    if (is_mounted(s) && umount2(s->folder, UMOUNT_NOFOLLOW))
        return error_errno(e, "cannot unmount \"%s\"", s->folder);
    return s->count > 1 ? run_program(stop, e) : STATUS_OK;
}

static int set(const char *root, const char *target, const char *value, struct error *e)
{
    struct scratch s;
    if (!parse(target, &s))
        return error_set(e, STATUS_INPUT, "want DEVICE[,DEVICE ...]:FOLDER, not \"%s\"", target);
    return !strcmp(value, "mounted") ? put_up(&s, e) : take_down(&s, e);
}

const struct knob knob_scratch = {"scratch", may, get, set, .half = HALF};
