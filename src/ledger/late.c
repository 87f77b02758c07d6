/* SPDX-License-Identifier: MIT */
#include "ledger/late.h"

#include "base/unit.h"
#include "model/call.h"

#include <stdio.h>

/* Less of a gap is not worth a look at the other ranks. */
#define LATE_MIN_NS (1 * NS_PER_MS)

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
        shares_add(l->did,
                   c->kind == CALL_SYNC ? CAUSE_NONE : call_cause((enum call_kind)c->kind), 0, ns);
        in_calls += ns > 0 ? ns : 0;
    }
    shares_add(l->did, CAUSE_HOST, 0, t1 - t0 - in_calls);
}

/* What the thread that ended the wait had made; nothing where that came from the other ranks, however
 * long a core was lacking for that. */
static void took_delivery(struct looking *l, const struct event_wait *w, int64_t ns)
{
    struct shares parts;
    shares_clear(&parts);
    const struct thread *by = w->flags & WAIT_WAKER_IRQ ? NULL : threads_find(l->threads, w->waker_tid);
    if (!by || !walk_delivery(&l->walk, l->threads, by, w->t_wake, &parts) ||
        talk(&parts) * 2 >= shares_total(&parts) - shares_of(&parts, CAUSE_CPU_STARVED))
        return;
    shares_add_scaled(l->did, &parts, ns);
}

static void took_wait(struct looking *l, const struct event_wait *w)
{
    int64_t ns = overlap(w->t_out, w->t_in, l->a, l->b);
    if (calls_over(&l->y->calls, w->t_out)) {
        took_own(l, w->t_out > l->a ? w->t_out : l->a, w->t_in < l->b ? w->t_in : l->b);
        return;
    }
    enum cause c = walk_direct(&l->walk, l->y, w);
    if (c == CAUSE_NONE)
        took_delivery(l, w, ns);
    else if (c != CAUSE_NETWORK && c != CAUSE_LATE_PEER)
        shares_add(l->did, c, w->resource, ns);
}

/* What y did in [a, b) other than taking part. */
static void look(struct threads *threads, const struct intern *names, const struct thread *y,
                 int64_t a, int64_t b, struct shares *ret)
{
    struct looking l = {.threads = threads, .y = y, .a = a, .b = b, .did = ret};
    const struct waits *ws = &y->waits;
    int64_t at = a;
    shares_clear(ret);
    if (y->known_since == INT64_MIN || y->known_since > a)
        return;
    walk_init(&l.walk, threads, names, y);
    for (size_t i = waits_after(ws, a); i < ws->count && ws->item[i].t_out < b; i++) {
        took_own(&l, at, ws->item[i].t_out);
        took_wait(&l, &ws->item[i]);
        at = ws->item[i].t_in;
    }
    took_own(&l, at, b < y->exit ? b : y->exit);
}

/* The rank that came last. */
static void find(struct threads *threads, const struct intern *names, const struct gap *gap,
                 int64_t b, struct late *ret)
{
    struct shares did;
    for (size_t i = 0; i < threads->count; i++) {
        const struct thread *y = threads->list[i];
        if (!y->launches || !y->alive || !threads_joined(threads, gap->thread->tgid, y))
            continue;
        look(threads, names, y, gap->t0, b, &did);
        int64_t ns = shares_total(&did);
        if (ns > ret->ns) {
            ret->ns = ns;
            ret->rank = y;
            ret->did = did;
        }
    }
}

void late_explain(struct threads *threads, const struct intern *names, const struct gap *gap,
                  struct shares *parts, struct late *ret)
{
    int64_t b = gap->launch_t0 < gap->t1 ? gap->launch_t0 : gap->t1;
    int64_t network = shares_of(parts, CAUSE_NETWORK), late = shares_of(parts, CAUSE_LATE_PEER);
    uint32_t peer = 0;
    ret->rank = NULL;
    ret->ns = 0;
    shares_clear(&ret->did);
    if (!gap->thread || network + late < LATE_MIN_NS || b <= gap->t0)
        return;
    find(threads, names, gap, b, ret);
    for (int i = 0, most = -1; i < parts->count; i++) {
        const struct share *p = &parts->part[i];
        if ((p->cause == CAUSE_NETWORK || p->cause == CAUSE_LATE_PEER) &&
            (most < 0 || p->ns > parts->part[most].ns)) {
            most = i;
            peer = p->resource;
        }
    }
    if (ret->ns > late) {
        int64_t moved = ret->ns - late < network ? ret->ns - late : network;
        shares_add(parts, CAUSE_LATE_PEER, peer, shares_take(parts, CAUSE_NETWORK, moved));
        late += moved;
    }
    if (ret->ns > late) {
        struct shares did = ret->did;
        shares_clear(&ret->did);
        shares_add_scaled(&ret->did, &did, late);
        ret->ns = late;
    }
}

void late_tell(struct walk_links *links, const struct late *late, const struct intern *names)
{
    int i = late->rank ? shares_largest(&late->did) : -1;
    char time[32];
    if (i < 0 || links->count == CHAIN_LINKS_MAX)
        return;
    const struct share *p = &late->did.part[i];
    struct chain_link *link = &links->link[links->count++];
    const char *what = intern_text(names, p->resource);
    walk_who(late->rank, link->who, sizeof(link->who));
    snprintf(link->did, sizeof(link->did), "came late: %s%s%s for %s",
             p->cause == CAUSE_NONE ? "its GPU computed" : cause_title((enum cause)p->cause),
             *what ? ": " : "", what, unit_format_ns(time, sizeof(time), p->ns));
}
