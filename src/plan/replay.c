/* SPDX-License-Identifier: MIT */
#include "plan/replay.h"

#include "base/mem.h"
#include "plan/replay_view.h"

#include <math.h>
#include <stdlib.h>

#define GAIN_NOISE 0.005 /* of the length: a loss below this is none */
#define CORES_LEFT 0.1   /* at least */
#define COUPLED 0.005    /* of the length, late-peer time that couples consumers */

struct consumer {
    struct view view;
    struct view loader;               /* valid when view.workers is 0 and it loads by itself */
    struct sim_params cores;          /* how cores are shared; no scenario */
    double identity_ns, uncoupled_ns; /* the latter without late-peer */
};

struct replay {
    int count, active; /* the latter: those with steps */
    bool coupled;
    double busy_elsewhere; /* cores that neither threads nor workers of the log used, on average */
    struct consumer consumers[]; /* those with steps; index[] maps */
};

/* ---- scenarios ---- */

bool replay_scenario_away(struct replay_scenario *s, enum cause cause, enum replay_where where,
                          uint32_t resource, double keep)
{
    if (s->away_count == REPLAY_AWAY_MAX)
        return false;
    s->away[s->away_count++] = (struct replay_away){(uint8_t)cause, (uint8_t)where, resource, keep};
    return true;
}

static double product(double a, double b)
{
    return a > 0 && b > 0 ? a * b : a > 0 ? a : b;
}

bool replay_scenario_add(struct replay_scenario *s, const struct replay_scenario *more)
{
    if (s->away_count + more->away_count > REPLAY_AWAY_MAX)
        return false;
    for (int i = 0; i < more->away_count; i++)
        s->away[s->away_count++] = more->away[i];
    if (more->storage_cap_ns > 0 &&
        (s->storage_cap_ns <= 0 || more->storage_cap_ns < s->storage_cap_ns))
        s->storage_cap_ns = more->storage_cap_ns;
    s->workers_times = product(s->workers_times, more->workers_times);
    s->workers_add += more->workers_add;
    s->depth_times = product(s->depth_times, more->depth_times);
    if (more->pinned && (!s->pinned || more->pinned_ratio < s->pinned_ratio))
        s->pinned_ratio = more->pinned_ratio;
    s->pinned |= more->pinned;
    s->pinned_async |= more->pinned_async;
    s->accelerator_infinite |= more->accelerator_infinite;
    s->accelerator_times = product(s->accelerator_times, more->accelerator_times);
    s->consumers_times = product(s->consumers_times, more->consumers_times);
    s->restarts_away |= more->restarts_away;
    if (more->cores > 0)
        s->cores = more->cores;
    return true;
}

/* ---- preparing ---- */

static double starved_ns(const struct view *v)
{
    return v->delivery_ns[CAUSE_CPU_STARVED] + v->own_ns[CAUSE_CPU_STARVED];
}

static bool identity(const struct view *v, struct sim_params p, struct sim_result *ret)
{
    const struct replay_scenario none = {.away_count = 0};
    p.scenario = &none;
    return sim_run(v, &p, ret);
}

static bool prepare_consumer(struct consumer *c, const struct replay_log *log, int number,
                             const struct replay_setup *setup)
{
    struct sim_result r;
    if (!view_build(&c->view, log, number, setup->depth))
        return false;
    if (!c->view.step_count)
        return true;
    if (!fit_cores(&c->view, setup->cores, setup->busy, &c->cores))
        return false;
    if (!identity(&c->view, c->cores, &r))
        return false;
    c->identity_ns = r.length_ns;
    struct sim_params uncoupled = c->cores;
    uncoupled.no_late_peer = true;
    if (!identity(&c->view, uncoupled, &r))
        return false;
    c->uncoupled_ns = r.length_ns;
    const double *own = c->view.own_ns;
    if (!c->view.workers && own[CAUSE_STORAGE] + own[CAUSE_PREPARE] + own[CAUSE_MEMORY] > 0)
        return view_build_loader(&c->loader, &c->view, setup->take_ns, setup->start_ns);
    return true;
}

/* What the log does not hold and yet keeps cores from further accelerators. */
static double busy_elsewhere(const struct replay *r, const struct replay_setup *setup)
{
    double used = 0;
    for (int i = 0; i < r->count; i++)
        if (r->consumers[i].view.step_count && r->consumers[i].view.real_ns > 0)
            used += view_cpu_ns(&r->consumers[i].view) / r->consumers[i].view.real_ns;
    return fmax(0, setup->busy - used);
}

static double late_peer_ns(const struct view *v)
{
    return v->own_ns[CAUSE_LATE_PEER] + v->device_ns[CAUSE_LATE_PEER];
}

struct replay *replay_new(const struct replay_log *log, const struct replay_setup *setup,
                          struct error *e)
{
    static const struct replay_setup nothing = {0};
    int n = replay_log_consumers(log), with_steps = 0, late = 0;
    struct replay *r = mem_zalloc(sizeof(*r) + (size_t)n * sizeof(r->consumers[0]));
    if (!r) {
        error_set(e, STATUS_MEMORY, "out of memory");
        return NULL;
    }
    r->count = n;
    for (int i = 0; i < n; i++) {
        struct consumer *c = &r->consumers[i];
        if (!prepare_consumer(c, log, i, setup ? setup : &nothing)) {
            replay_free(r);
            error_set(e, STATUS_MEMORY, "out of memory");
            return NULL;
        }
        with_steps += c->view.step_count > 0;
        late += late_peer_ns(&c->view) > COUPLED * c->view.real_ns;
    }
    r->active = with_steps;
    r->coupled = with_steps > 1 && late > 0;
    r->busy_elsewhere = busy_elsewhere(r, setup ? setup : &nothing);
    if (!with_steps) {
        replay_free(r);
        error_set(e, STATUS_MISSING, "nothing to replay: no step was recorded");
        return NULL;
    }
    return r;
}

void replay_free(struct replay *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->count; i++) {
        view_clear(&r->consumers[i].view);
        view_clear(&r->consumers[i].loader);
    }
    free(r);
}

/* ---- running ---- */

static bool acts_on_deliveries(const struct replay_scenario *s)
{
    for (int i = 0; i < s->away_count; i++)
        if (s->away[i].where & REPLAY_DELIVERIES)
            return true;
    return s->storage_cap_ns > 0 || s->workers_times > 0 || s->workers_add || s->depth_times > 0 ||
           s->restarts_away;
}

/* The most that a scenario can save: the waits that it acts on. */
static double acts_on_ns(const struct view *v, const struct replay_scenario *s)
{
    double sum = acts_on_deliveries(s) ? v->wait_ns + v->own_ns[CAUSE_CPU_STARVED] : 0;
    double left[CAUSE_COUNT];
    if (s->accelerator_infinite || s->accelerator_times > 0 || s->consumers_times > 0 ||
        s->cores > 0 || (!v->workers && (s->workers_add || s->workers_times > 0)))
        return v->real_ns;
    for (int c = 0; c < CAUSE_COUNT; c++)
        left[c] = 1;
    for (int i = 0; i < s->away_count; i++)
        if (s->away[i].where & REPLAY_OWN && s->away[i].cause != CAUSE_NONE &&
            s->away[i].cause < CAUSE_COUNT)
            left[s->away[i].cause] *= s->away[i].keep;
    if (s->restarts_away)
        left[CAUSE_STARTUP] = 0;
    if (s->pinned)
        left[CAUSE_PAGEABLE_COPY] = 0;
    bool own = false;
    for (int c = 0; c < CAUSE_COUNT; c++)
        own |= left[c] < 1;
    if (own) /* waits for a core shrink with what they delayed */
        left[CAUSE_CPU_STARVED] = 0;
    for (int c = 0; c < CAUSE_COUNT; c++)
        sum += (v->own_ns[c] + (c == CAUSE_NONE ? 0 : v->device_ns[c])) * (1 - left[c]);
    if (s->pinned || own)
        sum += v->sync_ns;
    return sum;
}

static bool away_from(const struct replay_scenario *s, enum cause cause)
{
    for (int i = 0; i < s->away_count; i++)
        if (s->away[i].cause == cause)
            return true;
    return false;
}

/* Sums over consumers while they run. */
struct totals {
    double first, real_end, identity_end, predicted_end; /* from the first origin */
    double whole, acts_on;
};

static void add_lengths(struct totals *t, double offset, double real, double same, double predicted)
{
    t->real_end = fmax(t->real_end, offset + real);
    t->identity_end = fmax(t->identity_end, offset + same);
    t->predicted_end = fmax(t->predicted_end, offset + predicted);
}

static int64_t first_origin(const struct replay *r)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < r->count; i++)
        if (r->consumers[i].view.step_count && r->consumers[i].view.origin < first)
            first = r->consumers[i].view.origin;
    return first;
}

static void finish(const struct totals *t, struct replay_result *ret)
{
    double gain = t->identity_end - t->predicted_end;
    if (gain < 0 && gain > -GAIN_NOISE * t->real_end)
        gain = 0;
    if (gain > t->acts_on)
        gain = t->acts_on;
    if (gain > t->real_end)
        gain = t->real_end;
    ret->real_ns = (int64_t)t->real_end;
    ret->identity_ns = (int64_t)t->identity_end;
    gain = trunc(gain);
    ret->predicted_ns = ret->real_ns - (int64_t)gain;
    ret->gain_ns = (int64_t)(t->real_end > 0 ? gain * (t->whole / t->real_end) : 0);
}

/* Further consumers share the cores that are free or the log's own; several ranks have an equal part of them each,
 * and are no longer each other's neighbours. */
static void share_cores(const struct replay *r, const struct replay_scenario *scenario,
                        struct sim_params *p)
{
    if (round(scenario->consumers_times) < 2 || p->cores <= 0)
        return;
    double others = r->active > 1 ? 0 : p->others;
    p->cores = fmax(p->cores - fmax(0, r->busy_elsewhere - others), CORES_LEFT) / r->active;
    p->others = others;
}

int replay_run(const struct replay *r, const struct replay_scenario *scenario,
               struct replay_result *ret, struct error *e)
{
    struct totals t = {0};
    struct replay_result out = {0};
    bool uncoupled = r->coupled && !away_from(scenario, CAUSE_LATE_PEER);
    bool more_workers = scenario->workers_add > 0 || scenario->workers_times > 1;
    int64_t first = first_origin(r);
    for (int i = 0; i < r->count; i++) {
        const struct consumer *c = &r->consumers[i];
        const struct view *v =
            !c->view.workers && more_workers && c->loader.step_count ? &c->loader : &c->view;
        struct sim_params p = c->cores;
        p.scenario = scenario;
        p.no_late_peer = uncoupled;
        share_cores(r, scenario, &p);
        struct sim_result s;
        if (!c->view.step_count)
            continue;
        if (!sim_run(v, &p, &s))
            return error_set(e, STATUS_MEMORY, "out of memory");
        add_lengths(&t, (double)(c->view.origin - first), c->view.real_ns,
                    uncoupled ? c->uncoupled_ns : c->identity_ns, s.length_ns);
        t.whole = fmax(t.whole, c->view.whole_ns);
        t.acts_on = fmax(t.acts_on, acts_on_ns(&c->view, scenario));
        out.compute_ns += (int64_t)s.compute_ns;
        out.feed_wait_ns += (int64_t)s.feed_wait_ns;
    }
    if (t.whole < t.real_end)
        t.whole = t.real_end;
    finish(&t, &out);
    *ret = out;
    return STATUS_OK;
}

static double part_of(const struct view *v, const struct view_loader *l)
{
    double all = 0;
    for (uint32_t i = 0; i < v->loader_count; i++)
        all += v->loaders[i].wait_ns;
    return all > 0 ? l->wait_ns / all : 1;
}

static uint32_t restarts(const struct view *v)
{
    uint32_t n = 0;
    for (size_t e = 0; e < v->epoch_count; e++)
        n += !v->epochs[e].first_of_loader && v->epochs[e].spawns;
    return n;
}

bool replay_learnt(const struct replay *r, int consumer, struct replay_learnt *ret)
{
    if (consumer < 0 || consumer >= r->count)
        return false;
    const struct consumer *c = &r->consumers[consumer];
    const struct view_loader *l = &c->view.loaders[c->view.awaited];
    *ret = (struct replay_learnt){.loaders = c->view.loader_count,
                                  .loader = c->view.awaited,
                                  .part = part_of(&c->view, l),
                                  .restarts = restarts(&c->view),
                                  .workers = l->workers,
                                  .depth = l->depth,
                                  .depth_bound = l->depth_bound,
                                  .cores = c->cores.cores,
                                  .others = c->cores.others,
                                  .discipline = c->cores.discipline,
                                  .real_ns = (int64_t)c->view.real_ns,
                                  .identity_ns = (int64_t)c->identity_ns,
                                  .starved_ns = (int64_t)starved_ns(&c->view),
                                  .untold_ns = (int64_t)c->view.untold_ns};
    return true;
}
