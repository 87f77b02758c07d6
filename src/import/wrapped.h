/* SPDX-License-Identifier: MIT */
/*
 * wrapped: files that hold what could be read, but packed in a way that is not: archives, other compressors
 * than gzip, texts in UTF-16, reports that their tool must export first; and what people take for a trace. Internal
 * to the room.
 */
#ifndef GPUFEED_IMPORT_WRAPPED_H
#define GPUFEED_IMPORT_WRAPPED_H

#include <stddef.h>

/* "is a tar archive: unpack it (tar -xf) and give the files in it"; NULL: it is none of these. `head`: the first bytes
 * after inflating. */
const char *wrapped_how(const char *path, const char *head, size_t size);

#endif
