/* SPDX-License-Identifier: MIT */
#include "ledger/steps.h"

#include "base/mem.h"
#include "base/unit.h"
#include "ledger/deliveries.h"
#include "ledger/direct.h"
#include "ledger/own_time.h"
#include "ledger/turn.h"
#include "ledger/walk.h"

#include <stdlib.h>

/* A thread that has waited for no delivery in this time may never do. */
#define QUIET_NS (2 * NS_PER_S)
#define LONG_STEP_NS (4 * NS_PER_S)
/* A thread unpacks for less than this what another has handed it. */
#define UNPACK_NS (20 * NS_PER_MS)

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
    s->makers = (struct makers){.threads = threads,
                                .names = names,
                                .log = log,
                                .launches = &s->launches,
                                .consumer = s->consumer};
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

static void begin_step(struct steps *s, int64_t t0, int64_t t1, uint64_t delivery)
{
    s->step = (struct replay_step){.t0 = t0, .t1 = t1, .delivery = delivery};
    s->open = true;
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

/* Ends the open step where the next delivery was taken, though nobody waited for it. */
static void step_on(struct steps *s, const struct thread *th, const struct taken *taken, int count)
{
    for (int i = 0; i < count; i++) {
        end_step(s, th, taken[i].at);
        begin_step(s, taken[i].at, taken[i].at, taken[i].serial);
        s->makers.totals.deliveries++;
    }
}

/* The waits from w on that no driver call of the thread separates and one loader ended: one fetching of a
 * batch. */
struct fetch {
    const struct event_wait *first, *last;
    /* the wait that the loader which woke it last ended first: what follows is the
     * unpacking, the thread's own time */
    const struct event_wait *handed;
    struct made_by *by; /* of the last delivery; NULL: none came from a loader */
    bool fresh;         /* a newest delivery woke the thread ... */
    int64_t woke;       /* ... the last one then */
    bool aside;         /* others woke it before, and were put aside */
    size_t end;         /* index of the first wait that is not of it */
};

static void take(struct steps *s, const struct thread *th, const struct fetch *f)
{
    int64_t t0 = f->first->t_out, t1 = f->last->t_in, handed = f->handed->t_in;
    struct taken taken[DELIVERIES_TAKEN_MAX];
    deliveries_update(&s->makers, th, &s->launches, t1);
    int count =
        deliveries_unnoticed(&s->makers, f->by, s->open ? s->step.t1 : t0, t0, t1, f->fresh, taken);
    if (s->open)
        step_on(s, th, taken, count);
    end_step(s, th, t0);
    if (!f->fresh) /* it was there */
        handed = t0;
    else if (t1 - handed > UNPACK_NS)
        handed = t1;
    begin_step(s, t0, handed, deliveries_awaited(&s->makers, f->by, t1));
    s->makers.asides += f->aside;
    s->makers.totals.deliveries++;
    s->makers.totals.awaited++;
}

/* Nothing has been waited for in a long time: steps end where takes are known, else after a call. */
static void go_on(struct steps *s, const struct thread *th, int64_t until)
{
    struct taken taken[DELIVERIES_TAKEN_MAX];
    deliveries_update(&s->makers, th, &s->launches, until);
    step_on(s, th, taken, deliveries_known(&s->makers, s->step.t1, until, taken));
    int64_t end = launches_end_before(&s->launches, until);
    if (until - s->step.t1 < LONG_STEP_NS || end <= s->step.t1)
        return;
    end_step(s, th, end);
    begin_step(s, end, end, REPLAY_NONE);
}

void steps_finish(struct steps *s, int64_t until)
{
    const struct thread *th = threads_find(s->threads, s->tid);
    struct taken taken[DELIVERIES_TAKEN_MAX];
    if (!th || s->consumer < 0 || !s->open || until < s->step.t1)
        return;
    s->makers.ending = true;
    deliveries_update(&s->makers, th, &s->launches, until);
    step_on(s, th, taken, deliveries_known(&s->makers, s->step.t1, until, taken));
    end_step(s, th, until);
}

/* A wait of the launching thread that another thread's delivery ended. */
static bool is_delivery(const struct steps *s, const struct thread *th, const struct event_wait *w)
{
    struct walk k;
    walk_init(&k, s->threads, s->names, th);
    return w->waker_tid && !(w->flags & WAIT_WAKER_IRQ) && !calls_over(&th->calls, w->t_out) &&
           !launches_over(&s->launches, w->t_out) && direct_cause(k.threads, th, w) == CAUSE_NONE;
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

/* at most: a thread that waits all the time would be looked through for ever */
#define FETCH_WAITS 4096

/* After one of f.by's a batch of m's was taken: another loader's; or one that would have woken the thread had
 * it come in the queue that this waited on, so that what did wake it was awaited and not put aside. A worker
 * that has ended by then woke it by ending: those of the next epoch are awaited from then on. */
static bool is_another_take(const struct steps *s, const struct fetch *f, const struct made_by *m,
                            bool fresh, const struct event_wait *w)
{
    const struct thread *hop = threads_find(s->threads, m->hop);
    bool told = hop && hop->tgid == m->key;
    if (m->outlet != f->by->outlet)
        return makers_exit(&s->makers, f->by) > w->t_in;
    return told && f->fresh && !fresh &&
           !makers_put_between(&s->makers, m, f->woke - SEND_NS, w->t_in);
}

static struct fetch fetch_from(struct steps *s, const struct thread *th, size_t i)
{
    const struct event_wait *w = &th->waits.item[i];
    struct fetch f = {.first = w, .last = w, .handed = w};
    size_t most = i + FETCH_WAITS;
    for (; i < th->waits.count && i < most; i++) {
        const struct event_wait *v = &th->waits.item[i];
        if (v != w && launches_between(&s->launches, th, w->t_in, v->t_in))
            break;
        bool fresh = false;
        struct made_by *m =
            is_delivery(s, th, v) ? makers_of_wake(&s->makers, th, v, &fresh) : NULL;
        if (!m)
            continue;
        if (f.by && m != f.by && is_another_take(s, &f, m, fresh, v))
            break;
        if (!f.by) /* waits before it were for something else: a collective, a lock */
            f.first = v;
        if (f.by != m)
            f.handed = v;
        f.aside |= f.by && f.by != m;
        f.woke = fresh ? v->t_wake : f.woke;
        f.fresh |= fresh; /* also another's: what was awaited came meanwhile */
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
        take(s, th, &f);
        s->at = f.last->t_in;
        i = waits_after(&th->waits, s->at);
    }
    if (!s->makers.count)
        cut_at_syncs(s, th, until);
    if (s->open && until - s->step.t1 > QUIET_NS)
        go_on(s, th, until);
    if (s->open)
        launches_forget(&s->launches, s->step.t1);
}
