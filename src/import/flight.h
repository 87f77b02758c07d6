/* SPDX-License-Identifier: MIT */
/*
 * flight: dumps of PyTorch's flight recorder, one a rank, become facts (doc/facts.md, kinds "flight...").
 *
 * Ranks are joined on the process group's name and the collective's number. A collective that some rank has entered
 * and not completed, and that another has not entered, makes the latter missing; one whose operation, sizes or types
 * differ is a mismatch. Sends and receives are left out. Pure.
 */
#ifndef GPUFEED_IMPORT_FLIGHT_H
#define GPUFEED_IMPORT_FLIGHT_H

#include "import/value.h"
#include "model/fact.h"

struct flight;

struct flight *flight_new(void);    /* NULL: out of memory */
void flight_free(struct flight *f); /* NULL is fine */

/* Does a JSON dump look like this? */
bool flight_is_json(const char *head, size_t size);
/* The rank in "nccl_trace_rank_7", "comm_lib_trace_rank_7.json"; -1: none. */
int flight_rank_of_name(const char *path);

/* One rank's dump; rank -1: not known, it gets the lowest that is free. `path` names it in facts. Nothing of dump is
 * kept. STATUS_INPUT: it is no such dump, or the rank was there. */
int flight_add(struct flight *f, const struct value *dump, int rank, const char *path,
               struct error *e);

/* How many entries held no number or name. */
uint64_t flight_skipped(const struct flight *f);
/* STATUS_OK, STATUS_MEMORY, or the first non-zero answer of fn. */
int flight_facts(struct flight *f, fact_fn fn, void *arg, struct error *e);

#endif
