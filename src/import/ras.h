/* SPDX-License-Identifier: MIT */
/*
 * ras: the JSON that NCCL's RAS port answers (NCCL 2.28 and later), as facts (doc/facts.md, kinds
 * "ras..."). Counts there are launches, not completions. Pure.
 */
#ifndef GPUFEED_IMPORT_RAS_H
#define GPUFEED_IMPORT_RAS_H

#include "import/value.h"
#include "model/fact.h"

bool ras_is_json(const char *head, size_t size);
/* STATUS_OK, STATUS_INPUT (no such answer), or the first non-zero answer of fn. */
int ras_facts(const struct value *answer, const char *path, fact_fn fn, void *arg, struct error *e);

#endif
