/* SPDX-License-Identifier: MIT */
#include "ledger/thread.h"

#include "base/mem.h"
#include "base/str.h"
#include "ledger/search.h"

#include <stdlib.h>
#include <string.h>

static void thread_free(struct thread *th)
{
    free(th->waits.item);
    free(th->wakes.item);
    free(th->calls.item);
    for (int i = 0; i < OP_KINDS; i++)
        ops_clear(&th->ops[i]);
    free(th);
}

void threads_clear(struct threads *t)
{
    for (size_t i = 0; i < t->count; i++)
        thread_free(t->list[i]);
    free(t->list);
    free(t->totals);
    map_clear(&t->by_tid);
    map_clear(&t->sockets);
    map_clear(&t->peer_rx);
    map_clear(&t->peer_tx);
    map_clear(&t->channels);
    map_clear(&t->joined);
    map_clear(&t->launchers);
    map_clear(&t->makers);
    map_clear(&t->writers);
    *t = (struct threads){0};
}

struct thread *threads_find(const struct threads *t, uint32_t tid)
{
    uint64_t index;
    return tid && map_get(&t->by_tid, tid, &index) ? t->list[index - 1] : NULL;
}

static struct thread *make(struct threads *t, uint32_t tid, uint32_t tgid)
{
    if (!mem_grow((void **)&t->list, &t->cap, t->count + 1, sizeof(*t->list)))
        return NULL;
    struct thread *th = mem_zalloc(sizeof(*th));
    if (!th)
        return NULL;
    if (!map_put(&t->by_tid, tid, t->count + 1)) {
        free(th);
        return NULL;
    }
    t->list[t->count++] = th;
    th->tid = tid;
    th->tgid = tgid;
    th->alive = true;
    th->start = th->exec = th->known_since = INT64_MIN;
    th->exit = th->first_launch = INT64_MAX;
    th->last_call_end = INT64_MIN;
    return th;
}

struct thread *threads_get(struct threads *t, uint32_t tid, uint32_t tgid)
{
    struct thread *th = threads_find(t, tid);
    return th ? th : make(t, tid, tgid);
}

bool threads_change(struct threads *t, const struct event_thread *e)
{
    struct thread *th = threads_find(t, e->tid);
    if (e->change == THREAD_START && th && !th->alive)
        th = NULL; /* the number is used again */
    if (!th && !(th = make(t, e->tid, e->tgid)))
        return false;
    th->tgid = e->tgid;
    if (e->parent_tgid)
        th->parent_tgid = e->parent_tgid;
    th->job |= e->job;
    if (e->name[0])
        str_copy(th->name, sizeof(th->name), e->name);
    if (e->change == THREAD_START) {
        th->start = e->t;
        th->known_since = e->t;
    } else if (e->change == THREAD_EXEC) {
        th->exec = e->t;
    } else if (e->change == THREAD_EXIT) {
        th->alive = false;
        th->exit = e->t;
    }
    return true;
}

/* A client that connects anew for each request shows its nature only over all its connections. */
static bool add_to_peer(struct threads *t, uint32_t resource, uint64_t rx, uint64_t tx)
{
    uint64_t got = 0, gave = 0;
    map_get(&t->peer_rx, resource, &got);
    map_get(&t->peer_tx, resource, &gave);
    return map_put(&t->peer_rx, resource, got + rx) && map_put(&t->peer_tx, resource, gave + tx);
}

bool threads_closed(struct threads *t, const struct event_closed *e)
{
    uint64_t index;
    if (!map_get(&t->sockets, e->channel, &index)) {
        if (!mem_grow((void **)&t->totals, &t->total_cap, t->total_count + 1, sizeof(*t->totals)))
            return false;
        index = t->total_count;
        if (!map_put(&t->sockets, e->channel, index))
            return false;
        t->totals[t->total_count++] = (struct socket_total){0};
    }
    struct socket_total *s = &t->totals[index];
    uint64_t rx = e->rx_bytes > s->rx ? e->rx_bytes - s->rx : 0;
    uint64_t tx = e->tx_bytes > s->tx ? e->tx_bytes - s->tx : 0;
    s->rx += rx;
    s->tx += tx;
    return !e->resource || add_to_peer(t, e->resource, rx, tx);
}

static uint64_t pair_key(uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

static bool remember_end(struct threads *t, uint32_t end[2], uint32_t tgid)
{
    if (!end[0])
        end[0] = tgid;
    if (end[0] == tgid || end[1])
        return true;
    end[1] = tgid;
    return map_put(&t->joined, pair_key(end[0], tgid), 1);
}

static bool remember_socket(struct threads *t, const struct event_wait *e)
{
    const struct event_closed so_far = {e->t_in, e->channel, e->resource, e->rx_bytes, e->tx_bytes};
    uint64_t index;
    return threads_closed(t, &so_far) && (!map_get(&t->sockets, e->channel, &index) ||
                                          remember_end(t, t->totals[index].end, e->tgid));
}

const struct thread *threads_launcher(const struct threads *t, uint32_t tgid)
{
    uint64_t tid;
    return map_get(&t->launchers, tgid, &tid) ? threads_find(t, (uint32_t)tid) : NULL;
}

bool threads_launch(struct threads *t, struct thread *th)
{
    if (th->launches)
        return true;
    th->launches = true;
    const struct thread *first = threads_launcher(t, th->tgid);
    if (first && first->alive && first->tgid == th->tgid)
        return true;
    return map_put(&t->launchers, th->tgid, th->tid);
}

const struct thread *threads_rank(const struct threads *t, uint64_t channel, uint32_t tgid)
{
    uint64_t index;
    if (!channel || !map_get(&t->sockets, channel, &index))
        return NULL;
    const uint32_t *end = t->totals[index].end;
    if (end[0] != tgid && end[1] != tgid)
        return NULL;
    uint32_t other = end[0] == tgid ? end[1] : end[0];
    return other ? threads_launcher(t, other) : NULL;
}

void threads_socket(const struct threads *t, const struct event_wait *w, uint64_t *rx, uint64_t *tx)
{
    uint64_t index;
    *rx = w->rx_bytes;
    *tx = w->tx_bytes;
    if (w->resource && map_get(&t->peer_rx, w->resource, rx)) {
        map_get(&t->peer_tx, w->resource, tx);
        return;
    }
    if (w->channel && map_get(&t->sockets, w->channel, &index)) {
        *rx = t->totals[index].rx;
        *tx = t->totals[index].tx;
    }
}

static bool remember_wake(struct threads *t, const struct event_wait *e)
{
    struct thread *by = threads_get(t, e->waker_tid, e->waker_tgid);
    if (!by || !mem_grow((void **)&by->wakes.item, &by->wakes.cap, by->wakes.count + 1,
                         sizeof(*by->wakes.item)))
        return false;
    struct wake w = {e->t_wake, e->t_wake - e->t_out, e->tid, e->tgid,
                     (e->flags & WAIT_TIMED) != 0};
    size_t i = by->wakes.count++;
    /* reports come in order of t_in: keep the few that overtook each other sorted */
    for (; i > by->wakes.first && by->wakes.item[i - 1].t > w.t; i--)
        by->wakes.item[i] = by->wakes.item[i - 1];
    by->wakes.item[i] = w;
    return true;
}

bool threads_wait(struct threads *t, const struct event_wait *e)
{
    struct thread *th = threads_get(t, e->tid, e->tgid);
    if (!th || !mem_grow((void **)&th->waits.item, &th->waits.cap, th->waits.count + 1,
                         sizeof(*th->waits.item)))
        return false;
    if (th->known_since == INT64_MIN)
        th->known_since = e->t_out;
    if (th->waits.count > th->waits.first && th->waits.item[th->waits.count - 1].t_in > e->t_out) {
        struct event_wait *last = &th->waits.item[th->waits.count - 1];
        if (last->flags & WAIT_OPEN_END) { /* the whole of what was told in part */
            t->waits_held--;
            th->waits.count--;
        } else if (last->t_in > e->t_in) {
            return true; /* out of order: a source's fault, the earlier word stays */
        }
    }
    th->waits.item[th->waits.count++] = *e;
    t->waits_held++;
    t->sampled |= (e->flags & WAIT_SAMPLED) != 0;
    if (e->target == TARGET_SOCKET && e->channel && !remember_socket(t, e))
        return false;
    return !e->waker_tid || (e->flags & WAIT_WAKER_IRQ) || remember_wake(t, e);
}

bool threads_call(struct threads *t, const struct event_call *e)
{
    struct thread *th = threads_get(t, e->tid, e->pid);
    if (!th || !mem_grow((void **)&th->calls.item, &th->calls.cap, th->calls.count + 1,
                         sizeof(*th->calls.item)))
        return false;
    th->calls.item[th->calls.count++] = *e;
    return true;
}

bool threads_op(struct threads *t, const struct event_op *e)
{
    struct thread *th = threads_get(t, e->tid, e->pid);
    t->foreign = true;
    t->awaits |= e->awaits_device;
    return th && ops_push(&th->ops[e->kind], e);
}

bool threads_made_for(const struct threads *t, const struct thread *y, uint32_t tgid)
{
    if (y->parent_tgid == tgid)
        return true;
    const struct thread *p = threads_find(t, y->parent_tgid),
                        *main_thread = threads_find(t, y->tgid);
    return p && p->parent_tgid == tgid && p->exec != INT64_MIN && !p->launches && main_thread &&
           main_thread->exec == INT64_MIN && !map_get(&t->makers, p->tgid, NULL);
}

void threads_set_maker(struct threads *t, const struct thread *maker, const struct thread *hop)
{
    map_put(&t->makers, maker->tgid, (uint64_t)maker->tid << 32 | hop->tid); /* a memo: may fail */
}

bool threads_maker(const struct threads *t, uint32_t tgid, const struct thread **ret_maker,
                   const struct thread **ret_hop)
{
    uint64_t pair;
    if (!map_get(&t->makers, tgid, &pair))
        return false;
    *ret_maker = threads_find(t, (uint32_t)(pair >> 32));
    *ret_hop = threads_find(t, (uint32_t)pair);
    return *ret_maker && *ret_hop;
}

bool threads_joined(const struct threads *t, uint32_t tgid, const struct thread *y)
{
    uint64_t tid;
    return y->tgid != tgid && map_get(&t->launchers, y->tgid, &tid) && tid == y->tid &&
           map_get(&t->joined, pair_key(tgid, y->tgid), NULL);
}

static uint64_t writer_key(uint64_t channel, uint32_t tgid)
{
    return channel * UINT64_C(0x9e3779b97f4a7c15) ^ tgid;
}

bool threads_hold_channel(struct threads *t, const struct event_channel *e)
{
    uint64_t key = writer_key(e->channel, e->tgid);
    if (!e->channel) /* unknown: it says nothing about other waits of that kind */
        return true;
    if (!e->writer) {
        map_remove(&t->writers, key);
        return true;
    }
    return map_put(&t->channels, e->channel, 1) && map_put(&t->writers, key, 1);
}

bool threads_channel_known(const struct threads *t, uint64_t channel)
{
    return map_get(&t->channels, channel, NULL);
}

bool threads_writes(const struct threads *t, uint64_t channel, uint32_t tgid)
{
    return map_get(&t->writers, writer_key(channel, tgid), NULL);
}

size_t waits_after(const struct waits *w, int64_t t)
{
    return SEARCH_AFTER(w, t_in, t);
}

size_t calls_after(const struct calls *c, int64_t t)
{
    return SEARCH_AFTER(c, t1, t);
}

/* Moves the live part to the front once more than half is dead. */
#define COMPACT(q)                                                                                 \
    do {                                                                                           \
        if ((q).first > 64 && (q).first * 2 > (q).count) {                                         \
            memmove((q).item, (q).item + (q).first, ((q).count - (q).first) * sizeof(*(q).item));  \
            (q).count -= (q).first;                                                                \
            (q).first = 0;                                                                         \
        }                                                                                          \
    } while (0)

static size_t trim_thread(struct thread *th, int64_t horizon)
{
    size_t keep = waits_after(&th->waits, horizon), dropped = keep - th->waits.first;
    if (dropped && th->known_since < horizon)
        th->known_since = horizon;
    th->waits.first = keep;
    while (th->wakes.first < th->wakes.count && th->wakes.item[th->wakes.first].t < horizon)
        th->wakes.first++;
    th->calls.first = calls_after(&th->calls, horizon);
    for (int i = 0; i < OP_KINDS; i++)
        ops_trim(&th->ops[i], horizon);
    COMPACT(th->waits);
    COMPACT(th->wakes);
    COMPACT(th->calls);
    return dropped;
}

static void drop_dead(struct threads *t, int64_t horizon)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        struct thread *th = t->list[i];
        uint64_t index;
        bool newest = map_get(&t->by_tid, th->tid, &index) && index == i + 1;
        if (!th->alive && th->exit < horizon) {
            if (newest)
                map_remove(&t->by_tid, th->tid);
            t->waits_held -= th->waits.count - th->waits.first;
            thread_free(th);
            continue;
        }
        if (newest)
            map_put(&t->by_tid, th->tid, kept + 1); /* the key is there: cannot fail */
        t->list[kept++] = th;
    }
    t->count = kept;
}

static void trim_to(struct threads *t, int64_t horizon)
{
    for (size_t i = 0; i < t->count; i++)
        t->waits_held -= trim_thread(t->list[i], horizon);
}

void threads_lose(struct threads *t, int64_t t0, int64_t t1)
{
    struct spell *last = t->lost_count ? &t->lost[(t->lost_count - 1) % THREADS_SPELLS] : NULL;
    if (last && t0 <= last->t1)
        last->t1 = later(last->t1, t1);
    else
        t->lost[t->lost_count++ % THREADS_SPELLS] = (struct spell){t0, t1};
}

bool threads_lost(const struct threads *t, int64_t t0, int64_t t1)
{
    for (size_t i = 0; i < t->lost_count && i < THREADS_SPELLS; i++)
        if (overlap(t->lost[i].t0, t->lost[i].t1, t0, t1))
            return true;
    return false;
}

void threads_trim(struct threads *t, int64_t horizon)
{
    drop_dead(t, horizon);
    trim_to(t, horizon);
    if (t->waits_held <= THREADS_WAITS_MAX)
        return;
    /* still too many: forget the older half of the busiest threads */
    for (size_t i = 0; i < t->count; i++) {
        struct waits *w = &t->list[i]->waits;
        size_t live = w->count - w->first;
        if (live * t->count <= THREADS_WAITS_MAX)
            continue;
        size_t dropped = trim_thread(t->list[i], w->item[w->first + live / 2].t_in);
        t->waits_held -= dropped;
        t->forgotten += dropped;
    }
}

const struct event_call *calls_over(const struct calls *c, int64_t t)
{
    size_t i = calls_after(c, t);
    return i < c->count && c->item[i].t0 <= t ? &c->item[i] : NULL;
}
