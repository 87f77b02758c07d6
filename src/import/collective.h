/* SPDX-License-Identifier: MIT */
/*
 * collective: sums over the communication kernels of a trace, by what they did: "allreduce of Float over
 * 8 ranks". They become the facts "collective" of doc/facts.md.
 */
#ifndef GPUFEED_IMPORT_COLLECTIVE_H
#define GPUFEED_IMPORT_COLLECTIVE_H

#include "base/map.h"
#include "import/sink.h"

struct collective {
    uint64_t count, bytes;
    int64_t ns;
};

struct collectives {
    struct intern names;
    struct collective *sum; /* owned; same index as names, from 0 */
    size_t cap;
};

/* The name of a collective in words; `kernel` is used where the trace gives no `name`. "" as unknown,
 * group 0 unknown. */
void collective_name(const char *name, const char *kernel, const char *dtype, int64_t group,
                     char *to, size_t size);
/* Who takes part: "ranks 0-7 (default_pg)", "8 ranks from 0 to 56 (dp)". ranks: numbers as the trace lists them, cut
 * off with "..." beyond some; size: how many, 0 unknown. All may be "" and 0: so is the answer then. */
void collective_group(const char *ranks, int64_t size, const char *name, const char *words,
                      char *to, size_t to_size);
/* elements < 0: unknown. False: out of memory. */
bool collectives_add(struct collectives *c, const char *name, const char *dtype, int64_t elements,
                     int64_t ns);
void collectives_facts(const struct collectives *c, struct sink *sink);
void collectives_clear(struct collectives *c);

#endif
