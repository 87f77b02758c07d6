/* SPDX-License-Identifier: MIT */
#include "ledger/crowd.h"

#include "base/unit.h"
#include "ledger/admit.h"
#include "ledger/direct.h"

/* Turns are looked at this far back: a few batches of most loaders. */
#define LOOK_BACK_NS (1 * NS_PER_S)
/* Who lives shorter can be missed by the samples: others like it tell for it. */
#define BRIEF_NS (100 * NS_PER_MS)
/* Children of children of a worker that are followed, and how many of each at once. */
#define KIDS_DEPTH 3
#define KIDS_MAX 64

/* When the launching thread first asked its device for work after t; INT64_MAX: it has not. */
static int64_t launched_after(const struct thread *root, int64_t t)
{
    if (t >= root->last_call_end)
        return INT64_MAX;
    size_t i = calls_after(&root->calls, t);
    return i < root->calls.count && root->calls.item[i].t0 > t ? root->calls.item[i].t0 : t;
}

/* Was it made for one thing (a program that decodes a file), and ended with it? Nothing was launched before
 * that, and where no launch is known yet, the wait for it was over by then; what another process makes has to
 * do with no launch. */
static bool made_for_one(const struct walk *k, const struct thread *main_thread, int64_t launched,
                         int64_t t1)
{
    bool of_root = main_thread->parent_tgid == k->root->tgid;
    int64_t known = launched < INT64_MAX ? launched : t1;
    int64_t by = of_root ? admit_sum(known, START_EARLY_NS) : admit_sum(t1, ENDED_NS);
    return !main_thread->alive && main_thread->exit < by;
}

/* A process delivers before the launching thread launches again: what it does on a core until then, or
 * until it first reads from a store, is its start, and all of it where neither has been seen. */
static int64_t starting_until(const struct walk *k, const struct thread *x, int64_t t1)
{
    const struct thread *main_thread = threads_find(k->threads, x->tgid);
    if (!main_thread || main_thread->start == INT64_MIN)
        return INT64_MIN;
    /* told too early, its start may lie in the call before it */
    int64_t started = main_thread->start + START_EARLY_NS;
    int64_t launched = launched_after(k->root, started);
    launched = launched == started ? main_thread->start : launched;
    if (made_for_one(k, main_thread, launched, t1))
        return INT64_MIN;
    t1 = launched < t1 ? launched : t1;
    for (size_t i = x->waits.first; i < x->waits.count; i++) {
        const struct event_wait *w = &x->waits.item[i];
        if ((w->target == TARGET_SOCKET || (w->flags & WAIT_REMOTE_FS)) && w->t_out < t1)
            return w->t_out;
    }
    return t1;
}

struct kids {
    const struct thread *kid[KIDS_MAX]; /* threads of child processes */
    int count;
};

/* Those of x's process that lived in [t0, t1), the youngest. The list is in the order in which threads were
 * made: none is older than its parent. */
static void find_kids(const struct walk *k, const struct thread *x, int64_t t0, int64_t t1,
                      struct kids *ret)
{
    const struct thread *parent = threads_find(k->threads, x->tgid);
    int64_t born = parent ? parent->start : INT64_MIN;
    ret->count = 0;
    for (size_t i = k->threads->count; i-- > 0 && ret->count < KIDS_MAX;) {
        const struct thread *y = k->threads->list[i];
        if (y->start != INT64_MIN && y->start + START_EARLY_NS < born)
            return;
        if (y->parent_tgid == x->tgid && y->tgid != x->tgid && y->job && y->start < t1 &&
            y->exit > t0)
            ret->kid[ret->count++] = y;
    }
}

bool crowd_awaits_child(const struct walk *k, const struct event_wait *w)
{
    bool pipe = w->target == TARGET_PIPE || w->target == TARGET_POLL;
    if (w->target == TARGET_CHILD || !pipe)
        return w->target == TARGET_CHILD;
    if (w->tgid == k->root->tgid)
        return w->channel && !threads_channel_known(k->threads, w->channel);
    return !threads_writes(k->threads, w->channel, k->root->tgid);
}

static void add_thread(const struct walk *k, const struct thread *x, bool makes, int depth,
                       int64_t t0, int64_t t1, struct shares *ret);

/* What x waited for its children for, `ns` in all: what those did. False: nothing that was seen. */
static bool add_kids(const struct walk *k, const struct kids *kids, int depth, int64_t ns,
                     int64_t t0, int64_t t1, struct shares *ret)
{
    struct shares did;
    shares_clear(&did);
    for (int i = 0; i < kids->count && depth < KIDS_DEPTH; i++)
        add_thread(k, kids->kid[i], kids->kid[i]->tid == kids->kid[i]->tgid, depth + 1, t0, t1,
                   &did);
    if (did.count)
        shares_add_scaled(ret, &did, ns);
    return did.count > 0;
}

bool crowd_children(const struct walk *k, const struct thread *x, int64_t ns, int64_t t0,
                    int64_t t1, struct shares *ret)
{
    struct kids kids;
    find_kids(k, x, t0, t1, &kids);
    return add_kids(k, &kids, 0, ns, t0, t1, ret);
}

/* What x did in [t0, t1), but for waiting to be given work. Threads beside the work sleep all the time:
 * it tells something of those only that hand over (`makes`). */
static void add_thread(const struct walk *k, const struct thread *x, bool makes, int depth,
                       int64_t t0, int64_t t1, struct shares *ret)
{
    int64_t known = x->known_since > t0 ? x->known_since : t0;
    int64_t end = x->exit < t1 ? x->exit : t1, at = known, for_kids = 0;
    int64_t starting = starting_until(k, x, t1);
    enum cause own = x->launches ? CAUSE_HOST : CAUSE_PREPARE;
    struct kids kids;
    if (x->known_since == INT64_MIN || end <= known)
        return;
    find_kids(k, x, known, end, &kids);
    const struct waits *ws = &x->waits;
    for (size_t i = waits_after(ws, known); i <= ws->count; i++) {
        const struct event_wait *w = i < ws->count ? &ws->item[i] : NULL;
        int64_t out = w && w->t_out < end ? w->t_out : end;
        int64_t before = overlap(at, out, INT64_MIN, starting);
        shares_add(ret, CAUSE_STARTUP, 0, before);
        shares_add(ret, own, 0, overlap(at, out, known, end) - before);
        if (!w || w->t_out >= end)
            break;
        enum cause c = direct_cause(k->threads, x, w);
        int64_t ns = overlap(w->t_out, w->t_wake, known, end);
        bool child = c == CAUSE_NONE || w->target == TARGET_CHILD;
        if (kids.count && child && crowd_awaits_child(k, w))
            for_kids += ns;
        else if (c != CAUSE_NONE && (c != CAUSE_SLEEP || makes))
            shares_add(ret, c, w->resource, ns);
        shares_add(ret, CAUSE_CPU_STARVED, 0, overlap(w->t_wake, w->t_in, known, end));
        at = w->t_in > at ? w->t_in : at;
    }
    if (for_kids)
        add_kids(k, &kids, depth, for_kids, known, end, ret);
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
           main_thread->start + START_EARLY_NS >= k->root->last_call_end;
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
            add_thread(k, x, writes && x->tid == x->tgid, 0, t0, t1, ret);
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
        if (w && (!threads_channel_known(k->threads, w->channel) ||
                  direct_cause(k->threads, x, w) != CAUSE_NONE))
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
        add_thread(k, x, false, 0, t0, t1, &did);
        hide_in_network(&did);
        add_relayed(k, x, back, t0, t1, &did);
        shares_add_scaled(ret, &did, shares_total(&did));
    }
}

/* Does another thread of the launching process wait for what another process does? It may hand that on. */
static bool any_relay(const struct walk *k, int64_t t0, int64_t t1)
{
    for (size_t i = 0; i < k->threads->count; i++) {
        const struct thread *x = k->threads->list[i];
        const struct waits *ws = &x->waits;
        if (x->tgid != k->root->tgid || x == k->root)
            continue;
        for (size_t n = waits_after(ws, t0); n < ws->count && ws->item[n].t_out < t1; n++)
            if (ws->item[n].target == TARGET_PIPE || ws->item[n].target == TARGET_POLL ||
                ws->item[n].target == TARGET_CHILD)
                return true;
    }
    return false;
}

/* Has it come and gone in [t0, t1), in a time that samples can miss? */
static bool is_brief(const struct thread *x, int64_t t0, int64_t t1)
{
    return !x->alive && x->start >= t0 && x->exit < t1 && x->exit - x->start < BRIEF_NS;
}

/* Threads of the launching process that were made for one thing each. */
static void add_brief(const struct walk *k, int64_t t0, int64_t t1, struct shares *ret)
{
    for (size_t i = 0; i < k->threads->count; i++) {
        const struct thread *x = k->threads->list[i];
        if (x->tgid == k->root->tgid && x != k->root && is_brief(x, t0, t1))
            add_thread(k, x, true, 0, t0, t1, ret);
    }
}

/* A process that is awaited was made since the last launch; where none of those was seen, others that lived
 * as short tell. */
static void add_awaited(const struct walk *k, const struct event_wait *w, int64_t back,
                        struct shares *ret)
{
    struct kids kids, made = {.count = 0}, brief = {.count = 0};
    find_kids(k, k->root, back, w->t_wake, &kids);
    for (int i = 0; i < kids.count; i++) {
        const struct thread *y = kids.kid[i];
        if (is_new(k, y) && y->exit > w->t_out)
            made.kid[made.count++] = y;
        else if (is_brief(y, back, w->t_wake))
            brief.kid[brief.count++] = y;
    }
    add_kids(k, &made, 0, w->t_wake - w->t_out, w->t_out, w->t_wake, ret);
    if (!ret->count)
        add_kids(k, &brief, 0, w->t_wake - w->t_out, back, w->t_wake, ret);
}

void crowd_share(const struct walk *k, const struct event_wait *w, struct shares *ret)
{
    int64_t back = w->t_wake - LOOK_BACK_NS < w->t_out ? w->t_wake - LOOK_BACK_NS : w->t_out;
    if (w->target == TARGET_CHILD) {
        add_awaited(k, w, back, ret);
        return;
    }
    if (w->target == TARGET_FUTEX)
        add_siblings(k, back, w->t_out, w->t_wake, ret);
    /* a thread that lived too short to be seen, rather than a process that had no part in it */
    if (!ret->count && (w->flags & WAIT_PRIVATE) && !any_relay(k, w->t_out, w->t_wake)) {
        add_brief(k, back, w->t_wake, ret);
        return;
    }
    if (!ret->count)
        add_processes(k, w->channel, w->t_out, back, w->t_wake, ret);
    if (!ret->count)
        add_siblings(k, back, w->t_out, w->t_wake, ret);
}
