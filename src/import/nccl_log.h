/* SPDX-License-Identifier: MIT */
/*
 * nccl_log: debug logs of NCCL and RCCL, of any number of ranks and hosts, become facts.
 *
 * Feed any number of files, each in pieces of any size; lines of different writers may be mixed. Then
 * nccl_log_facts tells what they say, by the names of doc/facts.md (kinds "nccl" and "nccl/..."),
 * each with FILE:LINE of the first line that says it. What is fed is not trusted: lines that
 * do not hold are counted, tables are bounded. One thread.
 */
#ifndef GPUFEED_IMPORT_NCCL_LOG_H
#define GPUFEED_IMPORT_NCCL_LOG_H

#include "base/error.h"
#include "model/fact.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nccl_log;

/* Is there a line of NCCL or RCCL in these bytes? */
bool nccl_log_is(const char *bytes, size_t len);

struct nccl_log *nccl_log_new(void);    /* NULL: out of memory */
void nccl_log_free(struct nccl_log *l); /* NULL is fine */

/* The lines that follow are of this file. */
void nccl_log_begin(struct nccl_log *l, const char *name);
void nccl_log_feed(struct nccl_log *l, const char *bytes, size_t len);
/* The file is over: its last line may lack a newline. */
void nccl_log_end(struct nccl_log *l);

struct nccl_counts {
    uint64_t lines, nccl, unknown; /* all; with NCCL's prefix; of no known shape */
    uint64_t cut, dropped;         /* longer than NCCL_LINE_MAX; beyond what is kept */
};
struct nccl_counts nccl_log_counts(const struct nccl_log *l);

/* Facts in a fixed order. STATUS_OK, STATUS_MEMORY, or the first non-zero answer of fn. */
int nccl_log_facts(struct nccl_log *l, fact_fn fn, void *arg, struct error *e);

struct source;
/* Feeds a whole file (nccl_format.c). */
int nccl_log_read(struct nccl_log *l, struct source *source, struct error *e);

#endif
