/* SPDX-License-Identifier: MIT */
/*
 * record: writes one recording, the SQLite file of doc/recording.md.
 *
 * Everything given between two commits becomes one transaction, so a killed
 * writer loses at most what came after its last record_commit: call that once
 * or twice a second. While recording there is PATH and PATH-wal; record_finish
 * leaves PATH alone and marks it whole. A recording that was never finished
 * opens all the same and says that it is cut short.
 *
 * The first failure sticks: that call returns its status and fills the error;
 * every later call does nothing and returns the same status with the same
 * text, so a caller prints once. STATUS_FULL: no space left; what was committed
 * stays readable. A failure here must never fail the measured job.
 *
 * Texts are copied, and secrets in them (tokens, keys, passwords) are blanked
 * before they reach the file (base/redact.h). One thread at a time.
 */
#ifndef GPUFEED_RECORD_RECORD_H
#define GPUFEED_RECORD_RECORD_H

#include "base/error.h"
#include "model/fact.h"
#include "model/ledger_row.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record;

struct record_meta {
    const char *title;     /* the command as typed */
    const char *version;   /* of gpufeed */
    const char *mode;      /* "wait chain", "sampler", "foreign trace" */
    int64_t start_ns;      /* a pair of one instant: the recording's clock ... */
    int64_t start_unix_ns; /* ... and the wall clock */
    int64_t window_ns;
    double price_per_hour; /* that was given to the measurement; 0 or NAN: none */
    const char *currency;  /* of it; NULL is "EUR" */
};

struct record_end {
    int exit_code;         /* of the measured command; -1 unknown */
    double cpu_seconds;    /* gpufeed's own, BPF included; NAN unknown */
    double peak_rss_bytes; /* NAN unknown */
    uint64_t events_lost;
    double slowdown_bound; /* share; NAN unknown */
};

/* Makes a new recording at path. An older recording there is replaced; one that is still being
 * written, and any other file, is left alone (STATUS_INPUT). */
int record_create(const char *path, const struct record_meta *meta, struct record **ret,
                  struct error *e);
/* One in memory, for read.h's record_report_memory and for check.c. */
int record_create_memory(const struct record_meta *meta, struct record **ret, struct error *e);

/* Does a recording's file begin like this? The first 72 bytes tell. */
bool record_recognise(const void *head, size_t size);

/* number: as in ledger_row.accelerator; id ends in ":N", N the device number. Again: replaces. */
int record_accelerator(struct record *r, uint32_t number, const char *id, const char *name,
                       bool simulated, struct error *e);
/* The text of an interned resource number, or of a workload (a pid). Again: replaces. */
int record_resource(struct record *r, uint32_t number, const char *text, struct error *e);
int record_workload(struct record *r, uint32_t pid, const char *text, struct error *e);

/* Rows between two commits that differ only in ns are summed. ns <= 0 is skipped. */
int record_row(struct record *r, const struct ledger_row *row, struct error *e);

/* Keeps the longest examples: RECORD_CHAINS in all, RECORD_CHAINS_CAUSE of one cause. */
#define RECORD_CHAINS 32
#define RECORD_CHAINS_CAUSE 8
int record_chain(struct record *r, const struct chain_example *chain, const char *resource,
                 struct error *e);

/* A second fact of the same kind, subject and name replaces the first. */
int record_fact(struct record *r, const struct fact *fact, struct error *e);
/* Takes back all that a source said, before it says anew what it knows by now. */
int record_forget_facts(struct record *r, const char *source, struct error *e);
/* How waits are seen turned out otherwise than record_meta.mode said. */
int record_mode(struct record *r, const char *mode, struct error *e);
/* As record_meta's, once they are known. */
int record_start(struct record *r, int64_t start_ns, int64_t start_unix_ns, struct error *e);
int record_windows(struct record *r, int64_t window_ns, struct error *e);
/* One line for the user; the same line twice is kept once. */
int record_note(struct record *r, const char *line, struct error *e);
/*
 * The next chunk of the replay log (plan/replay_log.h), kept in order, not looked into. What is
 * kept stays below RECORD_DELIVERY_BYTES, some 40,000 steps of a loop: the oldest
 * chunks give way, which a replay counts as dropped time.
 */
#define RECORD_DELIVERY_BYTES ((size_t)3 << 19)
int record_deliveries(struct record *r, const void *chunk, size_t bytes, struct error *e);

/* The span the report is about: device taken to device released, on the
 * recording's clock. May be set again; t1 = 0 while the end is not known. */
int record_span(struct record *r, int64_t t0, int64_t t1, struct error *e);

/* How much of the job before a kill may not be in the file, from this commit to the next. */
int record_behind(struct record *r, int64_t ns, struct error *e);

int record_commit(struct record *r, struct error *e);

/* Is its file no longer what is found under its name: moved, removed, with its folder or alone? */
bool record_moved(const struct record *r);
/* Writes all that was committed to a new file; it says of itself what the recording says. */
int record_save(struct record *r, const char *path, struct error *e);

/* Commits, marks the recording whole and makes it a single file (one that was moved keeps its log). */
int record_finish(struct record *r, const struct record_end *end, struct error *e);

/* Frees; a recording not finished stays cut short, its last commit readable. NULL is fine. */
void record_close(struct record *r);

#endif
