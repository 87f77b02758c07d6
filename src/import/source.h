/* SPDX-License-Identifier: MIT */
/*
 * source: a foreign file as a stream of bytes, plain or gzip.
 *
 * What is gzip is told by its first bytes; it is inflated on a thread of its own into a few
 * blocks, so memory does not grow with the file and parsing goes on meanwhile. Offsets count the
 * bytes that the importer sees (inflated ones). One thread at a time.
 */
#ifndef GPUFEED_IMPORT_SOURCE_H
#define GPUFEED_IMPORT_SOURCE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block fits the second-level cache, so that what was inflated or read is still there. */
#define SOURCE_BLOCK ((size_t)256 << 10)
/* Longer lines are an error: no log has them, and memory stays bounded. */
#define SOURCE_LINE_MAX ((size_t)8 << 20)

struct source;

/* Opens and looks at the first bytes. Only regular files: they are looked at before they are read. */
int source_open(const char *path, struct source **ret, struct error *e);
/* The bytes as a file of that name; they are borrowed and stay as they are. Only memory can fail. */
int source_of_bytes(const char *name, const char *bytes, size_t size, struct source **ret,
                    struct error *e);
void source_close(struct source *s); /* NULL is fine */

const char *source_path(const struct source *s);
/* Is the file gzip? */
bool source_packed(const struct source *s);

/* The first bytes, at most SOURCE_BLOCK, all of a shorter file. Takes nothing; only before the first
 * source_next or source_line. Valid until the next call. */
int source_head(struct source *s, const char **bytes, size_t *size, struct error *e);

/* The next block; *size is 0 at the end. Valid until the next call. */
int source_next(struct source *s, const char **bytes, size_t *size, struct error *e);

/* The next line without its end ("\n", "\r\n"), NUL-terminated; *line is NULL at the end. Valid until the
 * next call. Not to be mixed with source_next. */
int source_line(struct source *s, char **line, size_t *len, struct error *e);

/* Where the block or line that was handed out last begins. */
uint64_t source_offset(const struct source *s);
/* The number of that line, from 1; 0: none yet. */
uint64_t source_line_number(const struct source *s);

#endif
