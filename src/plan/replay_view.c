/* SPDX-License-Identifier: MIT */
/*
 * From the log to a view: which items and steps there were, and what the device clock did.
 */
#include "plan/replay_build.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUICK 0.1   /* one in ten: nobody else had the core */
#define SCARCE 0.05 /* of the length: waits for a core that are no noise */

void view_clear(struct view *v)
{
    free(v->items);
    free(v->epochs);
    free(v->steps);
    free(v->parts);
    free(v->ops);
    *v = (struct view){0};
}

static bool push_part(struct view *v, struct view_part part)
{
    if (!mem_grow((void **)&v->parts, &v->part_cap, v->part_count + 1, sizeof(*v->parts)))
        return false;
    v->parts[v->part_count++] = part;
    return true;
}

static bool push_op(struct view *v, struct view_op op)
{
    if (!mem_grow((void **)&v->ops, &v->op_cap, v->op_count + 1, sizeof(*v->ops)))
        return false;
    v->ops[v->op_count++] = op;
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The value below which `share` of v[0..n-1] lie; sorts them. 0 for none. */
double view_quantile(double *v, size_t n, double share)
{
    if (!n)
        return 0;
    qsort(v, n, sizeof(*v), by_value);
    return v[(size_t)((double)(n - 1) * share)];
}

/* Thread time to start one worker: how far apart they were started, but (waits for a core count
 * there) no more than what the thread spent on all of them, where that was seen. */
static bool learn_fork(struct build *b)
{
    struct view *v = b->v;
    size_t gaps = 0, all = 0;
    const struct mark *last = NULL;
    AUTOFREE double *gap = mem_zalloc(b->mark_count * sizeof(*gap));
    if (!gap)
        return false;
    for (size_t i = 0; i < b->mark_count; i++) {
        const struct mark *m = &b->marks[i];
        if (m->kind != VIEW_SPAWN)
            continue;
        if (last && v->items[last->what].epoch == v->items[m->what].epoch)
            gap[gaps++] = m->seen - last->seen;
        last = m;
        all++;
    }
    v->fork_ns = view_quantile(gap, gaps, 0.5);
    double spent = all ? v->own_ns[CAUSE_STARTUP] / (double)all : 0;
    if (spent > 0 && (!gaps || spent < v->fork_ns))
        v->fork_ns = spent;
    return true;
}

/* Copies parts of one delivery, no more than *left of them. */
static bool copy_delivery(struct build *b, const struct packed_delivery *d, uint32_t from,
                          uint32_t to, double share, double *left)
{
    for (uint32_t i = from; i < to; i++) {
        struct packed_part in = b->c->parts.v[d->parts_at + i];
        struct view_part out = {share * (double)time_unpack(in.time), key_resource(in.key),
                                key_cause(in.key)};
        if (out.ns > *left)
            out.ns = *left;
        *left -= out.ns;
        b->v->delivery_ns[out.cause] += out.ns;
        if (!push_part(b->v, out))
            return false;
    }
    return true;
}

/* Copies the items' parts; a tail that was not awaited is cut off. */
static bool copy_parts(struct build *b)
{
    struct view *v = b->v;
    uint32_t made[ITEMS_JOINED];
    for (uint32_t p = 0; p < v->item_count; p++) {
        const struct item_time *t = &b->items[p];
        double left = t->end - t->start;
        if (v->items[p].startup && t->half == ITEM_WHOLE)
            left -= t->idle;
        if (v->items[p].stale)
            left = 0;
        v->items[p].parts_at = (uint32_t)v->part_count;
        for (uint32_t n = items_made(b, p, made); n-- > 0;) {
            const struct packed_delivery *d = &b->c->deliveries[made[n]];
            if (!copy_delivery(b, d, n ? 0 : t->first_part, n ? d->part_count : t->last_part,
                               t->share, &left))
                return false;
        }
        v->items[p].part_count = (uint16_t)(v->part_count - v->items[p].parts_at);
    }
    return true;
}

/* The real clocks of thread and device while ops are copied. */
struct clocks {
    double now, device, burst; /* burst: since when the thread has run without a sync or a point */
    size_t mark;               /* the next one */
};

static double *moment_of(struct build *b, const struct mark *m)
{
    return m->kind == VIEW_SPAWN     ? &b->spawns[m->what]
           : m->kind == VIEW_RELEASE ? &b->releases[m->what]
                                     : &b->requests[m->what];
}

/* Marks before `until` are set here; what is missing becomes slack. */
static bool set_marks(struct build *b, struct clocks *k, double until)
{
    for (; k->mark < b->mark_count && b->marks[k->mark].seen < until; k->mark++) {
        struct mark *m = &b->marks[k->mark];
        struct view_op op = {.kind = m->kind, .resource = m->what};
        *moment_of(b, m) = k->now;
        if (!push_op(b->v, op))
            return false;
    }
    return true;
}

/* Requests that seem to fall into a wait for the device were made before it. */
static bool set_requests(struct build *b, struct clocks *k, double until)
{
    while (k->mark < b->mark_count && b->marks[k->mark].kind == VIEW_REQUEST &&
           b->marks[k->mark].seen < until)
        if (!set_marks(b, k, b->marks[k->mark].seen + 1))
            return false;
    return true;
}

/* A THREAD op, cut where a mark falls within it. */
static bool copy_thread(struct build *b, struct clocks *k, struct view_op op)
{
    struct view *v = b->v;
    double end = k->now + op.ns;
    v->own_ns[op.cause] += op.ns;
    while (k->mark < b->mark_count && b->marks[k->mark].seen < end) {
        double at = b->marks[k->mark].seen;
        op.ns = at > k->now ? at - k->now : 0;
        if (op.ns > 0 && !push_op(v, op))
            return false;
        k->now += op.ns;
        if (!set_marks(b, k, k->now + 1))
            return false;
    }
    op.ns = end - k->now;
    k->now = end;
    return op.ns <= 0 || push_op(v, op);
}

static bool copy_op(struct build *b, struct clocks *k, struct view_op op)
{
    struct view *v = b->v;
    double end, from;
    switch (op.kind) {
    case REPLAY_THREAD:
        return copy_thread(b, k, op);
    case REPLAY_DEVICE:
    case REPLAY_SPREAD:
        from = op.kind == REPLAY_SPREAD ? k->burst : k->now;
        k->device = (k->device > from ? k->device : from) + op.ns;
        if (op.kind == REPLAY_SPREAD && k->device < k->now)
            k->device = k->now;
        if (op.kind == REPLAY_DEVICE)
            k->burst = k->now;
        v->device_ns[op.cause] += op.ns;
        return push_op(v, op);
    default:
        end = k->now + op.ns;
        v->sync_ns += op.ns;
        if (!set_marks(b, k, k->now + 1) || !set_requests(b, k, end))
            return false;
        if (k->device >= end) {
            op.backlog = k->device - end;
            op.ns = 0;
        } else {
            op.ns = end - (k->device > k->now ? k->device : k->now);
        }
        k->now = k->burst = end;
        return push_op(v, op);
    }
}

static bool copy_steps(struct build *b)
{
    struct view *v = b->v;
    const struct log_consumer *c = b->c;
    struct clocks k = {.device = 0};
    if (!set_marks(b, &k, from_origin(b, c->steps[0].t1)))
        return false;
    v->start_ops = (uint32_t)v->op_count;
    for (size_t s = 0; s < c->step_count; s++) {
        const struct packed_step *in = &c->steps[s];
        struct view_step *out = &v->steps[s];
        double ready = out->item == VIEW_NO_ITEM ? 0 : b->items[out->item].end;
        double t0 = from_origin(b, in->t0), t1 = from_origin(b, in->t1);
        bool last = s + 1 == c->step_count;
        out->lag = t1 - (t0 > ready ? t0 : ready);
        out->waited = ready > t0;
        v->wait_ns += t1 - t0;
        if (out->item != VIEW_NO_ITEM)
            v->loaders[v->items[out->item].loader].wait_ns += t1 - t0;
        v->untold_ns += out->item == VIEW_NO_ITEM ? t1 - t0 : 0;
        out->ops_at = (uint32_t)v->op_count;
        k.now = k.burst = t1;
        for (uint32_t i = 0; i < in->op_count; i++) {
            struct packed_part p = c->ops.v[in->ops_at + i];
            struct view_op op = {(double)time_unpack(p.time), 0, key_resource(p.key),
                                 key_kind(p.key), key_cause(p.key)};
            if (!copy_op(b, &k, op))
                return false;
        }
        struct view_op gap = {.kind = REPLAY_THREAD, .cause = CAUSE_UNKNOWN}; /* nothing recorded */
        gap.ns = (last ? from_origin(b, in->end) : from_origin(b, c->steps[s + 1].t0)) - k.now;
        if (gap.ns > 0 && !copy_thread(b, &k, gap))
            return false;
        if (!set_marks(b, &k, last ? k.now : from_origin(b, c->steps[s + 1].t1)))
            return false;
        out->op_count = (uint32_t)(v->op_count - out->ops_at);
    }
    v->real_ns = k.device > k.now ? k.device : k.now;
    return true;
}

/* How long the thread was still away once its device had done what it waited for. */
static void learn_sync(struct view *v, double *all)
{
    size_t n = 0;
    for (size_t i = 0; i < v->op_count; i++)
        if (v->ops[i].kind == REPLAY_SYNC && v->ops[i].ns > 0)
            all[n++] = v->ops[i].ns;
    v->usual.sync_quick = view_quantile(all, n, QUICK);
}

double view_item_cpu(const struct view *v, const struct view_item *item)
{
    double sum = 0;
    for (uint32_t i = item->startup_parts; i < item->part_count; i++) {
        const struct view_part *p = &v->parts[item->parts_at + i];
        sum += cause_takes_core(p->cause) ? p->ns : 0;
    }
    return sum;
}

/* The lags of the steps that waited (or not) for what they took, into all[]; a worker's first hand-over,
 * which starts its queue's thread, only where there is no other. */
static size_t lags_of(const struct view *v, bool waited, double *all)
{
    size_t n = 0;
    for (int firsts = 0; firsts < 2 && !n; firsts++)
        for (size_t s = 0; s < v->step_count; s++) {
            const struct view_step *step = &v->steps[s];
            if (step->item != VIEW_NO_ITEM && step->waited == waited &&
                v->items[step->item].startup == (firsts == 1))
                all[n++] = step->lag;
        }
    return n;
}

/* all: room for all items. */
static void learn_item_cpu(struct view *v, struct view_loader *l, double *all)
{
    size_t n = 0;
    for (uint32_t p = l->first; p < l->end; p++)
        if (!v->items[p].startup && !v->items[p].stale)
            all[n++] = view_item_cpu(v, &v->items[p]);
    l->item_cpu = n ? view_quantile(all, n, 0.5) : INFINITY;
}

/* The loader that was waited for longest, of equal ones the first. */
static void learn_awaited(struct view *v)
{
    for (uint32_t l = 1; l < v->loader_count; l++)
        if (v->loaders[l].wait_ns > v->loaders[v->awaited].wait_ns)
            v->awaited = l;
}

/* Medians; where a consumer always waited, the quickest tenth stands for its not having to. */
static bool learn_usual(struct view *v)
{
    size_t n = v->step_count > v->item_count ? v->step_count : v->item_count, waited, ready;
    AUTOFREE double *a = mem_zalloc((n > v->op_count ? n : v->op_count) * sizeof(*a));
    AUTOFREE double *b = mem_zalloc(n * sizeof(*b));
    if (!a || !b)
        return false;
    learn_sync(v, a);
    for (uint32_t l = 0; l < v->loader_count; l++)
        learn_item_cpu(v, &v->loaders[l], b);
    learn_awaited(v);
    waited = lags_of(v, true, a);
    ready = lags_of(v, false, b);
    v->usual.lag_quick = view_quantile(a, waited, QUICK);
    v->usual.lag_ready = ready ? view_quantile(b, ready, 0.5) : v->usual.lag_quick;
    v->usual.lag_waited = waited ? view_quantile(a, waited, 0.5) : v->usual.lag_ready;
    waited = 0;
    for (size_t p = 0; p < v->item_count; p++)
        if (v->items[p].waited)
            a[waited++] = v->items[p].slack;
    v->usual.slack_quick = view_quantile(a, waited, QUICK);
    v->usual.slack_waited = view_quantile(a, waited, 0.5);
    v->scarce =
        v->delivery_ns[CAUSE_CPU_STARVED] + v->own_ns[CAUSE_CPU_STARVED] > SCARCE * v->real_ns;
    return true;
}

static bool build(struct build *b, uint32_t depth)
{
    struct view *v = b->v;
    const struct log_consumer *c = b->c;
    v->step_count = c->step_count;
    v->steps = mem_zalloc(c->step_count * sizeof(*v->steps));
    if (!v->steps || !items_collect(b))
        return false;
    if (!request_depth(b, depth))
        return false;
    v->start_ns = from_origin(b, c->steps[0].t0);
    if (!request_epochs(b) || !copy_parts(b) || !copy_steps(b))
        return false;
    v->whole_ns = v->real_ns + (double)(c->steps[0].t0 - c->first_ever);
    if (!request_slack(b))
        return false;
    return learn_fork(b) && learn_usual(v) && busy_cores(b);
}

bool view_build(struct view *v, const struct replay_log *log, int consumer, uint32_t depth)
{
    const struct log_consumer *c = &log->consumers[consumer];
    struct build b = {.v = v, .c = c};
    *v = (struct view){0};
    if (!c->step_count)
        return true;
    bool ok = build(&b, depth);
    free(b.items);
    free(b.marks);
    free(b.releases);
    free(b.requests);
    free(b.before);
    free(b.loader_of);
    free(b.depth_of);
    free(b.untold);
    free(b.spawns);
    return ok;
}
