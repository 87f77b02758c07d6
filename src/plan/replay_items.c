/* SPDX-License-Identifier: MIT */
/*
 * The items of a log: which delivery each step took, and when it was made.
 *
 * Logs of real jobs sometimes lack a worker's very first delivery: it then looks as if its next one
 * began with the startup, followed by a wait for work, and a step ends a long wait with an unknown
 * delivery within that wait. Such a delivery is taken apart: what the worker did until then is the
 * item which that step took.
 */
#include "plan/replay_build.h"

#include "base/mem.h"

#include <stdlib.h>

#define LONG_WAIT NS_PER_MS    /* of a step for an unknown delivery */
#define NEAR NS_PER_MS         /* a hand-over takes as long */
#define LABEL (10 * NS_PER_MS) /* where a startup ends is not known better */
#define STARTUPS_TRIED 256u
#define STRAYS 10         /* deliveries, one in so many steps */
#define STARTUP_TIMES 3.0 /* a usual item */
#define STARTUP_LEAST (20 * NS_PER_MS)

/* A worker's first delivery begins with its own startup: all up to the last startup part, and the
 * wait for a core that is reported after it. */
static uint16_t startup_parts(const struct log_consumer *c, const struct packed_delivery *d,
                              int64_t *ret_ns)
{
    const struct packed_part *v = c->parts.v + d->parts_at;
    uint16_t n = 0;
    for (uint16_t i = 0; d->startup && i < d->part_count; i++)
        if (key_cause(v[i].key) == CAUSE_STARTUP)
            n = i + 1;
    if (n && n < d->part_count && key_cause(v[n].key) == CAUSE_CPU_STARVED)
        n++;
    *ret_ns = 0;
    for (uint16_t i = 0; i < n; i++)
        *ret_ns += time_unpack(v[i].time);
    return n;
}

/* Which delivery each step took: its index, and which half of it. */
struct taken {
    uint32_t delivery; /* VIEW_NO_ITEM: none */
    uint8_t half;
};

struct taking {
    struct taken *by;   /* owned, per step */
    uint8_t *seen;      /* owned, per delivery: 1 taken, 2 its first half too */
    uint32_t *startups; /* owned: deliveries with a startup and a wait after it */
    size_t startup_count, from;
};

static bool begins(const struct log_consumer *c, uint32_t delivery)
{
    const struct packed_delivery *d = &c->deliveries[delivery];
    return d->startup && time_unpack(d->idle) > NEAR;
}

/* The first delivery that was made when the step's wait ended, and not seen. */
static uint32_t unseen_first(const struct build *b, struct taking *k, const struct packed_step *s)
{
    const struct log_consumer *c = b->c;
    uint32_t best = VIEW_NO_ITEM;
    int64_t latest = INT64_MIN, ns;
    for (size_t i = k->from, n = 0; i < k->startup_count && n < STARTUPS_TRIED; i++, n++) {
        const struct packed_delivery *d = &c->deliveries[k->startups[i]];
        startup_parts(c, d, &ns);
        int64_t made = d->start + ns, work = made + time_unpack(d->idle);
        if (work + NEAR < s->t0 && i == k->from)
            k->from++;
        if (made - LABEL > s->t1 || work + NEAR < s->t1 || made <= latest || made < s->t0 ||
            k->seen[k->startups[i]] == 2)
            continue;
        latest = made;
        best = k->startups[i];
    }
    return best;
}

static bool take_all(struct build *b, struct taking *k)
{
    const struct log_consumer *c = b->c;
    k->by = mem_zalloc(c->step_count * sizeof(*k->by));
    k->seen = mem_zalloc(c->delivery_count);
    k->startups = mem_zalloc(c->delivery_count * sizeof(*k->startups));
    if (!k->by || !k->seen || !k->startups)
        return false;
    for (uint32_t i = 0; i < c->delivery_count; i++)
        if (begins(c, i))
            k->startups[k->startup_count++] = i;
    for (size_t s = 0; s < c->step_count; s++) {
        const struct packed_step *in = &c->steps[s];
        uint64_t d = in->delivery - c->delivery_base;
        k->by[s] = (struct taken){VIEW_NO_ITEM, ITEM_WHOLE};
        if (in->delivery >= c->delivery_base && d < c->delivery_count && !(k->seen[d] & 1)) {
            k->by[s].delivery = (uint32_t)d;
            k->seen[d] |= 1;
        } else if (in->t1 - in->t0 > LONG_WAIT) {
            uint32_t first = unseen_first(b, k, in);
            if (first == VIEW_NO_ITEM || k->seen[first])
                continue;
            k->by[s] = (struct taken){first, ITEM_FIRST};
            k->seen[first] = 2;
        }
    }
    return true;
}

static bool reads(const struct log_consumer *c, const struct packed_step *s)
{
    for (uint32_t i = 0; i < s->op_count; i++) {
        uint32_t key = c->ops.v[s->ops_at + i].key;
        if (key_kind(key) == REPLAY_THREAD &&
            (key_cause(key) == CAUSE_STORAGE || key_cause(key) == CAUSE_PREPARE))
            return true;
    }
    return false;
}

/* The thread loads by itself in most steps, and what few things other threads handed over were no
 * batches: nothing is an item. */
static void drop_strays(const struct log_consumer *c, struct taking *k)
{
    size_t taken = 0, reading = 0;
    for (size_t s = 0; s < c->step_count; s++) {
        taken += k->by[s].delivery != VIEW_NO_ITEM;
        reading += k->by[s].delivery == VIEW_NO_ITEM && reads(c, &c->steps[s]);
    }
    if (taken * STRAYS >= c->step_count || reading * 2 < c->step_count)
        return;
    for (size_t s = 0; s < c->step_count; s++)
        k->by[s].delivery = VIEW_NO_ITEM;
}

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

static void set_item(struct build *b, uint32_t p, uint32_t step, const struct taken *k)
{
    const struct packed_delivery *d = &b->c->deliveries[k->delivery];
    struct item_time *t = &b->items[p];
    struct view_item *item = &b->v->items[p];
    int64_t startup;
    t->taken = from_origin(b, b->c->steps[step].t1);
    t->start = from_origin(b, d->start);
    t->end = from_origin(b, d->end);
    t->idle = (double)time_unpack(d->idle);
    t->worker = d->worker;
    t->delivery = k->delivery;
    t->step = item->step = step;
    t->half = k->half;
    t->last_part = d->part_count;
    item->startup = d->startup;
    item->startup_parts = startup_parts(b->c, d, &startup);
    if (k->half != ITEM_WHOLE)
        set_half(b, item, t, d, startup);
    if (t->start > t->taken)
        t->start = t->taken;
    if (t->end > t->taken)
        t->end = t->taken; /* its tail was not awaited */
    t->work = t->start + (item->startup ? (double)startup + t->idle : 0);
    if (t->work > t->end)
        t->work = t->end;
}

/* Numbers the takes, and finds the origin. */
static bool number(struct build *b, struct taking *k)
{
    struct view *v = b->v;
    const struct log_consumer *c = b->c;
    uint32_t n = 0;
    v->origin = c->steps[0].t0;
    for (size_t s = 0; s < c->step_count; s++) {
        v->steps[s].item = VIEW_NO_ITEM;
        if (k->by[s].delivery == VIEW_NO_ITEM)
            continue;
        v->steps[s].item = n++;
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

/* A first delivery that took far longer than others do, of which the log calls nothing startup: all
 * of it counts as such. */
static bool name_startups(struct build *b)
{
    struct view *v = b->v;
    size_t n = 0;
    AUTOFREE double *length = mem_zalloc(v->item_count * sizeof(*length));
    if (!length)
        return false;
    for (uint32_t p = 0; p < v->item_count; p++)
        if (!v->items[p].startup)
            length[n++] = b->items[p].end - b->items[p].start;
    double usual = view_quantile(length, n, 0.5);
    for (uint32_t p = 0; n && p < v->item_count; p++) {
        struct view_item *item = &v->items[p];
        struct item_time *t = &b->items[p];
        if (!item->startup || item->startup_parts || t->idle > 0 ||
            t->end - t->start < STARTUP_TIMES * usual + (double)STARTUP_LEAST)
            continue;
        item->startup_parts = t->last_part;
        t->work = t->end;
    }
    return true;
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
    bool ok = take_all(b, &k);
    if (ok)
        drop_strays(b->c, &k);
    ok = ok && join_untaken(b, &k) && number(b, &k) && name_startups(b);
    if (ok)
        begin_earlier(b);
    free(k.by);
    free(k.seen);
    free(k.startups);
    return ok;
}
