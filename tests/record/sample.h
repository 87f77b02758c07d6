/* SPDX-License-Identifier: MIT */
/* sample: small recordings for the tests of record/. */
#ifndef TESTS_RECORD_SAMPLE_H
#define TESTS_RECORD_SAMPLE_H

#include "record/record.h"

/* A fresh folder under TMPDIR, and its removal with all plain files in it. */
void sample_folder(char *path, size_t size);
void sample_folder_remove(const char *path);

/* A recording of 10 s on one device: 5.5 s compute, 4.1 s storage, 0.4 s host. Committed, with
 * the span stored, not finished. */
struct record *sample_begin(const char *path);
void sample_finish(struct record *r);
/* Both, and closed. */
void sample_whole(const char *path);

extern const struct record_meta sample_meta;
#define SAMPLE_T0 INT64_C(5000000000)

#endif
