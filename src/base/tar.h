/* SPDX-License-Identifier: MIT */
/*
 * tar: a writer of tar archives (ustar, with pax headers for long names) into a str. Everything in it
 * belongs to root, is readable by all, and has no time: the same input gives the same bytes.
 */
#ifndef GPUFEED_BASE_TAR_H
#define GPUFEED_BASE_TAR_H

#include "base/str.h"

/* Names are relative. out->failed when memory ran out. */
void tar_file(struct str *out, const char *name, const char *data, size_t len);
void tar_link(struct str *out, const char *name, const char *target);
void tar_folder(struct str *out, const char *name);
/* The two empty blocks that end an archive. */
void tar_end(struct str *out);

#endif
