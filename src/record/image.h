/* SPDX-License-Identifier: MIT */
/*
 * image: the bytes of a recording, seen without locking or writing anything.
 *
 * SQLite would want to write beside a recording whose writer was killed (or is
 * still at work) to take in its log; here the log is merged in memory instead.
 * Checks what can be told without SQLite: header, version, size. Internal.
 */
#ifndef GPUFEED_RECORD_IMAGE_H
#define GPUFEED_RECORD_IMAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Recordings with a log are merged in memory up to this size. */
#define IMAGE_BYTES_MAX (UINT64_C(1) << 30)

struct image {
    unsigned char *bytes; /* owned; NULL: the file is whole and can be opened as it is */
    size_t size;
    bool written; /* another process holds it for writing at this moment */
};

int image_load(const char *path, struct image *ret, struct error *e);
void image_clear(struct image *image);

#endif
