/* SPDX-License-Identifier: MIT */
/*
 * run: a system program (modprobe, mkfs) run to its end. Internal to the room.
 */
#ifndef GPUFEED_FIX_RUN_H
#define GPUFEED_FIX_RUN_H

#include "base/error.h"

/* argv[0] is looked for in the system's folders, not in PATH. Its messages go into e. */
int run_program(const char *const *argv, struct error *e);

#endif
