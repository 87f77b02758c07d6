/* SPDX-License-Identifier: MIT */
/*
 * fuse_daemon: the command line of the program that serves a FUSE mount, which tells whether it keeps
 * a cache: the mount table does not.
 */
#ifndef GPUFEED_SENSE_FUSE_DAEMON_H
#define GPUFEED_SENSE_FUSE_DAEMON_H

#include "base/str.h"
#include "sense/source.h"

/* Appends it without secrets; false: no such program is seen, or it is none that is known. */
bool fuse_daemon_add(struct str *out, const struct source_opts *o, const char *fstype,
                     const char *point);

#endif
