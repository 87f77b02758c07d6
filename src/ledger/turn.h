/* SPDX-License-Identifier: MIT */
/*
 * turn: where a worker's turn begins and ends, read off wakes and waits alone.
 */
#ifndef GPUFEED_LEDGER_TURN_H
#define GPUFEED_LEDGER_TURN_H

#include "base/unit.h"
#include "ledger/thread.h"

/* A queue's thread sends what was put within this time: who waits on that queue then is woken by it. */
#define SEND_NS (5 * NS_PER_MS)

struct turn {
    int64_t t0, t1;
    int64_t idle_ns; /* the wait for work that ended at t0; 0 if a delivery did */
    bool first;      /* nothing was delivered before; it was made at `born` */
    int64_t born;
    bool from_start;                 /* t0 is the start of the thread */
    bool from_horizon;               /* t0 is where its memory begins: the true start is unknown */
    const struct event_wait *source; /* set by relay_turn */
};

/* Do two wakes that x made hand over one delivery? */
bool turn_same_burst(const struct thread *x, const struct wake *earlier, const struct wake *later);

/* When x put what it had handed to `consumer` at or before `t`, where both are threads of one loader:
 * what they wake each other for right after that is the interpreter lock, though x may have waited
 * for it in between. Where x never woke it: when it made it, else `t`. */
int64_t turn_put(const struct thread *x, const struct thread *consumer, int64_t t);

/* Had x, when it woke another thread at t, just got CPython's lock? Who gives it away at the request of others waits,
 * without a limit, until one of them tells that it has it. */
bool turn_took_lock(const struct thread *x, int64_t t);

/* Did x take from a queue what another process put there? Room that it made is nothing. */
bool turn_takes(const struct thread *x, const struct event_wait *w);

/* The turn of x that ended with its wake of `consumer` at or just before `t`.
 * `chain[0..depth)` are the threads that wait for it, launching thread first. */
bool turn_find(const struct thread *x, const struct thread *consumer,
               const struct thread *const *chain, int depth, int64_t t, struct turn *ret);

/* The turn begins no earlier than the end of x's last wait for work: the last one in it for which is_work says so. */
void turn_begin_at_work(const struct thread *x, struct turn *turn,
                        bool (*is_work)(void *arg, const struct event_wait *w), void *arg);

/* The end of x's next delivery to `consumer` after `t`; INT64_MAX: none is known. */
int64_t turn_next(const struct thread *x, const struct thread *consumer, int64_t t);

/* When `hop`, a thread of x's process, last got to what x had put for it to hand over, after t0 and by t1: it
 * may want for a core. INT64_MIN: it did not. */
int64_t turn_sends(const struct thread *x, const struct thread *hop, int64_t t0, int64_t t1);

/*
 * A turn that ended between `after` and `before` without a wake: the consumer was busy, and what
 * shows is that x waited for work, got it, and waited for work again. false: there is none.
 */
bool turn_silent(const struct thread *x, const struct thread *const *chain, int depth,
                 int64_t after, int64_t before, struct turn *ret);

/* The first wait of x that ended after `after`, by `until`, with work from the consumer's side; NULL:
 * there is none. */
const struct event_wait *turn_given_work(const struct thread *x, const struct thread *const *chain,
                                         int depth, int64_t after, int64_t until);

#endif
