/* SPDX-License-Identifier: MIT */
/*
 * inflate: a gzip file, inflated on a second thread. Internal to the room.
 *
 * The thread fills blocks while the reader takes earlier ones; what was inflated before damage or a cut
 * is handed out first, then the error.
 */
#ifndef GPUFEED_IMPORT_INFLATE_H
#define GPUFEED_IMPORT_INFLATE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct inflate;

/* Does a gzip file begin like this? */
bool inflate_recognise(const unsigned char *head, size_t size);
/* Takes over fd, which stands at the file's start. `path` is for messages, borrowed. */
int inflate_start(int fd, const char *path, struct inflate **ret, struct error *e);
/* The next block, valid until the next call; *size is 0 at the end. */
int inflate_next(struct inflate *z, const char **bytes, size_t *size, struct error *e);
/* Stops the thread; NULL is fine. */
void inflate_stop(struct inflate *z);

#endif
