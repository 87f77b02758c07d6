/* SPDX-License-Identifier: MIT */
#include "plan/replay_cores.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* ---- heap and queue ---- */

static bool before(struct cores_event a, struct cores_event b)
{
    return a.key < b.key || (a.key == b.key && a.who < b.who);
}

static void heap_push(struct cores_heap *h, double key, uint32_t who)
{
    size_t i = h->count++;
    struct cores_event e = {key, who};
    while (i && before(e, h->v[(i - 1) / 2])) {
        h->v[i] = h->v[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->v[i] = e;
}

static uint32_t heap_pop(struct cores_heap *h)
{
    uint32_t who = h->v[0].who;
    struct cores_event e = h->v[--h->count];
    size_t i = 0;
    for (;;) {
        size_t k = 2 * i + 1;
        if (k >= h->count)
            break;
        if (k + 1 < h->count && before(h->v[k + 1], h->v[k]))
            k++;
        if (!before(h->v[k], e))
            break;
        h->v[i] = h->v[k];
        i = k;
    }
    h->v[i] = e;
    return who;
}

static void queue_push(const struct cores *m, struct cores_queue *q, uint32_t who)
{
    q->v[(q->head + q->count++) % (m->entities + m->neighbours)] = who;
}

static uint32_t queue_pop(const struct cores *m, struct cores_queue *q)
{
    uint32_t who = q->v[q->head];
    q->head = (q->head + 1) % (m->entities + m->neighbours);
    q->count--;
    return who;
}

static bool in_slices(const struct cores *m)
{
    return m->discipline >= CORES_SLICES;
}

bool cores_init(struct cores *m, size_t entities)
{
    m->entities = entities;
    if (m->cores <= 0)
        m->others = 0;
    if (m->cores >= (double)entities + m->others) /* nobody ever waits: no slices to count */
        m->discipline = CORES_SHARED;
    m->neighbours = in_slices(m) ? (size_t)ceil(m->others) : 0;
    size_t all = entities + m->neighbours;
    m->delays.v = mem_zalloc(all * sizeof(*m->delays.v));
    m->sharing.v = mem_zalloc(all * sizeof(*m->sharing.v));
    m->fresh.v = mem_zalloc(all * sizeof(*m->fresh.v));
    m->expired.v = mem_zalloc(all * sizeof(*m->expired.v));
    m->entity = mem_zalloc(all * sizeof(*m->entity));
    m->places = m->cores > 0 ? (unsigned)fmin(ceil(m->cores), (double)all) : 0;
    m->speed = m->places ? fmin(1, m->cores / m->places) : 1;
    if (!m->delays.v || !m->sharing.v || !m->fresh.v || !m->expired.v || !m->entity)
        return false;
    for (size_t i = entities; i < all; i++)
        cores_want(m, (uint32_t)i, m->slice);
    m->pending = 0;
    return true;
}

void cores_clear(struct cores *m)
{
    free(m->delays.v);
    free(m->sharing.v);
    free(m->fresh.v);
    free(m->expired.v);
    free(m->entity);
}

bool cores_idle(const struct cores *m)
{
    return !m->pending;
}

/* ---- work ---- */

static bool is_consumer(const struct cores *m, uint32_t who)
{
    return m->stride ? who % m->stride == 0 : who == 0;
}

static double consumers(const struct cores *m)
{
    return m->stride ? (double)(m->entities / m->stride) : 1;
}

static bool goes_first(const struct cores *m, uint32_t who)
{
    return m->discipline == CORES_THREAD_FIRST && is_consumer(m, who);
}

void cores_delay(struct cores *m, uint32_t who, double ns)
{
    m->pending++;
    heap_push(&m->delays, m->now + ns, who);
}

void cores_want(struct cores *m, uint32_t who, double ns)
{
    m->pending++;
    m->entity[who] = (struct cores_entity){.work = ns, .from = m->now, .all = ns, .wants = true};
    if (in_slices(m) && m->keeps == who + 1)
        m->kept = who + 1;
    else if (in_slices(m))
        queue_push(m, m->discipline == CORES_WOKEN_FIRST ? &m->fresh : &m->expired, who);
    else if (goes_first(m, who))
        heap_push(&m->delays, m->now + ns / fmin(1, m->cores / consumers(m)), who);
    else
        heap_push(&m->sharing, m->served + ns, who);
}

static double next_slice(struct cores *m)
{
    m->draw = m->draw * UINT32_C(1664525) + UINT32_C(1013904223);
    return m->slice * (0.75 + 0.5 * (double)(m->draw >> 8) / (double)(UINT32_C(1) << 24));
}

void cores_dispatch(struct cores *m)
{
    while (m->running < m->places && (m->kept || m->fresh.count + m->expired.count)) {
        uint32_t who =
            m->kept ? m->kept - 1 : queue_pop(m, m->fresh.count ? &m->fresh : &m->expired);
        m->kept = 0;
        struct cores_entity *e = &m->entity[who];
        e->piece = fmin(e->work, next_slice(m));
        m->running++;
        heap_push(&m->delays, m->now + e->piece / m->speed, who);
    }
    m->keeps = 0;
}

/* What each sharing thread gets per time. */
static double share_rate(const struct cores *m)
{
    double cores = m->cores, first = 0;
    for (size_t i = 0; m->discipline == CORES_THREAD_FIRST && i < m->entities;
         i += m->stride ? m->stride : m->entities)
        first += m->entity[i].wants;
    if (first > 0)
        cores = fmax(cores - first, cores * 0.01);
    return m->sharing.count ? fmin(1, cores / ((double)m->sharing.count + m->others)) : 1;
}

/* A neighbour's slice is over, or the time that it does not want a core: then it queues again. */
static void neighbour_next(struct cores *m, uint32_t who)
{
    struct cores_entity *e = &m->entity[who];
    double busy = m->others / (double)m->neighbours;
    if (e->wants) {
        m->running--;
        e->wants = false;
        if (busy < 1) {
            heap_push(&m->delays, m->now + e->piece * (1 / busy - 1), who);
            cores_dispatch(m);
            return;
        }
    }
    *e = (struct cores_entity){.work = next_slice(m), .wants = true};
    queue_push(m, &m->expired, who);
    cores_dispatch(m);
}

static bool work_ended(struct cores *m, uint32_t who)
{
    struct cores_entity *e = &m->entity[who];
    if (in_slices(m)) {
        m->running--;
        e->work -= e->piece;
        if (e->work > 0) {
            queue_push(m, &m->expired, who);
            cores_dispatch(m);
            return false;
        }
        m->keeps = who + 1;
    }
    double starved = m->now - e->from - e->all;
    e->wants = false;
    if (starved > 0) {
        m->starved_last = starved;
        m->starved += starved;
        m->starved_first += is_consumer(m, who) ? starved : 0;
    }
    return true;
}

bool cores_next(struct cores *m, uint32_t *who)
{
    double rate = share_rate(m);
    m->starved_last = 0;
    double shared_at =
        m->sharing.count ? m->now + (m->sharing.v[0].key - m->served) / rate : INFINITY;
    bool shared = m->sharing.count && (!m->delays.count || shared_at < m->delays.v[0].key);
    double at = shared ? shared_at : m->delays.v[0].key;
    if (at < m->now)
        at = m->now;
    m->served = shared ? m->sharing.v[0].key : m->served + (at - m->now) * rate;
    m->now = at;
    *who = heap_pop(shared ? &m->sharing : &m->delays);
    if (*who >= m->entities) {
        neighbour_next(m, *who);
        return false;
    }
    bool ended = !m->entity[*who].wants || work_ended(m, *who);
    m->pending -= ended;
    return ended;
}
