/* SPDX-License-Identifier: MIT */
/*
 * shares: a small vector of (cause, resource) -> ns.
 *
 * Invariant: the parts are distinct and positive; what does not fit in
 * SHARES_MAX parts is added to (unknown, none), never dropped.
 */
#ifndef GPUFEED_LEDGER_SHARES_H
#define GPUFEED_LEDGER_SHARES_H

#include "model/ledger_row.h"

#include <stdbool.h>

#define SHARES_MAX 24

struct shares {
    struct share part[SHARES_MAX];
    int count;
};

/* Makes it empty. An initialiser would zero all the parts, which the hot paths feel. */
static inline void shares_clear(struct shares *s)
{
    s->count = 0;
}

void shares_add(struct shares *s, enum cause cause, uint32_t resource, int64_t ns);
int64_t shares_total(const struct shares *s);
/* Adds `from` scaled so that the added parts sum up to exactly `total` ns. An
 * empty `from` adds `total` to unknown. */
void shares_add_scaled(struct shares *s, const struct shares *from, int64_t total);
/* Sum of one cause over all resources. */
int64_t shares_of(const struct shares *s, enum cause cause);
/* Moves up to `ns` of a cause to another cause (resource none); returns what was moved. */
int64_t shares_move(struct shares *s, enum cause from, enum cause to, int64_t ns);
/* Takes up to `ns` of a cause out; returns what was taken. */
int64_t shares_take(struct shares *s, enum cause from, int64_t ns);
/* Is at least half of it, and of `more` ns beside it, one resource of this cause? */
bool shares_mostly(const struct shares *s, enum cause cause, int64_t more, uint32_t *ret_resource);
/* Index of the largest part, -1 if empty. */
int shares_largest(const struct shares *s);

#endif
