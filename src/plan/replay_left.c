/* SPDX-License-Identifier: MIT */
/* What a scenario leaves of each recorded time. */
#include "plan/replay_sim.h"

#include <math.h>

#define DELAYED_CPU 0.1 /* of the waits for a core: less CPU time cannot have been what waited */

static double keep(const struct sim *s, uint8_t cause, uint32_t resource, bool own)
{
    double k = own ? s->keep_own[cause] : s->keep_delivery[cause];
    if (!s->by_resource || !resource)
        return k;
    for (int i = 0; i < s->sc->away_count; i++) {
        const struct replay_away *a = &s->sc->away[i];
        if (a->resource == resource && a->cause == cause &&
            (a->where & (own ? REPLAY_OWN : REPLAY_DELIVERIES)))
            k *= a->keep;
    }
    return k;
}

/* ---- waits for a core as recorded ---- */

/* They shrink with the CPU time that they delayed; where there is next to none, with everything. */
struct delayed {
    double cpu, cpu_left, all, all_left, starved;
};

static void delayed_add(const struct sim *s, struct delayed *d, uint8_t cause, uint32_t resource,
                        double ns, bool own)
{
    double left = ns * keep(s, cause, resource, own);
    if (cause == CAUSE_CPU_STARVED) {
        d->starved += ns;
        return;
    }
    d->all += ns;
    d->all_left += left;
    d->cpu += cause_takes_core(cause) ? ns : 0;
    d->cpu_left += cause_takes_core(cause) ? left : 0;
}

static double delayed_left(const struct sim *s, const struct delayed *d)
{
    if (d->cpu > DELAYED_CPU * d->starved)
        return s->recorded * d->cpu_left / d->cpu;
    return s->recorded * (d->all > 0 ? d->all_left / d->all : 1);
}

double left_of_item_starved(const struct sim *s, const struct view_item *item, uint32_t from,
                            uint32_t to)
{
    struct delayed d = {.cpu = 0};
    if (s->recorded <= 0 || !s->sc->away_count)
        return s->recorded;
    for (uint32_t i = from; i < to; i++) {
        const struct view_part *p = &s->v->parts[item->parts_at + i];
        delayed_add(s, &d, p->cause, p->resource, p->ns, false);
    }
    return delayed_left(s, &d);
}

double left_of_step_starved(const struct sim *s, const struct view_step *step)
{
    struct delayed d = {.cpu = 0};
    if (s->recorded <= 0 || !s->sc->away_count)
        return s->recorded;
    for (uint32_t i = 0; i < step->op_count; i++) {
        const struct view_op *op = &s->v->ops[step->ops_at + i];
        if (op->kind == REPLAY_THREAD)
            delayed_add(s, &d, op->cause, op->resource, op->ns, true);
    }
    return delayed_left(s, &d);
}

/* A wake-up that took longer than the quickest ones waited for a core, where cores were scarce. */
double left_of_wake(const struct sim *s, double ns, double quick, const double *kept)
{
    double left = kept[CAUSE_CPU_STARVED];
    return left < 1 && s->v->scarce && ns > quick ? quick + left * (ns - quick) : ns;
}

double left_of_part(const struct sim *s, const struct worker *w, const struct view_part *p)
{
    double ns = p->ns * keep(s, p->cause, p->resource, false);
    if (p->cause == CAUSE_CPU_STARVED) /* the shared cores bring the rest about again */
        return ns * w->starved;
    if (cause_takes_core(p->cause))
        return ns * w->warm;
    return p->cause == CAUSE_STORAGE ? ns * w->shrink : ns;
}

double left_of_storage(const struct sim *s, const struct view_item *item)
{
    double sum = 0;
    struct worker whole = {.shrink = 1, .warm = 1};
    if (s->sc->storage_cap_ns <= 0)
        return 1;
    for (uint32_t i = 0; i < item->part_count; i++)
        if (s->v->parts[item->parts_at + i].cause == CAUSE_STORAGE)
            sum += left_of_part(s, &whole, &s->v->parts[item->parts_at + i]);
    return sum > (double)s->sc->storage_cap_ns ? (double)s->sc->storage_cap_ns / sum : 1;
}

double left_of_device(const struct sim *s, const struct view_op *op)
{
    double ns = op->ns * keep(s, op->cause, op->resource, true);
    if (op->cause == CAUSE_PAGEABLE_COPY && s->sc->pinned)
        ns *= s->sc->pinned_ratio > 0 ? s->sc->pinned_ratio : 0.5;
    if (op->cause == CAUSE_NONE)
        return ns * s->device_factor;
    return ns;
}

/* Thread time of a SYNC: until the device has done what was waited for, and back. */
double left_of_sync(const struct sim *s, const struct view_op *op)
{
    double left = op->cause == CAUSE_NONE ? 1 : keep(s, op->cause, op->resource, true);
    bool pinned = op->cause == CAUSE_PAGEABLE_COPY && s->sc->pinned && s->sc->pinned_async;
    if (pinned || left <= 0)
        return 0; /* no call that waits for its copy */
    double until = s->device - op->backlog * s->device_factor;
    double away = left_of_wake(s, op->ns, s->v->usual.sync_quick, s->keep_own);
    return (until > s->m->now ? until - s->m->now : 0) + away * left;
}

double left_of_thread(const struct sim *s, const struct view_op *op)
{
    if (op->cause == CAUSE_STARTUP && s->sc->restarts_away && s->step > 0 && !s->first_start)
        return 0;
    double ns = op->ns * keep(s, op->cause, op->resource, true);
    if (op->cause == CAUSE_CPU_STARVED)
        ns *= s->starved;
    return ns;
}

void left_resolve(struct sim *s)
{
    for (int c = 0; c < CAUSE_COUNT; c++)
        s->keep_delivery[c] = s->keep_own[c] = 1;
    for (int i = 0; i < s->sc->away_count; i++) {
        const struct replay_away *a = &s->sc->away[i];
        if (a->cause == CAUSE_NONE || a->cause >= CAUSE_COUNT)
            continue;
        s->by_resource |= a->resource != 0;
        if (!a->resource && a->where & REPLAY_DELIVERIES)
            s->keep_delivery[a->cause] *= a->keep;
        if (!a->resource && a->where & REPLAY_OWN)
            s->keep_own[a->cause] *= a->keep;
    }
    if (s->params->no_late_peer)
        s->keep_delivery[CAUSE_LATE_PEER] = s->keep_own[CAUSE_LATE_PEER] = 0;
    s->m->cores = s->sc->cores > 0 ? s->sc->cores : s->params->cores;
    s->recorded = s->m->cores > 0 ? s->params->recorded : 1;
    if (s->keep_delivery[CAUSE_CPU_STARVED] < 0.5)
        s->m->cores = 0;
    s->m->discipline = s->params->discipline;
    s->m->slice = s->params->slice;
    s->m->others = s->params->others;
    double times = s->sc->accelerator_times > 0 ? s->sc->accelerator_times : 1;
    s->device_factor = s->sc->accelerator_infinite ? 0 : 1 / times;
}
