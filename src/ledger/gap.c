/* SPDX-License-Identifier: MIT */
#include "ledger/gap.h"

#include "base/unit.h"
#include "ledger/answer.h"
#include "ledger/crowd.h"
#include "ledger/direct.h"
#include "ledger/foreign.h"
#include "ledger/helper.h"
#include "ledger/turn.h"
#include "model/call.h"

#include <string.h>

#define GROUPS_MAX 32
/* A child that ended at most this long before it woke its parent did so by ending. */
#define EXIT_NS (50 * NS_PER_MS)
/* Shorter gaps are not searched for children being made. */
#define FORK_GAP_NS (1 * NS_PER_MS)
/* A batch that has come is unpacked and launched in less than this. */
#define UNPACK_NS (20 * NS_PER_MS)

/* Deliveries that belong together: from the children that put into one channel, or from one thread of this
 * process. */
struct group {
    uint32_t key;        /* 0: children; else the waking thread */
    uint64_t channel;    /* of children: 0 not known */
    int64_t ns;          /* summed waits */
    uint32_t tgid;       /* of the last delivery ... */
    uint32_t tid;        /* ... its longest wait's waker */
    int64_t longest, t;  /* that wait, and when it ended */
    int64_t last;        /* when the last one ended */
    bool loads;          /* a loader's thread of this process: it began before the gap did */
    struct shares parts; /* of the last delivery */
};

struct explaining {
    struct walk walk;
    struct threads *threads;
    const struct gap *gap;
    const struct thread *th;
    int64_t a, b; /* the part of the gap before the launch */
    int64_t cpu;
    bool starting;       /* before the first launch ever */
    struct group *group; /* GROUPS_MAX of them */
    int groups;
    int64_t nobody;
    enum cause nobody_cause;
    int64_t spilt; /* of sampled waits that belong to a driver call beside the gap */
    const struct event_wait *sampled; /* the longest sampled wait outside calls in the gap */
    enum evidence evidence;
    struct shares *out;
};

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

static void add_to_group(struct explaining *x, const struct event_wait *w, int64_t ns)
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

/* Who was made before that was not made in this gap. */
static int64_t made_before(const struct explaining *x)
{
    return x->gap->t0 - (x->threads->sampled ? START_EARLY_NS : 0);
}

/* Did the thread launch soon after this wait, without another one? Then it had what it awaited. */
static bool was_last(const struct explaining *x, const struct event_wait *w)
{
    const struct waits *ws = &x->th->waits;
    if (x->b - w->t_in >= UNPACK_NS)
        return false;
    for (size_t i = waits_after(ws, w->t_in); i < ws->count && ws->item[i].t_out < x->b; i++)
        if (ws->item[i].target != TARGET_CORE)
            return false;
    return true;
}

/* Did this thread, of an earlier batch, end around the wake, before anything was launched? Then that was
 * no batch, unless it ended only after a wake that was enough to go on. One that was made in this gap was made
 * for what is awaited. */
static bool ended(const struct explaining *x, const struct thread *y, const struct event_wait *w,
                  int64_t since)
{
    return y && !y->alive && y->start < made_before(x) && y->exit > since - EXIT_NS &&
           y->exit < x->gap->t1 && (y->exit <= w->t_wake || !was_last(x, w));
}

static bool woken_by_exit(const struct explaining *x, const struct event_wait *w)
{
    return w->waker_tgid != x->th->tgid &&
           (ended(x, threads_find(x->walk.threads, w->waker_tid), w, w->t_wake) ||
            ended(x, threads_find(x->walk.threads, w->waker_tgid), w, w->t_out));
}

/* Before the first launch a local file that is read is the program itself. */
static enum cause starting_cause(const struct explaining *x, const struct event_wait *w,
                                 enum cause c)
{
    bool local =
        (w->target == TARGET_FILE || w->target == TARGET_FAULT) && !(w->flags & WAIT_REMOTE_FS);
    return x->starting && local ? CAUSE_STARTUP : c;
}

static int64_t last_fork(const struct explaining *x);

static bool child_ended(const struct explaining *x, const struct event_wait *w);

/* Did a process start or end that nobody has looked at while it worked? One that was awaited and never seen
 * may have done anything. */
static bool of_a_start(const struct explaining *x, const struct event_wait *w)
{
    if (w->target == TARGET_CHILD)
        return x->starting || child_ended(x, w);
    return !(w->flags & WAIT_PRIVATE) && last_fork(x) > x->a;
}

static void take_sampled(struct explaining *x, const struct event_wait *w, int64_t ns)
{
    struct shares parts;
    shares_clear(&parts);
    crowd_share(&x->walk, w, &parts);
    if (!parts.count && of_a_start(x, w))
        shares_add(&parts, CAUSE_STARTUP, 0, 1);
    shares_add_scaled(x->out, &parts, ns);
}

/* Time of [t0, t1) that the thread spent in driver calls; *last is the last of them. */
static int64_t in_calls(const struct thread *th, int64_t t0, int64_t t1,
                        const struct event_call **last)
{
    const struct calls *cs = &th->calls;
    int64_t ns = 0;
    *last = NULL;
    for (size_t i = calls_after(cs, t0); i < cs->count && cs->item[i].t0 < t1; i++) {
        ns += overlap(cs->item[i].t0, cs->item[i].t1, t0, t1);
        *last = &cs->item[i];
    }
    return ns;
}

/* Was a sampled wait inside a driver call? The moment when it was seen is exact, and so are
 * calls; without it, where the most of it lies decides. */
static bool seen_in_call(const struct thread *th, const struct event_wait *w)
{
    const struct event_call *call;
    if (w->t_seen)
        return calls_over(&th->calls, w->t_seen) != NULL;
    return in_calls(th, w->t_out, w->t_wake, &call) * 2 > w->t_wake - w->t_out;
}

/* The ends of sampled waits are off by up to half a period: what of a wait inside a call sticks
 * out of it was another wait that nobody sampled. */
static bool take_sampled_call(struct explaining *x, const struct event_wait *w)
{
    const struct event_call *call;
    if (!seen_in_call(x->th, w))
        return false;
    int64_t t0 = w->t_out > x->a ? w->t_out : x->a, t1 = w->t_wake < x->b ? w->t_wake : x->b;
    int64_t within = in_calls(x->th, t0, t1, &call);
    if (call)
        shares_add(x->out, call_cause((enum call_kind)call->kind), 0, within);
    x->spilt += t1 - t0 - within;
    return true;
}

static void take_outside_calls(struct explaining *x, const struct event_wait *w, int64_t blocked);

/* What is spilt goes to the longest wait that was sampled in the gap, else to the last before. */
static void take_spilt(struct explaining *x)
{
    const struct waits *ws = &x->th->waits;
    for (size_t i = waits_after(ws, x->a); !x->sampled && i > ws->first; i--) {
        const struct event_wait *w = &ws->item[i - 1];
        if (x->a - w->t_in > NS_PER_S)
            break;
        if (!seen_in_call(x->th, w))
            x->sampled = w;
    }
    if (x->sampled && x->spilt)
        take_outside_calls(x, x->sampled, x->spilt);
    else
        x->cpu += x->spilt;
    x->spilt = 0;
}

static void take_wait(struct explaining *x, const struct event_wait *w)
{
    int64_t blocked = overlap(w->t_out, w->t_wake, x->a, x->b);
    int64_t runnable = overlap(w->t_wake, w->t_in, x->a, x->b);
    x->cpu -= blocked + runnable;
    shares_add(x->out, CAUSE_CPU_STARVED, 0, runnable);
    if (!blocked)
        return;
    const struct event_call *call = NULL;
    if (w->flags & WAIT_SAMPLED) {
        x->evidence = EVIDENCE_SAMPLED;
        if (take_sampled_call(x, w))
            return;
        if (!x->sampled || w->t_in - w->t_out > x->sampled->t_in - x->sampled->t_out)
            x->sampled = w;
    } else if (w->target != TARGET_CORE) {
        call = calls_over(&x->th->calls, w->t_out);
    }
    if (call)
        shares_add(x->out, call_cause((enum call_kind)call->kind), 0, blocked);
    else
        take_outside_calls(x, w, blocked);
}

/* Did a child, of an earlier batch, end in the gap between `since` and about the end of this wait? */
static bool ended_since(const struct explaining *x, const struct event_wait *w, int64_t since)
{
    for (size_t i = 0; i < x->walk.threads->count; i++) {
        const struct thread *y = x->walk.threads->list[i];
        if (y->tid == y->tgid && !y->alive && y->start < made_before(x) && y->exit > since &&
            y->exit < w->t_wake + EXIT_NS && y->exit < x->gap->t1 &&
            threads_made_for(x->walk.threads, y, x->th->tgid))
            return true;
    }
    return false;
}

/* Does anything else come by this wait's channel in the gap than ends of children? */
static bool brings(const struct explaining *x, const struct event_wait *w)
{
    const struct waits *ws = &x->th->waits;
    for (size_t i = waits_after(ws, x->a); i < ws->count && ws->item[i].t_out < x->b; i++) {
        const struct event_wait *v = &ws->item[i];
        if (v->channel == w->channel && v->waker_tid && !(v->flags & WAIT_WAKER_IRQ) &&
            !woken_by_exit(x, v))
            return true;
    }
    return false;
}

/* A wait that nobody is known to have ended, while a child did end: it was awaited. One that had ended
 * before is awaited in vain where another process holds its pipe, too, by which then nothing comes. */
static bool child_ended(const struct explaining *x, const struct event_wait *w)
{
    return ended_since(x, w, w->t_out) ||
           (w->target == TARGET_PIPE && w->channel && !(w->flags & WAIT_SAMPLED) &&
            ended_since(x, w, x->gap->t0) && !brings(x, w));
}

/* A process that starts, and has made no other that could work for it yet: whom samples take for the waker is no
 * loader. */
static bool starts_alone(const struct explaining *x)
{
    for (size_t i = 0; x->starting && i < x->threads->count; i++) {
        const struct thread *y = x->threads->list[i];
        if (y->tgid != x->th->tgid && threads_made_for(x->threads, y, x->th->tgid))
            return false;
    }
    return x->starting && !x->threads->attached;
}

static void take_outside_calls(struct explaining *x, const struct event_wait *w, int64_t blocked)
{
    enum cause c = direct_cause(x->walk.threads, x->th, w);
    if (w->target == TARGET_CHILD && (w->flags & WAIT_SAMPLED) && c != CAUSE_NONE) {
        take_sampled(x, w, blocked);
    } else if (c != CAUSE_NONE) {
        shares_add(x->out, starting_cause(x, w, c), w->resource, blocked);
    } else if ((w->flags & WAIT_SAMPLED) && starts_alone(x)) {
        shares_add(x->out, CAUSE_STARTUP, 0, blocked);
    } else if (w->waker_tid && !(w->flags & WAIT_WAKER_IRQ)) {
        if (woken_by_exit(x, w))
            shares_add(x->out, CAUSE_STARTUP, 0, blocked);
        else
            add_to_group(x, w, blocked);
    } else if (child_ended(x, w)) {
        shares_add(x->out, CAUSE_STARTUP, 0, blocked);
    } else if (w->flags & WAIT_SAMPLED) {
        take_sampled(x, w, blocked);
    } else {
        x->nobody += blocked;
        x->nobody_cause = w->target == TARGET_FUTEX ? CAUSE_LOCK : CAUSE_UNKNOWN;
    }
}

/* When the thread last made a child before the launch; x->a: it made none. */
static int64_t last_fork(const struct explaining *x)
{
    int64_t last = x->a;
    for (size_t i = 0; i < x->walk.threads->count; i++) {
        const struct thread *y = x->walk.threads->list[i];
        if (y->tid == y->tgid && y->start > last && y->start <= x->b &&
            threads_made_for(x->walk.threads, y, x->th->tgid))
            last = y->start;
    }
    return last;
}

/* CPU time up to the last fork is the ending of old workers and the making of new ones. */
static void take_forks(struct explaining *x, int64_t p0, int64_t p1, int64_t last)
{
    int64_t ns = overlap(p0, p1, x->a, last);
    shares_add(x->out, CAUSE_STARTUP, 0, ns);
    x->cpu -= ns;
}

static void take_waits(struct explaining *x)
{
    const struct waits *ws = &x->th->waits;
    int64_t at = x->a;
    int64_t last = x->b - x->a >= FORK_GAP_NS ? last_fork(x) : x->a;
    for (size_t i = waits_after(ws, x->a); i < ws->count && ws->item[i].t_out < x->b; i++) {
        take_forks(x, at, ws->item[i].t_out, last);
        take_wait(x, &ws->item[i]);
        at = ws->item[i].t_in;
    }
    take_forks(x, at, x->b, last);
}

/* The launch itself: the thread may have lost its core inside the driver. */
static void take_launch(struct explaining *x)
{
    const struct waits *ws = &x->th->waits;
    int64_t end = x->gap->launch_t1 < x->gap->t1 ? x->gap->launch_t1 : x->gap->t1, starved = 0;
    for (size_t i = waits_after(ws, x->b); i < ws->count && ws->item[i].t_out < end; i++) {
        const struct event_wait *w = &ws->item[i];
        starved += overlap(w->target == TARGET_CORE ? w->t_out : w->t_wake, w->t_in, x->b, end);
    }
    shares_add(x->out, CAUSE_CPU_STARVED, 0, starved);
    shares_add(x->out, x->gap->ended_by_copy_call ? CAUSE_PAGEABLE_COPY : CAUSE_LAUNCH, 0,
               x->gap->t1 - x->b - starved);
}

/* CPU time inside driver calls, e.g. a synchronisation that spins. */
static void take_calls(struct explaining *x)
{
    const struct calls *cs = &x->th->calls;
    const struct waits *ws = &x->th->waits;
    for (size_t i = calls_after(cs, x->a); i < cs->count && cs->item[i].t0 < x->b; i++) {
        const struct event_call *c = &cs->item[i];
        int64_t c0 = c->t0 > x->a ? c->t0 : x->a, c1 = c->t1 < x->b ? c->t1 : x->b;
        int64_t cpu = c1 - c0;
        for (size_t j = waits_after(ws, c0); j < ws->count && ws->item[j].t_out < c1; j++)
            cpu -= overlap(ws->item[j].t_out, ws->item[j].t_in, c0, c1);
        if (cpu > x->cpu)
            cpu = x->cpu;
        shares_add(x->out, call_cause((enum call_kind)c->kind), 0, cpu);
        x->cpu -= cpu > 0 ? cpu : 0;
    }
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

static void take_groups(struct explaining *x, struct chain_links *links)
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

/* Up to its first launch a job is starting, whoever it waits for: also one that is stopped before it. One that ran
 * already may have launched before. */
static void take_start(struct explaining *x)
{
    if (x->starting && !x->threads->attached)
        shares_move(x->out, CAUSE_UNKNOWN, CAUSE_STARTUP, shares_of(x->out, CAUSE_UNKNOWN));
}

static void tell_largest(const struct explaining *x, const struct intern *names,
                         struct chain_links *links)
{
    int i = shares_largest(x->out);
    if (i >= 0 && x->starting && x->out->part[i].cause == CAUSE_STARTUP)
        chain_tell_did(links, x->th, "", &x->out->part[i], names);
    else
        chain_tell_largest(links, x->th, x->out, names);
}

void gap_explain(struct threads *threads, const struct intern *names, const struct gap *gap,
                 struct shares *ret, enum evidence *evidence, struct chain_links *links)
{
    struct group groups[GROUPS_MAX]; /* not cleared: gaps are many and groups few */
    struct explaining x = {.threads = threads,
                           .group = groups,
                           .gap = gap,
                           .th = gap->thread,
                           .a = gap->t0,
                           .out = ret,
                           .nobody_cause = CAUSE_UNKNOWN,
                           .evidence = threads->sampled ? EVIDENCE_SAMPLED : EVIDENCE_CHAIN};
    if (!gap->thread) {
        shares_add(ret, CAUSE_UNKNOWN, 0, gap->t1 - gap->t0);
        *evidence = EVIDENCE_DEVICE;
        return;
    }
    if (threads->foreign) {
        foreign_explain(threads, names, gap, ret, evidence, links);
        return;
    }
    x.b = gap->launch_t0 < gap->t0 ? gap->t0 : gap->launch_t0 > gap->t1 ? gap->t1 : gap->launch_t0;
    x.cpu = x.b - x.a;
    x.starting = gap->thread->first_launch >= x.b;
    walk_init(&x.walk, threads, names, gap->thread);
    take_launch(&x);
    if (gap->waits_seen)
        take_waits(&x);
    take_spilt(&x);
    take_calls(&x);
    take_groups(&x, links);
    enum cause own = x.starting                   ? CAUSE_STARTUP
                     : x.cpu <= GAP_LAUNCH_CPU_NS ? CAUSE_LAUNCH
                                                  : CAUSE_HOST;
    bool looked = gap->waits_seen && !threads_lost(threads, x.a, x.b);
    if (!looked && x.cpu > GAP_LAUNCH_CPU_NS && !x.starting)
        own = CAUSE_UNKNOWN; /* off its core or on it: nobody looked */
    shares_add(ret, own, 0, x.cpu);
    take_start(&x);
    if (links && !links->count)
        tell_largest(&x, names, links);
    *evidence = gap->waits_seen ? x.evidence : EVIDENCE_DEVICE;
}
