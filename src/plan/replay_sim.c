/* SPDX-License-Identifier: MIT */
/*
 * The virtual clocks: an event loop over one consumer, its workers and its device.
 *
 * Entities are numbered: 0 the consumer, 1 + s the worker in slot s. Each is at any moment blocked
 * (no event), delayed (in `delays`, keyed by virtual time) or wants a core, which is the business
 * of replay_cores.h.
 */
#include "plan/replay_view.h"

#include "base/mem.h"
#include "plan/replay_cores.h"

#include <math.h>
#include <stdlib.h>

#define DELAYED_CPU 0.1 /* of the waits for a core: less CPU time cannot have been what waited */

enum worker_phase { WORKER_STARTUP, WORKER_PARTS };

struct worker {
    uint32_t item;    /* its next or current item; VIEW_NO_ITEM: none left */
    uint32_t startup; /* WORKER_STARTUP: position whose startup parts it runs */
    uint32_t at;      /* next part */
    double shrink;    /* of storage, for the cap */
    double starved;   /* what is left of recorded waits for a core */
    bool busy;
    uint8_t phase;
};

enum consumer_phase { CONSUMER_START, CONSUMER_BEGIN, CONSUMER_TAKE, CONSUMER_OPS, CONSUMER_DONE };

struct sim {
    const struct view *v;
    const struct sim_params *params;
    const struct replay_scenario *sc;
    struct cores m;         /* the clock, delays and cores */
    struct worker *workers; /* owned */
    uint32_t worker_count;
    bool redealt, as_recorded; /* the latter: each request is made where it was */
    uint32_t *next_item;       /* owned: the same slot's next position */
    uint32_t *trigger_head;    /* owned: first item requested by the take of this step */
    uint32_t *trigger_next;    /* owned */
    uint32_t *epoch_head;      /* owned: first item requested at an epoch's release */
    uint32_t *startup_of;      /* owned: per epoch and slot % workers, or NULL */
    uint8_t *flags;            /* owned: per item, ITEM_* */
    uint8_t consumer_phase;
    bool consumer_waits, consumer_waited;
    uint32_t step, op;
    uint32_t more_workers, more_epoch; /* the next slot to start of those not recorded; 0 none */
    double waits_from, burst, device, compute, feed_wait;
    double keep_delivery[CAUSE_COUNT], keep_own[CAUSE_COUNT];
    double recorded, starved; /* of params; the same for the step's own waits for a core */
    bool by_resource;
    double device_factor, own_factor;
};

enum { ITEM_REQUESTED = 1, ITEM_READY = 2 };

/* ---- what a scenario leaves of a time ---- */

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

static bool wants_core(const struct sim *s, uint8_t cause)
{
    return s->m.cores > 0 && cause_takes_core(cause);
}

static void delay(struct sim *s, uint32_t who, double ns)
{
    cores_delay(&s->m, who, ns);
}

static void want_core(struct sim *s, uint32_t who, double ns)
{
    cores_want(&s->m, who, ns);
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

static double starved_item(const struct sim *s, const struct view_item *item, uint32_t from,
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

static double starved_step(const struct sim *s, const struct view_step *step)
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
static double woken(const struct sim *s, double ns, double quick, const double *kept)
{
    double left = kept[CAUSE_CPU_STARVED];
    return left < 1 && s->v->scarce && ns > quick ? quick + left * (ns - quick) : ns;
}

/* ---- workers ---- */

static double part_time(const struct sim *s, const struct worker *w, const struct view_part *p)
{
    double ns = p->ns * keep(s, p->cause, p->resource, false);
    if (p->cause == CAUSE_CPU_STARVED) /* the shared cores bring the rest about again */
        return ns * w->starved;
    return p->cause == CAUSE_STORAGE ? ns * w->shrink : ns;
}

static double storage_shrink(const struct sim *s, const struct view_item *item)
{
    double sum = 0;
    struct worker whole = {.shrink = 1};
    if (s->sc->storage_cap_ns <= 0)
        return 1;
    for (uint32_t i = 0; i < item->part_count; i++)
        if (s->v->parts[item->parts_at + i].cause == CAUSE_STORAGE)
            sum += part_time(s, &whole, &s->v->parts[item->parts_at + i]);
    return sum > (double)s->sc->storage_cap_ns ? (double)s->sc->storage_cap_ns / sum : 1;
}

/* Runs parts of `item` from w->at up to `end`; false when they are done. */
static bool run_parts(struct sim *s, uint32_t slot, const struct view_item *item, uint32_t end)
{
    struct worker *w = &s->workers[slot];
    double sum = 0;
    while (w->at < end) {
        const struct view_part *p = &s->v->parts[item->parts_at + w->at];
        double ns = part_time(s, w, p);
        bool core = ns > 0 && wants_core(s, p->cause);
        if (core && sum > 0)
            break;
        w->at++;
        if (core) {
            want_core(s, slot + 1, ns);
            return true;
        }
        sum += ns;
    }
    if (sum > 0)
        delay(s, slot + 1, sum);
    return sum > 0;
}

static void consumer_go(struct sim *s);

/* Its worker need not be started: it did the epoch before, too. */
static bool lives_on(const struct sim *s, const struct view_item *item)
{
    return s->sc->restarts_away && item->epoch > 0;
}

/* Begins its next item if that was requested. An item of no length is done by an event, never at
 * once, so that such items cannot nest without end. */
static void worker_begin(struct sim *s, uint32_t slot, bool waited)
{
    struct worker *w = &s->workers[slot];
    if (w->busy || w->item == VIEW_NO_ITEM || !(s->flags[w->item] & ITEM_REQUESTED))
        return;
    const struct view_item *item = &s->v->items[w->item];
    w->busy = true;
    w->at = item->startup_parts;
    w->shrink = storage_shrink(s, item);
    w->starved = starved_item(s, item, item->startup_parts, item->part_count);
    w->phase = WORKER_PARTS;
    double slack = waited == item->waited ? item->slack : waited ? s->v->usual.slack_waited : 0;
    if (waited)
        slack = woken(s, slack, s->v->usual.slack_quick, s->keep_delivery);
    if (item->startup && lives_on(s, item))
        slack = fmin(slack, s->v->usual.slack_waited);
    if (slack > 0 || !run_parts(s, slot, item, item->part_count))
        delay(s, slot + 1, slack);
}

static void start_worker(struct sim *s, uint32_t slot, uint32_t first_item, double ns)
{
    struct worker *w = &s->workers[slot];
    if (w->busy)
        return;
    w->busy = true;
    w->at = 0;
    w->shrink = 1;
    w->starved =
        starved_item(s, &s->v->items[first_item], 0, s->v->items[first_item].startup_parts);
    w->phase = WORKER_STARTUP;
    w->startup = first_item;
    delay(s, slot + 1, s->v->items[first_item].spawn + ns);
}

/* Slot `slot` is started though the log has nobody there: it starts like one that it has. */
static void start_extra(struct sim *s, uint32_t epoch, uint32_t slot, double ns)
{
    uint32_t like = s->startup_of[(size_t)epoch * s->v->slots + slot % s->v->epochs[epoch].slots];
    if (like != VIEW_NO_ITEM)
        start_worker(s, slot, like, ns);
}

/* Starts the worker whose first item is p. Once the last one of its epoch is started, more_workers
 * is the first slot of those that were not there. */
static void spawn(struct sim *s, uint32_t p)
{
    const struct view_item *item = &s->v->items[p];
    const struct view_epoch *e = &s->v->epochs[item->epoch];
    if (lives_on(s, item))
        return;
    if (item->slot < s->worker_count)
        start_worker(s, item->slot, p, 0);
    if (s->redealt && p == e->last_spawn && e->slots < s->worker_count) {
        s->more_workers = e->slots;
        s->more_epoch = item->epoch;
    }
}

static void end_feed_wait(struct sim *s)
{
    s->consumer_waits = false;
    s->feed_wait += s->m.now - s->waits_from;
}

static void worker_done(struct sim *s, uint32_t slot)
{
    struct worker *w = &s->workers[slot];
    uint32_t p = w->item;
    s->flags[p] |= ITEM_READY;
    w->busy = false;
    w->item = s->next_item[p];
    if (s->consumer_waits && s->v->steps[s->step].item == p) {
        end_feed_wait(s);
        consumer_go(s);
    }
    worker_begin(s, slot, false);
}

static void worker_go(struct sim *s, uint32_t slot)
{
    struct worker *w = &s->workers[slot];
    if (w->phase == WORKER_STARTUP) {
        const struct view_item *first = &s->v->items[w->startup];
        if (run_parts(s, slot, first, first->startup_parts))
            return;
        w->busy = false;
        worker_begin(s, slot, false);
        return;
    }
    const struct view_item *item = &s->v->items[w->item];
    if (!run_parts(s, slot, item, item->part_count))
        worker_done(s, slot);
}

static void request(struct sim *s, uint32_t p)
{
    uint32_t n = s->worker_count;
    uint32_t first = s->v->epochs[s->v->items[p].epoch].first;
    uint32_t slot = s->redealt ? (p - first) % n : s->v->items[p].slot;
    s->flags[p] |= ITEM_REQUESTED;
    if (s->workers[slot].item == p)
        worker_begin(s, slot, true);
}

/* ---- the consumer and its device ---- */

static double device_time(const struct sim *s, const struct view_op *op)
{
    double ns = op->ns * keep(s, op->cause, op->resource, true);
    if (op->cause == CAUSE_PAGEABLE_COPY && s->sc->pinned)
        ns *= s->sc->pinned_ratio > 0 ? s->sc->pinned_ratio : 0.5;
    if (op->cause == CAUSE_NONE)
        return ns * s->device_factor * s->own_factor;
    return op->cause == CAUSE_PAGEABLE_COPY || op->cause == CAUSE_LINK ? ns * s->own_factor : ns;
}

static void give_device(struct sim *s, const struct view_op *op)
{
    double ns = device_time(s, op);
    double from = op->kind == REPLAY_SPREAD ? s->burst : s->m.now;
    s->device = (s->device > from ? s->device : from) + ns;
    if (op->kind == REPLAY_SPREAD && s->device < s->m.now)
        s->device = s->m.now;
    if (op->kind == REPLAY_DEVICE)
        s->burst = s->m.now;
    if (op->cause == CAUSE_NONE)
        s->compute += ns;
}

/* Thread time of a SYNC: until the device has done what was waited for, and back. */
static double sync_time(const struct sim *s, const struct view_op *op)
{
    double left = op->cause == CAUSE_NONE ? 1 : keep(s, op->cause, op->resource, true);
    bool pinned = op->cause == CAUSE_PAGEABLE_COPY && s->sc->pinned && s->sc->pinned_async;
    if (pinned || left <= 0)
        return 0; /* no call that waits for its copy */
    double until = s->device - op->backlog * s->device_factor * s->own_factor;
    double away = woken(s, op->ns, s->v->usual.sync_quick, s->keep_own);
    return (until > s->m.now ? until - s->m.now : 0) + away * left * s->own_factor;
}

static double thread_time(const struct sim *s, const struct view_op *op)
{
    if (op->cause == CAUSE_STARTUP && s->sc->restarts_away && s->step > 0)
        return 0;
    double ns = op->ns * keep(s, op->cause, op->resource, true);
    if (op->cause == CAUSE_CPU_STARVED)
        ns *= s->starved;
    return op->cause == CAUSE_CHECKPOINT ? ns : ns * s->own_factor;
}

static void release(struct sim *s, uint32_t epoch)
{
    for (uint32_t p = s->epoch_head[epoch], next; p != VIEW_NO_ITEM; p = next) {
        next = s->trigger_next[p];
        request(s, p);
    }
}

static void spend(struct sim *s, bool core, double ns)
{
    if (core && s->keep_own[CAUSE_CPU_STARVED] > 0)
        want_core(s, 0, ns);
    else
        delay(s, 0, ns);
}

/* Begins to start the next worker that was not there; false: there is none. */
static bool start_more(struct sim *s)
{
    if (!s->more_workers)
        return false;
    spend(s, s->m.cores > 0, s->v->fork_ns);
    return true;
}

/* Runs ops until one takes time; false when the step is over. */
static bool run_ops(struct sim *s)
{
    const struct view_step *step = &s->v->steps[s->step];
    if (s->more_workers)
        start_extra(s, s->more_epoch, s->more_workers++, 0);
    if (s->more_workers >= s->worker_count)
        s->more_workers = 0;
    if (start_more(s))
        return true;
    while (s->op < step->op_count) {
        const struct view_op *op = &s->v->ops[step->ops_at + s->op++];
        double ns;
        switch (op->kind) {
        case VIEW_SPAWN:
            spawn(s, op->resource);
            if (start_more(s))
                return true;
            continue;
        case VIEW_RELEASE:
            release(s, op->resource);
            continue;
        case VIEW_REQUEST:
            if (s->as_recorded)
                request(s, op->resource);
            continue;
        case REPLAY_DEVICE:
        case REPLAY_SPREAD:
            give_device(s, op);
            continue;
        case REPLAY_SYNC:
            ns = sync_time(s, op);
            s->burst = s->m.now + ns;
            break;
        default:
            ns = thread_time(s, op);
        }
        if (ns <= 0)
            continue;
        spend(s, op->kind == REPLAY_THREAD && wants_core(s, op->cause), ns);
        return true;
    }
    return false;
}

static void take(struct sim *s)
{
    s->consumer_phase = CONSUMER_OPS;
    s->op = 0;
    s->burst = s->m.now;
    s->starved = starved_step(s, &s->v->steps[s->step]);
    for (uint32_t p = s->trigger_head[s->step], next; p != VIEW_NO_ITEM; p = next) {
        next = s->trigger_next[p];
        request(s, p);
    }
}

static double lag_of(const struct sim *s, const struct view_step *step)
{
    const struct view_usual *usual = &s->v->usual;
    if (step->item == VIEW_NO_ITEM)
        return step->lag;
    double lag = s->consumer_waited == step->waited ? step->lag
                 : s->consumer_waited               ? usual->lag_waited
                                                    : usual->lag_ready;
    return s->consumer_waited ? woken(s, lag, usual->lag_quick, s->keep_own) : lag;
}

static void consumer_go(struct sim *s)
{
    while (s->consumer_phase != CONSUMER_DONE) {
        const struct view_step *step = &s->v->steps[s->step];
        if (s->consumer_phase == CONSUMER_START)
            s->consumer_phase = CONSUMER_BEGIN;
        if (s->consumer_phase == CONSUMER_BEGIN) {
            if (step->item != VIEW_NO_ITEM && !(s->flags[step->item] & ITEM_READY)) {
                s->consumer_waits = s->consumer_waited = true;
                s->waits_from = s->m.now;
                return;
            }
            s->consumer_phase = CONSUMER_TAKE;
            double lag = lag_of(s, step);
            s->consumer_waited = false;
            if (lag > 0) {
                delay(s, 0, lag);
                return;
            }
        }
        if (s->consumer_phase == CONSUMER_TAKE)
            take(s);
        if (run_ops(s))
            return;
        s->step++;
        s->consumer_phase = s->step < s->v->step_count ? CONSUMER_BEGIN : CONSUMER_DONE;
    }
}

/* ---- setting up ---- */

static void resolve_keep(struct sim *s)
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
    s->m.cores = s->sc->cores > 0 ? s->sc->cores : s->params->cores;
    s->recorded = s->m.cores > 0 ? s->params->recorded : 1;
    if (s->keep_delivery[CAUSE_CPU_STARVED] < 0.5)
        s->m.cores = 0;
    s->m.discipline = s->params->discipline;
    s->m.slice = s->params->slice;
    s->m.others = s->params->others;
    double times = s->sc->accelerator_times > 0 ? s->sc->accelerator_times : 1;
    s->device_factor = s->sc->accelerator_infinite ? 0 : 1 / times;
    s->own_factor = s->sc->consumers_times > 0 ? 1 / s->sc->consumers_times : 1;
}

static uint32_t workers_wanted(const struct view *v, const struct replay_scenario *sc)
{
    double n = v->workers;
    if (sc->workers_times > 0)
        n = round(n * sc->workers_times);
    n += sc->workers_add;
    return n < 1 ? 1 : n > REPLAY_WORKERS_MAX ? REPLAY_WORKERS_MAX : (uint32_t)n;
}

static uint32_t depth_wanted(const struct sim *s)
{
    const struct view *v = s->v;
    double d = v->depth;
    if (!v->workers) /* the common default: two ahead for each worker */
        d = 2.0 * s->worker_count;
    else if (s->redealt)
        d = d * s->worker_count / v->workers;
    if (s->sc->depth_times > 0)
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
    return cores_init(&s->m, s->worker_count + 1) && s->workers && s->next_item &&
           s->trigger_head && s->trigger_next && s->epoch_head && s->flags;
}

static void release_memory(struct sim *s)
{
    free(s->workers);
    cores_clear(&s->m);
    free(s->next_item);
    free(s->trigger_head);
    free(s->trigger_next);
    free(s->epoch_head);
    free(s->startup_of);
    free(s->flags);
}

/* Deals items to slots and links each to what makes its request; last positions first. */
static void link_items(struct sim *s)
{
    const struct view *v = s->v;
    uint32_t depth = depth_wanted(s);
    s->as_recorded = !s->redealt && !(s->sc->depth_times > 0);
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
        uint32_t slot = s->redealt ? (p - first) % s->worker_count : item->slot;
        uint32_t trigger = item->trigger;
        if (!s->as_recorded)
            trigger = p - first >= depth ? v->items[p - depth].step : VIEW_AT_RELEASE;
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

/* ---- running ---- */

/* The consumer waits for what nothing will ever finish (a log that contradicts itself). */
static void unblock(struct sim *s)
{
    s->flags[s->v->steps[s->step].item] |= ITEM_READY;
    end_feed_wait(s);
    consumer_go(s);
    cores_dispatch(&s->m);
}

static void note_starved(const struct sim *s, uint32_t who, double ns)
{
    if (!who && s->params->step_starved)
        s->params->step_starved[s->step] += ns;
    if (who && s->params->item_starved && s->workers[who - 1].item != VIEW_NO_ITEM)
        s->params->item_starved[s->workers[who - 1].item] += ns;
}

static void advance(struct sim *s)
{
    uint32_t who;
    if (!cores_next(&s->m, &who))
        return;
    if (s->m.starved_last > 0)
        note_starved(s, who, s->m.starved_last);
    if (who)
        worker_go(s, who - 1);
    else
        consumer_go(s);
    cores_dispatch(&s->m);
}

static void begin(struct sim *s)
{
    double forks = 0;
    for (uint32_t i = 0; i < s->v->start_ops; i++) {
        const struct view_op *op = &s->v->ops[i];
        if (op->kind == VIEW_RELEASE)
            release(s, op->resource);
        else if (op->kind == VIEW_SPAWN)
            spawn(s, op->resource);
        else if (s->as_recorded)
            request(s, op->resource);
        for (; s->more_workers; s->more_workers = (s->more_workers + 1) % s->worker_count) {
            forks += s->v->fork_ns;
            start_extra(s, s->more_epoch, s->more_workers, forks);
        }
    }
    s->consumer_phase = s->v->step_count ? CONSUMER_START : CONSUMER_DONE;
    if (s->consumer_phase == CONSUMER_START)
        delay(s, 0, s->v->start_ns + forks);
}

bool sim_run(const struct view *v, const struct sim_params *params, struct sim_result *ret)
{
    struct sim s = {.v = v, .params = params, .sc = params->scenario};
    resolve_keep(&s);
    s.worker_count = workers_wanted(v, s.sc);
    s.redealt = s.worker_count != v->workers && v->item_count > 0;
    if (!s.redealt && v->slots > s.worker_count)
        s.worker_count = v->slots;
    if (!allocate(&s)) {
        release_memory(&s);
        return false;
    }
    link_items(&s);
    begin(&s);
    while (s.consumer_phase != CONSUMER_DONE) {
        if (!cores_idle(&s.m))
            advance(&s);
        else if (s.consumer_waits)
            unblock(&s);
        else
            break;
    }
    double length = s.device > s.m.now ? s.device : s.m.now;
    *ret = (struct sim_result){length, s.compute, s.feed_wait, s.m.starved, s.m.starved_first};
    release_memory(&s);
    return true;
}
