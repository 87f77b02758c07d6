/* SPDX-License-Identifier: MIT */
/* Before the virtual clocks run: how many workers, who makes which item, and what requests it. */
#include "plan/replay_sim.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Scenarios that turn a loader's knobs are about the one that was waited for longest. */
static bool is_turned(const struct view *v, const struct view_loader *l)
{
    return l == &v->loaders[v->awaited];
}

static uint32_t workers_wanted(const struct view *v, const struct view_loader *l,
                               const struct replay_scenario *sc)
{
    double n = l->workers;
    if (!is_turned(v, l))
        return l->workers ? l->workers : 1;
    if (sc->workers_times > 0)
        n = round(n * sc->workers_times);
    n += sc->workers_add;
    return n < 1 ? 1 : n > REPLAY_WORKERS_MAX ? REPLAY_WORKERS_MAX : (uint32_t)n;
}

static uint32_t depth_wanted(const struct sim *s, uint32_t loader)
{
    const struct view_loader *l = &s->v->loaders[loader];
    const struct sim_loader *k = &s->loaders[loader];
    double d = l->depth;
    if (!l->workers) /* the common default: two ahead for each worker */
        d = 2.0 * k->count;
    else if (k->redealt)
        d = d * k->count / l->workers;
    if (s->sc->depth_times > 0 && is_turned(s->v, l))
        d *= s->sc->depth_times;
    return d < 1 ? 1 : d > 1e9 ? UINT32_C(1000000000) : (uint32_t)(d + 0.5);
}

static bool allocate(struct sim *s)
{
    size_t n = s->v->item_count;
    s->workers = mem_zalloc(s->worker_count * sizeof(*s->workers));
    s->next_item = mem_zalloc(n * sizeof(*s->next_item));
    s->trigger_head = mem_zalloc(s->v->step_count * sizeof(*s->trigger_head));
    s->trigger_next = mem_zalloc(n * sizeof(*s->trigger_next));
    s->epoch_head = mem_zalloc(s->v->epoch_count * sizeof(*s->epoch_head));
    s->flags = mem_zalloc(n);
    if (s->v->slots) {
        s->startup_of = mem_zalloc(s->v->epoch_count * s->v->slots * sizeof(*s->startup_of));
        if (!s->startup_of)
            return false;
    }
    return s->workers && s->next_item && s->trigger_head && s->trigger_next && s->epoch_head &&
           s->flags;
}

void sim_clear(struct sim *s)
{
    free(s->workers);
    free(s->next_item);
    free(s->trigger_head);
    free(s->trigger_next);
    free(s->epoch_head);
    free(s->startup_of);
    free(s->flags);
}

uint32_t sim_slot(const struct sim *s, uint32_t p)
{
    const struct view_item *item = &s->v->items[p];
    const struct sim_loader *l = &s->loaders[item->loader];
    uint32_t nth = p - s->v->epochs[item->epoch].first;
    return l->base + (l->redealt ? nth % l->count : item->slot);
}

/* How the workers of each loader are numbered. */
static void number_workers(struct sim *s)
{
    const struct view *v = s->v;
    for (uint32_t i = 0; i < v->loader_count; i++) {
        const struct view_loader *l = &v->loaders[i];
        struct sim_loader *k = &s->loaders[i];
        k->base = s->worker_count;
        k->count = workers_wanted(v, l, s->sc);
        k->redealt = k->count != l->workers && l->end > l->first;
        k->as_recorded = !k->redealt && !(s->sc->depth_times > 0 && is_turned(v, l));
        if (!k->redealt && l->slots > k->count)
            k->count = l->slots;
        s->worker_count += k->count;
    }
}

/* Deals items to slots and links each to what makes its request; last positions first. */
static void link_items(struct sim *s)
{
    const struct view *v = s->v;
    uint32_t depth[VIEW_LOADERS_MAX];
    for (uint32_t l = 0; l < v->loader_count; l++)
        depth[l] = depth_wanted(s, l);
    for (uint32_t w = 0; w < s->worker_count; w++)
        s->workers[w].item = VIEW_NO_ITEM;
    for (size_t e = 0; e < v->epoch_count; e++)
        s->epoch_head[e] = VIEW_NO_ITEM;
    for (size_t i = 0; s->startup_of && i < v->epoch_count * v->slots; i++)
        s->startup_of[i] = VIEW_NO_ITEM;
    for (size_t i = 0; i < v->step_count; i++)
        s->trigger_head[i] = VIEW_NO_ITEM;
    for (uint32_t p = (uint32_t)v->item_count; p-- > 0;) {
        const struct view_item *item = &v->items[p];
        uint32_t first = v->epochs[item->epoch].first;
        uint32_t slot = sim_slot(s, p), ahead = depth[item->loader];
        uint32_t trigger = item->trigger;
        if (!s->loaders[item->loader].as_recorded)
            trigger = p - first >= ahead ? v->items[p - ahead].step : VIEW_AT_RELEASE;
        if (trigger != VIEW_AT_MARK) {
            uint32_t *head = trigger == VIEW_AT_RELEASE ? &s->epoch_head[item->epoch]
                                                        : &s->trigger_head[trigger];
            s->trigger_next[p] = *head;
            *head = p;
        }
        s->next_item[p] = s->workers[slot].item;
        s->workers[slot].item = p;
        if (s->startup_of && item->startup)
            s->startup_of[(size_t)item->epoch * v->slots + item->slot] = p;
    }
}

bool sim_set_up(struct sim *s, const struct view *v, const struct sim_params *params,
                struct cores *m, uint32_t number)
{
    *s = (struct sim){.v = v, .params = params, .sc = params->scenario, .m = m};
    left_resolve(s);
    number_workers(s);
    m->stride = s->worker_count + 1;
    s->base = number * (s->worker_count + 1);
    if (!allocate(s))
        return false;
    link_items(s);
    return true;
}
