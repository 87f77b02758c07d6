/* SPDX-License-Identifier: MIT */
#include "ledger/ops.h"

#include "base/mem.h"
#include "ledger/search.h"

#include <stdlib.h>
#include <string.h>

void ops_clear(struct ops *o)
{
    free(o->item);
    *o = (struct ops){0};
}

bool ops_push(struct ops *o, const struct event_op *e)
{
    int64_t t0 = e->t0;
    if (o->count > o->first && o->item[o->count - 1].t1 > t0)
        t0 = o->item[o->count - 1].t1;
    if (e->t1 <= t0)
        return true;
    if (!mem_grow((void **)&o->item, &o->cap, o->count + 1, sizeof(*o->item)))
        return false;
    o->item[o->count++] =
        (struct op_piece){t0, e->t1, e->resource, e->cause, e->awaits_device, e->loads};
    return true;
}

size_t ops_after(const struct ops *o, int64_t t)
{
    return SEARCH_AFTER(o, t1, t);
}

void ops_trim(struct ops *o, int64_t horizon)
{
    o->first = ops_after(o, horizon);
    if (o->first < 64 || o->first * 2 < o->count)
        return;
    memmove(o->item, o->item + o->first, (o->count - o->first) * sizeof(*o->item));
    o->count -= o->first;
    o->first = 0;
}
