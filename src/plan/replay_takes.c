/* SPDX-License-Identifier: MIT */
/*
 * Which delivery each step took. Logs of real jobs lack some deliveries:
 *
 * A worker's very first one. It then looks as if its next one began with the startup, followed by a
 * wait for work, and a step ends a long wait with an unknown delivery within that wait. What the
 * worker did until then is what that step took.
 *
 * One on the way. Then the worker's next one looks as if it took twice as long, and a step ends a
 * long wait with an unknown delivery somewhere within it. It is cut there.
 */
#include "plan/replay_build.h"

#include "base/mem.h"

#include <stdlib.h>

#define LONG_WAIT NS_PER_MS    /* of a step for an unknown delivery */
#define NEAR NS_PER_MS         /* a hand-over takes as long */
#define LABEL (10 * NS_PER_MS) /* where a startup ends is not known better */
#define STARTUPS_TRIED 256u
#define STRAYS 10 /* deliveries, one in so many steps */
#define PIECE 0.5 /* of a usual delivery: no piece is shorter */

uint16_t takes_startup(const struct log_consumer *c, const struct packed_delivery *d,
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
        takes_startup(c, d, &ns);
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

static bool take_all(const struct build *b, struct taking *k)
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
        k->by[s] = (struct taken){VIEW_NO_ITEM, ITEM_WHOLE, 0, 1};
        if (in->delivery >= c->delivery_base && d < c->delivery_count && !(k->seen[d] & 1)) {
            k->by[s].delivery = (uint32_t)d;
            k->seen[d] |= 1;
        } else if (in->t1 - in->t0 > LONG_WAIT) {
            uint32_t first = unseen_first(b, k, in);
            if (first == VIEW_NO_ITEM || k->seen[first])
                continue;
            k->by[s] = (struct taken){first, ITEM_FIRST, 0, 1};
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

/* ---- cutting ---- */

struct cutting {
    uint32_t *taken_by; /* owned, per delivery: step + 1 */
    double *last;       /* owned, per delivery: part of it that is cut off already */
    uint32_t *next;     /* owned, per delivery: the same worker's next one taken + 1 */
    uint32_t *at;       /* owned, per worker: index + 1 of the one being looked at */
    uint32_t *workers;  /* owned: those who made any */
    size_t worker_count;
    double usual[VIEW_LOADERS_MAX]; /* length of a delivery of the loader; 0: none tells */
};

static bool can_be_cut(const struct cutting *x, const struct log_consumer *c, size_t i)
{
    return x->taken_by[i] && !c->deliveries[i].startup;
}

/* length: room for all deliveries. */
static void learn_usual(struct cutting *x, const struct build *b, double *length)
{
    const struct log_consumer *c = b->c;
    for (uint32_t l = 0; l < b->v->loader_count; l++) {
        size_t n = 0;
        for (size_t i = 0; i < c->delivery_count; i++)
            if (b->loader_of[i] == l && can_be_cut(x, c, i))
                length[n++] = (double)(c->deliveries[i].end - c->deliveries[i].start);
        x->usual[l] = view_quantile(length, n, 0.5);
    }
}

static bool cutting_init(struct cutting *x, const struct build *b, const struct taking *k)
{
    const struct log_consumer *c = b->c;
    AUTOFREE double *length = mem_zalloc(c->delivery_count * sizeof(*length));
    x->taken_by = mem_zalloc(c->delivery_count * sizeof(*x->taken_by));
    x->last = mem_zalloc(c->delivery_count * sizeof(*x->last));
    x->next = mem_zalloc(c->delivery_count * sizeof(*x->next));
    x->at = mem_zalloc(REPLAY_WORKERS_MAX * sizeof(*x->at));
    x->workers = mem_zalloc(REPLAY_WORKERS_MAX * sizeof(*x->workers));
    if (!length || !x->taken_by || !x->last || !x->next || !x->at || !x->workers)
        return false;
    for (size_t s = 0; s < c->step_count; s++)
        if (k->by[s].delivery != VIEW_NO_ITEM && k->by[s].half == ITEM_WHOLE)
            x->taken_by[k->by[s].delivery] = (uint32_t)s + 1;
    for (size_t i = c->delivery_count; i-- > 0;) {
        const struct packed_delivery *d = &c->deliveries[i];
        if (!can_be_cut(x, c, i))
            continue;
        if (!x->at[d->worker])
            x->workers[x->worker_count++] = d->worker;
        x->next[i] = x->at[d->worker];
        x->at[d->worker] = (uint32_t)i + 1;
    }
    learn_usual(x, b, length);
    return true;
}

static void cutting_clear(struct cutting *x)
{
    free(x->taken_by);
    free(x->last);
    free(x->next);
    free(x->at);
    free(x->workers);
}

/* The piece of a worker's delivery that would end at t; 0: none long enough. */
static double piece_until(struct cutting *x, const struct build *b, uint32_t worker, int64_t t,
                          size_t step)
{
    const struct log_consumer *c = b->c;
    uint32_t *at = &x->at[worker];
    while (*at && c->deliveries[*at - 1].end <= t)
        *at = x->next[*at - 1];
    const struct packed_delivery *d = *at ? &c->deliveries[*at - 1] : NULL;
    if (!d || d->start >= t || x->taken_by[*at - 1] <= step + 1)
        return 0;
    double from = (double)d->start + x->last[*at - 1] * (double)(d->end - d->start);
    double piece = (double)t - from, rest = (double)(d->end - t);
    double least = PIECE * x->usual[b->loader_of[*at - 1]];
    return least > 0 && piece >= least && rest >= least ? piece : 0;
}

static void cut_at(struct cutting *x, const struct build *b, struct taking *k, size_t step)
{
    const struct log_consumer *c = b->c;
    uint32_t best = 0;
    double longest = 0;
    int64_t t = c->steps[step].t1;
    for (size_t i = 0; i < x->worker_count; i++) {
        double piece = piece_until(x, b, x->workers[i], t, step);
        if (piece <= longest)
            continue;
        longest = piece;
        best = x->at[x->workers[i]];
    }
    if (!best)
        return;
    const struct packed_delivery *d = &c->deliveries[best - 1];
    double to = (double)(t - d->start) / (double)(d->end - d->start);
    struct taken *rest = &k->by[x->taken_by[best - 1] - 1];
    k->by[step] = (struct taken){best - 1, ITEM_PIECE, x->last[best - 1], to};
    *rest = (struct taken){best - 1, ITEM_PIECE, to, 1};
    x->last[best - 1] = to;
}

static bool cut(const struct build *b, struct taking *k)
{
    const struct log_consumer *c = b->c;
    struct cutting x = {.worker_count = 0};
    bool ok = cutting_init(&x, b, k);
    for (size_t s = 0; ok && s < c->step_count; s++)
        if (k->by[s].delivery == VIEW_NO_ITEM && c->steps[s].t1 - c->steps[s].t0 > LONG_WAIT)
            cut_at(&x, b, k, s);
    cutting_clear(&x);
    return ok;
}

bool takes_find(const struct build *b, struct taking *k)
{
    if (!take_all(b, k))
        return false;
    drop_strays(b->c, k);
    return cut(b, k);
}

void takes_clear(struct taking *k)
{
    free(k->by);
    free(k->seen);
    free(k->startups);
}
