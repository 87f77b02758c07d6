/* SPDX-License-Identifier: MIT */
#include "ledger/pieces.h"

#include "base/unit.h"
#include "ledger/direct.h"

/* CPU time between two waits on the same thing is the reading itself when it is as short as this, or
 * as this part of the longer of the two: what a client does to ask again grows with what it asks. */
#define READ_CPU_NS (300 * NS_PER_US)
#define READ_CPU_MOST_NS (1 * NS_PER_MS)
#define READ_CPU_PART 20
#define PREEMPTED_MAX 16 /* between the two waits */

struct going {
    const struct walk *k;
    const struct thread *x;
    int64_t at, end;
    piece_fn fn;
    void *arg;
};

static void piece(struct going *g, int64_t to, struct piece p)
{
    to = to < g->end ? to : g->end;
    p.ns = to - g->at;
    if (to <= g->at)
        return;
    g->at = to;
    g->fn(g->arg, &p);
}

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t reading_cpu(const struct event_wait *before, const struct event_wait *w)
{
    int64_t ns = longer(before->t_wake - before->t_out, w->t_wake - w->t_out) / READ_CPU_PART;
    return longer(ns < READ_CPU_MOST_NS ? ns : READ_CPU_MOST_NS, READ_CPU_NS);
}

/* The wait i, or the next one that is more than a lack of a core; *without: adds what those lacked. */
static const struct event_wait *blocked_from(const struct waits *ws, size_t i, int64_t *without)
{
    for (int n = 0; n < PREEMPTED_MAX && i < ws->count; n++, i++) {
        const struct event_wait *w = &ws->item[i];
        if (w->target != TARGET_CORE)
            return w;
        *without += w->t_in - w->t_out;
    }
    return NULL;
}

/* Is the CPU time before wait i part of one read, which goes on from `before`? `without` a core: since
 * then. Then what is read. */
static const struct event_wait *reads_on(const struct going *g, const struct event_wait *before,
                                         size_t i, int64_t without)
{
    const struct event_wait *w = before ? blocked_from(&g->x->waits, i, &without) : NULL;
    if (!w || !w->resource || before->resource != w->resource ||
        w->t_out - before->t_in - without > reading_cpu(before, w))
        return NULL;
    enum cause c = direct_cause(g->k->threads, g->x, w);
    return (c == CAUSE_STORAGE || c == CAUSE_NETWORK) &&
                   direct_cause(g->k->threads, g->x, before) == c
               ? w
               : NULL;
}

void pieces_of(const struct walk *k, const struct thread *x, int64_t t0, int64_t t1, piece_fn fn,
               void *arg)
{
    struct going g = {k, x, t0, t1, fn, arg};
    const struct waits *ws = &x->waits;
    const struct event_wait *before = NULL;
    int64_t without = 0; /* a core, since `before` */
    for (size_t i = waits_after(ws, t0); i < ws->count && ws->item[i].t_out < t1; i++) {
        const struct event_wait *w = &ws->item[i], *reads = reads_on(&g, before, i, without);
        enum cause c = direct_cause(k->threads, x, w);
        struct piece on = {.cause = (uint8_t)c, .resource = w->resource, .wait = w};
        struct piece cpu = {.cpu = !reads}, starved = {.cause = CAUSE_CPU_STARVED, .wait = w};
        if (reads)
            cpu = (struct piece){.cause = (uint8_t)direct_cause(k->threads, x, reads),
                                 .resource = reads->resource,
                                 .wait = reads};
        piece(&g, w->t_out, cpu);
        piece(&g, w->t_wake, on);
        bool hidden = c == CAUSE_NETWORK && w->t_in - g.at < PIECES_HIDDEN_NS;
        piece(&g, w->t_in, hidden ? on : starved);
        without = w->target == TARGET_CORE ? without + w->t_in - w->t_out : 0;
        before = w->target == TARGET_CORE ? before : w;
    }
    piece(&g, t1, (struct piece){.cpu = true});
}
