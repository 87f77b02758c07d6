/* SPDX-License-Identifier: MIT */
#include "plan/replay_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define PARTS_PER_STEP 12 /* more than that on average drops the oldest sooner */
#define DELIVERIES_PER_STEP 2

struct replay_log *replay_log_new(uint32_t max_steps)
{
    struct replay_log *log = mem_zalloc(sizeof(*log));
    if (log)
        log->max_steps = max_steps ? max_steps : REPLAY_STEPS_DEFAULT;
    return log;
}

static void consumer_clear(struct log_consumer *c)
{
    free(c->deliveries);
    free(c->steps);
    free(c->parts.v);
    free(c->ops.v);
}

void replay_log_free(struct replay_log *log)
{
    if (!log)
        return;
    for (int i = 0; i < log->consumer_count; i++)
        consumer_clear(&log->consumers[i]);
    free(log);
}

int replay_consumer(struct replay_log *log, uint32_t tid, uint32_t device)
{
    for (int i = 0; i < log->consumer_count; i++)
        if (log->consumers[i].tid == tid && log->consumers[i].device == device)
            return i;
    if (log->consumer_count == REPLAY_CONSUMERS_MAX)
        return -1;
    log->consumers[log->consumer_count] = (struct log_consumer){.tid = tid, .device = device};
    return log->consumer_count++;
}

/* ---- dropping the oldest ---- */

static void parts_drop(struct parts *p, size_t n)
{
    memmove(p->v, p->v + n, (p->count - n) * sizeof(*p->v));
    p->count -= n;
}

static void drop_deliveries(struct log_consumer *c, size_t n)
{
    if (!n)
        return;
    size_t parts = n < c->delivery_count ? c->deliveries[n].parts_at : c->parts.count;
    parts_drop(&c->parts, parts);
    memmove(c->deliveries, c->deliveries + n, (c->delivery_count - n) * sizeof(*c->deliveries));
    c->delivery_count -= n;
    c->delivery_base += n;
    for (size_t i = 0; i < c->delivery_count; i++)
        c->deliveries[i].parts_at -= (uint32_t)parts;
}

static void drop_steps(struct log_consumer *c, size_t n)
{
    uint64_t oldest = c->delivery_base + c->delivery_count;
    if (!n)
        return;
    size_t ops = n < c->step_count ? c->steps[n].ops_at : c->ops.count;
    bool taken = false;
    for (size_t i = 0; i < n; i++)
        taken |= c->steps[i].delivery != REPLAY_NONE;
    parts_drop(&c->ops, ops);
    memmove(c->steps, c->steps + n, (c->step_count - n) * sizeof(*c->steps));
    c->step_count -= n;
    c->step_base += n;
    for (size_t i = 0; i < c->step_count; i++) {
        c->steps[i].ops_at -= (uint32_t)ops;
        if (c->steps[i].delivery < oldest && c->steps[i].delivery >= c->delivery_base)
            oldest = c->steps[i].delivery;
    }
    if (taken && c->step_count)
        drop_deliveries(c, (size_t)(oldest - c->delivery_base));
}

/* Drops a quarter of whoever keeps most, until one more step and delivery fit. */
static void make_room(struct replay_log *log)
{
    for (;;) {
        size_t steps = 0, deliveries = 0, parts = 0;
        struct log_consumer *most = NULL;
        for (int i = 0; i < log->consumer_count; i++) {
            struct log_consumer *c = &log->consumers[i];
            steps += c->step_count;
            deliveries += c->delivery_count;
            parts += c->parts.count + c->ops.count;
            if (!most ||
                c->step_count + c->delivery_count > most->step_count + most->delivery_count)
                most = c;
        }
        bool many = deliveries >= (size_t)DELIVERIES_PER_STEP * log->max_steps + REPLAY_WORKERS_MAX;
        if (steps < log->max_steps && !many &&
            parts < (size_t)PARTS_PER_STEP * log->max_steps + REPLAY_OPS_MAX + REPLAY_PARTS_MAX)
            return;
        if (!most || !(most->step_count + most->delivery_count))
            return;
        drop_steps(most, most->step_count / 4 + (most->step_count > 0));
        if (many || !most->step_count)
            drop_deliveries(most, most->delivery_count / 4 + (most->delivery_count > 0));
    }
}

/* ---- pushing ---- */

static bool parts_push(struct parts *p, uint32_t key, int64_t ns)
{
    if (!mem_grow((void **)&p->v, &p->cap, p->count + 1, sizeof(*p->v)))
        return false;
    p->v[p->count++] = (struct packed_part){key, time_pack(ns)};
    return true;
}

/* A worker's startup comes before all that it did on its first delivery. */
static void startup_first(struct replay_delivery *d)
{
    int n = 0;
    for (int i = 0; i < d->part_count; i++) {
        struct share p = d->parts[i];
        if (p.cause != CAUSE_STARTUP)
            continue;
        for (int k = i; k > n; k--)
            d->parts[k] = d->parts[k - 1];
        d->parts[n++] = p;
    }
}

/* Makes the parts add up to the turn-around: a lack is unknown, a surplus shrinks all. */
static void repair_delivery(struct replay_delivery *d)
{
    int64_t whole = d->end_ns - d->start_ns, sum = 0;
    if (d->idle_ns < 0)
        d->idle_ns = 0;
    if (d->startup && d->idle_ns > whole)
        d->idle_ns = whole;
    whole -= d->startup ? d->idle_ns : 0;
    if (d->part_count > REPLAY_PARTS_MAX)
        d->part_count = REPLAY_PARTS_MAX;
    if (d->startup)
        startup_first(d);
    for (int i = 0; i < d->part_count; i++) {
        if (d->parts[i].ns < 0)
            d->parts[i].ns = 0;
        sum += d->parts[i].ns;
    }
    if (sum > whole)
        for (int i = 0; i < d->part_count; i++)
            d->parts[i].ns = (int64_t)((double)d->parts[i].ns * ((double)whole / (double)sum));
    else
        replay_delivery_add(d, CAUSE_UNKNOWN, 0, whole - sum);
}

uint64_t replay_push_delivery(struct replay_log *log, int consumer,
                              const struct replay_delivery *delivery)
{
    struct replay_delivery d = *delivery;
    if (consumer < 0 || consumer >= log->consumer_count || d.end_ns < d.start_ns)
        return REPLAY_NONE;
    make_room(log);
    struct log_consumer *c = &log->consumers[consumer];
    size_t parts_at = c->parts.count;
    repair_delivery(&d);
    if (!mem_grow((void **)&c->deliveries, &c->delivery_cap, c->delivery_count + 1,
                  sizeof(*c->deliveries)))
        return REPLAY_NONE;
    for (int i = 0; i < d.part_count; i++)
        if (!parts_push(&c->parts, part_key(0, d.parts[i].cause, d.parts[i].resource),
                        d.parts[i].ns)) {
            c->parts.count = parts_at;
            return REPLAY_NONE;
        }
    c->deliveries[c->delivery_count++] =
        (struct packed_delivery){d.start_ns,
                                 d.end_ns,
                                 time_pack(d.idle_ns),
                                 (uint32_t)parts_at,
                                 (uint16_t)(d.worker % REPLAY_WORKERS_MAX),
                                 (uint16_t)(d.queue % REPLAY_QUEUES_MAX),
                                 d.startup,
                                 d.part_count};
    return c->delivery_base + c->delivery_count - 1;
}

/* Makes thread time add up to the step's own time. */
static void repair_step(struct replay_step *s)
{
    int64_t whole = s->end_ns - s->t1, sum = 0;
    if (s->op_count > REPLAY_OPS_MAX)
        s->op_count = REPLAY_OPS_MAX;
    for (int i = 0; i < s->op_count; i++) {
        struct replay_op *op = &s->ops[i];
        if (op->what.ns < 0)
            op->what.ns = 0;
        sum += op->kind == REPLAY_THREAD || op->kind == REPLAY_SYNC ? op->what.ns : 0;
    }
    if (sum > whole) {
        for (int i = 0; i < s->op_count; i++)
            if (s->ops[i].kind == REPLAY_THREAD || s->ops[i].kind == REPLAY_SYNC)
                s->ops[i].what.ns =
                    (int64_t)((double)s->ops[i].what.ns * ((double)whole / (double)sum));
    } else {
        replay_step_add(s, REPLAY_THREAD, CAUSE_UNKNOWN, 0, whole - sum);
    }
}

bool replay_push_step(struct replay_log *log, int consumer, const struct replay_step *step)
{
    struct replay_step s = *step;
    if (consumer < 0 || consumer >= log->consumer_count)
        return false;
    struct log_consumer *c = &log->consumers[consumer];
    if (s.t1 < s.t0 || s.end_ns < s.t1 || (c->step_count && s.t0 < c->steps[c->step_count - 1].end))
        return false;
    make_room(log);
    size_t ops_at = c->ops.count;
    repair_step(&s);
    if (!mem_grow((void **)&c->steps, &c->step_cap, c->step_count + 1, sizeof(*c->steps)))
        return false;
    for (int i = 0; i < s.op_count; i++)
        if (!parts_push(&c->ops,
                        part_key(s.ops[i].kind, s.ops[i].what.cause, s.ops[i].what.resource),
                        s.ops[i].what.ns)) {
            c->ops.count = ops_at;
            return false;
        }
    if (!c->seen) {
        c->seen = true;
        c->first_ever = s.t0;
    }
    c->steps[c->step_count++] =
        (struct packed_step){s.t0, s.t1, s.end_ns, s.delivery, (uint32_t)ops_at, s.op_count};
    return true;
}

bool log_begin_chunk(struct log_consumer *c, uint64_t first_step, uint64_t first_delivery,
                     int64_t first_ever)
{
    uint64_t next_step = c->step_base + c->step_count;
    uint64_t next_delivery = c->delivery_base + c->delivery_count;
    if (first_step < next_step || first_delivery < next_delivery)
        return false;
    if (first_step > next_step || first_delivery > next_delivery) {
        drop_steps(c, c->step_count);
        drop_deliveries(c, c->delivery_count);
        c->step_base = first_step;
        c->delivery_base = first_delivery;
    }
    if (!c->seen || first_ever < c->first_ever)
        c->first_ever = first_ever;
    c->seen = true;
    return true;
}

/* ---- reading ---- */

int replay_log_consumers(const struct replay_log *log)
{
    return log->consumer_count;
}

static const struct log_consumer *consumer_of(const struct replay_log *log, int consumer)
{
    return consumer >= 0 && consumer < log->consumer_count ? &log->consumers[consumer] : NULL;
}

bool replay_consumer_info(const struct replay_log *log, int consumer,
                          struct replay_consumer_info *ret)
{
    const struct log_consumer *c = consumer_of(log, consumer);
    if (!c)
        return false;
    *ret = (struct replay_consumer_info){.tid = c->tid,
                                         .device = c->device,
                                         .steps = c->step_count,
                                         .deliveries = c->delivery_count,
                                         .dropped_steps = c->step_base};
    if (c->step_count) {
        ret->first_ns = c->steps[0].t0;
        ret->last_ns = c->steps[c->step_count - 1].end;
        ret->dropped_ns = ret->first_ns - c->first_ever;
    }
    return true;
}

bool replay_log_step(const struct replay_log *log, int consumer, uint64_t nth,
                     struct replay_step *ret)
{
    const struct log_consumer *c = consumer_of(log, consumer);
    if (!c || nth >= c->step_count)
        return false;
    const struct packed_step *s = &c->steps[nth];
    ret->t0 = s->t0;
    ret->t1 = s->t1;
    ret->end_ns = s->end;
    ret->delivery =
        s->delivery >= c->delivery_base && s->delivery < c->delivery_base + c->delivery_count
            ? s->delivery
            : REPLAY_NONE;
    ret->op_count = (uint8_t)s->op_count;
    for (uint32_t i = 0; i < s->op_count; i++) {
        struct packed_part p = c->ops.v[s->ops_at + i];
        ret->ops[i] = (struct replay_op){
            key_kind(p.key), {key_cause(p.key), key_resource(p.key), time_unpack(p.time)}};
    }
    return true;
}

bool replay_log_delivery(const struct replay_log *log, int consumer, uint64_t nth,
                         struct replay_delivery *ret)
{
    const struct log_consumer *c = consumer_of(log, consumer);
    if (!c || nth >= c->delivery_count)
        return false;
    const struct packed_delivery *d = &c->deliveries[nth];
    ret->start_ns = d->start;
    ret->end_ns = d->end;
    ret->idle_ns = time_unpack(d->idle);
    ret->worker = d->worker;
    ret->queue = d->queue;
    ret->startup = d->startup;
    ret->part_count = d->part_count;
    for (uint32_t i = 0; i < d->part_count; i++) {
        struct packed_part p = c->parts.v[d->parts_at + i];
        ret->parts[i] = (struct share){key_cause(p.key), key_resource(p.key), time_unpack(p.time)};
    }
    return true;
}
