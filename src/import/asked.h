/* SPDX-License-Identifier: MIT */
/*
 * asked: which call asked for which device activity, by correlation, in bounded memory. Internal.
 *
 * Put in order of time. Of two generations of ASKED_MAX calls each the older is forgotten when the
 * newer is full: far more than ever wait in a device's queues (1,024 per stream).
 */
#ifndef GPUFEED_IMPORT_ASKED_H
#define GPUFEED_IMPORT_ASKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASKED_MAX ((size_t)1 << 17)

struct launch {
    uint64_t key;
    int64_t t0;
    uint64_t ns : 44, thread : 12, used : 1;
};

struct asked {
    struct launch *slot[2]; /* owned; open addressing; [0] is the newer generation */
    size_t cap[2], count[2];
};

/* Correlations count per process; pid 0 where that is not told. */
static inline uint64_t asked_key(uint32_t pid, uint32_t correlation)
{
    return (uint64_t)pid << 32 | correlation;
}

bool asked_put(struct asked *l, const struct launch *launch); /* false: out of memory */
/* The last one of that key that began no later than t; NULL none. Valid until the next put. */
const struct launch *asked_find(const struct asked *l, uint64_t key, int64_t t);
void asked_clear(struct asked *l);

#endif
