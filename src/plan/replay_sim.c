/* SPDX-License-Identifier: MIT */
/*
 * The virtual clocks: an event loop over one consumer, its workers and its device, or over several
 * such sets that share nothing but the cores.
 *
 * Entities of a set are numbered: 0 the consumer, 1 + s the worker in slot s; those of the next set
 * follow. Each is at any moment blocked (no event), delayed (in `delays`, keyed by virtual time) or
 * wants a core, which is the business of replay_cores.h.
 */
#include "plan/replay_sim.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { ITEM_REQUESTED = 1, ITEM_READY = 2 };

#define SETS_MAX 64

static bool wants_core(const struct sim *s, uint8_t cause)
{
    return s->m->cores > 0 && cause_takes_core(cause);
}

static void delay(struct sim *s, uint32_t who, double ns)
{
    cores_delay(s->m, s->base + who, ns);
}

static void want_core(struct sim *s, uint32_t who, double ns)
{
    cores_want(s->m, s->base + who, ns);
}

/* ---- workers ---- */

/* Runs parts of `item` from w->at up to `end`; false when they are done. */
static bool run_parts(struct sim *s, uint32_t slot, const struct view_item *item, uint32_t end)
{
    struct worker *w = &s->workers[slot];
    double sum = 0;
    while (w->at < end) {
        const struct view_part *p = &s->v->parts[item->parts_at + w->at];
        double ns = left_of_part(s, w, p);
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
    return s->sc->restarts_away && !s->v->epochs[item->epoch].first_of_loader;
}

/* A first item meets cold caches and makes its queue's thread: others of the job take less. */
static double warm(const struct sim *s, const struct view_item *item)
{
    double cpu = view_item_cpu(s->v, item), usual = s->v->loaders[item->loader].item_cpu;
    return cpu > usual ? usual / cpu : 1;
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
    w->shrink = left_of_storage(s, item);
    w->warm = item->startup && lives_on(s, item) ? warm(s, item) : 1;
    w->starved = left_of_item_starved(s, item, item->startup_parts, item->part_count);
    w->phase = WORKER_PARTS;
    double slack = waited == item->waited ? item->slack : waited ? s->v->usual.slack_waited : 0;
    if (waited)
        slack = left_of_wake(s, slack, s->v->usual.slack_quick, s->keep_delivery);
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
    w->shrink = w->warm = 1;
    w->starved =
        left_of_item_starved(s, &s->v->items[first_item], 0, s->v->items[first_item].startup_parts);
    w->phase = WORKER_STARTUP;
    w->startup = first_item;
    delay(s, slot + 1, s->v->items[first_item].spawn + ns);
}

static const struct sim_loader *loader_of_epoch(const struct sim *s, uint32_t epoch)
{
    return &s->loaders[s->v->items[s->v->epochs[epoch].first].loader];
}

/* Slot `slot` of the epoch's loader is started though the log has nobody there: it starts like one that it
 * has. */
static void start_extra(struct sim *s, uint32_t epoch, uint32_t slot, double ns)
{
    uint32_t like = s->startup_of[(size_t)epoch * s->v->slots + slot % s->v->epochs[epoch].slots];
    if (like != VIEW_NO_ITEM)
        start_worker(s, loader_of_epoch(s, epoch)->base + slot, like, ns);
}

/* Starts the worker whose first item is p. Once the last one of its epoch is started, more_workers
 * is the first slot of those that were not there. */
static void spawn(struct sim *s, uint32_t p)
{
    const struct view_item *item = &s->v->items[p];
    const struct view_epoch *e = &s->v->epochs[item->epoch];
    const struct sim_loader *l = &s->loaders[item->loader];
    if (lives_on(s, item))
        return;
    s->first_start |= e->first_of_loader;
    if (item->slot < l->count)
        start_worker(s, l->base + item->slot, p, 0);
    if (l->redealt && p == e->last_spawn && e->slots < l->count) {
        s->more_workers = e->slots;
        s->more_epoch = item->epoch;
    }
}

static void end_feed_wait(struct sim *s)
{
    const struct view_item *item = &s->v->items[s->v->steps[s->step].item];
    double ns = s->m->now - s->waits_from;
    s->consumer_waits = false;
    s->feed_wait += ns;
    if (s->v->epochs[item->epoch].first == s->v->steps[s->step].item)
        s->fixed += ns;
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
    uint32_t slot = sim_slot(s, p);
    s->flags[p] |= ITEM_REQUESTED;
    if (s->workers[slot].item == p)
        worker_begin(s, slot, true);
}

/* ---- the consumer and its device ---- */

static void give_device(struct sim *s, const struct view_op *op)
{
    double ns = left_of_device(s, op);
    double from = op->kind == REPLAY_SPREAD ? s->burst : s->m->now;
    s->device = (s->device > from ? s->device : from) + ns;
    if (op->kind == REPLAY_SPREAD && s->device < s->m->now)
        s->device = s->m->now;
    if (op->kind == REPLAY_DEVICE)
        s->burst = s->m->now;
    if (op->cause == CAUSE_NONE)
        s->compute += ns;
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
    spend(s, s->m->cores > 0, s->v->fork_ns);
    return true;
}

/* What takes the training thread no time of its own; false: the op is none of that. */
static bool run_instant(struct sim *s, const struct view_op *op)
{
    switch (op->kind) {
    case VIEW_SPAWN:
        spawn(s, op->resource);
        return true;
    case VIEW_RELEASE:
        release(s, op->resource);
        return true;
    case VIEW_REQUEST:
        if (s->loaders[s->v->items[op->resource].loader].as_recorded)
            request(s, op->resource);
        return true;
    case REPLAY_DEVICE:
    case REPLAY_SPREAD:
        give_device(s, op);
        return true;
    default:
        return false;
    }
}

static double time_of(struct sim *s, const struct view_op *op)
{
    double ns = op->kind == REPLAY_SYNC ? left_of_sync(s, op) : left_of_thread(s, op);
    if (op->kind == REPLAY_SYNC)
        s->burst = s->m->now + ns;
    else if (op->cause == CAUSE_CHECKPOINT || op->cause == CAUSE_STARTUP)
        s->fixed += ns;
    return ns;
}

/* Runs ops until one takes time; false when the step is over. */
static bool run_ops(struct sim *s)
{
    const struct view_step *step = &s->v->steps[s->step];
    if (s->more_workers)
        start_extra(s, s->more_epoch, s->more_workers++, 0);
    if (s->more_workers && s->more_workers >= loader_of_epoch(s, s->more_epoch)->count)
        s->more_workers = 0;
    if (start_more(s))
        return true;
    while (s->op < step->op_count) {
        const struct view_op *op = &s->v->ops[step->ops_at + s->op++];
        if (run_instant(s, op)) {
            if (op->kind == VIEW_SPAWN && start_more(s))
                return true;
            continue;
        }
        double ns = time_of(s, op);
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
    s->first_start = false;
    s->burst = s->m->now;
    s->starved = left_of_step_starved(s, &s->v->steps[s->step]);
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
    const struct view_item *item = &s->v->items[step->item];
    bool warm = item->startup && lives_on(s, item), as_was = s->consumer_waited == step->waited;
    double lag = as_was && !warm       ? step->lag
                 : !s->consumer_waited ? usual->lag_ready
                 : warm                ? usual->lag_quick
                                       : usual->lag_waited;
    return s->consumer_waited ? left_of_wake(s, lag, usual->lag_quick, s->keep_own) : lag;
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
                s->waits_from = s->m->now;
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

/* ---- running ---- */

/* The consumer waits for what nothing will ever finish (a log that contradicts itself). */
static void unblock(struct sim *s)
{
    s->flags[s->v->steps[s->step].item] |= ITEM_READY;
    end_feed_wait(s);
    consumer_go(s);
    cores_dispatch(s->m);
}

static void note_starved(const struct sim *s, uint32_t who, double ns)
{
    if (!who && s->params->step_starved)
        s->params->step_starved[s->step] += ns;
    if (who && s->params->item_starved && s->workers[who - 1].item != VIEW_NO_ITEM)
        s->params->item_starved[s->workers[who - 1].item] += ns;
}

static void advance(struct sim *sets)
{
    uint32_t who;
    if (!cores_next(sets->m, &who))
        return;
    struct sim *s = &sets[who / sets->m->stride];
    who -= s->base;
    if (s->m->starved_last > 0)
        note_starved(s, who, s->m->starved_last);
    if (who)
        worker_go(s, who - 1);
    else
        consumer_go(s);
    cores_dispatch(s->m);
}

/* late: after the set that began first. */
static void begin(struct sim *s, double late)
{
    double forks = late;
    for (uint32_t i = 0; i < s->v->start_ops; i++) {
        const struct view_op *op = &s->v->ops[i];
        if (op->kind == VIEW_RELEASE)
            release(s, op->resource);
        else if (op->kind == VIEW_SPAWN)
            spawn(s, op->resource);
        else if (s->loaders[s->v->items[op->resource].loader].as_recorded)
            request(s, op->resource);
        uint32_t end = s->more_workers ? loader_of_epoch(s, s->more_epoch)->count : 0;
        for (; s->more_workers; s->more_workers = (s->more_workers + 1) % end) {
            forks += s->v->fork_ns;
            start_extra(s, s->more_epoch, s->more_workers, forks);
        }
    }
    s->consumer_phase = s->v->step_count ? CONSUMER_START : CONSUMER_DONE;
    if (s->consumer_phase == CONSUMER_START)
        delay(s, 0, s->v->start_ns + forks);
}

static uint32_t sets_wanted(const struct replay_scenario *sc)
{
    double n = round(sc->consumers_times);
    return n < 1 ? 1 : n > SETS_MAX ? SETS_MAX : (uint32_t)n;
}

/* Until all consumers are done. */
static void run_sets(struct sim *sets, uint32_t count)
{
    uint32_t done = 0;
    while (done < count) {
        struct sim *s = &sets[done];
        if (s->consumer_phase == CONSUMER_DONE)
            done++;
        else if (!cores_idle(s->m))
            advance(sets);
        else if (s->consumer_waits)
            unblock(s);
        else
            break;
    }
}

/* Each of several sets did all that the log holds. For the same work each takes its part of it, but
 * filling its queue, starting workers and writing checkpoints take as long as ever. */
static void sum_up(const struct sim *sets, uint32_t count, double late, struct sim_result *ret)
{
    struct sim_result r = {.length_ns = sets->m->now,
                           .starved_ns = sets->m->starved,
                           .thread_starved_ns = sets->m->starved_first};
    double fixed = 0;
    for (uint32_t i = 0; i < count; i++) {
        r.length_ns = fmax(r.length_ns, sets[i].device);
        r.compute_ns += sets[i].compute / count;
        r.feed_wait_ns += sets[i].feed_wait / count;
        fixed += (sets[i].fixed + sets[i].v->start_ns) / count;
    }
    if (count > 1) {
        double all = r.length_ns - late * (count - 1);
        fixed = fmin(fixed, all);
        r.length_ns = fixed + (all - fixed) / count;
    }
    *ret = r;
}

bool sim_run(const struct view *v, const struct sim_params *params, struct sim_result *ret)
{
    uint32_t count = sets_wanted(params->scenario);
    struct cores m = {0};
    struct sim *sets = mem_zalloc(count * sizeof(*sets));
    /* Sets in step would all want a core at once, and then none. */
    double late = v->step_count ? v->real_ns / (double)v->step_count / count : 0;
    bool ok = sets != NULL;
    for (uint32_t i = 0; i < count && ok; i++)
        ok = sim_set_up(&sets[i], v, params, &m, i);
    ok = ok && cores_init(&m, count * m.stride);
    for (uint32_t i = 0; i < count && ok; i++)
        begin(&sets[i], late * i);
    if (ok) {
        run_sets(sets, count);
        sum_up(sets, count, late, ret);
    }
    for (uint32_t i = 0; sets && i < count; i++)
        sim_clear(&sets[i]);
    cores_clear(&m);
    free(sets);
    return ok;
}
