/* SPDX-License-Identifier: MIT */
/*
 * What each item waited for before it began: how far ahead work is requested, where epochs begin,
 * and which take of the consumer made which request.
 *
 * An item whose worker had waited for work was requested just before it began: by the last take
 * before that, or (where that lies too far back: a take is missing in the log or stands at the
 * wrong moment) somewhere in the consumer's own time, at a mark. Logs of real jobs miss a take now
 * and then, so nothing is counted from the log's start.
 *
 * Other items: let c be the takes made before item p began, q = p - c + 1. An item is requested
 * when position p - depth is taken, so q == depth for an item whose worker had waited. The depth is
 * the median q of such items, worker by worker; without any the largest q is a lower bound.
 *
 * All of that is within one loader: takes of another one's items request nothing.
 */
#include "plan/replay_build.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MIN (20 * NS_PER_US) /* shorter waits for work tell nothing */
#define DEPTH_MAX 8192u
#define TOLD_MIN 3      /* items whose worker had waited, before they tell a depth */
#define TOLD_WELL 0.1   /* so many of all items: the other ones need not be asked */
#define MAKES_LITTLE 10 /* one in so many */
#define WAKE_SLOW 3.0   /* times the usual: no waking up, another request */
#define WAKE_LEAST NS_PER_MS
#define WAKE_MOST (5 * NS_PER_MS)

/* ---- takes ---- */

/* The first position of p's loader that was not taken at `when`; p if all before it were. */
static uint32_t takes_before(const struct build *b, double when, uint32_t p)
{
    uint32_t lo = loader_of_item(b, p)->first, hi = p;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (b->items[mid].taken <= when)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The last step whose wait was over at `when` and that took an item of p's loader before p, or none that is
 * known; VIEW_AT_RELEASE: there is none. */
static uint32_t step_before(const struct build *b, double when, uint32_t p)
{
    const struct log_consumer *c = b->c;
    size_t lo = 0, hi = c->step_count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (from_origin(b, c->steps[mid].t1) <= when)
            lo = mid + 1;
        else
            hi = mid;
    }
    uint32_t untold = lo ? b->untold[lo - 1] : VIEW_AT_RELEASE, before = takes_before(b, when, p);
    if (before == loader_of_item(b, p)->first)
        return untold;
    uint32_t own = b->items[before - 1].step;
    return untold != VIEW_AT_RELEASE && untold > own ? untold : own;
}

/* Which step up to each took nothing that is known. */
static bool find_untold(struct build *b)
{
    uint32_t last = VIEW_AT_RELEASE;
    b->untold = mem_zalloc(b->v->step_count * sizeof(*b->untold));
    for (uint32_t s = 0; b->untold && s < b->v->step_count; s++)
        b->untold[s] = last = b->v->steps[s].item == VIEW_NO_ITEM ? s : last;
    return b->untold != NULL;
}

static bool was_idle(const struct build *b, uint32_t p)
{
    return !b->v->items[p].startup && b->items[p].idle >= (double)IDLE_MIN;
}

static double since_take(const struct build *b, uint32_t p)
{
    uint32_t s = step_before(b, b->items[p].work, p);
    return s == VIEW_AT_RELEASE ? INFINITY : b->items[p].work - from_origin(b, b->c->steps[s].t1);
}

static double wake_limit(const struct build *b)
{
    return fmin(fmax(WAKE_SLOW * b->wake, (double)WAKE_LEAST), (double)WAKE_MOST);
}

static bool by_a_take(const struct build *b, uint32_t p)
{
    return since_take(b, p) <= wake_limit(b);
}

static bool learn_wake(struct build *b)
{
    size_t n = 0;
    AUTOFREE double *after = mem_zalloc(b->v->item_count * sizeof(*after));
    if (!after)
        return false;
    for (uint32_t p = 0; p < b->v->item_count; p++) {
        double ns = was_idle(b, p) ? since_take(b, p) : INFINITY;
        if (ns <= (double)WAKE_MOST)
            after[n++] = ns;
    }
    b->wake = view_quantile(after, n, 0.5);
    return true;
}

/* ---- depth ---- */

struct ahead {
    uint32_t worker, q;
};

static int by_worker(const void *a, const void *b)
{
    const struct ahead *x = a, *y = b;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    return x->q < y->q ? -1 : x->q > y->q;
}

/* How many of told[] are of the same worker as the first. */
static size_t same_worker(const struct ahead *told, size_t count)
{
    size_t n = 1;
    while (n < count && told[n].worker == told[0].worker)
        n++;
    return n;
}

/* The medians of each worker's items, into of[]. The loader's is the largest of those who told their part: a
 * delivery that the log lacks makes its worker's look smaller. */
static uint32_t depth_of_workers(uint32_t *of, struct ahead *told, size_t count)
{
    size_t tellers = 0;
    uint32_t depth = 0;
    qsort(told, count, sizeof(*told), by_worker);
    for (size_t i = 0; i < count; i += same_worker(told + i, count - i))
        tellers++;
    for (size_t i = 0, n; i < count; i += n) {
        n = same_worker(told + i, count - i);
        uint32_t median = told[i + n / 2].q;
        if (n >= TOLD_MIN)
            of[told[i].worker] = median;
        if (n * tellers * 2 >= count && median > depth)
            depth = median;
    }
    return depth;
}

/* The largest q but for one in a hundred of n items. */
static uint32_t depth_at_least(const uint32_t *all, uint32_t n, uint32_t high)
{
    uint32_t seen = 0;
    while (high > 1 && (seen += all[high]) <= n / 100)
        high--;
    return high;
}

/* told, all: room for all items and all depths; the latter zeros. */
static void learn_depth(struct build *b, struct view_loader *l, struct ahead *told, uint32_t *all)
{
    size_t count = 0;
    uint32_t high = 1, n = l->end - l->first;
    for (uint32_t p = l->first; p < l->end; p++) {
        uint32_t q = p - takes_before(b, b->items[p].work, p) + 1;
        if (q > DEPTH_MAX)
            q = DEPTH_MAX;
        all[q]++;
        if (q > high)
            high = q;
        if (was_idle(b, p) && by_a_take(b, p))
            told[count++] = (struct ahead){b->items[p].worker, q};
    }
    l->depth_bound = count < TOLD_MIN || count < n / 200;
    uint32_t least = depth_at_least(all, n, high);
    if (l->depth_bound) {
        l->depth = least;
        return;
    }
    l->depth = depth_of_workers(b->depth_of[l - b->v->loaders], told, count);
    if ((double)count < TOLD_WELL * n && least > l->depth)
        l->depth = least;
}

bool request_depth(struct build *b, uint32_t given)
{
    AUTOFREE struct ahead *told = mem_zalloc(b->v->item_count * sizeof(*told));
    AUTOFREE uint32_t *all = mem_zalloc((DEPTH_MAX + 1) * sizeof(*all));
    b->depth_of = mem_zalloc(b->v->loader_count * sizeof(*b->depth_of));
    if (!told || !all || !b->depth_of || !find_untold(b) || !learn_wake(b))
        return false;
    for (uint32_t i = 0; i < b->v->loader_count; i++) {
        struct view_loader *l = &b->v->loaders[i];
        l->depth = given < DEPTH_MAX ? given : DEPTH_MAX;
        if (given || l->first == l->end)
            continue;
        memset(all, 0, (DEPTH_MAX + 1) * sizeof(*all));
        learn_depth(b, l, told, all);
    }
    return true;
}

/* Loaders order a whole number of items per worker, so a lower bound can be raised to one. */
static void raise_bound(struct view_loader *l)
{
    if (l->depth_bound && l->workers > 1)
        l->depth = (l->depth + l->workers - 1) / l->workers * l->workers;
}

static uint32_t depth_of(const struct build *b, uint32_t p)
{
    uint32_t own = b->depth_of[b->v->items[p].loader][b->items[p].worker];
    return own ? own : loader_of_item(b, p)->depth;
}

/* ---- epochs ---- */

/* Nothing was on order when item p began: an epoch begins with it. */
static bool begins_epoch(const struct build *b, uint32_t p)
{
    const struct view *v = b->v;
    const struct item_time *t = &b->items[p];
    if (p == loader_of_item(b, p)->first)
        return true;
    if (takes_before(b, t->start, p) < p)
        return false;
    if (v->items[p].startup)
        return true;
    if (!was_idle(b, p))
        return false;
    if (depth_of(b, p) == 1) /* usual, if requested when the one before was taken */
        return !by_a_take(b, p);
    if (p + 1 >= loader_of_item(b, p)->end)
        return true;
    const struct item_time *next = &b->items[p + 1];
    return next->worker == t->worker || next->start >= b->items[p - 1].taken;
}

static bool push_epoch(struct build *b, uint32_t first)
{
    struct view *v = b->v;
    if (!mem_grow((void **)&v->epochs, &v->epoch_cap, v->epoch_count + 1, sizeof(*v->epochs)))
        return false;
    v->epochs[v->epoch_count++] = (struct view_epoch){
        .first = first, .first_of_loader = first == loader_of_item(b, first)->first};
    return true;
}

static bool push_mark(struct build *b, double at, uint8_t kind, uint32_t what)
{
    if (!mem_grow((void **)&b->marks, &b->mark_cap, b->mark_count + 1, sizeof(*b->marks)))
        return false;
    b->marks[b->mark_count++] = (struct mark){at, what, kind};
    return true;
}

/* When the epoch's workers were started, and when its first items were requested: as soon as one
 * that waited for work got it; if none had to wait, when the last one was started. */
static bool mark_epoch(struct build *b, uint32_t e)
{
    struct view *v = b->v;
    struct view_epoch *epoch = &v->epochs[e];
    const struct view_loader *l = loader_of_item(b, epoch->first);
    uint32_t end = epoch->first + (l->depth > l->workers ? l->depth : l->workers);
    double waited = INFINITY, work = INFINITY, last = -INFINITY;
    for (uint32_t p = epoch->first; p < end && p < v->item_count && v->items[p].epoch == e; p++) {
        const struct item_time *t = &b->items[p];
        if (v->items[p].stale)
            continue;
        work = fmin(work, t->work);
        if (!v->items[p].startup)
            continue;
        if (t->idle > 0)
            waited = fmin(waited, t->work);
        if (t->start >= last && t->start <= b->items[epoch->first].taken) {
            epoch->last_spawn = p;
            last = t->start;
        }
        epoch->spawns++;
        if (!push_mark(b, t->start, VIEW_SPAWN, p))
            return false;
    }
    double release = fmin(waited, work); /* workers are started before anything is requested */
    if (epoch->spawns)
        release = fmax(waited < INFINITY ? release : 0, last);
    return push_mark(b, release, VIEW_RELEASE, e);
}

static bool mark_epochs(struct build *b)
{
    struct view *v = b->v;
    b->releases = mem_zalloc(v->epoch_count * sizeof(*b->releases));
    b->spawns = mem_zalloc(v->item_count * sizeof(*b->spawns));
    if (!b->releases || !b->spawns)
        return false;
    for (uint32_t e = 0; e < v->epoch_count; e++)
        if (!mark_epoch(b, e))
            return false;
    return true;
}

/* ---- requests ---- */

/* The take that made item p's request, among the takes of its epoch. */
static uint32_t trigger_of(const struct build *b, uint32_t p)
{
    const struct view *v = b->v;
    const struct item_time *t = &b->items[p];
    uint32_t first = v->epochs[v->items[p].epoch].first, before = takes_before(b, t->work, p);
    uint32_t depth = depth_of(b, p), all = loader_of_item(b, p)->first;
    if (was_idle(b, p) && before > first)
        return by_a_take(b, p) ? step_before(b, t->work, p) : VIEW_AT_MARK;
    uint32_t k = p - all >= depth ? p - depth : all;
    if (k >= before) /* more was on order than the depth says */
        k = before > all ? before - 1 : all;
    return p - all >= depth && before > all && k >= first ? b->items[k].step : VIEW_AT_RELEASE;
}

static bool find_triggers(struct build *b)
{
    b->requests = mem_zalloc(b->v->item_count * sizeof(*b->requests));
    if (!b->requests)
        return false;
    for (uint32_t p = 0; p < b->v->item_count; p++) {
        struct item_time *t = &b->items[p];
        if (b->v->items[p].stale)
            continue;
        t->trigger = trigger_of(b, p);
        if (t->trigger == VIEW_AT_MARK && !push_mark(b, t->work - b->wake, VIEW_REQUEST, p))
            return false;
    }
    return true;
}

/* Gives each item its epoch and its worker's slot within it. An item that was begun before the
 * last epoch was over is one that the log has taken too late: it was there, and tells nothing. */
static bool split_epochs(struct build *b)
{
    struct view *v = b->v;
    AUTOFREE uint16_t *slot_of = mem_zalloc(REPLAY_WORKERS_MAX * sizeof(*slot_of));
    AUTOFREE uint32_t *seen_in = mem_zalloc(REPLAY_WORKERS_MAX * sizeof(*seen_in));
    if (!slot_of || !seen_in)
        return false;
    for (uint32_t p = 0; p < v->item_count; p++) {
        if (begins_epoch(b, p) && !push_epoch(b, p))
            return false;
        struct view_epoch *e = &v->epochs[v->epoch_count - 1];
        uint16_t w = b->items[p].worker;
        v->items[p].epoch = (uint32_t)v->epoch_count - 1;
        if (!e->first_of_loader && b->items[p].start < b->items[e->first - 1].taken) {
            v->items[p].stale = true;
            v->items[p].startup = false;
            v->items[p].startup_parts = 0;
            continue;
        }
        if (seen_in[w] != v->epoch_count) {
            seen_in[w] = (uint32_t)v->epoch_count;
            slot_of[w] = (uint16_t)e->slots++;
        }
        if (e->slots > v->loaders[v->items[p].loader].slots)
            v->loaders[v->items[p].loader].slots = e->slots;
        v->items[p].slot = slot_of[w];
    }
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    if (x->seen != y->seen)
        return x->seen < y->seen ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind - y->kind;
    return x->what < y->what ? -1 : x->what > y->what;
}

/* Those who made at least a tenth of what the busiest one did: a thread that handed something over
 * once is no worker. items[first .. end - 1] are one epoch's; made: zeros, and so again. */
static uint32_t workers_of(const struct view *v, uint32_t first, uint32_t end, uint32_t *made)
{
    uint32_t most = 0, workers = 0;
    for (uint32_t p = first; p < end; p++)
        if (!v->items[p].stale && ++made[v->items[p].slot] > most)
            most = made[v->items[p].slot];
    for (uint32_t w = 0; w < REPLAY_WORKERS_MAX; w++) {
        workers += made[w] && made[w] * MAKES_LITTLE >= most;
        made[w] = 0;
    }
    return workers;
}

/* As many workers as most items of a loader were made in the company of. */
static bool count_workers(struct build *b)
{
    struct view *v = b->v;
    AUTOFREE uint32_t *made = mem_zalloc(REPLAY_WORKERS_MAX * sizeof(*made));
    AUTOFREE double *each = mem_zalloc(v->item_count * sizeof(*each));
    if (!made || !each)
        return false;
    for (size_t e = 0; e < v->epoch_count; e++) {
        uint32_t end = e + 1 < v->epoch_count ? v->epochs[e + 1].first : (uint32_t)v->item_count;
        uint32_t workers = workers_of(v, v->epochs[e].first, end, made);
        for (uint32_t p = v->epochs[e].first; p < end; p++)
            each[p] = workers;
    }
    for (uint32_t i = 0; i < v->loader_count; i++) {
        struct view_loader *l = &v->loaders[i];
        l->workers = (uint32_t)view_quantile(each + l->first, l->end - l->first, 0.5);
        v->workers += l->workers;
        v->slots += l->slots;
    }
    return true;
}

bool request_epochs(struct build *b)
{
    if (!split_epochs(b) || !count_workers(b) || !mark_epochs(b))
        return false;
    for (uint32_t l = 0; l < b->v->loader_count; l++)
        raise_bound(&b->v->loaders[l]);
    if (!find_triggers(b))
        return false;
    if (b->mark_count)
        qsort(b->marks, b->mark_count, sizeof(*b->marks), by_time);
    return true;
}

bool request_slack(struct build *b)
{
    struct view *v = b->v;
    AUTOFREE double *previous = mem_zalloc(REPLAY_WORKERS_MAX * sizeof(*previous));
    if (!previous)
        return false;
    for (uint32_t p = 0; p < v->item_count; p++) {
        struct view_item *item = &v->items[p];
        const struct item_time *t = &b->items[p];
        if (item->stale) {
            item->trigger = VIEW_AT_RELEASE;
            continue;
        }
        if (p == v->epochs[item->epoch].first)
            memset(previous, 0, REPLAY_WORKERS_MAX * sizeof(*previous));
        item->trigger = t->trigger;
        double request = t->trigger == VIEW_AT_RELEASE ? b->releases[item->epoch]
                         : t->trigger == VIEW_AT_MARK  ? b->requests[p]
                                                       : from_origin(b, b->c->steps[t->trigger].t1);
        double ready = item->startup ? t->work - t->idle : previous[item->slot];
        double base = ready > request ? ready : request;
        item->slack = t->work > base ? t->work - base : 0;
        item->waited = request > ready;
        item->spawn = item->startup ? fmax(0, t->start - b->spawns[p]) : 0;
        previous[item->slot] = t->end;
    }
    return true;
}
