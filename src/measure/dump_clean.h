/* SPDX-License-Identifier: MIT */
/*
 * dump_clean: a file of a machine without what a dump must not carry. Internal to the room.
 */
#ifndef GPUFEED_MEASURE_DUMP_CLEAN_H
#define GPUFEED_MEASURE_DUMP_CLEAN_H

#include "base/anonymous.h"

/* Appends the content of the file at `path` to *out. */
void dump_clean(struct anonymous *names, const char *path, const struct str *text, struct str *out);
/* Is this (a line of) the name of a daemon that rules ask for? */
bool dump_known_daemon(const char *comm);

#endif
