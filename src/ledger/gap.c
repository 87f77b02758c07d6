/* SPDX-License-Identifier: MIT */
#include "ledger/gap_explain.h"

#include "base/unit.h"
#include "ledger/crowd.h"
#include "ledger/direct.h"
#include "ledger/foreign.h"
#include "model/call.h"

/* Shorter gaps are not searched for children being made. */
#define FORK_GAP_NS (1 * NS_PER_MS)

/* Before the first launch a local file that is read is the program itself. */
static enum cause starting_cause(const struct explaining *x, const struct event_wait *w,
                                 enum cause c)
{
    bool local =
        (w->target == TARGET_FILE || w->target == TARGET_FAULT) && !(w->flags & WAIT_REMOTE_FS);
    return x->starting && local ? CAUSE_STARTUP : c;
}

static void take_sampled(struct explaining *x, const struct event_wait *w, int64_t ns)
{
    struct shares parts;
    shares_clear(&parts);
    crowd_share(&x->walk, w, &parts);
    if (!parts.count && gap_of_a_start(x, w))
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

static void take_outside_calls(struct explaining *x, const struct event_wait *w, int64_t blocked)
{
    enum cause c = direct_cause(x->walk.threads, x->th, w);
    if (w->target == TARGET_CHILD && (w->flags & WAIT_SAMPLED) && c != CAUSE_NONE) {
        take_sampled(x, w, blocked);
    } else if (c != CAUSE_NONE) {
        shares_add(x->out, starting_cause(x, w, c), w->resource, blocked);
    } else if ((w->flags & WAIT_SAMPLED) && gap_starts_alone(x)) {
        shares_add(x->out, CAUSE_STARTUP, 0, blocked);
    } else if (w->waker_tid && !(w->flags & WAIT_WAKER_IRQ)) {
        if (gap_woken_by_exit(x, w))
            shares_add(x->out, CAUSE_STARTUP, 0, blocked);
        else
            gap_groups_add(x, w, blocked);
    } else if (gap_child_ended(x, w)) {
        shares_add(x->out, CAUSE_STARTUP, 0, blocked);
    } else if (w->flags & WAIT_SAMPLED) {
        take_sampled(x, w, blocked);
    } else {
        x->nobody += blocked;
        x->nobody_cause = w->target == TARGET_FUTEX ? CAUSE_LOCK : CAUSE_UNKNOWN;
    }
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
    int64_t last = x->b - x->a >= FORK_GAP_NS ? gap_last_fork(x) : x->a;
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
    gap_groups_share(&x, links);
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
