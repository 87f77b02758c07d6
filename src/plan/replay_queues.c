/* SPDX-License-Identifier: MIT */
/*
 * Which loader each delivery is of. Queues tell: those that are in use at the same time are of several
 * loaders (one for training, one for validation; two that are zipped). A loader that starts its workers
 * anew makes a new queue: it goes on in the one that has as many workers and about as many deliveries.
 * A loader whose workers have a queue each takes from them in turn.
 */
#include "plan/replay_build.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define BEGINNING 2 /* deliveries of each worker: in fewer some may have made none */
#define ALIKE 4     /* the numbers of deliveries differ by less than one in so many */
#define MISSED 2    /* deliveries of each worker that a log may miss at the end of an epoch */
#define FEW 4       /* deliveries of a queue: too few to tell it */
#define SHORT 8     /* deliveries of each worker in an epoch: fewer of a cut log tell little */

/* What came out of a queue. */
struct queue {
    int64_t first, last; /* when its first delivery began, its last one was made */
    uint32_t made, workers, number;
    uint32_t turns; /* takes that did not follow one from the same queue */
};

/* A loader so far: its latest queue, and how much came out of the fullest one. */
struct loader {
    int64_t last;
    uint32_t made, workers;
    bool of_many; /* a queue for each worker */
};

struct queues {
    struct queue *v;   /* owned, by number; made == 0: not seen */
    uint16_t *of;      /* owned: per delivery, the number of its queue */
    struct queue **by; /* owned: those seen, by the moment when they were first used */
    size_t count, seen;
};

static void look_at(struct queue *q, uint16_t number, const struct packed_delivery *d)
{
    if (!q->made++)
        *q = (struct queue){.first = d->start, .last = d->end, .made = 1, .number = number};
    q->first = d->start < q->first ? d->start : q->first;
    q->last = d->end > q->last ? d->end : q->last;
}

static void look_at_all(struct queues *qs, const struct log_consumer *c)
{
    memset(qs->v, 0, qs->count * sizeof(*qs->v));
    for (size_t i = 0; i < c->delivery_count; i++)
        look_at(&qs->v[qs->of[i]], qs->of[i], &c->deliveries[i]);
}

/* Is delivery i of the worker that made `next` later, which was thought to put into another queue? */
static bool same_life(const struct queues *qs, const struct log_consumer *c, size_t i, size_t next)
{
    const struct queue *q = &qs->v[qs->of[i]];
    return q->last > qs->v[qs->of[next]].first || (q->made < FEW && !c->deliveries[next].startup);
}

/* A worker puts into one queue. Which one may have shown only after its first deliveries: while that which they
 * were thought to be in went on beside it, or had few. last: per worker, zeros. */
static void move_first_ones(struct queues *qs, const struct log_consumer *c, uint32_t *last)
{
    for (size_t i = c->delivery_count; i-- > 0;) {
        uint32_t *next = &last[c->deliveries[i].worker]; /* delivery + 1 */
        if (*next && same_life(qs, c, i, *next - 1))
            qs->of[i] = qs->of[*next - 1];
        *next = (uint32_t)i + 1;
    }
}

/* last: per worker, zeros. */
static void count_workers(struct queues *qs, const struct log_consumer *c, uint32_t *last)
{
    for (size_t i = 0; i < c->delivery_count; i++) {
        uint32_t *before = &last[c->deliveries[i].worker];
        qs->v[qs->of[i]].workers += *before != qs->of[i] + 1u;
        *before = qs->of[i] + 1u;
    }
}

static void count_turns(struct queues *qs, const struct log_consumer *c)
{
    const struct queue *last = NULL;
    for (size_t i = 0; i < c->step_count; i++) {
        uint64_t d = c->steps[i].delivery - c->delivery_base;
        if (c->steps[i].delivery < c->delivery_base || d >= c->delivery_count)
            continue;
        struct queue *q = &qs->v[qs->of[d]];
        q->turns += q != last;
        last = q;
    }
}

static int by_first(const void *a, const void *b)
{
    const struct queue *x = *(struct queue *const *)a, *y = *(struct queue *const *)b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* False: out of memory. */
static bool find_queues(struct queues *qs, const struct log_consumer *c)
{
    AUTOFREE uint32_t *last = mem_zalloc(REPLAY_WORKERS_MAX * sizeof(*last));
    for (size_t i = 0; i < c->delivery_count; i++)
        if (c->deliveries[i].queue >= qs->count)
            qs->count = c->deliveries[i].queue + 1u;
    qs->v = mem_zalloc(qs->count * sizeof(*qs->v));
    qs->by = mem_zalloc(qs->count * sizeof(*qs->by));
    qs->of = mem_zalloc(c->delivery_count * sizeof(*qs->of));
    if (!last || !qs->v || !qs->by || !qs->of)
        return false;
    for (size_t i = 0; i < c->delivery_count; i++)
        qs->of[i] = c->deliveries[i].queue;
    look_at_all(qs, c);
    move_first_ones(qs, c, last);
    look_at_all(qs, c);
    memset(last, 0, REPLAY_WORKERS_MAX * sizeof(*last));
    count_workers(qs, c, last);
    count_turns(qs, c);
    for (size_t i = 0; i < qs->count; i++)
        if (qs->v[i].made)
            qs->by[qs->seen++] = &qs->v[i];
    if (qs->seen)
        qsort(qs->by, qs->seen, sizeof(*qs->by), by_first);
    return true;
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

/* One worker's, from which every other take or so is. */
static bool is_one_of_many(const struct queue *q)
{
    return q->workers == 1 && q->turns * 2 > q->made;
}

/* May q be the loader's next queue? The run may have ended in the midst of the last one. */
static bool goes_on(const struct loader *l, const struct queue *q, bool last)
{
    if (l->of_many || is_one_of_many(q))
        return l->of_many && is_one_of_many(q);
    if (l->last > q->first)
        return false;
    bool begun = last && q->made <= l->made;
    uint32_t more = l->made > q->made ? l->made : q->made;
    if (begun && q->workers < l->workers && q->made < BEGINNING * l->workers)
        return true; /* not all of its workers had delivered yet */
    uint32_t off = distance(l->made, q->made);
    uint32_t workers = l->workers > q->workers ? l->workers : q->workers;
    if (more < SHORT * workers)
        return true;
    return l->workers == q->workers && (begun || off * ALIKE <= more || off <= MISSED * q->workers);
}

/* Of several the one with the nearest number of deliveries, then the one that has rested longest. */
static bool nearer(const struct loader *a, const struct loader *b, const struct queue *q)
{
    uint32_t x = distance(a->made, q->made), y = distance(b->made, q->made);
    return x != y ? x < y : a->last < b->last;
}

/* The loader of a queue; a new one where it goes on in none. When there are too many: in the nearest. */
static uint32_t loader_of(struct loader *loaders, uint32_t *count, const struct queue *q, bool last)
{
    uint32_t best = VIEW_LOADERS_MAX;
    for (uint32_t i = 0; i < *count; i++)
        if (goes_on(&loaders[i], q, last) &&
            (best == VIEW_LOADERS_MAX || nearer(&loaders[i], &loaders[best], q)))
            best = i;
    if (best < VIEW_LOADERS_MAX)
        return best;
    if (*count < VIEW_LOADERS_MAX)
        return (*count)++;
    best = 0;
    for (uint32_t i = 1; i < *count; i++)
        if (nearer(&loaders[i], &loaders[best], q))
            best = i;
    return best;
}

static void take_over(struct loader *l, const struct queue *q)
{
    l->last = q->last > l->last ? q->last : l->last;
    l->made = q->made > l->made ? q->made : l->made;
    l->workers = q->workers > l->workers ? q->workers : l->workers;
    l->of_many = is_one_of_many(q);
}

static bool name_loaders(struct build *b, const struct queues *qs)
{
    const struct log_consumer *c = b->c;
    struct loader loaders[VIEW_LOADERS_MAX] = {{0}};
    AUTOFREE uint8_t *of = mem_zalloc(qs->count);
    uint32_t count = 0;
    b->loader_of = mem_zalloc(c->delivery_count);
    if (!of || !b->loader_of)
        return false;
    for (size_t i = 0; i < qs->seen; i++) {
        const struct queue *q = qs->by[i];
        uint32_t l = loader_of(loaders, &count, q, i + 1 == qs->seen);
        take_over(&loaders[l], q);
        of[q->number] = (uint8_t)l;
    }
    for (size_t i = 0; i < c->delivery_count; i++)
        b->loader_of[i] = of[qs->of[i]];
    b->v->loader_count = count ? count : 1;
    return true;
}

bool loaders_find(struct build *b)
{
    struct queues qs = {.count = 0};
    bool ok = find_queues(&qs, b->c) && name_loaders(b, &qs);
    free(qs.v);
    free(qs.by);
    free(qs.of);
    return ok;
}
