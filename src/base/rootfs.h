/* SPDX-License-Identifier: MIT */
/*
 * rootfs: reading the files of /proc and /sys below a root folder, so that a
 * dump of another machine can be fed in. root NULL or "" is the live machine.
 *
 * A root may be several folders, one a line ("/dump/later\n/dump"): the first that has a path
 * answers for it; a folder that several have lists the entries of all. Nothing below a root leads out of it: links are followed within. What a file
 * cannot tell stands in the root's file .gpufeed/statfs, one line a mount point:
 *   PATH BYTES FREE_BYTES [FILES FREE_FILES]
 */
#ifndef GPUFEED_BASE_ROOTFS_H
#define GPUFEED_BASE_ROOTFS_H

#include "base/error.h"
#include "base/str.h"

#include <stdint.h>

#define ROOTFS_OWN "/.gpufeed" /* folder in a root for what is no file of the machine */
#define ROOTFS_BYTES_MAX ((size_t)64 << 20)

/* open(2) of path below root, O_CLOEXEC added; -1 and errno on failure. */
int rootfs_open(const char *root, const char *path, int flags);
/* Replaces *out by the whole file; STATUS_MISSING / DENIED / SYSTEM on failure, STATUS_INPUT when it
 * holds more than ROOTFS_BYTES_MAX. */
int rootfs_read(const char *root, const char *path, struct str *out, struct error *e);
/* First line without its newline into buf; false if absent or empty. */
bool rootfs_line(const char *root, const char *path, char *buf, size_t size);
/* The first `max` bytes of a file, of any kind, replace *out; false if there are none. Neither a
 * pipe nor an endless device holds it up. */
bool rootfs_bytes(const char *root, const char *path, size_t max, struct str *out);
/* A file that holds one integer; false if absent or not a number. */
bool rootfs_int(const char *root, const char *path, int64_t *ret);
/* readlink into buf, NUL-terminated; false if absent or too long. */
bool rootfs_link(const char *root, const char *path, char *buf, size_t size);
bool rootfs_exists(const char *root, const char *path);
/* Calls each(arg, name) for every entry but . and ..; false if the folder is absent. */
bool rootfs_each(const char *root, const char *folder, void (*each)(void *arg, const char *name),
                 void *arg);

struct rootfs_size {
    double bytes, free_bytes; /* free: for users without privileges */
    double files, free_files; /* NAN unknown, or the file system does not count them */
};
/* statvfs of the file system that path lies in; of a root only of a mount point that it lists. */
bool rootfs_size(const char *root, const char *path, struct rootfs_size *ret);

/*
 * Sees all that the functions above find, on this thread, so that a dump holds what was read, no more and
 * no less: the one state of this module. fn NULL ends it. data: the bytes read, the target of a link,
 * a line as in .gpufeed/statfs; NULL for an entry that was only looked for or listed.
 */
enum rootfs_kind { ROOTFS_FILE, ROOTFS_LINK, ROOTFS_ENTRY, ROOTFS_FOLDER, ROOTFS_SIZE };
typedef void (*rootfs_seen_fn)(void *arg, enum rootfs_kind kind, const char *path, const char *data,
                               size_t len);
void rootfs_observe(rootfs_seen_fn fn, void *arg);

#endif
