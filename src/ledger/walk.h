/* SPDX-License-Identifier: MIT */
/*
 * walk: the share rule. What a thread waited for is shared out over the whole
 * making of what was delivered, not over the instant of the wait.
 *
 * A *turn* of worker X for consumer C ends with a wake from X to C (its first
 * wake, where one delivery is a burst of wakes) and begins with X's previous
 * delivery to C or with the end of X's last wait for work from the consumer's
 * process, whichever is later; with X's own start at the earliest.
 *
 * walk_turn composes a turn: time on a core is `prepare` (`host` for threads that
 * launch, `collective` beside network waits of the launching process), runnable time is
 * `cpu-starved`, waits on files, faults and sockets are decided by what they waited on,
 * and a wait that another thread ended is that thread's turn in its turn.
 *
 * doc/ARCHITECTURE.md, "Shares", has worked examples.
 */
#ifndef GPUFEED_LEDGER_WALK_H
#define GPUFEED_LEDGER_WALK_H

#include "base/unit.h"
#include "ledger/shares.h"
#include "ledger/chain.h"
#include "ledger/thread.h"

#define WALK_DEPTH_MAX 8
#define WALK_PIECES_MAX 10000 /* of one delivery; what lies beyond is unknown */
/* A process that ended this soon after its first delivery was made for it alone. */
#define ENDED_NS (50 * NS_PER_MS)
/* Samples tell that a thread was made up to this much before it was. */
#define START_EARLY_NS (10 * NS_PER_MS)

/* The turn of the thread that made what was delivered: input of plan/replay. */
struct maker {
    const struct thread *thread; /* NULL: not found */
    const struct thread *hop;    /* whom it woke with it */
    int64_t t0, t1;              /* the turn */
    int64_t idle_ns;             /* its wait for work before t0 */
    bool first;                  /* its first turn */
    int64_t born; /* first: when the thread was made; up to the wait before t0 it started */
    /* add up to t1 - t0; of a thread that hands on, to more: see turn.source */
    struct shares parts;
};

struct walk {
    const struct threads *threads;
    const struct intern *names;                 /* resources */
    const struct thread *root;                  /* the launching thread */
    const struct thread *chain[WALK_DEPTH_MAX]; /* root first */
    int depth;
    int pieces; /* composed since walk_init or the last delivery: threads can wake each other in webs */
    struct maker maker;
    const struct thread *relay; /* who handed the last delivery on to the root; NULL: who made it */
    int64_t own_cpu;            /* of the thread composed last */
    struct chain_links *links;  /* wanted where not NULL */
};

void walk_init(struct walk *k, const struct threads *threads, const struct intern *names,
               const struct thread *root);

/* Composes the turn of `x` that ended with its wake of `consumer` at `t`; the
 * parts add up to the length of the turn; of a thread that hands on, to more (turn.source). false: nothing is known of x at that time. */
bool walk_turn(struct walk *k, const struct thread *x, const struct thread *consumer, int64_t t,
               struct shares *ret);

/* The same for a turn that is known already. */
struct turn;
void walk_made(struct walk *k, const struct thread *x, const struct thread *consumer,
               const struct turn *turn, struct shares *ret);

/*
 * The delivery of x's process that ended a wait of the launching thread at `t`: x's turn, or, where x
 * only answered a question of the launching thread's (PyTorch fetches the descriptor of a shared tensor
 * from a thread of the worker when it unpacks a batch), the turn of the thread that makes that process's
 * deliveries. `makers` learns who makes them.
 */
bool walk_delivery(struct walk *k, struct threads *makers, const struct thread *x, int64_t t,
                   struct shares *ret);

#endif
