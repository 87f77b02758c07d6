/* SPDX-License-Identifier: MIT */
#include "ledger/device.h"

#include "base/mem.h"
#include "base/unit.h"
#include "ledger/admit.h"
#include "ledger/foreign.h"
#include "ledger/gap.h"
#include "ledger/late.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MIN_NS (1 * NS_PER_MS)
/* A copy of this size takes 20 us at the fastest: what each copy costs besides is small. */
#define LARGE_COPY MIB

void device_init(struct device *d, uint32_t number)
{
    *d =
        (struct device){.number = number, .pending_launch = INT64_MIN, .longest_window = INT64_MIN};
    timeline_init(&d->timeline);
}

void device_clear(struct device *d)
{
    timeline_clear(&d->timeline);
    free(d->hold);
    free(d->unseen);
    for (int i = 0; i < d->steppers; i++)
        steps_free(d->stepper[i]);
    device_init(d, d->number);
}

static bool add_hold(struct device *d, int64_t t, uint32_t pid)
{
    if (!mem_grow((void **)&d->hold, &d->hold_cap, d->hold_count + 1, sizeof(*d->hold)))
        return false;
    size_t i = d->hold_count++;
    for (; i > 0 && d->hold[i - 1].t > t; i--)
        d->hold[i] = d->hold[i - 1];
    d->hold[i] = (struct hold){t, pid};
    return true;
}

bool device_hold(struct device *d, const struct event_device *e)
{
    int at = 0;
    while (at < d->holders && d->holder[at] != e->pid)
        at++;
    if (e->taken) {
        if (at < d->holders)
            return true;
        if (d->holders == HOLDERS_MAX)
            return false;
        d->holder[d->holders++] = e->pid;
        return d->holders > 1 || add_hold(d, e->t, e->pid);
    }
    if (at == d->holders)
        return true;
    d->holder[at] = d->holder[--d->holders];
    return add_hold(d, e->t, d->holders ? d->holder[0] : 0);
}

static struct steps *stepper_of(struct device *d, uint32_t tid)
{
    for (int i = 0; i < d->steppers; i++)
        if (steps_tid(d->stepper[i]) == tid)
            return d->stepper[i];
    if (d->steppers == STEPPERS_MAX || !d->log)
        return NULL;
    struct steps *s = steps_new(d->threads, d->names, d->log, tid, d->number, device_taken(d));
    if (s)
        d->stepper[d->steppers++] = s;
    return s;
}

bool device_span(struct device *d, const struct event_span *e)
{
    if (e->tid)
        d->launcher = e->tid;
    return timeline_push(&d->timeline, e);
}

bool device_call(struct device *d, const struct event_call *e)
{
    if (e->kind == CALL_LAUNCH || e->kind == CALL_COPY) {
        if (d->pending_launch == INT64_MIN) {
            d->pending_launch = e->t0;
            d->pending_launch_end = e->t1;
        }
        d->launcher = e->tid;
    }
    bool ends = e->kind == CALL_SYNC || e->kind == CALL_COPY;
    if (!ends || d->pending_launch == INT64_MIN || e->t1 < d->pending_launch)
        return true;
    struct event_span span = {
        .t0 = d->pending_launch,
        .t1 = e->t1,
        .launch_t0 = d->pending_launch,
        .launch_t1 = d->pending_launch_end,
        .device = d->number,
        .pid = e->pid,
        .tid = e->tid,
        .kind = e->kind == CALL_COPY && d->pending_launch == e->t0 ? SPAN_COPY : SPAN_COMPUTE};
    d->pending_launch = INT64_MIN;
    d->calls_only = true;
    return timeline_push(&d->timeline, &span);
}

bool device_unseen(struct device *d, int64_t t0, int64_t t1)
{
    if (t1 <= t0)
        return true;
    if (!mem_grow((void **)&d->unseen, &d->unseen_cap, d->unseen_count + 1, sizeof(*d->unseen)))
        return false;
    d->unseen[d->unseen_count++] = (struct unseen){t0, t1};
    return true;
}

int64_t device_taken(const struct device *d)
{
    return d->hold_count ? d->hold[0].t : INT64_MAX;
}

int64_t device_released(const struct device *d)
{
    return d->hold_count && !d->hold[d->hold_count - 1].pid ? d->hold[d->hold_count - 1].t
                                                            : INT64_MIN;
}

/* Who holds the device at t, and until when that stays so. */
static uint32_t holder_at(const struct device *d, int64_t t, int64_t *until)
{
    uint32_t pid = 0;
    *until = INT64_MAX;
    for (size_t i = 0; i < d->hold_count; i++) {
        if (d->hold[i].t > t) {
            *until = d->hold[i].t;
            break;
        }
        pid = d->hold[i].pid;
    }
    return pid;
}

static bool unseen_at(const struct device *d, int64_t t, int64_t *until)
{
    for (size_t i = 0; i < d->unseen_count; i++) {
        if (d->unseen[i].t0 <= t && t < d->unseen[i].t1) {
            *until = d->unseen[i].t1 < *until ? d->unseen[i].t1 : *until;
            return true;
        }
        if (d->unseen[i].t0 > t && d->unseen[i].t0 < *until)
            *until = d->unseen[i].t0;
    }
    return false;
}

static void emit_chain(struct device *d)
{
    if (d->longest_window != INT64_MIN && d->chain && d->longest.count)
        d->chain(d->chain_arg, &d->longest);
    d->longest_window = INT64_MIN;
    d->longest = (struct chain_example){0};
}

/* Keeps the longest wait of each window, with its chain in words. Roles in it are those that explaining the
 * gap has taught. */
static void keep_chain(struct device *d, const struct gap *gap)
{
    int64_t ns = gap->t1 - gap->t0;
    if (d->longest_window != d->account.window)
        emit_chain(d);
    if (ns < CHAIN_MIN_NS || ns <= d->longest.ns)
        return;
    struct chain_links links = {.threads = d->threads->foreign ? NULL : d->threads};
    struct shares parts;
    shares_clear(&parts);
    enum evidence evidence;
    struct late late;
    gap_explain(d->threads, d->names, gap, &parts, &evidence, &links);
    late_explain(d->threads, d->names, gap, &parts, &late);
    if (late.rank && links.count == 1) { /* it told of what has moved since */
        links.count = 0;
        chain_tell_largest(&links, gap->thread, &parts, d->names);
    }
    late_tell(&links, &late, d->names);
    int most = shares_largest(&parts);
    d->longest_window = d->account.window;
    d->longest = (struct chain_example){
        .t0 = gap->t0, .ns = ns, .accelerator = d->number, .count = links.count};
    if (most >= 0) {
        d->longest.cause = parts.part[most].cause;
        d->longest.resource = parts.part[most].resource;
    }
    memcpy(d->longest.links, links.link, sizeof(links.link[0]) * (size_t)links.count);
}

/* Why parts of a gap have no known cause. */
static void count_unexplained(struct device *d, const struct gap *gap,
                              const struct event_span *next)
{
    int64_t late = gap->thread && d->threads->foreign ? foreign_late(gap) : 0;
    d->sums.orphan_ns += gap->thread ? 0 : gap->t1 - gap->t0;
    d->sums.late_ns += late;
    d->sums.late_first_ns += next && next->first ? late : 0;
}

/* Exposed communication of known ranks is a wait of the window like any other. */
static void keep_comm(struct device *d, int64_t t0, int64_t ns)
{
    char time[32];
    if (d->longest_window != d->account.window)
        emit_chain(d);
    if (!d->timeline.comm_resource || ns < CHAIN_MIN_NS || ns <= d->longest.ns)
        return;
    d->longest_window = d->account.window;
    d->longest = (struct chain_example){.t0 = t0,
                                        .ns = ns,
                                        .accelerator = d->number,
                                        .count = 1,
                                        .cause = CAUSE_COLLECTIVE,
                                        .resource = d->timeline.comm_resource};
    struct chain_link *l = &d->longest.links[0];
    str_copy(l->who, sizeof(l->who), intern_text(d->names, d->timeline.comm_resource));
    snprintf(l->did, sizeof(l->did), "communicated, and nothing computed meanwhile, for %s",
             unit_format_ns(time, sizeof(time), ns));
}

static void add_late(struct device *d, const struct late *late)
{
    int i = 0;
    if (!late->rank)
        return;
    while (i < d->late_ranks && d->late[i].tid != late->rank->tid)
        i++;
    if (i == LATE_RANKS_MAX)
        return;
    if (i == d->late_ranks)
        d->late[d->late_ranks++] = (struct late_rank){.tid = late->rank->tid};
    for (int p = 0; p < late->did.count; p++) /* which file or disk it was is not told */
        shares_add(&d->late[i].did, late->did.part[p].cause, 0, late->did.part[p].ns);
}

static void book_held(struct device *d, int64_t t0, int64_t t1, const struct event_span *next,
                      uint32_t pid)
{
    struct shares parts;
    shares_clear(&parts);
    enum evidence evidence = EVIDENCE_CHAIN;
    const struct thread *th = threads_find(d->threads, next && next->tid ? next->tid : d->launcher);
    if (!th) /* nothing was ever launched: the process's main thread */
        th = threads_find(d->threads, pid);
    bool launched = next && next->launch_t0;
    struct gap gap = {.t0 = t0,
                      .t1 = t1,
                      .launch_t0 = launched ? next->launch_t0 : t1,
                      .launch_t1 = launched ? next->launch_t1 : t1,
                      .thread = th,
                      .waits_seen = d->waits_seen};
    gap.ended_by_copy_call = next && next->kind == SPAN_COPY && next->host_copy && next->pageable;
    gap_explain(d->threads, d->names, &gap, &parts, &evidence, NULL);
    keep_chain(d, &gap);
    struct late late;
    late_explain(d->threads, d->names, &gap, &parts, &late);
    add_late(d, &late);
    d->sums.gaps++;
    d->sums.gap_ns += t1 - t0;
    count_unexplained(d, &gap, next);
    account_add(&d->account, t1, STATE_WAIT, &parts, pid,
                d->calls_only ? EVIDENCE_BOUND : evidence);
}

static void book_idle(struct device *d, int64_t t0, int64_t t1, const struct event_span *next)
{
    while (t0 < t1) {
        int64_t end;
        uint32_t pid = holder_at(d, t0, &end);
        bool unseen = unseen_at(d, t0, &end);
        if (end > t1)
            end = t1;
        if (unseen)
            account_add(&d->account, end, STATE_UNSEEN, NULL, pid, EVIDENCE_DEVICE);
        else if (!pid)
            account_add(&d->account, end, STATE_UNUSED, NULL, 0, EVIDENCE_DEVICE);
        else
            book_held(d, t0, end, end == t1 ? next : NULL, pid);
        t0 = end;
    }
}

static void on_segment(void *arg, enum segment_class class, int64_t t0, int64_t t1,
                       const struct event_span *next)
{
    struct device *d = arg;
    struct shares cause;
    shares_clear(&cause);
    int64_t until;
    enum evidence evidence = d->calls_only ? EVIDENCE_BOUND : EVIDENCE_DEVICE;
    switch (class) {
    case SEGMENT_IDLE:
        book_idle(d, t0, t1, next);
        return;
    case SEGMENT_COMM:
        keep_comm(d, t0, t1 - t0);
        shares_add(&cause, CAUSE_COLLECTIVE, d->timeline.comm_resource, 1);
        break;
    case SEGMENT_PAGEABLE:
        shares_add(&cause, CAUSE_PAGEABLE_COPY, 0, 1);
        d->sums.pageable_ns += t1 - t0;
        break;
    case SEGMENT_COPY:
        shares_add(&cause, CAUSE_LINK, 0, 1);
        break;
    default:
        if (d->threads->foreign)
            d->sums.awaited_ns += foreign_awaited(d->threads, t0, t1);
        break;
    }
    enum state state = class == SEGMENT_COMPUTE ? STATE_COMPUTE
                       : class == SEGMENT_COMM  ? STATE_COMM
                                                : STATE_COPY;
    uint32_t pid = d->hold_count ? holder_at(d, t0, &until) : 0;
    account_add(&d->account, t1, state, cause.count ? &cause : NULL, pid, evidence);
}

static void on_walked(void *arg, const struct event_span *span, int64_t adds)
{
    struct device *d = arg;
    if (span->kind == SPAN_COPY && span->host_copy) {
        if (span->pageable) {
            d->sums.pageable_bytes += span->bytes;
            d->sums.pageable_copies++;
            d->sums.pageable_copy_ns = admit_sum(d->sums.pageable_copy_ns, span->t1 - span->t0);
        } else {
            d->sums.pinned_bytes += span->bytes;
            if (span->bytes >= LARGE_COPY) {
                d->sums.large_bytes += span->bytes;
                d->sums.large_ns = admit_sum(d->sums.large_ns, span->t1 - span->t0);
            }
        }
    } else if (span->kind == SPAN_COMPUTE) {
        d->sums.launches++;
        d->sums.kernel_ns = admit_sum(d->sums.kernel_ns, span->t1 - span->t0);
    }
    struct thread *th = threads_find(d->threads, span->tid);
    if (th && span->launch_t1 > th->last_call_end)
        th->last_call_end = span->launch_t1;
    struct steps *s = span->tid && span->launch_t0 ? stepper_of(d, span->tid) : NULL;
    if (s)
        steps_span(s, span, adds);
}

void device_flush(struct device *d)
{
    account_close(&d->account);
}

void device_advance(struct device *d, int64_t until, bool last)
{
    timeline_advance(&d->timeline, until, last, on_segment, on_walked, d);
    for (int i = 0; i < d->steppers; i++)
        steps_advance(d->stepper[i], d->timeline.at < until ? d->timeline.at : until);
    for (int i = 0; i < d->steppers && last; i++)
        steps_finish(d->stepper[i], until);
    if (last) {
        account_close(&d->account);
        emit_chain(d);
    }
}
