/* SPDX-License-Identifier: MIT */
#include "ledger/shares.h"

#include "base/unit.h"

#include <stddef.h>

static struct share *find(struct shares *s, enum cause cause, uint32_t resource)
{
    for (int i = 0; i < s->count; i++)
        if (s->part[i].cause == cause && s->part[i].resource == resource)
            return &s->part[i];
    return 0;
}

void shares_add(struct shares *s, enum cause cause, uint32_t resource, int64_t ns)
{
    if (ns <= 0)
        return;
    struct share *p = find(s, cause, resource);
    if (!p && s->count >= SHARES_MAX - 1) {
        /* the last place is kept for what does not fit */
        cause = CAUSE_UNKNOWN;
        resource = 0;
        p = find(s, cause, resource);
    }
    if (!p) {
        p = &s->part[s->count++];
        *p = (struct share){.cause = (uint8_t)cause, .resource = resource};
    }
    p->ns += ns;
}

int64_t shares_total(const struct shares *s)
{
    int64_t sum = 0;
    for (int i = 0; i < s->count; i++)
        sum += s->part[i].ns;
    return sum;
}

void shares_add_scaled(struct shares *s, const struct shares *from, int64_t total)
{
    int64_t sum = shares_total(from), seen = 0, given = 0;
    if (total <= 0)
        return;
    if (sum <= 0) {
        shares_add(s, CAUSE_UNKNOWN, 0, total);
        return;
    }
    /* cumulative rounding: the running sum is exact at every step */
    for (int i = 0; i < from->count; i++) {
        seen += from->part[i].ns;
        int64_t upto = unit_part(total, seen, sum);
        shares_add(s, from->part[i].cause, from->part[i].resource, upto - given);
        given = upto;
    }
}

int64_t shares_of(const struct shares *s, enum cause cause)
{
    int64_t sum = 0;
    for (int i = 0; i < s->count; i++)
        if (s->part[i].cause == cause)
            sum += s->part[i].ns;
    return sum;
}

static void drop_empty(struct shares *s)
{
    int kept = 0;
    for (int i = 0; i < s->count; i++)
        if (s->part[i].ns > 0)
            s->part[kept++] = s->part[i];
    s->count = kept;
}

int64_t shares_take(struct shares *s, enum cause from, int64_t ns)
{
    int64_t taken = 0;
    for (int i = 0; i < s->count && taken < ns; i++) {
        if (s->part[i].cause != from)
            continue;
        int64_t take = s->part[i].ns < ns - taken ? s->part[i].ns : ns - taken;
        s->part[i].ns -= take;
        taken += take;
    }
    drop_empty(s);
    return taken;
}

int64_t shares_move(struct shares *s, enum cause from, enum cause to, int64_t ns)
{
    int64_t moved = shares_take(s, from, ns);
    shares_add(s, to, 0, moved);
    return moved;
}

int shares_largest(const struct shares *s)
{
    int best = -1;
    for (int i = 0; i < s->count; i++)
        if (best < 0 || s->part[i].ns > s->part[best].ns)
            best = i;
    return best;
}

bool shares_mostly(const struct shares *s, enum cause cause, int64_t more, uint32_t *ret_resource)
{
    const struct share *most = NULL;
    for (int i = 0; i < s->count; i++)
        if (s->part[i].cause == cause && (!most || s->part[i].ns > most->ns))
            most = &s->part[i];
    if (!most || most->ns * 2 < shares_total(s) + more)
        return false;
    *ret_resource = most->resource;
    return true;
}
