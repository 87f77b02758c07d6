/* SPDX-License-Identifier: MIT */
/*
 * sink_int: what the parts of a sink share. Internal to sink.c (who, when, events) and sink_tell.c (facts, notes and
 * what is told of a file at its end).
 */
#ifndef GPUFEED_IMPORT_SINK_INT_H
#define GPUFEED_IMPORT_SINK_INT_H

#include "base/str.h"
#include "import/sink_file.h"

#define SKIPS 24

struct device_of {
    bool used, held;
    uint32_t number; /* in the recording */
    uint32_t pid;    /* that holds it, from its first to its last activity */
    int64_t t1;      /* end of the last */
    struct {
        int64_t ns; /* of waits without a known cause; of these, in seconds: */
        double late, late_first, orphan;
    } unknown;
};

struct sink {
    struct sink_job *job; /* borrowed */
    const char *path;     /* borrowed */
    size_t file;
    const char *tool;
    int rank, world;
    struct same_job_file told; /* when it was, before it was moved */
    bool rank_again;           /* a file before it says to be the same rank */
    const char *unknown;       /* why causes of its waits are not known, as the importer says */
    struct ledger *ledger;
    struct device_of device[SINK_DEVICES];
    struct {
        const char *reason;
        uint64_t count;
    } skip[SKIPS];
    size_t skips;
    int64_t shift; /* from the file's clock to the recording's */
    bool shifted;
    int status;
    struct error error;
};

/* Keeps the first failure. */
void sink_check(struct sink *s, int rc);
void sink_no_memory(struct sink *s);

void sink_tell_skips(struct sink *s);
/* A fact of the ledger about a device, where it tells why causes are not known. */
void sink_keep_unknown(struct device_of *d, const struct fact *fact);
void sink_tell_unknown(struct sink *s);
/* Whether it is another rank of the same job as the files before it, where that is in doubt. */
void sink_tell_same_job(struct sink *s);

#endif
