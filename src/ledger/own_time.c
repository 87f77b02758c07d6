/* SPDX-License-Identifier: MIT */
#include "ledger/own_time.h"

#include "base/mem.h"
#include "base/unit.h"
#include "ledger/direct.h"
#include "ledger/gap.h"
#include "ledger/helper.h"
#include "ledger/search.h"
#include "ledger/walk.h"

#include <stdlib.h>
#include <string.h>

void launches_clear(struct launches *q)
{
    free(q->item);
    *q = (struct launches){0};
}

static enum cause device_cause(const struct event_span *span)
{
    if (span->kind == SPAN_COMM)
        return CAUSE_COLLECTIVE;
    if (span->kind != SPAN_COPY)
        return CAUSE_NONE;
    return span->host_copy && span->pageable ? CAUSE_PAGEABLE_COPY : CAUSE_LINK;
}

bool launches_add(struct launches *q, const struct event_span *span, int64_t adds)
{
    if (!mem_grow((void **)&q->item, &q->cap, q->count + 1, sizeof(*q->item)))
        return false;
    struct launched l = {span->launch_t0, span->launch_t1, adds, device_cause(span),
                         span->kind == SPAN_COPY && span->sync_copy};
    size_t i = q->count++;
    for (; i > q->first && q->item[i - 1].t0 > l.t0; i--)
        q->item[i] = q->item[i - 1];
    q->item[i] = l;
    return true;
}

void launches_forget(struct launches *q, int64_t before)
{
    while (q->first < q->count && q->item[q->first].t0 < before)
        q->first++;
    if (q->first > 1024 && q->first * 2 > q->count) {
        memmove(q->item, q->item + q->first, (q->count - q->first) * sizeof(*q->item));
        q->count -= q->first;
        q->first = 0;
    }
}

/* Index of the first launch at or after t. */
static size_t first_from(const struct launches *q, int64_t t)
{
    return SEARCH_AFTER(q, t0, t > INT64_MIN ? t - 1 : t);
}

bool launches_over(const struct launches *q, int64_t t)
{
    size_t i = first_from(q, t + 1);
    return i > q->first && q->item[i - 1].t0 <= t && t < q->item[i - 1].t1;
}

bool launches_between(const struct launches *q, const struct thread *th, int64_t a, int64_t b)
{
    size_t i = first_from(q, a);
    if (i < q->count && q->item[i].t0 < b)
        return true;
    size_t c = calls_after(&th->calls, a);
    return c < th->calls.count && th->calls.item[c].t0 < b && th->calls.item[c].t0 >= a;
}

int64_t launches_end_before(const struct launches *q, int64_t t)
{
    for (size_t i = q->count; i-- > q->first;)
        if (q->item[i].t1 <= t)
            return q->item[i].t1;
    return INT64_MIN;
}

struct own {
    const struct launches *launches;
    const struct threads *threads;
    const struct intern *names;
    const struct thread *th;
    struct replay_step *step;
    int64_t at, end;
    int64_t made0, made1; /* it made workers then */
};

/* From the last driver call before the first child process was made until the last one was. */
static void find_making(struct own *o)
{
    int64_t first = INT64_MAX;
    o->made0 = o->made1 = o->at;
    for (size_t i = 0; i < o->threads->count; i++) {
        const struct thread *y = o->threads->list[i];
        if (y->tid != y->tgid || y->start <= o->at || y->start > o->end ||
            !threads_made_for(o->threads, y, o->th->tgid))
            continue;
        first = y->start < first ? y->start : first;
        o->made1 = y->start > o->made1 ? y->start : o->made1;
    }
    if (first == INT64_MAX)
        return;
    int64_t launch = launches_end_before(o->launches, first);
    o->made0 = launch > o->made0 ? launch : o->made0;
    const struct calls *c = &o->th->calls;
    for (size_t i = calls_after(c, first); i-- > c->first && c->item[i].t1 > o->made0;)
        if (c->item[i].t1 <= first)
            o->made0 = c->item[i].t1;
}

static void own_cpu(struct own *o, int64_t to)
{
    to = to < o->end ? to : o->end;
    if (o->at >= o->made0 && o->at < o->made1 && to > o->at) {
        int64_t made = to < o->made1 ? to : o->made1;
        replay_step_add(o->step, REPLAY_THREAD, CAUSE_STARTUP, 0, made - o->at);
        o->at = made;
    }
    int64_t ns = to - o->at;
    if (ns <= 0)
        return;
    replay_step_add(o->step, REPLAY_THREAD, ns <= GAP_LAUNCH_CPU_NS ? CAUSE_LAUNCH : CAUSE_HOST, 0,
                    ns);
    o->at += ns;
}

/* Time inside a driver call, but for what the thread lost there for want of a core. */
static void own_inside(struct own *o, int64_t end, enum replay_op_kind kind, enum cause cause)
{
    const struct waits *ws = &o->th->waits;
    for (size_t i = waits_after(ws, o->at); i < ws->count && ws->item[i].t_out < end; i++) {
        const struct event_wait *w = &ws->item[i];
        int64_t out = w->target == TARGET_CORE ? w->t_out : w->t_wake;
        int64_t in = w->t_in < end ? w->t_in : end;
        out = out > o->at ? out : o->at;
        if (in <= out)
            continue;
        if (out > o->at)
            replay_step_add(o->step, kind, cause, 0, out - o->at);
        replay_step_add(o->step, REPLAY_THREAD, CAUSE_CPU_STARVED, 0, in - out);
        o->at = in;
    }
    if (end > o->at)
        replay_step_add(o->step, kind, cause, 0, end - o->at);
    o->at = end > o->at ? end : o->at;
}

static void own_launch(struct own *o, const struct launched *l)
{
    own_cpu(o, l->t0);
    int64_t end = l->t1 < o->end ? l->t1 : o->end;
    if (l->sync_copy)
        replay_step_add(o->step, REPLAY_DEVICE, l->cause, 0, l->adds);
    if (end > o->at)
        own_inside(o, end, l->sync_copy ? REPLAY_SYNC : REPLAY_THREAD,
                   l->sync_copy ? l->cause : CAUSE_LAUNCH);
    if (!l->sync_copy) /* the device gets it when the call is made */
        replay_step_add(o->step, REPLAY_DEVICE, l->cause, 0, l->adds);
}

static void own_call(struct own *o, const struct event_call *c)
{
    own_cpu(o, c->t0);
    int64_t end = c->t1 < o->end ? c->t1 : o->end;
    if (end < o->at)
        return;
    if (c->kind == CALL_SYNC || c->kind == CALL_COPY)
        replay_step_add(o->step, REPLAY_SYNC, CAUSE_NONE, 0, end - o->at);
    else
        replay_step_add(o->step, REPLAY_THREAD, CAUSE_HOST, 0, end - o->at);
    o->at = end;
}

static void own_wait(struct own *o, const struct event_wait *w)
{
    own_cpu(o, w->t_out);
    int64_t from = o->at, wake = w->t_wake < o->end ? w->t_wake : o->end;
    int64_t in = w->t_in < o->end ? w->t_in : o->end;
    struct walk k;
    struct shares parts, scaled;
    shares_clear(&parts);
    shares_clear(&scaled);
    if (wake > from) {
        walk_init(&k, o->threads, o->names, o->th);
        enum cause c = direct_cause(k.threads, o->th, w);
        const struct thread *y = threads_find(o->threads, w->waker_tid);
        if (c != CAUSE_NONE)
            shares_add(&parts, c, w->resource, 1);
        else if (w->target == TARGET_FUTEX && (y ? helper_only_locks(y, o->th) : !w->waker_tid))
            shares_add(&parts, CAUSE_LOCK, 0, 1); /* as in a gap */
        else if (!y || !walk_turn(&k, y, o->th, w->t_wake, &parts))
            shares_add(&parts, CAUSE_UNKNOWN, 0, 1);
        shares_add_scaled(&scaled, &parts, wake - from);
        for (int i = 0; i < scaled.count; i++)
            replay_step_add(o->step, REPLAY_THREAD, (enum cause)scaled.part[i].cause,
                            scaled.part[i].resource, scaled.part[i].ns);
        o->at = wake;
    }
    if (in > o->at) {
        replay_step_add(o->step, REPLAY_THREAD, CAUSE_CPU_STARVED, 0, in - o->at);
        o->at = in;
    }
}

/* Samples do not see the calls between two of them: what is known of calls goes before what a
 * sampled wait covers. True: nothing of it is left. */
static bool own_sampled(struct own *o, const struct event_wait *w, int64_t next)
{
    struct event_wait part = *w;
    part.t_out = later(w->t_out, o->at);
    part.t_wake = later(sooner(w->t_wake, next), part.t_out);
    part.t_in = later(sooner(w->t_in, next), part.t_wake);
    own_wait(o, &part);
    return w->t_in <= next;
}

void own_time(const struct launches *launches, const struct threads *threads,
              const struct intern *names, const struct thread *th, struct replay_step *step,
              int64_t a, int64_t b)
{
    struct own o = {launches, threads, names, th, step, a, b, a, a};
    find_making(&o);
    size_t l = first_from(launches, a), c = calls_after(&th->calls, a),
           w = waits_after(&th->waits, a);
    for (;;) {
        int64_t tl = l < launches->count ? launches->item[l].t0 : INT64_MAX;
        int64_t tc = c < th->calls.count ? th->calls.item[c].t0 : INT64_MAX;
        const struct event_wait *wait = w < th->waits.count ? &th->waits.item[w] : NULL;
        bool sampled = wait && wait->flags & WAIT_SAMPLED;
        int64_t tw = !wait ? INT64_MAX : sampled ? later(wait->t_out, o.at) : wait->t_out;
        if (tl >= b && tc >= b && tw >= b)
            break;
        if (tl <= tc && tl <= tw)
            own_launch(&o, &launches->item[l++]);
        else if (tc <= tw)
            own_call(&o, &th->calls.item[c++]);
        else if (sampled)
            w += own_sampled(&o, wait, sooner(tl, tc));
        else
            own_wait(&o, &th->waits.item[w++]);
    }
    own_cpu(&o, b);
}
