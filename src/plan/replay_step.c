/* SPDX-License-Identifier: MIT */
/*
 * Building deliveries and steps in bounded arrays.
 *
 * A step is a row of groups, each ended by a SYNC (the last one perhaps open). When the array is
 * full, each group becomes THREAD ops (one per cause) followed by SPREAD ops; when that does not
 * help, pairs of groups join: their synchronisations made thread and device take turns, so the
 * joined group is thread time, then device time at one point, then one SYNC.
 */
#include "plan/replay_log.h"

static bool same(const struct share *a, enum cause cause, uint32_t resource)
{
    return a->cause == cause && a->resource == resource;
}

/* Joins equal parts within each `block` neighbours; what is left is in the order of its first. */
static void join_parts(struct replay_delivery *d, int block)
{
    int kept = 0;
    for (int from = 0; from < d->part_count; from += block) {
        int begin = kept;
        for (int i = from; i < from + block && i < d->part_count; i++) {
            struct share p = d->parts[i];
            int k = begin;
            while (k < kept && !same(&d->parts[k], (enum cause)p.cause, p.resource))
                k++;
            if (k < kept)
                d->parts[k].ns += p.ns;
            else
                d->parts[kept++] = p;
        }
    }
    d->part_count = (uint8_t)kept;
}

void replay_delivery_add(struct replay_delivery *d, enum cause cause, uint32_t resource, int64_t ns)
{
    int n = d->part_count;
    if (ns <= 0)
        return;
    if (n && same(&d->parts[n - 1], cause, resource)) {
        d->parts[n - 1].ns += ns;
        return;
    }
    for (int block = 4; n == REPLAY_PARTS_MAX && block <= REPLAY_PARTS_MAX; block *= 2) {
        join_parts(d, block);
        n = d->part_count;
    }
    if (n < REPLAY_PARTS_MAX) {
        d->parts[n] = (struct share){(uint8_t)cause, resource, ns};
        d->part_count++;
        return;
    }
    for (int i = n - 1; i >= 0; i--)
        if (same(&d->parts[i], cause, resource)) {
            d->parts[i].ns += ns;
            return;
        }
    for (int i = n - 1; i >= 0; i--)
        if (d->parts[i].cause == cause) {
            d->parts[i].ns += ns;
            d->parts[i].resource = 0;
            return;
        }
    d->parts[n - 1].ns += ns;
    d->parts[n - 1].cause = CAUSE_UNKNOWN;
    d->parts[n - 1].resource = 0;
}

static bool on_device(uint8_t kind)
{
    return kind == REPLAY_DEVICE || kind == REPLAY_SPREAD;
}

/* A group being joined: totals per (cause, resource), threads and device apart. */
struct group {
    struct replay_op thread[REPLAY_OPS_MAX], device[REPLAY_OPS_MAX], sync;
    int threads, devices;
    bool synced;
};

static void group_total(struct replay_op *list, int *count, const struct replay_op *op)
{
    for (int i = 0; i < *count; i++)
        if (same(&list[i].what, op->what.cause, op->what.resource)) {
            list[i].what.ns += op->what.ns;
            return;
        }
    list[(*count)++] = *op;
}

static void group_add(struct group *g, const struct replay_op *op)
{
    if (op->kind == REPLAY_SYNC) {
        int64_t ns = g->synced ? g->sync.what.ns : 0;
        bool other = g->synced && g->sync.what.cause != op->what.cause;
        g->sync = *op;
        g->sync.what.ns += ns;
        if (other) {
            g->sync.what.cause = CAUSE_NONE;
            g->sync.what.resource = 0;
        }
        g->synced = true;
    } else if (on_device(op->kind)) {
        group_total(g->device, &g->devices, op);
    } else {
        group_total(g->thread, &g->threads, op);
    }
}

static int group_write(const struct group *g, bool spread, struct replay_op *out)
{
    int n = 0;
    for (int i = 0; i < g->threads; i++)
        out[n++] = g->thread[i];
    for (int i = 0; i < g->devices; i++) {
        out[n] = g->device[i];
        out[n++].kind = spread && g->threads ? REPLAY_SPREAD : REPLAY_DEVICE;
    }
    if (g->synced)
        out[n++] = g->sync;
    return n;
}

/* Joins `groups_each` neighbouring groups into one, all along the step. */
static void join_groups(struct replay_step *s, int groups_each)
{
    struct replay_op in[REPLAY_OPS_MAX];
    int n = s->op_count, at = 0, out = 0;
    for (int i = 0; i < n; i++)
        in[i] = s->ops[i];
    while (at < n) {
        struct group g = {.threads = 0};
        int left = groups_each;
        while (at < n && left > 0) {
            left -= in[at].kind == REPLAY_SYNC;
            group_add(&g, &in[at++]);
        }
        out += group_write(&g, groups_each == 1, &s->ops[out]);
    }
    s->op_count = (uint8_t)out;
}

/* The last resort: resources, then causes, of thread ops are given up. */
static void forget_details(struct replay_step *s, bool causes)
{
    for (int i = 0; i < s->op_count; i++) {
        s->ops[i].what.resource = 0;
        if (causes && s->ops[i].kind == REPLAY_THREAD)
            s->ops[i].what.cause = CAUSE_UNKNOWN;
    }
    join_groups(s, REPLAY_OPS_MAX);
}

static void compact(struct replay_step *s)
{
    int want = REPLAY_OPS_MAX / 2;
    join_groups(s, 1);
    if (s->op_count > want)
        join_groups(s, 2);
    if (s->op_count > want)
        join_groups(s, 4);
    if (s->op_count > want)
        forget_details(s, false);
    if (s->op_count > want)
        forget_details(s, true);
}

void replay_step_add(struct replay_step *s, enum replay_op_kind kind, enum cause cause,
                     uint32_t resource, int64_t ns)
{
    if (ns < 0 || (ns == 0 && kind != REPLAY_SYNC))
        return;
    struct replay_op *last = s->op_count ? &s->ops[s->op_count - 1] : NULL;
    if (last && last->kind == kind && same(&last->what, cause, resource)) {
        last->what.ns += ns;
        return;
    }
    if (s->op_count == REPLAY_OPS_MAX)
        compact(s);
    s->ops[s->op_count++] = (struct replay_op){(uint8_t)kind, {(uint8_t)cause, resource, ns}};
}
