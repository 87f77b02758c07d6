/* SPDX-License-Identifier: MIT */
/*
 * A chunk of the log as bytes. All numbers are LEB128 varints; z = zigzag; times in us.
 *
 *   'R' version
 *   tid device  first_step first_delivery reference  z first_ever  z base
 *   dict_count  { kind << 6 | cause, resource }...
 *   delivery_count  { worker, queue (not in version 1: 0), z start - previous delivery's end, end - start, idle << 1 | startup,
 *                     part_count, { dict, us }... }...
 *   step_count  { z t0 - previous end, t1 - t0, end - t1,
 *                 0 or 1 + z(delivery - (previous one + 1; at first `reference`)), op_count, {
 * dict, us }... }...
 *
 * A chunk in which all queues are 0 is written as version 1.
 *
 * Moments are rounded down to 1 us and lengths are differences of rounded moments, so rounding
 * never adds up over a run.
 */
#include "plan/replay_internal.h"

#include "base/mem.h"

#include <stdlib.h>

#define CHUNK_MAGIC 'R'
#define CHUNK_VERSION 2
#define CHUNK_NO_QUEUES 1
#define DICT_MAX 4096
#define US_MAX (INT64_C(1) << 51) /* 71 years; in ns it still fits with room */

static int64_t us_of(int64_t ns)
{
    return ns >= 0 ? ns / NS_PER_US : -((-ns + NS_PER_US - 1) / NS_PER_US);
}

/* ---- writing ---- */

struct dict {
    uint32_t keys[DICT_MAX];
    size_t count;
    uint16_t plain[256]; /* index + 1 of a key without a resource */
};

static void put(struct str *out, uint64_t v)
{
    char b[10];
    size_t n = 0;
    do {
        b[n++] = (char)((v & 127) | (v > 127 ? 128 : 0));
        v >>= 7;
    } while (v);
    str_addn(out, b, n);
}

static uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

/* A key that no longer fits is written without its resource; room is kept for those. */
static size_t dict_find(struct dict *d, uint32_t key)
{
    if (key_resource(key)) {
        for (size_t i = 0; i < d->count; i++)
            if (d->keys[i] == key)
                return i;
        if (d->count < DICT_MAX - 256) {
            d->keys[d->count] = key;
            return d->count++;
        }
    }
    uint16_t *at = &d->plain[key & 255];
    if (!*at) {
        d->keys[d->count++] = key & 255;
        *at = (uint16_t)d->count;
    }
    return *at - 1u;
}

/* Writes the parts; those that take time are cut at rounded moments from `from` on. */
static void put_parts(struct str *out, struct dict *dict, const struct packed_part *v, size_t n,
                      int64_t from, bool steps)
{
    put(out, n);
    for (size_t i = 0; i < n; i++) {
        int64_t ns = time_unpack(v[i].time);
        uint8_t kind = key_kind(v[i].key);
        put(out, dict_find(dict, v[i].key));
        if (steps && (kind == REPLAY_DEVICE || kind == REPLAY_SPREAD)) {
            put(out, (uint64_t)((ns + NS_PER_US / 2) / NS_PER_US));
        } else {
            put(out, (uint64_t)(us_of(from + ns) - us_of(from)));
            from += ns;
        }
    }
}

static bool has_queues(const struct log_consumer *c, size_t first)
{
    for (size_t i = first; i < c->delivery_count; i++)
        if (c->deliveries[i].queue)
            return true;
    return false;
}

static void put_deliveries(struct str *out, struct dict *dict, const struct log_consumer *c,
                           size_t first, int64_t at, bool queues)
{
    put(out, c->delivery_count - first);
    for (size_t i = first; i < c->delivery_count; i++) {
        const struct packed_delivery *d = &c->deliveries[i];
        put(out, d->worker);
        if (queues)
            put(out, d->queue);
        put(out, zigzag(us_of(d->start) - at));
        put(out, (uint64_t)(us_of(d->end) - us_of(d->start)));
        put(out, (uint64_t)(time_unpack(d->idle) / NS_PER_US) << 1 | d->startup);
        put_parts(out, dict, &c->parts.v[d->parts_at], d->part_count, d->start, false);
        at = us_of(d->end);
    }
}

static void put_steps(struct str *out, struct dict *dict, const struct log_consumer *c,
                      size_t first, int64_t at)
{
    uint64_t next = c->delivery_base;
    put(out, c->step_count - first);
    for (size_t i = first; i < c->step_count; i++) {
        const struct packed_step *s = &c->steps[i];
        put(out, zigzag(us_of(s->t0) - at));
        put(out, (uint64_t)(us_of(s->t1) - us_of(s->t0)));
        put(out, (uint64_t)(us_of(s->end) - us_of(s->t1)));
        if (s->delivery == REPLAY_NONE) {
            put(out, 0);
        } else {
            put(out, 1 + zigzag((int64_t)(s->delivery - next)));
            next = s->delivery + 1;
        }
        put_parts(out, dict, &c->ops.v[s->ops_at], s->op_count, s->t1, true);
        at = us_of(s->end);
    }
}

bool replay_encode(const struct replay_log *log, int consumer, struct replay_cursor *at,
                   struct str *out)
{
    if (consumer < 0 || consumer >= log->consumer_count)
        return true;
    const struct log_consumer *c = &log->consumers[consumer];
    size_t step = at->step > c->step_base ? (size_t)(at->step - c->step_base) : 0;
    size_t delivery =
        at->delivery > c->delivery_base ? (size_t)(at->delivery - c->delivery_base) : 0;
    if (step >= c->step_count && delivery >= c->delivery_count)
        return true;
    int64_t base = us_of(step < c->step_count ? c->steps[step].t0 : c->deliveries[delivery].start);
    struct dict *dict = mem_zalloc(sizeof(*dict));
    struct str body = {0};
    if (!dict) {
        out->failed = true;
        return false;
    }
    bool queues = has_queues(c, delivery);
    put_deliveries(&body, dict, c, delivery, base, queues);
    put_steps(&body, dict, c, step, base);
    char head[2] = {CHUNK_MAGIC, queues ? CHUNK_VERSION : CHUNK_NO_QUEUES};
    str_addn(out, head, 2);
    put(out, c->tid);
    put(out, c->device);
    put(out, c->step_base + step);
    put(out, c->delivery_base + delivery);
    put(out, c->delivery_base); /* reference */
    put(out, zigzag(us_of(c->seen ? c->first_ever : base * NS_PER_US)));
    put(out, zigzag(base));
    put(out, dict->count);
    for (size_t i = 0; i < dict->count; i++) {
        put(out, dict->keys[i] & 255);
        put(out, key_resource(dict->keys[i]));
    }
    str_addn(out, body.data ? body.data : "", body.len);
    out->failed |= body.failed;
    str_clear(&body);
    free(dict);
    if (out->failed)
        return false;
    at->step = c->step_base + c->step_count;
    at->delivery = c->delivery_base + c->delivery_count;
    return true;
}

/* ---- reading ---- */

struct reader {
    const unsigned char *p, *begin, *end;
    bool bad;
    bool queues;    /* each delivery names its queue */
    uint32_t *keys; /* borrowed: the chunk's dictionary */
    size_t key_count;
};

static uint64_t get(struct reader *r)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64 && r->p < r->end; shift += 7) {
        unsigned char b = *r->p++;
        v |= (uint64_t)(b & 127) << shift;
        if (!(b & 128))
            return v;
    }
    r->bad = true;
    return 0;
}

static int64_t get_signed(struct reader *r)
{
    uint64_t v = get(r);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* A number of at most `max`. */
static uint64_t get_max(struct reader *r, uint64_t max)
{
    uint64_t v = get(r);
    if (v > max) {
        r->bad = true;
        return 0;
    }
    return v;
}

/* base + a signed step, within +-US_MAX. */
static int64_t get_moment(struct reader *r, int64_t base)
{
    int64_t d = get_signed(r);
    if (d > US_MAX || d < -US_MAX || base + d > US_MAX || base + d < -US_MAX) {
        r->bad = true;
        return 0;
    }
    return base + d;
}

static uint32_t get_part(struct reader *r, int64_t *ns)
{
    uint64_t i = get(r);
    *ns = (int64_t)get_max(r, (uint64_t)US_MAX) * NS_PER_US;
    if (i >= r->key_count) {
        r->bad = true;
        return 0;
    }
    return r->keys[i];
}

static void get_delivery(struct reader *r, struct replay_delivery *d, int64_t *at)
{
    d->worker = (uint32_t)get_max(r, REPLAY_WORKERS_MAX - 1);
    d->queue = r->queues ? (uint32_t)get_max(r, REPLAY_QUEUES_MAX - 1) : 0;
    int64_t start = get_moment(r, *at);
    int64_t end = start + (int64_t)get_max(r, (uint64_t)US_MAX);
    uint64_t idle = get_max(r, (uint64_t)US_MAX);
    d->start_ns = start * NS_PER_US;
    d->end_ns = end * NS_PER_US;
    d->idle_ns = (int64_t)(idle >> 1) * NS_PER_US;
    d->startup = idle & 1;
    d->part_count = (uint8_t)get_max(r, REPLAY_PARTS_MAX);
    for (int i = 0; i < d->part_count; i++) {
        uint32_t key = get_part(r, &d->parts[i].ns);
        d->parts[i].cause = key_cause(key);
        d->parts[i].resource = key_resource(key);
    }
    *at = end;
}

static void get_step(struct reader *r, struct replay_step *s, int64_t *at, uint64_t *next)
{
    int64_t t0 = get_moment(r, *at);
    int64_t t1 = t0 + (int64_t)get_max(r, (uint64_t)US_MAX);
    int64_t end = t1 + (int64_t)get_max(r, (uint64_t)US_MAX);
    r->bad |= t0 < *at || end > US_MAX;
    s->t0 = t0 * NS_PER_US;
    s->t1 = t1 * NS_PER_US;
    s->end_ns = end * NS_PER_US;
    s->delivery = REPLAY_NONE;
    uint64_t ref = get(r);
    if (ref) {
        ref--;
        s->delivery = *next + (uint64_t)((int64_t)(ref >> 1) ^ -(int64_t)(ref & 1));
        *next = s->delivery + 1;
    }
    s->op_count = (uint8_t)get_max(r, REPLAY_OPS_MAX);
    for (int i = 0; i < s->op_count; i++) {
        uint32_t key = get_part(r, &s->ops[i].what.ns);
        s->ops[i].kind = key_kind(key);
        s->ops[i].what.cause = key_cause(key);
        s->ops[i].what.resource = key_resource(key);
    }
    *at = end;
}

struct chunk_head {
    uint32_t tid, device;
    uint64_t first_step, first_delivery, reference;
    int64_t first_ever, base;
};

static void get_head(struct reader *r, struct chunk_head *h)
{
    uint64_t serials = UINT64_MAX / 4;
    if (r->end - r->p < 2 || r->p[0] != CHUNK_MAGIC ||
        (r->p[1] != CHUNK_VERSION && r->p[1] != CHUNK_NO_QUEUES)) {
        r->bad = true;
        return;
    }
    r->queues = r->p[1] == CHUNK_VERSION;
    r->p += 2;
    h->tid = (uint32_t)get_max(r, UINT32_MAX);
    h->device = (uint32_t)get_max(r, UINT32_MAX);
    h->first_step = get_max(r, serials);
    h->first_delivery = get_max(r, serials);
    h->reference = get_max(r, serials);
    h->first_ever = get_moment(r, 0);
    h->base = get_moment(r, 0);
    r->key_count = get_max(r, DICT_MAX);
    for (size_t i = 0; i < r->key_count && !r->bad; i++) {
        uint64_t plain = get_max(r, 255);
        uint64_t resource = get_max(r, (UINT64_C(1) << 24) - 1);
        r->bad |= (plain & 63) >= CAUSE_COUNT;
        r->keys[i] = (uint32_t)(resource << 8 | plain);
    }
}

/* Reads the whole chunk; pushes into log unless it is NULL. */
static int walk(struct reader *r, struct replay_log *log)
{
    struct chunk_head h = {0};
    struct replay_delivery d = {0};
    struct replay_step s = {0};
    int consumer = 0;
    get_head(r, &h);
    if (log) {
        consumer = replay_consumer(log, h.tid, h.device);
        if (consumer < 0)
            return STATUS_MEMORY;
        if (!log_begin_chunk(&log->consumers[consumer], h.first_step, h.first_delivery,
                             h.first_ever * NS_PER_US))
            return STATUS_INPUT;
    }
    int64_t at = h.base;
    for (uint64_t n = get(r); n && !r->bad; n--) {
        get_delivery(r, &d, &at);
        if (log && replay_push_delivery(log, consumer, &d) == REPLAY_NONE)
            return STATUS_MEMORY;
    }
    at = h.base;
    uint64_t next = h.reference;
    for (uint64_t n = get(r); n && !r->bad; n--) {
        get_step(r, &s, &at, &next);
        if (log && !replay_push_step(log, consumer, &s))
            return STATUS_INPUT;
    }
    return r->bad || r->p != r->end ? STATUS_INPUT : STATUS_OK;
}

int replay_decode(struct replay_log *log, const void *bytes, size_t size, struct error *e)
{
    AUTOFREE uint32_t *keys = mem_zalloc(DICT_MAX * sizeof(*keys));
    struct reader r = {.p = bytes, .begin = bytes, .keys = keys};
    if (!keys)
        return error_set(e, STATUS_MEMORY, "out of memory");
    r.end = r.begin + size;
    int status = walk(&r, NULL);
    if (status == STATUS_OK) {
        r.p = r.begin;
        status = walk(&r, log);
    }
    if (status == STATUS_INPUT)
        return error_set(e, STATUS_INPUT, "replay chunk is damaged at byte %zu of %zu",
                         (size_t)(r.p - r.begin), size);
    if (status == STATUS_MEMORY)
        return error_set(e, STATUS_MEMORY, "out of memory or too many consumers");
    return STATUS_OK;
}
