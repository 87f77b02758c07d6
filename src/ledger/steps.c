/* SPDX-License-Identifier: MIT */
#include "ledger/steps.h"

#include "base/mem.h"
#include "base/unit.h"
#include "ledger/makers.h"
#include "ledger/own_time.h"
#include "ledger/walk.h"

#include <stdlib.h>

struct steps {
    struct threads *threads;
    const struct intern *names;
    struct replay_log *log;
    uint32_t tid;
    int consumer;
    struct launches launches;
    struct makers makers;
    int64_t at;  /* waits that ended before are done */
    int64_t cut; /* calls that ended before have cut steps where they should */
    bool open;   /* a step has begun */
    struct replay_step step;
};

struct steps *steps_new(struct threads *threads, const struct intern *names, struct replay_log *log,
                        uint32_t tid, uint32_t device, int64_t origin)
{
    struct steps *s = mem_zalloc(sizeof(*s));
    if (!s)
        return NULL;
    s->threads = threads;
    s->names = names;
    s->log = log;
    s->tid = tid;
    s->at = s->cut = origin;
    s->step = (struct replay_step){.t0 = origin, .t1 = origin, .delivery = REPLAY_NONE};
    s->open = true; /* up to the first delivery: workers are being made */
    s->consumer = log ? replay_consumer(log, tid, device) : -1;
    s->makers =
        (struct makers){.threads = threads, .names = names, .log = log, .consumer = s->consumer};
    return s;
}

void steps_free(struct steps *s)
{
    if (!s)
        return;
    makers_clear(&s->makers);
    launches_clear(&s->launches);
    free(s);
}

uint32_t steps_tid(const struct steps *s)
{
    return s->tid;
}

void steps_totals(const struct steps *s, struct steps_totals *ret)
{
    *ret = s->makers.totals;
}

bool steps_span(struct steps *s, const struct event_span *span, int64_t adds)
{
    return launches_add(&s->launches, span, adds);
}

static const struct event_call *call_over(const struct thread *th, int64_t t)
{
    size_t i = calls_after(&th->calls, t);
    return i < th->calls.count && th->calls.item[i].t0 <= t ? &th->calls.item[i] : NULL;
}

static void begin_step(struct steps *s, int64_t t0, int64_t t1, uint64_t delivery)
{
    s->step = (struct replay_step){.t0 = t0, .t1 = t1, .delivery = delivery};
    s->open = true;
    s->makers.totals.deliveries++;
}

static void end_step(struct steps *s, const struct thread *th, int64_t end)
{
    if (!s->open)
        return;
    s->step.end_ns = end;
    own_time(&s->launches, s->threads, s->names, th, &s->step, s->step.t1, end);
    replay_push_step(s->log, s->consumer, &s->step);
    s->open = false;
}

/* Ends the open step at t0, with those deliveries in between that nobody waited for. */
static void end_steps(struct steps *s, const struct thread *th, struct made_by *m, int64_t t0,
                      int64_t fresh)
{
    struct taken unnoticed[MAKERS_QUEUE_MAX];
    int count = makers_unnoticed(&s->makers, m, t0, fresh, unnoticed);
    if (!s->open)
        return;
    int64_t from = s->step.t1, at = from;
    for (int i = 0; i <= count; i++) {
        int64_t cut = from + (t0 - from) * (i + 1) / (count + 1);
        if (i < count && cut < unnoticed[i].end)
            cut = unnoticed[i].end; /* not before it was there */
        at = cut > at ? cut : at;
        end_step(s, th, i < count ? at : t0);
        if (i < count)
            begin_step(s, at, at, unnoticed[i].serial);
    }
}

static void take(struct steps *s, const struct thread *th, struct made_by *m, int64_t t0,
                 int64_t t1, int64_t fresh)
{
    makers_update(&s->makers, th, t1);
    end_steps(s, th, m, t0, fresh);
    uint64_t serial = REPLAY_NONE;
    if (m->head != m->tail && m->ends[m->head % MAKERS_QUEUE_MAX] <= t1)
        serial = makers_take(m).serial;
    else
        m->consumed++;
    m->last = t1;
    begin_step(s, t0, t1, serial);
    s->makers.totals.awaited++;
}

/* A wait of the launching thread that another thread's delivery ended. */
static bool is_delivery(const struct steps *s, const struct thread *th, const struct event_wait *w)
{
    struct walk k;
    walk_init(&k, s->threads, s->names, th);
    return w->waker_tid && !(w->flags & WAIT_WAKER_IRQ) && !call_over(th, w->t_out) &&
           !launches_over(&s->launches, w->t_out) && walk_direct(&k, th, w) == CAUSE_NONE;
}

/* Jobs that load by themselves: a step begins where a synchronisation ended. */
static void cut_at_syncs(struct steps *s, const struct thread *th, int64_t until)
{
    for (size_t i = calls_after(&th->calls, s->cut); i < th->calls.count; i++) {
        const struct event_call *c = &th->calls.item[i];
        if (c->t1 > until)
            break;
        s->cut = c->t1;
        if (c->kind != CALL_SYNC || (s->open && c->t1 - s->step.t1 < NS_PER_MS))
            continue;
        end_step(s, th, c->t1);
        s->step = (struct replay_step){.t0 = c->t1, .t1 = c->t1, .delivery = REPLAY_NONE};
        s->open = true;
    }
}

/* The waits from w on that no driver call of the thread separates: one fetching of a batch. */
struct fetch {
    const struct event_wait *first, *last;
    struct made_by *by; /* of the last delivery; NULL: none came from a loader */
    int64_t fresh;      /* when its newest delivery woke the thread; INT64_MIN: it was there */
    size_t end;         /* index of the first wait that is not of it */
};

#define FETCH_WAITS 4096 /* at most: a thread that waits all the time would be looked through for ever */

static struct fetch fetch_from(struct steps *s, const struct thread *th, size_t i)
{
    const struct event_wait *w = &th->waits.item[i];
    struct fetch f = {w, w, NULL, INT64_MIN};
    size_t most = i + FETCH_WAITS;
    for (; i < th->waits.count && i < most; i++) {
        const struct event_wait *v = &th->waits.item[i];
        if (v != w && launches_between(&s->launches, th, w->t_in, v->t_in))
            break;
        struct made_by *m = is_delivery(s, th, v) ? makers_of_wake(&s->makers, th, v) : NULL;
        if (!m)
            continue;
        if (!f.by) /* waits before it were for something else: a collective, a lock */
            f.first = v;
        if (f.by != m)
            f.fresh = INT64_MIN;
        if (v->waker_tid == m->hop || v->waker_tid == m->tid)
            f.fresh = v->t_wake;
        f.by = m;
        f.last = v;
    }
    f.end = i;
    return f;
}

void steps_advance(struct steps *s, int64_t until)
{
    const struct thread *th = threads_find(s->threads, s->tid);
    if (!th || s->consumer < 0)
        return;
    size_t i = waits_after(&th->waits, s->at);
    while (i < th->waits.count && th->waits.item[i].t_in <= until) {
        const struct event_wait *w = &th->waits.item[i++];
        s->at = w->t_in;
        if (!is_delivery(s, th, w) || w->t_out < (s->open ? s->step.t1 : INT64_MIN))
            continue;
        struct fetch f = fetch_from(s, th, i - 1);
        if (f.last->t_in > until) {
            s->at = w->t_in - 1; /* not all of it is known yet */
            return;
        }
        if (!f.by) { /* nor is there one in those waits when they are looked at again */
            for (; i < f.end && th->waits.item[i].t_in <= until; i++)
                s->at = th->waits.item[i].t_in;
            continue;
        }
        take(s, th, f.by, f.first->t_out, f.last->t_in, f.fresh);
        s->at = f.last->t_in;
        i = waits_after(&th->waits, s->at);
    }
    if (!s->makers.count)
        cut_at_syncs(s, th, until);
    if (s->open)
        launches_forget(&s->launches, s->step.t1);
}
