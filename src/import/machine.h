/* SPDX-License-Identifier: MIT */
/*
 * machine: another machine's files, as they were given: a folder, or a tar archive (plain or gzip) that is
 * unpacked into a folder of temporary files for as long as it is read.
 *
 * The machine begins where proc or sys lie; folders around them that hold nothing else are passed. What
 * is clearly a copy of /sys/class/infiniband (folders of RDMA devices and nothing else) is one with that alone.
 */
#ifndef GPUFEED_IMPORT_MACHINE_H
#define GPUFEED_IMPORT_MACHINE_H

#include "base/error.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>

struct machine_files {
    char root[PATH_MAX]; /* what to read */
    char made[PATH_MAX]; /* folder to remove after; "" none */
    sigset_t before;     /* signals that were held back before */
};

/* STATUS_INPUT: it is no machine, and why. Signals that end the program wait while a folder of temporary
 * files is there, so machine_close should not be far. One thread. ret is untouched on failure. */
int machine_open(const char *path, struct machine_files *ret, struct error *e);
void machine_close(struct machine_files *m); /* of zeros, too */

#endif
