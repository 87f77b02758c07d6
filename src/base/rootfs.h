/* SPDX-License-Identifier: MIT */
/*
 * rootfs: reading the files of /proc and /sys below a root folder, so that a
 * dump of another machine can be fed in. root NULL or "" is the live machine.
 */
#ifndef GPUFEED_BASE_ROOTFS_H
#define GPUFEED_BASE_ROOTFS_H

#include "base/error.h"
#include "base/str.h"

#include <stdint.h>

/* open(2) of root + path, O_CLOEXEC added; -1 and errno on failure. */
int rootfs_open(const char *root, const char *path, int flags);
/* Replaces *out by the whole file; STATUS_MISSING / DENIED / SYSTEM on failure. */
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

#endif
