/* SPDX-License-Identifier: MIT */
/*
 * temp: a file with given bytes, for tests of the importers.
 */
#ifndef GPUFEED_TESTS_IMPORT_TEMP_H
#define GPUFEED_TESTS_IMPORT_TEMP_H

#include "../tidy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

struct temp {
    char path[64];
};

static inline struct temp temp_file(const void *bytes, size_t size)
{
    struct temp t = {"/tmp/gpufeed-import-XXXXXX"};
    int fd = mkstemp(t.path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f)) {
        perror(t.path);
        abort();
    }
    tidy_at_exit(t.path);
    return t;
}

/* The bytes as one gzip member; free() it. */
static inline void *temp_gzip(const void *bytes, size_t size, size_t *ret)
{
    z_stream z = {0};
    size_t cap = size + size / 100 + 1000;
    unsigned char *out = malloc(cap);
    if (!out || deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    z.next_in = (Bytef *)bytes;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)cap;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    *ret = z.total_out;
    deflateEnd(&z);
    return out;
}

#endif
