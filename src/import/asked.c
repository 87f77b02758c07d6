/* SPDX-License-Identifier: MIT */
#include "import/asked.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define CAP_MIN 1024u

/* Numbers count up, in each process anew: spread, or runs of several processes would pile up. */
static size_t place(uint64_t key, size_t cap)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (cap - 1);
}

static void insert(struct launch *slot, size_t cap, const struct launch *launch)
{
    size_t at = place(launch->key, cap);
    while (slot[at].used)
        at = (at + 1) & (cap - 1);
    slot[at] = *launch;
    slot[at].used = 1;
}

/* Of equal keys the later stays behind the earlier: from just after a hole, in the order of the slots. */
static bool grow(struct asked *l)
{
    size_t old = l->cap[0], cap = old ? old * 2 : CAP_MIN, hole = 0;
    struct launch *slot = mem_zalloc(cap * sizeof(*slot));
    if (!slot)
        return false;
    while (hole < old && l->slot[0][hole].used)
        hole++;
    for (size_t i = 1; i <= old; i++)
        if (l->slot[0][(hole + i) & (old - 1)].used)
            insert(slot, cap, &l->slot[0][(hole + i) & (old - 1)]);
    free(l->slot[0]);
    l->slot[0] = slot;
    l->cap[0] = cap;
    return true;
}

static void begin_generation(struct asked *l)
{
    struct launch *reuse = l->cap[1] == l->cap[0] ? l->slot[1] : NULL;
    if (reuse)
        memset(reuse, 0, l->cap[1] * sizeof(*reuse));
    else
        free(l->slot[1]);
    l->slot[1] = l->slot[0];
    l->cap[1] = l->cap[0];
    l->count[1] = l->count[0];
    l->slot[0] = reuse;
    l->cap[0] = reuse ? l->cap[1] : 0;
    l->count[0] = 0;
}

bool asked_put(struct asked *l, const struct launch *launch)
{
    if (l->count[0] == ASKED_MAX)
        begin_generation(l);
    if (l->count[0] * 2 >= l->cap[0] && !grow(l))
        return false;
    insert(l->slot[0], l->cap[0], launch);
    l->count[0]++;
    return true;
}

const struct launch *asked_find(const struct asked *l, uint64_t key, int64_t t)
{
    const struct launch *best = NULL;
    for (int g = 0; g < 2 && !best; g++) {
        if (!l->count[g])
            continue;
        for (size_t at = place(key, l->cap[g]); l->slot[g][at].used;
             at = (at + 1) & (l->cap[g] - 1))
            if (l->slot[g][at].key == key && l->slot[g][at].t0 <= t)
                best = &l->slot[g][at];
    }
    return best;
}

void asked_clear(struct asked *l)
{
    free(l->slot[0]);
    free(l->slot[1]);
    *l = (struct asked){0};
}
