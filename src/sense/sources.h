/* SPDX-License-Identifier: MIT */
/*
 * sources: all live sources of facts, started, sampled and asked together.
 *
 * A source that cannot start stays in the list with its reason and sends nothing.
 */
#ifndef GPUFEED_SENSE_SOURCES_H
#define GPUFEED_SENSE_SOURCES_H

#include "sense/source.h"

#include <stddef.h>

#define SOURCES_MAX 32

struct sources {
    void *state[SOURCES_MAX]; /* NULL: missing */
    char missing[SOURCES_MAX][160];
};

/* Never fails as a whole. The texts of o must live until sources_stop. */
void sources_start(struct sources *s, const struct source_opts *o, int64_t now);
void sources_sample(struct sources *s, int64_t now); /* about once a second */
int sources_facts(struct sources *s, int64_t now, fact_fn fn, void *arg);
/* Those of source i alone. */
int sources_facts_of(struct sources *s, size_t i, int64_t now, fact_fn fn, void *arg);
void sources_stop(struct sources *s);

size_t sources_count(void);
const struct source *sources_at(size_t i);
/* Why source i is missing; NULL when it runs. */
const char *sources_missing(const struct sources *s, size_t i);

#endif
