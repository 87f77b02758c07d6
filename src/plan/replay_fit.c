/* SPDX-License-Identifier: MIT */
/*
 * How cores were shared: learnt from how long deliveries and steps waited for one.
 *
 * Each discipline is replayed with nothing changed. The one whose virtual clocks come nearest wins:
 * in length, and in how the waits for a core are spread over items and over steps (distance between
 * the two sorted lists: short pieces of work wait otherwise than long ones in each discipline).
 * Where the total still does not fit, neighbours are the reason: as many threads are added as make
 * it fit. Where the length then does not, part of the recorded waits is kept.
 */
#include "plan/replay_view.h"

#include "base/mem.h"
#include "base/unit.h"
#include "plan/replay_cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STARVED_NOISE 0.002 /* of CPU time: less than this calibrates no cores */
#define STARVED_FIT 0.05    /* a lack of runnable time below this needs no neighbours */
#define LENGTH_FIT 0.005    /* neighbours that are always there must explain the length this well */
#define OWN_SHARE 0.5       /* less of the waits for a core than this is little */
#define CORES_MIN 0.05
#define BISECTIONS 9
#define OTHERS_MAX 8             /* neighbours per core */
#define FULL 0.95                /* cores used this much may be wanted by any number of threads */
#define SLICE_NS (3 * NS_PER_MS) /* of Linux on eight cores and more */
#define SLICES_MAX 600000.0      /* longer slices rather than more of them */

struct fit {
    const struct view *v;
    double starved;        /* recorded total */
    double others_max;     /* neighbours: who always wants a core shows in those that are used */
    double *items, *steps; /* owned: recorded waits for a core, sorted */
    double *item_now, *step_now; /* owned: of the discipline being tried */
};

double view_cpu_ns(const struct view *v)
{
    double sum = 0;
    for (uint8_t c = 0; c < CAUSE_COUNT; c++)
        if (cause_takes_core(c))
            sum += v->delivery_ns[c] + v->own_ns[c];
    return sum;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void sort(double *v, size_t n)
{
    if (n)
        qsort(v, n, sizeof(*v), by_value);
}

static double others_max(const struct view *v, double cores, double busy)
{
    if (busy <= 0 || busy > FULL * cores || v->real_ns <= 0)
        return cores * OTHERS_MAX;
    return fmax(0, busy - view_cpu_ns(v) / v->real_ns);
}

static bool fit_init(struct fit *f, const struct view *v, double cores, double busy)
{
    *f = (struct fit){.v = v, .others_max = others_max(v, cores, busy)};
    f->items = mem_zalloc(v->item_count * sizeof(double));
    f->item_now = mem_zalloc(v->item_count * sizeof(double));
    f->steps = mem_zalloc(v->step_count * sizeof(double));
    f->step_now = mem_zalloc(v->step_count * sizeof(double));
    if (!f->items || !f->item_now || !f->steps || !f->step_now)
        return false;
    for (size_t p = 0; p < v->item_count; p++)
        for (uint32_t i = 0; i < v->items[p].part_count; i++) {
            const struct view_part *part = &v->parts[v->items[p].parts_at + i];
            f->items[p] += part->cause == CAUSE_CPU_STARVED ? part->ns : 0;
        }
    for (size_t s = 0; s < v->step_count; s++)
        for (uint32_t i = 0; i < v->steps[s].op_count; i++) {
            const struct view_op *op = &v->ops[v->steps[s].ops_at + i];
            bool starved = op->kind == REPLAY_THREAD && op->cause == CAUSE_CPU_STARVED;
            f->steps[s] += starved ? op->ns : 0;
        }
    f->starved = v->delivery_ns[CAUSE_CPU_STARVED] + v->own_ns[CAUSE_CPU_STARVED];
    sort(f->items, v->item_count);
    sort(f->steps, v->step_count);
    return true;
}

static void fit_clear(struct fit *f)
{
    free(f->items);
    free(f->item_now);
    free(f->steps);
    free(f->step_now);
}

static bool identity(struct fit *f, struct sim_params p, bool spread, struct sim_result *ret)
{
    const struct replay_scenario none = {.away_count = 0};
    p.scenario = &none;
    if (spread) {
        memset(f->item_now, 0, f->v->item_count * sizeof(double));
        memset(f->step_now, 0, f->v->step_count * sizeof(double));
        p.item_starved = f->item_now;
        p.step_starved = f->step_now;
    }
    return sim_run(f->v, &p, ret);
}

static double distance(double *now, const double *recorded, size_t n)
{
    double sum = 0;
    sort(now, n);
    for (size_t i = 0; i < n; i++)
        sum += fabs(now[i] - recorded[i]);
    return sum;
}

/* In ns of the run's length. */
static double misfit(struct fit *f, const struct sim_result *r)
{
    const struct view *v = f->v;
    double workers = v->workers ? v->workers : 1;
    return fabs(r->length_ns - v->real_ns) + distance(f->step_now, f->steps, v->step_count) +
           distance(f->item_now, f->items, v->item_count) / workers;
}

/* ret_own: the part of the recorded waits for a core that the job's own threads bring about. */
static bool learn_discipline(struct fit *f, struct sim_params *p, double *ret_own)
{
    struct sim_params best = *p;
    double least = INFINITY;
    for (uint8_t d = 0; d < CORES_DISCIPLINES; d++) {
        struct sim_result r;
        p->discipline = d;
        if (!identity(f, *p, true, &r))
            return false;
        double off = misfit(f, &r);
        if (off >= least)
            continue;
        least = off;
        best = *p;
        *ret_own = fmin(1, r.starved_ns / f->starved);
    }
    *p = best;
    return true;
}

/* Cores that nobody told: as many as make the virtual clocks wait for one as long as the real ones
 * did, but not fewer than were seen in use. Runnable time falls as cores grow, so bisection finds
 * them. */
static bool learn_cores(struct fit *f, struct sim_params *p)
{
    p->discipline = CORES_SHARED;
    double lo = fmax(CORES_MIN, f->v->busy), hi = fmax(lo, f->v->slots + 1.0);
    for (int i = 0; i < BISECTIONS; i++) {
        struct sim_result r;
        p->cores = i ? sqrt(lo * hi) : lo;
        if (!identity(f, *p, false, &r))
            return false;
        if (!i && r.starved_ns < OWN_SHARE * f->starved) { /* not even so: never filled */
            p->cores = 0;
            return true;
        }
        if (r.starved_ns > f->starved)
            lo = p->cores;
        else
            hi = p->cores;
    }
    p->cores = sqrt(lo * hi);
    return true;
}

/* Neighbours: as many threads as make the virtual clocks wait that long; found alike. */
static bool learn_others(struct fit *f, struct sim_params *p)
{
    double lo = 0, hi = f->others_max;
    for (int i = 0; i < BISECTIONS; i++) {
        struct sim_result r;
        p->others = (lo + hi) / 2;
        if (!identity(f, *p, false, &r))
            return false;
        if (r.starved_ns < f->starved)
            lo = p->others;
        else
            hi = p->others;
    }
    p->others = (lo + hi) / 2;
    return true;
}

/* Neighbours that came and went: the waits for a core that they made stay as they were recorded, as
 * large a part of all as gives the real length. */
static bool learn_recorded(struct fit *f, struct sim_params *p)
{
    double lo = 0, hi = 1;
    for (int i = 0; i < BISECTIONS; i++) {
        struct sim_result r;
        p->recorded = i ? (lo + hi) / 2 : 1;
        if (!identity(f, *p, false, &r))
            return false;
        if (r.length_ns < f->v->real_ns)
            lo = p->recorded;
        else
            hi = p->recorded;
        if (lo >= hi)
            break;
    }
    p->recorded = hi;
    return true;
}

/* Neighbours are the reason for what the job's own threads do not explain: those that are always
 * there, and if that leaves the run too short, others that came and went. Waits that stay as recorded
 * take work apart, and each part then waits for a core anew: where the run comes out worse by them than
 * without, there are none. */
static bool learn_neighbours(struct fit *f, struct sim_params *p)
{
    struct sim_params own = *p, there;
    struct sim_result r, recorded;
    double explained, real = f->v->real_ns;
    if (!learn_others(f, p) || !learn_discipline(f, p, &explained) || !identity(f, *p, false, &r))
        return false;
    there = *p;
    if (fabs(r.length_ns - real) <= LENGTH_FIT * real)
        return true;
    if (r.length_ns > real)
        *p = own;
    if (!learn_recorded(f, p) || !identity(f, *p, false, &recorded))
        return false;
    if (fabs(recorded.length_ns - real) > fabs(r.length_ns - real))
        *p = there;
    return true;
}

static bool fit(struct fit *f, struct sim_params *p)
{
    bool told = f->starved > STARVED_NOISE * view_cpu_ns(f->v);
    double own = 0;
    if (f->starved <= 0 || (p->cores <= 0 && !told))
        return true;
    if (p->cores <= 0)
        return learn_cores(f, p);
    if (!learn_discipline(f, p, &own))
        return false;
    return !told || own >= 1 - STARVED_FIT || learn_neighbours(f, p);
}

bool fit_cores(const struct view *v, double given, double busy, struct sim_params *ret)
{
    struct fit f;
    struct sim_params p = {.cores = given > 0 ? given : 0, .discipline = CORES_WOKEN_FIRST};
    p.slice = fmax((double)SLICE_NS, fmax(view_cpu_ns(v), p.cores * v->real_ns) / SLICES_MAX);
    bool ok = fit_init(&f, v, p.cores, busy) && fit(&f, &p);
    fit_clear(&f);
    *ret = p;
    return ok;
}
