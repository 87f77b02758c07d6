/* SPDX-License-Identifier: MIT */
/*
 * import: foreign files become a temporary recording in memory, so that rules and reports run
 * over them as over one of our own.
 */
#ifndef GPUFEED_IMPORT_IMPORT_H
#define GPUFEED_IMPORT_IMPORT_H

#include "base/error.h"

#include <stddef.h>

struct record;

enum import_kind {
    IMPORT_RECORDING, /* one of gpufeed's own */
    IMPORT_FOREIGN,
    IMPORT_UNKNOWN, /* absent, unreadable, or nothing that we know */
};
/* By content. e is filled for IMPORT_UNKNOWN: one line that says why. */
enum import_kind import_look(const char *path, struct error *e);

/* Reads the files, each a rank of one job, into a recording that is finished and lives in memory:
 * record_report_memory reads it, record_close frees it. On failure nothing is left. */
int import_files(const char *const *paths, size_t count, const char *version, struct record **ret,
                 struct error *e);

#endif
