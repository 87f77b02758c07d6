/* SPDX-License-Identifier: MIT */
#include "ledger/late.h"

#include "base/unit.h"
#include "ledger/direct.h"
#include "model/call.h"

/* Less of a gap is not worth a look at the other ranks. */
#define LATE_MIN_NS (1 * NS_PER_MS)
#define WINDOWS_MAX 16

struct looking {
    struct walk walk;
    struct threads *threads;
    const struct thread *y;
    int64_t a, b;
    struct shares *did;
};

static int64_t talk(const struct shares *s)
{
    return shares_of(s, CAUSE_NETWORK) + shares_of(s, CAUSE_LATE_PEER) +
           shares_of(s, CAUSE_COLLECTIVE);
}

/* Time on a core, or inside a driver call: synchronising is waiting for its device to compute. */
static void took_own(struct looking *l, int64_t t0, int64_t t1)
{
    const struct calls *cs = &l->y->calls;
    int64_t in_calls = 0;
    if (t1 <= t0)
        return;
    for (size_t i = calls_after(cs, t0); i < cs->count && cs->item[i].t0 < t1; i++) {
        const struct event_call *c = &cs->item[i];
        int64_t ns = overlap(c->t0, c->t1, t0, t1);
        ns = ns < t1 - t0 - in_calls ? ns : t1 - t0 - in_calls;
        shares_add(l->did, c->kind == CALL_SYNC ? CAUSE_NONE : call_cause((enum call_kind)c->kind),
                   0, ns);
        in_calls += ns > 0 ? ns : 0;
    }
    shares_add(l->did, CAUSE_HOST, 0, t1 - t0 - in_calls);
}

/* What the thread that ended the wait had made; false: that came from the other ranks, however long a
 * core was lacking for that, or nobody knows. */
static bool took_delivery(struct looking *l, const struct event_wait *w, int64_t ns)
{
    struct shares parts;
    shares_clear(&parts);
    const struct thread *by =
        w->flags & WAIT_WAKER_IRQ ? NULL : threads_find(l->threads, w->waker_tid);
    if (!by || !walk_delivery(&l->walk, l->threads, by, w->t_wake, &parts) ||
        talk(&parts) * 2 >= shares_total(&parts) - shares_of(&parts, CAUSE_CPU_STARVED))
        return false;
    shares_add_scaled(l->did, &parts, ns);
    return true;
}

/* The driver call that th waited in; NULL: none. Of a sample it is exact when it was seen, not when the wait
 * began. */
static const struct event_call *call_of(const struct thread *th, const struct event_wait *w)
{
    bool seen = (w->flags & WAIT_SAMPLED) && w->t_seen;
    return calls_over(&th->calls, seen ? w->t_seen : w->t_out);
}

/* false: it took part. */
static bool took_wait(struct looking *l, const struct event_wait *w)
{
    int64_t ns = overlap(w->t_out, w->t_in, l->a, l->b);
    if (call_of(l->y, w)) {
        took_own(l, later(w->t_out, l->a), sooner(w->t_in, l->b));
        return true;
    }
    enum cause c = direct_cause(l->walk.threads, l->y, w);
    if (c == CAUSE_NONE)
        return took_delivery(l, w, ns);
    if (c == CAUSE_NETWORK || c == CAUSE_LATE_PEER)
        return false;
    shares_add(l->did, c, w->resource, ns);
    return true;
}

/* What y did in [a, b) before it took part for the last time: after that it has gone on, and is late for
 * nothing. All it did, where it never waited for the others. */
static void look(struct threads *threads, const struct intern *names, const struct thread *y,
                 int64_t a, int64_t b, struct shares *ret)
{
    struct looking l = {.threads = threads, .y = y, .a = a, .b = b, .did = ret};
    const struct waits *ws = &y->waits;
    struct shares before;
    int64_t at = a;
    bool came = false;
    shares_clear(ret);
    shares_clear(&before);
    if (y->known_since == INT64_MIN || y->known_since > a)
        return;
    walk_init(&l.walk, threads, names, y);
    for (size_t i = waits_after(ws, a); i < ws->count && ws->item[i].t_out < b; i++) {
        took_own(&l, at, ws->item[i].t_out);
        if (!took_wait(&l, &ws->item[i])) {
            came = true;
            before = *ret;
        }
        at = ws->item[i].t_in;
    }
    took_own(&l, at, b < y->exit ? b : y->exit);
    if (came)
        *ret = before;
}

/* When the gap's thread waited for other ranks; of many such times the last place holds all that follow. */
struct window {
    int64_t t0, t1;
};
struct windows {
    struct window at[WINDOWS_MAX];
    int count;
    int64_t starved; /* what the thread itself lacked of a core in the gap */
};

static void add_window(struct windows *ws, int64_t t0, int64_t t1)
{
    if (ws->count == WINDOWS_MAX)
        ws->at[WINDOWS_MAX - 1].t1 = t1;
    else if (t1 > t0)
        ws->at[ws->count++] = (struct window){t0, t1};
}

/* What sticks out of a driver call was the wait beside it: samples do not tell where one ends and the other
 * begins. */
static void add_spilt(struct windows *ws, const struct looking *l, const struct event_wait *w)
{
    const struct event_call *c = w->flags & WAIT_SAMPLED ? call_of(l->y, w) : NULL;
    if (!c)
        return;
    add_window(ws, later(w->t_out, l->a), sooner(c->t0, l->b));
    add_window(ws, later(c->t1, l->a), sooner(w->t_wake, l->b));
}

static void find_windows(struct threads *threads, const struct intern *names, const struct gap *gap,
                         struct windows *ret)
{
    struct shares other;
    struct looking l = {
        .threads = threads, .y = gap->thread, .a = gap->t0, .b = gap->t1, .did = &other};
    const struct waits *ws = &gap->thread->waits;
    struct windows spilt = {.count = 0};
    int64_t longest = 0; /* of the waits outside calls */
    bool for_ranks = false;
    shares_clear(&other);
    walk_init(&l.walk, threads, names, gap->thread);
    ret->count = 0;
    ret->starved = 0;
    for (size_t i = waits_after(ws, l.a); i < ws->count && ws->item[i].t_out < l.b; i++) {
        const struct event_wait *w = &ws->item[i];
        ret->starved += overlap(w->target == TARGET_CORE ? w->t_out : w->t_wake, w->t_in, l.a, l.b);
        if (w->target == TARGET_CORE)
            continue;
        bool talks = !took_wait(&l, w);
        if (talks)
            add_window(ret, later(w->t_out, l.a), sooner(w->t_wake, l.b));
        add_spilt(&spilt, &l, w);
        if (!call_of(l.y, w) && w->t_in - w->t_out > longest) {
            longest = w->t_in - w->t_out;
            for_ranks = talks;
        }
    }
    for (int i = 0; for_ranks && i < spilt.count; i++)
        add_window(ret, spilt.at[i].t0, spilt.at[i].t1);
}

/* The rank that came last. */
static void find(struct threads *threads, const struct intern *names, const struct thread *th,
                 const struct windows *ws, struct late *ret)
{
    struct shares did, all;
    for (size_t i = 0; i < threads->count; i++) {
        const struct thread *y = threads->list[i];
        if (!y->launches || !y->alive || !threads_joined(threads, th->tgid, y))
            continue;
        shares_clear(&all);
        for (int k = 0; k < ws->count; k++) {
            look(threads, names, y, ws->at[k].t0, ws->at[k].t1, &did);
            shares_add_scaled(&all, &did, shares_total(&did));
        }
        int64_t ns = shares_total(&all);
        if (ns > ret->ns) {
            ret->ns = ns;
            ret->rank = y;
            ret->did = all;
        }
    }
}

/* The peer that most of it was waited for. */
static uint32_t peer_of(const struct shares *parts)
{
    const struct share *most = NULL;
    for (int i = 0; i < parts->count; i++) {
        const struct share *p = &parts->part[i];
        if ((p->cause == CAUSE_NETWORK || p->cause == CAUSE_LATE_PEER) &&
            (!most || p->ns > most->ns))
            most = p;
    }
    return most ? most->resource : 0;
}

/* While a rank had not come, neither the line nor a core for those who wait for it cost anything. */
static int64_t move(struct shares *parts, const struct windows *ws, int64_t ns)
{
    uint32_t peer = peer_of(parts);
    int64_t helpers = shares_of(parts, CAUSE_CPU_STARVED) - ws->starved;
    int64_t moved = shares_take(parts, CAUSE_NETWORK, ns);
    moved += shares_take(parts, CAUSE_COLLECTIVE, ns - moved);
    if (helpers > 0)
        moved += shares_take(parts, CAUSE_CPU_STARVED, helpers < ns - moved ? helpers : ns - moved);
    shares_add(parts, CAUSE_LATE_PEER, peer, moved);
    return moved;
}

void late_explain(struct threads *threads, const struct intern *names, const struct gap *gap,
                  struct shares *parts, struct late *ret)
{
    struct windows ws;
    int64_t late = shares_of(parts, CAUSE_LATE_PEER);
    ret->rank = NULL;
    ret->ns = 0;
    shares_clear(&ret->did);
    if (!gap->thread || !threads->joined.count ||
        shares_of(parts, CAUSE_NETWORK) + late < LATE_MIN_NS)
        return;
    find_windows(threads, names, gap, &ws);
    find(threads, names, gap->thread, &ws, ret);
    if (ret->ns > late)
        late += move(parts, &ws, ret->ns - late);
    if (ret->ns > late) {
        struct shares did = ret->did;
        shares_clear(&ret->did);
        shares_add_scaled(&ret->did, &did, late);
        ret->ns = late;
    }
}

void late_tell(struct chain_links *links, const struct late *late, const struct intern *names)
{
    int i = late->rank ? shares_largest(&late->did) : -1;
    if (i < 0)
        return;
    const struct share *p = &late->did.part[i];
    if (p->cause != CAUSE_NONE)
        chain_tell_did(links, late->rank, "had not come yet; meanwhile it ", p, names);
    else
        chain_tell(links, late->rank, p->ns, "had not come yet; meanwhile its GPU computed");
}
