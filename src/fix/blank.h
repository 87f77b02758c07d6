/* SPDX-License-Identifier: MIT */
/*
 * blank: is a block device empty beyond doubt? Internal to the room.
 */
#ifndef GPUFEED_FIX_BLANK_H
#define GPUFEED_FIX_BLANK_H

#include "base/error.h"

/*
 * STATUS_OK: it is a block device that nothing uses (no mount, swap, RAID, volume or other program: it
 * opens exclusively), that has no partitions, and whose first and last 16 MiB and 1024 places between
 * read as zeros. Else e says why not. Only reads.
 */
int blank_check(const char *device, struct error *e);

#endif
