/* SPDX-License-Identifier: MIT */
#include "ledger/walk.h"

#include "ledger/answer.h"
#include "ledger/crowd.h"
#include "ledger/pieces.h"
#include "ledger/relay.h"

#define POOLS_MAX 12
/* A first turn is compared with this many that follow. */
#define TURNS_AFTER 3

/* What one other thread's wakes ended, within one turn. */
struct pool {
    uint32_t tid;
    int64_t ns, first, last; /* summed waits, when the first began, time of the last wake */
    int waits;
    struct shares parts;
    struct chain_links links;
};

struct making {
    const struct walk *k;
    const struct thread *x;
    int64_t t0, t1;
    int64_t cpu;
    int64_t brief_cpu, brief_starved; /* in pieces too short to show while bytes are in flight */
    int64_t nobody;                   /* waits on a queue or lock with no waker known */
    int64_t for_end,
        for_child; /* sampled waits for a child to end, and that one could have ended */
    struct pool pool[POOLS_MAX];
    int pools, pieces;
    enum cause nobody_cause;
    struct shares *out;
};

void walk_init(struct walk *k, const struct threads *threads, const struct intern *names,
               const struct thread *root)
{
    *k = (struct walk){.threads = threads, .names = names, .root = root, .depth = 1};
    k->chain[0] = root;
}

static struct pool *pool_of(struct making *m, uint32_t tid)
{
    for (int i = 0; i < m->pools; i++)
        if (m->pool[i].tid == tid)
            return &m->pool[i];
    if (m->pools == POOLS_MAX)
        return NULL;
    struct pool *p = &m->pool[m->pools++];
    p->tid = tid;
    p->ns = 0;
    p->last = INT64_MIN;
    p->waits = 0;
    p->parts.count = 0;
    p->links.threads = m->k->links ? m->k->links->threads : NULL;
    p->links.count = 0;
    return p;
}

/* Samples do not tell which process ended this wait: could a child of a worker's have? */
static bool awaits_child(const struct making *m, const struct piece *p)
{
    const struct event_wait *w = p->wait;
    if (!(w->flags & WAIT_SAMPLED) || w->waker_tid || m->x->tgid == m->k->root->tgid ||
        p->cause == CAUSE_CPU_STARVED)
        return false;
    return (w->target == TARGET_CHILD || p->cause == CAUSE_NONE) && crowd_awaits_child(m->k, w);
}

/* Children that nobody saw may have done anything. */
static void take_children(struct making *m)
{
    if (m->for_child && !crowd_children(m->k, m->x, m->for_child, m->t0, m->t1, m->out))
        shares_add(m->out, CAUSE_UNKNOWN, 0, m->for_child);
}

static bool in_chain(const struct walk *k, const struct thread *th)
{
    for (int i = 0; i < k->depth; i++)
        if (k->chain[i] == th)
            return true;
    return false;
}

/* Did it wait, in the midst of what it wrote, for one that waits for it in its turn? That had enough to do: it
 * is no part of the making. Room in a loader's own queue is (turn.c). */
static bool waited_for_room(const struct making *m, const struct event_wait *w)
{
    return w->flags & WAIT_ROOM && w->waker_tid != m->k->root->tid &&
           in_chain(m->k, threads_find(m->k->threads, w->waker_tid));
}

/* One piece of what the thread that is composed did. */
static void take_piece(void *arg, const struct piece *p)
{
    struct making *m = arg;
    const struct event_wait *w = p->wait;
    m->pieces++;
    int64_t brief = p->ns < PIECES_HIDDEN_NS ? p->ns : 0;
    if (p->cpu) {
        m->cpu += p->ns;
        m->brief_cpu += brief;
        return;
    }
    m->brief_starved += p->cause == CAUSE_CPU_STARVED ? brief : 0;
    if (awaits_child(m, p)) {
        m->for_child += p->ns;
        return;
    }
    if (p->cause != CAUSE_NONE) {
        shares_add(m->out, (enum cause)p->cause, p->cause == CAUSE_CPU_STARVED ? 0 : p->resource,
                   p->ns);
        return;
    }
    if (waited_for_room(m, w))
        return;
    struct pool *pool = NULL;
    if (w->waker_tid && !(w->flags & WAIT_WAKER_IRQ))
        pool = pool_of(m, w->waker_tid);
    if (pool) {
        pool->ns += p->ns;
        pool->first = pool->waits++ ? pool->first : w->t_out;
        pool->last = w->t_wake;
    } else {
        m->nobody += p->ns;
        m->nobody_cause = w->target == TARGET_FUTEX ? CAUSE_LOCK : CAUSE_UNKNOWN;
    }
}

static void compose(struct walk *, const struct thread *, int64_t, int64_t, struct shares *);

/* What the waits that `p` ended were for. */
static void follow(struct walk *k, struct making *m, struct pool *p)
{
    const struct thread *y = threads_find(k->threads, p->tid);
    if (y && in_chain(k, y)) {
        shares_add(&p->parts, CAUSE_LOCK, 0, 1);
        return;
    }
    if (!y || k->depth == WALK_DEPTH_MAX || k->pieces > WALK_PIECES_MAX)
        return;
    struct chain_links *links = k->links;
    k->links = links ? &p->links : NULL;
    k->chain[k->depth++] = m->x;
    if (y->tgid == m->x->tgid && y->tgid != k->root->tgid)
        p->last = turn_put(y, m->x, p->last);
    if (y->tgid == m->x->tgid && y->tgid == k->root->tgid &&
        p->waits > 1) /* a collective's pieces */
        compose(k, y, p->first > m->t0 ? p->first : m->t0, p->last, &p->parts);
    else if (!walk_turn(k, y, m->x, p->last, &p->parts))
        p->parts.count = 0;
    k->depth--;
    k->links = links;
}

static enum cause cpu_cause(const struct walk *k, const struct making *m)
{
    if (threads_lost(k->threads, m->t0, m->t1))
        return CAUSE_UNKNOWN;
    if (m->x->launches)
        return CAUSE_HOST;
    if (m->x->tgid == k->root->tgid &&
        shares_of(m->out, CAUSE_NETWORK) + shares_of(m->out, CAUSE_LATE_PEER) > 0)
        return CAUSE_COLLECTIVE;
    return CAUSE_PREPARE;
}

/*
 * A thread of a collective that mostly waited for the network: what it did between two of those waits
 * went on while bytes were in flight, unless it took long. What of it counts as network is left out of
 * m->cpu.
 */
static void hide_in_network(const struct walk *k, struct making *m)
{
    uint32_t peer;
    if (m->x == k->root || m->x->tgid != k->root->tgid || m->x->launches ||
        !shares_mostly(m->out, CAUSE_NETWORK, m->cpu, &peer))
        return;
    int64_t starved = shares_take(m->out, CAUSE_CPU_STARVED, m->brief_starved);
    shares_add(m->out, CAUSE_NETWORK, peer, starved + m->brief_cpu);
    m->cpu -= m->brief_cpu;
}

/* The longest part of this turn, in words, and what lies behind it. */
static void tell(struct walk *k, const struct making *m)
{
    const struct pool *most = NULL;
    int i = shares_largest(m->out);
    for (int p = 0; p < m->pools; p++)
        if (!most || m->pool[p].ns > most->ns)
            most = &m->pool[p];
    if (most && most->links.count && (i < 0 || most->ns * 2 > m->t1 - m->t0)) {
        char who[64] = "another thread";
        const struct thread *y = threads_find(k->threads, most->tid);
        if (y)
            chain_who(k->links, y, who, sizeof(who));
        chain_tell(k->links, m->x, most->ns, "waited for %s", who);
        chain_append(k->links, &most->links);
        return;
    }
    if (i >= 0)
        chain_tell_did(k->links, m->x, "", &m->out->part[i], k->names);
}

/* Composes [t0, t1) of x into *out; what another thread ended is followed. */
static void compose(struct walk *k, const struct thread *x, int64_t t0, int64_t t1,
                    struct shares *out)
{
    struct making m;
    m.k = k;
    m.x = x;
    m.t0 = t0;
    m.t1 = t1;
    m.cpu = m.brief_cpu = m.brief_starved = 0;
    m.nobody = m.for_child = 0;
    m.nobody_cause = CAUSE_UNKNOWN;
    m.pools = 0;
    m.out = out;
    m.pieces = 0;
    pieces_of(k, x, t0, t1, take_piece, &m);
    k->pieces += m.pieces;
    take_children(&m);
    struct maker made = {.thread = NULL};
    for (int i = 0; i < m.pools; i++) {
        k->maker.thread = NULL;
        follow(k, &m, &m.pool[i]);
        if (k->maker.thread && m.pool[i].ns * 2 > t1 - t0)
            made = k->maker; /* most of this turn was waiting for it */
        /* time-outs of the same queue belong to what came at last */
        int64_t share = i == m.pools - 1 ? m.nobody : 0;
        shares_add_scaled(out, &m.pool[i].parts, m.pool[i].ns + share);
        m.nobody -= share;
    }
    hide_in_network(k, &m);
    k->maker = made;
    k->own_cpu = m.cpu;
    shares_add(out, m.nobody_cause, 0, m.nobody);
    shares_add(out, cpu_cause(k, &m), 0, m.cpu);
    if (k->links)
        tell(k, &m);
}

static const struct share *part_of(const struct shares *s, const struct share *like)
{
    for (int i = 0; i < s->count; i++)
        if (s->part[i].cause == like->cause && s->part[i].resource == like->resource)
            return &s->part[i];
    return NULL;
}

/* The turns of x after `t`, up to TURNS_AFTER of them, each from the work that it was given for it;
 * returns their number. */
static int compose_next(struct walk *k, const struct thread *x, const struct thread *consumer,
                        int64_t t, struct shares next[TURNS_AFTER])
{
    struct chain_links *links = k->links;
    struct maker maker = k->maker;
    int n = 0;
    k->links = NULL;
    for (; n < TURNS_AFTER; n++) {
        struct turn turn;
        int64_t end = turn_next(x, consumer, t);
        if (end == INT64_MAX ||
            !relay_turn(k->threads, x, consumer, k->chain, k->depth, end, &turn))
            break;
        next[n].count = 0;
        compose(k, x, turn.t0 > t ? turn.t0 : t, end, &next[n]);
        t = end;
    }
    k->links = links;
    k->maker = maker;
    return n;
}

/*
 * A first turn holds the worker's own start: interpreter, imports, connections.
 * What exceeds the shortest of its next turns is startup (a turn may hold more than one delivery
 * that nobody waited for); where no next turn is known, all CPU time is (a store that was read
 * stays storage, files that were written a checkpoint).
 */
static void split_startup(struct walk *k, const struct thread *x, const struct thread *consumer,
                          const struct turn *turn, struct shares *s)
{
    struct shares next[TURNS_AFTER], now = *s;
    if (!x->alive && x->exit < turn->t1 + ENDED_NS)
        return; /* made for this one thing: all of it was the work that was awaited */
    int turns = compose_next(k, x, consumer, turn->t1, next);
    for (int i = 0; i < now.count; i++) {
        const struct share *p = &now.part[i];
        int64_t usual = turns ? INT64_MAX : 0;
        bool known = false;
        for (int n = 0; n < turns; n++) {
            const struct share *q = part_of(&next[n], p);
            known |= q != NULL;
            usual = q && q->ns < usual ? q->ns : q ? usual : 0;
        }
        if (p->cause == CAUSE_STARTUP || p->cause == CAUSE_CPU_STARVED ||
            p->cause == CAUSE_CHECKPOINT || (p->cause == CAUSE_STORAGE && (known || !turns)))
            continue;
        if (p->ns > usual)
            shares_move(s, (enum cause)p->cause, CAUSE_STARTUP, p->ns - usual);
    }
}

/* A thread that was made during the turn continues the work of its process's main thread; false:
 * not of a thread that is known to have worked on this. */
static bool add_creator(struct walk *k, const struct thread *x, const struct thread *consumer,
                        struct turn *turn, struct shares *s)
{
    const struct thread *creator = threads_find(k->threads, x->tgid);
    struct turn before;
    if (!creator || creator == x || in_chain(k, creator) || k->depth == WALK_DEPTH_MAX)
        return false;
    if (!relay_turn(k->threads, creator, x, k->chain, k->depth, x->start, &before) ||
        before.t1 <= before.t0)
        return false;
    before.t1 = x->start;
    if (before.first) /* the hand-over's own start belongs to the process's */
        shares_move(s, CAUSE_PREPARE, CAUSE_STARTUP, k->own_cpu);
    struct shares made;
    shares_clear(&made);
    compose(k, creator, before.t0, before.t1, &made);
    if (before.first)
        split_startup(k, creator, x, &before, &made);
    k->maker = (struct maker){creator,      x,           before.t0, before.t1, before.idle_ns,
                              before.first, before.born, made};
    shares_add_scaled(s, &made, before.t1 - before.t0);
    return true;
}

static bool only_answered(const struct walk *k, const struct thread *x, const struct turn *turn)
{
    return x->tgid != k->root->tgid && answer_only(x, turn);
}

/* The delivery of x's process that ended a wait of `consumer`, last in the chain, at `t`; see
 * walk_delivery. *ret_own: it is of x's process as the wakes tell, no answer's. */
static bool deliver(struct walk *k, const struct thread *x, const struct thread *consumer,
                    int64_t t, struct shares *ret, bool *ret_own)
{
    const struct thread *maker, *hop;
    struct turn turn;
    *ret_own = false;
    if (!relay_turn(k->threads, x, consumer, k->chain, k->depth, t, &turn))
        return false;
    const struct thread *y =
        only_answered(k, x, &turn) ? answer_follows(k->threads, x, consumer, t, &t) : NULL;
    if (y) {
        x = y;
        if (!relay_turn(k->threads, x, consumer, k->chain, k->depth, t, &turn))
            return false;
    }
    if (k->depth < WALK_DEPTH_MAX && only_answered(k, x, &turn) &&
        answer_maker(k->threads, x, &maker, &hop)) {
        k->chain[k->depth++] = hop;
        bool ok = walk_turn(k, maker, hop, turn_put(maker, hop, t), ret);
        k->depth--;
        return ok;
    }
    *ret_own = true;
    if (consumer == k->root && turn.source && x->tgid == k->root->tgid)
        k->relay = x;
    walk_made(k, x, consumer, &turn, ret);
    return true;
}

/* The making of what x, a relay, handed on at the end of this turn; *ret_y: a thread of who made it. */
static bool made_for_relay(struct walk *k, const struct thread *x, const struct turn *turn,
                           struct shares *ret, const struct thread **ret_y)
{
    const struct event_wait *w = turn->source;
    const struct thread *hop;
    int64_t put;
    bool own;
    if (w) {
        *ret_y = threads_find(k->threads, w->waker_tid);
        return *ret_y && !in_chain(k, *ret_y) && deliver(k, *ret_y, x, w->t_wake, ret, &own);
    }
    if (x->tgid != k->root->tgid || x == k->root || k->depth == WALK_DEPTH_MAX ||
        !relay_found(k->threads, x, turn->t1, ret_y, &hop, &put) || in_chain(k, *ret_y))
        return false;
    k->chain[k->depth++] = hop;
    bool known = walk_turn(k, *ret_y, hop, put, ret);
    k->depth--;
    return known;
}

/* What a relay hands on was made beside its own turn: the whole making counts, not the little of it that
 * the relay waited for. Other ranks make nothing that is handed on. */
static void add_source(struct walk *k, const struct thread *x, const struct turn *turn,
                       struct shares *s)
{
    const struct thread *y;
    struct shares made;
    int64_t waited = 0;
    shares_clear(&made);
    if (k->depth == WALK_DEPTH_MAX)
        return;
    struct maker maker = k->maker;
    struct chain_links *links = k->links;
    k->links = NULL;
    k->chain[k->depth++] = x;
    bool known = made_for_relay(k, x, turn, &made, &y) && !threads_launcher(k->threads, y->tgid);
    k->depth--;
    k->links = links;
    k->maker = maker;
    for (size_t i = waits_after(&x->waits, turn->t0);
         known && i < x->waits.count && x->waits.item[i].t_in <= turn->t1; i++)
        if (x->waits.item[i].waker_tgid == y->tgid)
            waited += x->waits.item[i].t_wake - x->waits.item[i].t_out;
    if (known && shares_total(&made) > waited)
        shares_add_scaled(s, &made, shares_total(&made) - waited);
}

/* Deepest thread of the delivering process that makes up most of the delivery. */
static void remember_maker(struct walk *k, const struct thread *x, const struct thread *hop,
                           const struct turn *turn, const struct shares *parts, bool inner)
{
    if (k->maker.thread && inner)
        return;
    k->maker =
        (struct maker){x, hop, turn->t0, turn->t1, turn->idle_ns, turn->first, turn->born, *parts};
}

void walk_made(struct walk *k, const struct thread *x, const struct thread *consumer,
               const struct turn *turn, struct shares *ret)
{
    struct shares parts;
    shares_clear(&parts);
    struct turn made = *turn;
    bool follows_maker = k->depth > 1 && k->chain[k->depth - 1]->tgid == x->tgid;
    struct maker outer = k->maker;
    k->maker.thread = NULL;
    compose(k, x, made.t0, made.t1, &parts);
    if (x->tid == x->tgid && x->tgid != k->root->tgid)
        k->maker.thread = NULL; /* what helped a worker's main thread made a part of it only */
    add_source(k, x, &made, &parts);
    /* a thread that waited for another to make this started long before its first wake */
    bool own = !k->maker.thread;
    bool continued =
        own && made.from_start && x->tid != x->tgid && add_creator(k, x, consumer, &made, &parts);
    if (made.first && own && !continued)
        split_startup(k, x, consumer, &made, &parts);
    bool inner_made_it = k->maker.thread && k->maker.thread->tgid == x->tgid;
    remember_maker(k, x, consumer, &made, &parts, inner_made_it);
    if (!follows_maker && outer.thread)
        k->maker = outer;
    shares_add_scaled(ret, &parts, shares_total(&parts));
}

bool walk_turn(struct walk *k, const struct thread *x, const struct thread *consumer, int64_t t,
               struct shares *ret)
{
    struct turn turn;
    if (!relay_turn(k->threads, x, consumer, k->chain, k->depth, t, &turn))
        return false;
    walk_made(k, x, consumer, &turn, ret);
    return true;
}

bool walk_delivery(struct walk *k, struct threads *makers, const struct thread *x, int64_t t,
                   struct shares *ret)
{
    bool own;
    k->pieces = 0;
    k->relay = NULL;
    if (!deliver(k, x, k->root, t, ret, &own))
        return false;
    const struct thread *maker = k->maker.thread;
    struct thread *relay = k->relay ? threads_find(makers, k->relay->tid) : NULL;
    if (relay)
        relay->relays = true;
    if (own && maker && maker->tgid == x->tgid && x->tgid != k->root->tgid && maker != x)
        threads_set_maker(makers, maker, k->maker.hop);
    return true;
}
