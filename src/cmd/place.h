/* SPDX-License-Identifier: MIT */
/*
 * place: where a recording goes that cannot be written, or cannot stay, where it was asked for: among the
 * temporary files, in a new folder of its own.
 */
#ifndef GPUFEED_CMD_PLACE_H
#define GPUFEED_CMD_PLACE_H

#include "cmd/cmd.h"
#include "measure/measure.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes the folder and puts its name into folder, and that of a file in it, called as `path` is, into
 * place; both of PATH_MAX bytes. False: there is no room anywhere. */
bool place_make(const char *path, char *place, char *folder);

/* A recording that is no longer found under its name is saved under another, which is said; path, of PATH_MAX
 * bytes, is that name then. Between measure_finish and measure_close. */
void place_rescue(const char *command, struct measure *m, char *path);

#endif
