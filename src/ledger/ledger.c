/* SPDX-License-Identifier: MIT */
#include "ledger/ledger.h"

#include "base/mem.h"
#include "base/unit.h"
#include "ledger/admit.h"
#include "ledger/device.h"
#include "ledger/learnt.h"
#include "ledger/thread.h"

#include <stdlib.h>

#define DELAY_NS (800 * NS_PER_MS)
/* Waits and wakes are remembered this long before what is being booked. */
#define MEMORY_NS (12 * NS_PER_S)
#define TRIM_EVERY_NS (1 * NS_PER_S)

struct ledger {
    struct ledger_options o;
    struct threads threads;
    struct device *device[LEDGER_DEVICES_MAX]; /* owned */
    int64_t origin; /* when the first device was taken; INT64_MAX: none yet */
    int64_t booked; /* all before is booked */
    int64_t trimmed;
    bool begun, waits_seen, calls_only;
    uint64_t lost;
    struct learnt learnt;
};

struct ledger *ledger_new(const struct ledger_options *options)
{
    struct ledger *l = mem_zalloc(sizeof(*l));
    if (!l)
        return NULL;
    l->o = *options;
    if (!l->o.window_ns)
        l->o.window_ns = NS_PER_S;
    if (!l->o.delay_ns)
        l->o.delay_ns = DELAY_NS;
    l->origin = INT64_MAX;
    l->booked = l->trimmed = INT64_MIN;
    return l;
}

void ledger_free(struct ledger *l)
{
    if (!l)
        return;
    for (int i = 0; i < LEDGER_DEVICES_MAX; i++)
        if (l->device[i]) {
            device_clear(l->device[i]);
            free(l->device[i]);
        }
    learnt_clear(&l->learnt);
    threads_clear(&l->threads);
    free(l);
}

static struct device *device_of(struct ledger *l, uint32_t number)
{
    if (number >= LEDGER_DEVICES_MAX)
        return NULL;
    if (!l->device[number]) {
        struct device *d = mem_zalloc(sizeof(*d));
        if (!d)
            return NULL;
        device_init(d, number);
        d->threads = &l->threads;
        d->names = l->o.names;
        d->log = l->o.log;
        d->chain = l->o.chain;
        d->chain_arg = l->o.arg;
        d->waits_seen = l->waits_seen;
        account_init(&d->account, number, l->o.window_ns,
                     (struct account_sink){l->o.arg, l->o.row});
        l->device[number] = d;
    }
    return l->device[number];
}

void ledger_watch_waits(struct ledger *l)
{
    l->waits_seen = true;
    for (int i = 0; i < LEDGER_DEVICES_MAX; i++)
        if (l->device[i])
            l->device[i]->waits_seen = true;
}

void ledger_calls_only(struct ledger *l)
{
    l->calls_only = true;
    l->threads.attached = true;
}

static bool push_span(struct ledger *l, const struct event_span *e)
{
    struct device *d = device_of(l, e->device);
    if (!d || e->t1 < e->t0)
        return false;
    struct thread *th = e->tid ? threads_get(&l->threads, e->tid, e->pid) : NULL;
    if (th && !threads_launch(&l->threads, th))
        return false;
    if (th) {
        if (e->launch_t0 && e->launch_t0 < th->first_launch)
            th->first_launch = e->launch_t0;
    }
    if (!d->hold_count) { /* activity without a context seen: it was taken before */
        struct event_device taken = {.t = e->t0, .device = e->device, .pid = e->pid, .taken = true};
        if (!device_hold(d, &taken))
            return false;
        if (taken.t < l->origin && !l->begun)
            l->origin = taken.t;
    }
    return device_span(d, e);
}

static bool push_call(struct ledger *l, const struct event_call *e)
{
    struct thread *th = threads_get(&l->threads, e->tid, e->pid);
    if (!th)
        return false;
    if (e->kind == CALL_LAUNCH || e->kind == CALL_COPY) {
        if (!threads_launch(&l->threads, th))
            return false;
        th->first_launch = e->t0 < th->first_launch ? e->t0 : th->first_launch;
    }
    struct device *d = e->device == UINT32_MAX ? NULL : device_of(l, e->device);
    if (d && l->calls_only && e->kind <= CALL_SYNC && !device_call(d, e))
        return false;
    return e->kind == CALL_LAUNCH || threads_call(&l->threads, e);
}

/* A process that ends lets go of what it held. */
static void release_all(struct ledger *l, uint32_t pid, int64_t t)
{
    for (uint32_t i = 0; i < LEDGER_DEVICES_MAX; i++)
        if (l->device[i])
            device_hold(l->device[i],
                        &(struct event_device){.t = t, .device = i, .pid = pid, .taken = false});
}

static bool push_device(struct ledger *l, const struct event_device *e)
{
    struct device *d = device_of(l, e->device);
    if (e->taken && e->t < l->origin && !l->begun)
        l->origin = e->t;
    return d && device_hold(d, e);
}

static bool push_lost(struct ledger *l, const struct event_lost *e)
{
    bool ok = true;
    l->lost += e->count;
    if (!e->spans)
        threads_lose(&l->threads, e->t0, e->t1);
    for (uint32_t i = 0; e->spans && i < LEDGER_DEVICES_MAX; i++)
        if (l->device[i] && (e->device == i || e->device == UINT32_MAX))
            ok &= device_unseen(l->device[i], e->t0, e->t1);
    return ok;
}

static bool push_wait(struct ledger *l, const struct event_wait *e)
{
    bool ok = threads_wait(&l->threads, e);
    if (!(e->flags & WAIT_OPEN_END)) /* it comes again, whole */
        learnt_wait(&l->learnt, &l->threads, e);
    return ok;
}

static bool push_thread(struct ledger *l, const struct event_thread *e)
{
    learnt_thread(&l->learnt, &l->threads, e);
    bool ok = threads_change(&l->threads, e);
    if (e->change == THREAD_EXIT && e->tid == e->tgid)
        release_all(l, e->tgid, e->t);
    return ok;
}

void ledger_push(struct ledger *l, const struct event *event)
{
    struct event believed = *event, *e = &believed;
    bool ok = true;
    if (!admit(e)) {
        l->lost++;
        return;
    }
    switch ((enum event_kind)e->kind) {
    case EVENT_SPAN:
        ok = push_span(l, &e->span);
        break;
    case EVENT_CALL:
        ok = push_call(l, &e->call);
        break;
    case EVENT_WAIT:
        ok = push_wait(l, &e->wait);
        break;
    case EVENT_THREAD:
        ok = push_thread(l, &e->thread);
        break;
    case EVENT_DEVICE:
        ok = push_device(l, &e->device);
        break;
    case EVENT_CHANNEL:
        ok = threads_hold_channel(&l->threads, &e->channel);
        break;
    case EVENT_CLOSED:
        ok = !e->closed.channel || threads_closed(&l->threads, &e->closed);
        break;
    case EVENT_LOST:
        ok = push_lost(l, &e->lost);
        break;
    case EVENT_OP:
        ok = threads_op(&l->threads, &e->op);
        break;
    default:
        break;
    }
    if (!ok)
        l->lost++;
}

static void begin(struct device *d)
{
    account_begin(&d->account, device_taken(d));
    timeline_begin(&d->timeline, device_taken(d));
}

static void book(struct ledger *l, int64_t until, bool last)
{
    l->begun = true;
    for (int i = 0; i < LEDGER_DEVICES_MAX; i++) {
        struct device *d = l->device[i];
        if (!d || !d->hold_count)
            continue;
        if (d->account.at == INT64_MIN)
            begin(d);
        int64_t released = device_released(d);
        device_advance(d, last && released != INT64_MIN ? released : until, last);
    }
}

int64_t ledger_booked(const struct ledger *l)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < LEDGER_DEVICES_MAX; i++)
        if (l->device[i] && l->device[i]->account.at != INT64_MIN &&
            l->device[i]->account.at < least)
            least = l->device[i]->account.at;
    return least;
}

/* What was booked needs no history; what is still open needs all since it began. */
static void trim(struct ledger *l, int64_t until)
{
    int64_t booked = ledger_booked(l);
    threads_trim(&l->threads, (booked < until ? booked : until) - MEMORY_NS);
    l->trimmed = until;
}

void ledger_advance(struct ledger *l, int64_t complete_until)
{
    int64_t until = complete_until - l->o.delay_ns;
    if (l->trimmed == INT64_MIN || until - l->trimmed > TRIM_EVERY_NS)
        trim(l, until);
    if (l->origin == INT64_MAX || until <= l->origin || until <= l->booked)
        return;
    book(l, until, false);
    l->booked = until;
}

void ledger_flush(struct ledger *l)
{
    for (int i = 0; i < LEDGER_DEVICES_MAX; i++)
        if (l->device[i])
            device_flush(l->device[i]);
}

void ledger_finish(struct ledger *l, int64_t t)
{
    int64_t end = INT64_MIN;
    bool held = false;
    if (l->origin == INT64_MAX)
        return;
    for (int i = 0; i < LEDGER_DEVICES_MAX; i++) {
        struct device *d = l->device[i];
        if (!d || !d->hold_count)
            continue;
        int64_t released = device_released(d);
        held |= released == INT64_MIN;
        end = released > end ? released : end;
    }
    if (held && t > end)
        end = t;
    if (end > l->origin)
        book(l, end, true);
    l->booked = end;
}

bool ledger_span(const struct ledger *l, int64_t *t0, int64_t *t1)
{
    if (l->origin == INT64_MAX)
        return false;
    *t0 = l->origin;
    *t1 = l->booked > l->origin ? l->booked : l->origin;
    return true;
}

uint64_t ledger_lost(const struct ledger *l)
{
    return l->lost + l->threads.forgotten;
}

uint32_t ledger_launcher(const struct ledger *l, uint32_t device, uint32_t *ret_pid)
{
    const struct device *d = device < LEDGER_DEVICES_MAX ? l->device[device] : NULL;
    const struct thread *th = d ? threads_find(&l->threads, d->launcher) : NULL;
    if (ret_pid)
        *ret_pid = th ? th->tgid : 0;
    return th ? th->tid : 0;
}

int ledger_facts(const struct ledger *l, fact_fn fn, void *arg)
{
    return learnt_facts(&l->learnt, l->o.names, l->device, LEDGER_DEVICES_MAX, fn, arg);
}
