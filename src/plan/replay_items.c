/* SPDX-License-Identifier: MIT */
/* The items of a log: when what each step took was made. */
#include "plan/replay_build.h"

#include "base/mem.h"

#define NEAR NS_PER_MS    /* a hand-over takes as long */
#define STARTUP_TIMES 3.0 /* a usual item */
#define STARTUP_LEAST (20 * NS_PER_MS)

static void set_half(struct build *b, struct view_item *item, struct item_time *t,
                     const struct packed_delivery *d, int64_t startup)
{
    double made = from_origin(b, d->start + startup);
    if (t->half == ITEM_FIRST) {
        t->end = made;
        t->last_part = item->startup_parts;
        t->idle = 0;
    } else {
        t->start = made + t->idle;
        t->first_part = item->startup_parts;
        item->startup = false;
        item->startup_parts = 0;
    }
}

static void set_piece(struct item_time *t, const struct taken *k)
{
    double length = t->end - t->start;
    t->end = t->start + k->to * length;
    t->start += k->from * length;
    if (k->from > 0)
        t->idle = 0;
}

static void set_item(struct build *b, uint32_t p, uint32_t step, const struct taken *k)
{
    const struct packed_delivery *d = &b->c->deliveries[k->delivery];
    struct item_time *t = &b->items[p];
    struct view_item *item = &b->v->items[p];
    int64_t startup;
    item->loader = b->loader_of[k->delivery];
    t->taken = from_origin(b, b->c->steps[step].t1);
    t->start = from_origin(b, d->start);
    t->end = from_origin(b, d->end);
    t->idle = (double)time_unpack(d->idle);
    t->worker = d->worker;
    t->delivery = k->delivery;
    t->step = item->step = step;
    t->half = k->half;
    t->last_part = d->part_count;
    t->share = k->to - k->from;
    item->startup = d->startup;
    item->startup_parts = takes_startup(b->c, d, &startup);
    if (k->half == ITEM_PIECE)
        set_piece(t, k);
    else if (k->half != ITEM_WHOLE)
        set_half(b, item, t, d, startup);
    if (t->start > t->taken)
        t->start = t->taken;
    if (t->end > t->taken)
        t->end = t->taken; /* its tail was not awaited */
    t->work = t->start + (item->startup ? (double)startup + t->idle : 0);
    if (t->work > t->end)
        t->work = t->end;
}

/* Which positions are each loader's. Returns their number. */
static uint32_t deal(struct build *b, const struct taking *k)
{
    struct view *v = b->v;
    uint32_t n = 0, taken[VIEW_LOADERS_MAX] = {0};
    for (size_t s = 0; s < b->c->step_count; s++)
        if (k->by[s].delivery != VIEW_NO_ITEM)
            taken[b->loader_of[k->by[s].delivery]]++;
    for (uint32_t l = 0; l < v->loader_count; l++) {
        v->loaders[l].first = n;
        v->loaders[l].end = n += taken[l];
    }
    return n;
}

/* Numbers the takes, and finds the origin. */
static bool number(struct build *b, struct taking *k)
{
    struct view *v = b->v;
    const struct log_consumer *c = b->c;
    uint32_t n = deal(b, k), next[VIEW_LOADERS_MAX];
    for (uint32_t l = 0; l < v->loader_count; l++)
        next[l] = v->loaders[l].first;
    v->origin = c->steps[0].t0;
    for (size_t s = 0; s < c->step_count; s++) {
        v->steps[s].item = VIEW_NO_ITEM;
        if (k->by[s].delivery == VIEW_NO_ITEM)
            continue;
        v->steps[s].item = next[b->loader_of[k->by[s].delivery]]++;
        if (k->by[s].half == ITEM_WHOLE && k->seen[k->by[s].delivery] == 3)
            k->by[s].half = ITEM_REST;
        if (c->deliveries[k->by[s].delivery].start < v->origin)
            v->origin = c->deliveries[k->by[s].delivery].start;
    }
    v->item_count = n;
    v->items = mem_zalloc(n * sizeof(*v->items));
    b->items = mem_zalloc(n * sizeof(*b->items));
    if (!v->items || !b->items)
        return false;
    for (size_t s = 0; s < c->step_count; s++)
        if (v->steps[s].item != VIEW_NO_ITEM)
            set_item(b, v->steps[s].item, (uint32_t)s, &k->by[s]);
    return true;
}

/* A first delivery that took far longer than others of its loader do, even without what the log calls
 * startup: all of it counts as such. length: room for all of them. */
static void name_startups_of(struct build *b, const struct view_loader *l, double *length)
{
    struct view *v = b->v;
    size_t n = 0;
    for (uint32_t p = l->first; p < l->end; p++)
        if (!v->items[p].startup)
            length[n++] = b->items[p].end - b->items[p].start;
    double usual = view_quantile(length, n, 0.5);
    for (uint32_t p = l->first; n && p < l->end; p++) {
        struct view_item *item = &v->items[p];
        struct item_time *t = &b->items[p];
        if (!item->startup || t->idle > 0 ||
            t->end - t->work < STARTUP_TIMES * usual + (double)STARTUP_LEAST)
            continue;
        item->startup_parts = t->last_part;
        t->work = t->end;
    }
}

static bool name_startups(struct build *b)
{
    AUTOFREE double *length = mem_zalloc(b->v->item_count * sizeof(*length));
    for (uint32_t l = 0; length && l < b->v->loader_count; l++)
        name_startups_of(b, &b->v->loaders[l], length);
    return length != NULL;
}

/* A delivery that the log has nobody take was made all the same: its worker had no time for the
 * next one meanwhile. Where that one followed at once, it is seen as one with it. */
static bool join_untaken(struct build *b, const struct taking *k)
{
    const struct log_consumer *c = b->c;
    AUTOFREE uint32_t *next = mem_zalloc(REPLAY_WORKERS_MAX * sizeof(*next)); /* index + 1 */
    b->before = mem_zalloc(c->delivery_count * sizeof(*b->before));
    if (!next || !b->before)
        return false;
    for (size_t i = c->delivery_count; i-- > 0;) {
        const struct packed_delivery *d = &c->deliveries[i];
        uint32_t *n = &next[d->worker];
        const struct packed_delivery *after = *n ? &c->deliveries[*n - 1] : NULL;
        bool joins = after && !k->seen[i] && !d->startup && !after->startup && !after->idle &&
                     after->start - d->end < NEAR;
        if (joins)
            b->before[*n - 1] = (uint32_t)i + 1;
        *n = joins || k->seen[i] ? (uint32_t)i + 1 : 0;
    }
    return true;
}

uint32_t items_made(const struct build *b, uint32_t p, uint32_t list[ITEMS_JOINED])
{
    uint32_t n = 0, at = b->items[p].delivery;
    list[n++] = at;
    while (n < ITEMS_JOINED && b->items[p].half == ITEM_WHOLE && b->before[at])
        list[n++] = at = b->before[at] - 1;
    return n;
}

static void begin_earlier(struct build *b)
{
    uint32_t list[ITEMS_JOINED];
    for (uint32_t p = 0; p < b->v->item_count; p++) {
        uint32_t n = items_made(b, p, list);
        const struct packed_delivery *d = &b->c->deliveries[list[n - 1]];
        struct item_time *t = &b->items[p];
        if (n == 1)
            continue;
        t->start = t->work = from_origin(b, d->start);
        t->idle = (double)time_unpack(d->idle);
    }
}

bool items_collect(struct build *b)
{
    struct taking k = {0};
    bool ok = loaders_find(b) && takes_find(b, &k) && join_untaken(b, &k) && number(b, &k) &&
              name_startups(b);
    if (ok)
        begin_earlier(b);
    takes_clear(&k);
    return ok;
}
