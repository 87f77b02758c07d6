/* SPDX-License-Identifier: MIT */
#include "ledger/pieces.h"

#include "base/unit.h"

/* CPU time between two waits on the same thing is the reading itself when it is as short as this, or
 * as this part of the wait that it leads to: what a client does to ask again grows with what it asks. */
#define READ_CPU_NS (300 * NS_PER_US)
#define READ_CPU_MOST_NS (1 * NS_PER_MS)
#define READ_CPU_PART 25
/* While bytes of a collective are in flight, a wake-up as late as this costs nothing. */
#define HIDDEN_NS (2 * NS_PER_MS)

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

static int64_t reading_cpu(const struct event_wait *w)
{
    int64_t ns = (w->t_wake - w->t_out) / READ_CPU_PART;
    ns = ns < READ_CPU_MOST_NS ? ns : READ_CPU_MOST_NS;
    return ns > READ_CPU_NS ? ns : READ_CPU_NS;
}

/* Is the CPU time between the two waits part of one read? */
static bool reads_on(const struct going *g, const struct event_wait *before,
                     const struct event_wait *w, enum cause c)
{
    return before && w->resource && before->resource == w->resource &&
           w->t_out - before->t_in <= reading_cpu(w) && (c == CAUSE_STORAGE || c == CAUSE_NETWORK) &&
           walk_direct(g->k, g->x, before) == c;
}

void pieces_of(const struct walk *k, const struct thread *x, int64_t t0, int64_t t1, piece_fn fn,
               void *arg)
{
    struct going g = {k, x, t0, t1, fn, arg};
    const struct waits *ws = &x->waits;
    const struct event_wait *before = NULL;
    for (size_t i = waits_after(ws, t0); i < ws->count && ws->item[i].t_out < t1; i++) {
        const struct event_wait *w = &ws->item[i];
        enum cause c = walk_direct(k, x, w);
        struct piece on = {.cause = (uint8_t)c, .resource = w->resource, .wait = w};
        struct piece cpu = {.cpu = true}, starved = {.cause = CAUSE_CPU_STARVED, .wait = w};
        piece(&g, w->t_out, reads_on(&g, before, w, c) ? on : cpu);
        piece(&g, w->t_wake, on);
        bool hidden = c == CAUSE_NETWORK && w->t_in - g.at < HIDDEN_NS;
        piece(&g, w->t_in, hidden ? on : starved);
        before = w;
    }
    piece(&g, t1, (struct piece){.cpu = true});
}
