/* SPDX-License-Identifier: MIT */
/*
 * inspector: the JSON lines of NCCL's Inspector (formats v4.0 and v4.3), as facts (doc/facts.md, kind
 * "inspector"): how fast each collective of each communicator went. Files of several ranks are summed. Pure.
 */
#ifndef GPUFEED_IMPORT_INSPECTOR_H
#define GPUFEED_IMPORT_INSPECTOR_H

#include "import/value.h"
#include "model/fact.h"

struct inspector;

struct inspector *inspector_new(void);    /* NULL: out of memory */
void inspector_free(struct inspector *p); /* NULL is fine */
bool inspector_is(const char *head, size_t size);

/* A new file begins: what the last header said does not hold any more. */
void inspector_begin(struct inspector *p);
/* One line; what it does not hold is counted. */
void inspector_line(struct inspector *p, const struct value *line);
uint64_t inspector_records(const struct inspector *p); /* collectives and transfers taken */
uint64_t inspector_skipped(const struct inspector *p); /* lines without either, or without a time */
uint64_t
inspector_beyond(const struct inspector *p); /* lines of more operations than are kept apart */
/* STATUS_OK, STATUS_MEMORY, or the first non-zero answer of fn. */
int inspector_facts(const struct inspector *p, fact_fn fn, void *arg, struct error *e);

#endif
