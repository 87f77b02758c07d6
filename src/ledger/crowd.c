/* SPDX-License-Identifier: MIT */
#include "ledger/crowd.h"

#include "base/unit.h"

/* Turns are looked at this far back: a few batches of most loaders. */
#define LOOK_BACK_NS (1 * NS_PER_S)

/* When the launching thread first asked its device for work after t; INT64_MAX: it has not. */
static int64_t launched_after(const struct thread *root, int64_t t)
{
    if (t >= root->last_call_end)
        return INT64_MAX;
    size_t i = calls_after(&root->calls, t);
    return i < root->calls.count && root->calls.item[i].t0 > t ? root->calls.item[i].t0 : t;
}

/* A process delivers before the launching thread launches again: what it does on a core until then, or
 * until it first reads from a store, is its start, and all of it where neither has been seen. */
static int64_t starting_until(const struct walk *k, const struct thread *x, int64_t t1)
{
    const struct thread *main_thread = threads_find(k->threads, x->tgid);
    if (!main_thread || main_thread->start == INT64_MIN)
        return INT64_MIN;
    int64_t launched = launched_after(k->root, main_thread->start);
    t1 = launched < t1 ? launched : t1;
    for (size_t i = x->waits.first; i < x->waits.count; i++) {
        const struct event_wait *w = &x->waits.item[i];
        if ((w->target == TARGET_SOCKET || (w->flags & WAIT_REMOTE_FS)) && w->t_out < t1)
            return w->t_out;
    }
    return t1;
}

/* What x did in [t0, t1), but for waiting to be given work. Threads beside the work sleep all the time:
 * it tells something of those only that hand over (`makes`). */
static void add_thread(const struct walk *k, const struct thread *x, bool makes, int64_t t0,
                       int64_t t1, struct shares *ret)
{
    int64_t known = x->known_since > t0 ? x->known_since : t0;
    int64_t end = x->exit < t1 ? x->exit : t1, at = known;
    int64_t starting = starting_until(k, x, t1);
    enum cause own = x->launches ? CAUSE_HOST : CAUSE_PREPARE;
    if (x->known_since == INT64_MIN || end <= known)
        return;
    const struct waits *ws = &x->waits;
    for (size_t i = waits_after(ws, known); i <= ws->count; i++) {
        const struct event_wait *w = i < ws->count ? &ws->item[i] : NULL;
        int64_t out = w && w->t_out < end ? w->t_out : end;
        int64_t before = overlap(at, out, INT64_MIN, starting);
        shares_add(ret, CAUSE_STARTUP, 0, before);
        shares_add(ret, own, 0, overlap(at, out, known, end) - before);
        if (!w || w->t_out >= end)
            break;
        enum cause c = walk_direct(k, x, w);
        if (c != CAUSE_NONE && (c != CAUSE_SLEEP || makes))
            shares_add(ret, c, w->resource, overlap(w->t_out, w->t_wake, known, end));
        shares_add(ret, CAUSE_CPU_STARVED, 0, overlap(w->t_wake, w->t_in, known, end));
        at = w->t_in > at ? w->t_in : at;
    }
}

static bool is_child(const struct thread *x, const struct thread *root)
{
    return x->tgid != root->tgid && x->job && x->parent_tgid == root->tgid;
}

/* A child that was made since the last launch: what it holds may not have been looked at yet. */
static bool is_new(const struct walk *k, const struct thread *x)
{
    const struct thread *main_thread = threads_find(k->threads, x->tgid);
    return is_child(x, k->root) && main_thread && main_thread->start != INT64_MIN &&
           main_thread->start >= k->root->last_call_end;
}

/* `since`: who has ended before is none of them where there are new ones. */
static void add_processes(const struct walk *k, uint64_t channel, int64_t since, int64_t t0,
                          int64_t t1, struct shares *ret)
{
    bool known = threads_channel_known(k->threads, channel), made = false;
    for (size_t i = 0; i < k->threads->count && !made; i++)
        made = is_new(k, k->threads->list[i]);
    for (size_t i = 0; i < k->threads->count; i++) {
        const struct thread *x = k->threads->list[i];
        if (x->tgid == k->root->tgid || (made && x->exit < since))
            continue;
        bool writes = known && threads_writes(k->threads, channel, x->tgid);
        if (is_new(k, x) || (known ? writes : is_child(x, k->root)))
            add_thread(k, x, writes && x->tid == x->tgid, t0, t1, ret);
    }
}

/* A thread of a collective that mostly waited for the network: while it ran, or was ready to, bytes
 * were in flight (samples are too far apart to tell more). */
static void hide_in_network(struct shares *s)
{
    uint32_t peer;
    if (!shares_mostly(s, CAUSE_NETWORK, 0, &peer))
        return;
    int64_t hidden =
        shares_take(s, CAUSE_PREPARE, INT64_MAX) + shares_take(s, CAUSE_CPU_STARVED, INT64_MAX);
    shares_add(s, CAUSE_NETWORK, peer, hidden);
}

/* Waits of x for what other processes write: it hands on what they make (PyTorch's pin-memory thread, the
 * results of a pool), so that who waits for x waits for them. */
static void add_relayed(const struct walk *k, const struct thread *x, int64_t back, int64_t t0,
                        int64_t t1, struct shares *ret)
{
    const struct waits *ws = &x->waits;
    const struct event_wait *last = NULL;
    int64_t ns = 0;
    for (size_t i = waits_after(ws, t0); i <= ws->count; i++) {
        const struct event_wait *w = i < ws->count && ws->item[i].t_out < t1 ? &ws->item[i] : NULL;
        if (w &&
            (!threads_channel_known(k->threads, w->channel) || walk_direct(k, x, w) != CAUSE_NONE))
            continue;
        if (last && (!w || w->channel != last->channel)) {
            struct shares parts;
            shares_clear(&parts);
            add_processes(k, last->channel, last->t_out, back, t1, &parts);
            if (parts.count)
                shares_add_scaled(ret, &parts, ns);
            ns = 0;
        }
        if (!w)
            break;
        last = w;
        ns += overlap(w->t_out, w->t_wake, t0, t1);
    }
}

static void add_siblings(const struct walk *k, int64_t back, int64_t t0, int64_t t1,
                         struct shares *ret)
{
    for (size_t i = 0; i < k->threads->count; i++) {
        const struct thread *x = k->threads->list[i];
        struct shares did;
        shares_clear(&did);
        if (x->tgid != k->root->tgid || x == k->root)
            continue;
        add_thread(k, x, false, t0, t1, &did);
        hide_in_network(&did);
        add_relayed(k, x, back, t0, t1, &did);
        shares_add_scaled(ret, &did, shares_total(&did));
    }
}

void crowd_share(const struct walk *k, const struct event_wait *w, struct shares *ret)
{
    int64_t back = w->t_wake - LOOK_BACK_NS < w->t_out ? w->t_wake - LOOK_BACK_NS : w->t_out;
    if (w->target == TARGET_FUTEX)
        add_siblings(k, back, w->t_out, w->t_wake, ret);
    if (!ret->count)
        add_processes(k, w->channel, w->t_out, back, w->t_wake, ret);
    if (!ret->count)
        add_siblings(k, back, w->t_out, w->t_wake, ret);
}
