/* SPDX-License-Identifier: MIT */
/* Who delivered in a gap, and what each wait was for then. */
#include "ledger/gap_explain.h"

#include "ledger/answer.h"
#include "ledger/helper.h"
#include "ledger/turn.h"

/* What a process hands over by a thread of its own another one may only have answered about, which keeps
 * shared memory: that is no delivery. */
static bool answers(const struct group *g, const struct event_wait *w)
{
    return g->longest >= 0 && g->tid != g->tgid && w->waker_tgid != g->tgid &&
           w->waker_tid == w->waker_tgid && w->t_wake - w->t_out < ANSWER_NS &&
           w->t_wake - g->last < ANSWER_REACH_NS;
}

/* The channel on which a child handed something over; 0: this wake was none of that, as when it answers what
 * was asked about it. */
static uint64_t channel_of(const struct explaining *x, const struct event_wait *w)
{
    const struct thread *maker, *hop;
    bool handed = w->waker_tgid != x->th->tgid && w->target == TARGET_PIPE &&
                  threads_maker(x->threads, w->waker_tgid, &maker, &hop) &&
                  hop->tid == w->waker_tid;
    return handed ? w->channel : 0;
}

static struct group *group_of(struct explaining *x, const struct event_wait *w)
{
    uint32_t key = w->waker_tgid == x->th->tgid ? w->waker_tid : 0;
    uint64_t channel = channel_of(x, w);
    for (int i = x->groups; i-- > 0;)
        if (x->group[i].key == key &&
            (!channel || !x->group[i].channel || x->group[i].channel == channel))
            return &x->group[i];
    bool full = x->groups == GROUPS_MAX; /* the last place is then shared by all that follow */
    int at = full ? GROUPS_MAX - 1 : x->groups++;
    int64_t others = full ? x->group[at].ns : 0;
    x->group[at] = (struct group){.key = key, .ns = others};
    return &x->group[at];
}

/* Did the process put something just before the group's wait ended, or since? Else it was there, or in another
 * loader's queue: no wait was for that. */
static bool put_since(const struct explaining *x, const struct group *g, const struct event_wait *w)
{
    const struct thread *maker, *hop, *by = threads_find(x->threads, w->waker_tid);
    bool itself =
        threads_maker(x->threads, w->waker_tgid, &maker, &hop) && (by == maker || by == hop);
    return !by || itself || !answer_maker(x->threads, by, &maker, &hop) ||
           hop->tgid != w->waker_tgid || turn_next(maker, hop, g->t - SEND_NS) <= w->t_wake ||
           turn_sends(maker, hop, g->t - SEND_NS, w->t_wake) != INT64_MIN;
}

void gap_groups_add(struct explaining *x, const struct event_wait *w, int64_t ns)
{
    struct group *g = group_of(x, w);
    uint32_t key = g->key;
    g->ns += ns;
    if (!key && answers(g, w)) {
        g->last = w->t_wake;
        return;
    }
    g->channel = g->channel ? g->channel : channel_of(x, w);
    if (!key && g->tgid && g->tgid != w->waker_tgid && !put_since(x, g, w))
        return;
    struct wake before = {.t = g->last, .waited_ns = g->longest};
    struct wake now = {
        .t = w->t_wake, .waited_ns = w->t_wake - w->t_out, .tid = w->tid, .tgid = w->tgid};
    /* another worker, or the next delivery of a thread that hands on: its burst begins */
    const struct thread *by = threads_find(x->walk.threads, w->waker_tid);
    if (w->waker_tgid != g->tgid || (key && by && !turn_same_burst(by, &before, &now))) {
        g->tgid = w->waker_tgid;
        g->longest = -1;
    }
    if (ns > g->longest) {
        g->longest = ns;
        g->tid = w->waker_tid;
        g->t = w->t_wake;
    }
    g->last = w->t_wake;
}

/* Does a thread of this process that delivered work for a loader? One that was asked within the
 * gap only answers, and one that talks to other machines or holds locks loads nothing. */
static bool loads(const struct explaining *x, const struct group *g)
{
    const struct maker *m = &x->walk.maker;
    const struct shares *s = &g->parts;
    int64_t made = shares_of(s, CAUSE_STORAGE) + shares_of(s, CAUSE_PREPARE) +
                   shares_of(s, CAUSE_STARTUP) + shares_of(s, CAUSE_CPU_STARVED);
    bool asked = m->thread && m->idle_ns > 0 && m->t0 >= x->a;
    return g->key && !asked && made * 2 > shares_total(s);
}

static void share_group(struct explaining *x, struct group *g, struct chain_links *links)
{
    const struct thread *y = threads_find(x->walk.threads, g->tid);
    x->walk.links = links;
    x->walk.maker.thread = NULL;
    if (y && helper_only_locks(y, x->th))
        shares_add(&g->parts, CAUSE_LOCK, 0, 1);
    else if (!y || !walk_delivery(&x->walk, x->threads, y, g->t, &g->parts))
        g->parts.count = 0;
    x->walk.links = NULL;
    g->loads = loads(x, g);
}

/* What the threads of a loader handed over belongs to the last of them, as with processes. */
static void join_loaders(struct explaining *x)
{
    struct group *last = NULL;
    for (int i = 0; i < x->groups; i++)
        if (x->group[i].loads && (!last || x->group[i].last > last->last))
            last = &x->group[i];
    for (int i = 0; i < x->groups; i++)
        if (x->group[i].loads && &x->group[i] != last) {
            last->ns += x->group[i].ns;
            x->group[i].ns = 0;
        }
}

static void first_link(struct chain_links *links, const struct explaining *x, const struct group *g)
{
    char who[64] = "another thread";
    const struct thread *y = threads_find(x->walk.threads, g->tid);
    if (y)
        chain_who(links, y, who, sizeof(who));
    chain_tell(links, x->th, g->ns, "waited for %s", who);
}

void gap_groups_share(struct explaining *x, struct chain_links *links)
{
    int most = -1;
    for (int i = 0; i < x->groups; i++)
        if (most < 0 || x->group[i].ns > x->group[most].ns)
            most = i;
    if (most >= 0) { /* time-outs on the way belong to what was awaited */
        x->group[most].ns += x->nobody;
        x->nobody = 0;
    }
    for (int i = 0; i < x->groups; i++) {
        bool tell = links && i == most && x->group[i].ns * 2 > x->gap->t1 - x->gap->t0;
        if (tell)
            first_link(links, x, &x->group[i]);
        share_group(x, &x->group[i], tell ? links : NULL);
    }
    join_loaders(x);
    for (int i = 0; i < x->groups; i++)
        shares_add_scaled(x->out, &x->group[i].parts, x->group[i].ns);
    shares_add(x->out, x->nobody_cause, 0, x->nobody);
}
