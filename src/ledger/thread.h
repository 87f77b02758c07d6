/* SPDX-License-Identifier: MIT */
/*
 * thread: what is remembered of each thread: its waits, the wakes it made, and
 * the driver calls it sat in.
 *
 * Memory is bounded: threads_trim forgets what ended before a horizon and keeps
 * the total of remembered waits under THREADS_WAITS_MAX by moving the
 * horizon up (counted in `forgotten`). Pointers to threads stay valid until
 * threads_trim or threads_clear.
 */
#ifndef GPUFEED_LEDGER_THREAD_H
#define GPUFEED_LEDGER_THREAD_H

#include "base/map.h"
#include "ledger/ops.h"
#include "model/event.h"

#define THREADS_WAITS_MAX 200000u
#define THREADS_SPELLS 64

/* A wake this thread made: it ended a wait of `tid`. */
struct wake {
    int64_t t, waited_ns;
    uint32_t tid, tgid;
    bool timed; /* WAIT_TIMED */
};

/* A queue that grows at its end and is forgotten from its start. */
struct waits {
    struct event_wait *item;  /* owned; sorted by t_in */
    size_t first, count, cap; /* live: item[first .. count) */
};
struct wakes {
    struct wake *item; /* owned; nearly sorted by t */
    size_t first, count, cap;
};
struct calls {
    struct event_call *item; /* owned; sorted by t1 */
    size_t first, count, cap;
};

struct thread {
    uint32_t tid, tgid, parent_tgid;
    bool job, alive;
    bool launches;         /* asked a device for work at least once */
    bool relays;           /* handed on to it what another process had made (ledger/relay.h) */
    int64_t start, exit;   /* INT64_MIN / INT64_MAX: not seen */
    int64_t exec;          /* when it began its program; INT64_MIN: its parent's, or not seen */
    int64_t first_launch;  /* INT64_MAX: none */
    int64_t known_since;   /* waits before were not recorded */
    int64_t last_call_end; /* of its driver calls, in the order of device time */
    char name[16];
    struct waits waits;
    struct wakes wakes;
    struct calls calls;
    struct ops ops[OP_KINDS]; /* of a foreign trace */
};

struct threads {
    struct thread **list; /* owned */
    size_t count, cap;
    struct map by_tid;  /* tid -> index + 1 of the newest thread with that number */
    struct map sockets; /* channel -> index of totals */
    struct socket_total {
        uint64_t rx, tx;
        uint32_t end[2]; /* the first two processes that waited on it; 0 none yet */
    } * totals;          /* owned */
    size_t total_count, total_cap;
    struct map peer_rx, peer_tx; /* resource -> bytes over all connections to it */
    struct map channels;         /* channel -> 1: its holders are known */
    struct map writers;          /* hash of (channel, tgid) -> 1: that process can write to it */
    struct map joined;    /* tgids of both ends of some connection, the lower one << 32 -> 1 */
    struct map launchers; /* tgid -> tid of the thread of it that launched first, of those alive */
    struct map makers;    /* tgid -> tid of the maker << 32 | tid that it hands over to */
    struct spell {
        int64_t t0, t1;
    } lost
        [THREADS_SPELLS]; /* when many waits were lost, a ring: what threads then did is not known */
    size_t lost_count;
    size_t waits_held;
    uint64_t forgotten; /* waits dropped before their time to stay in bounds */
    bool foreign;       /* a trace tells what threads were in, nothing tells of waits */
    bool awaits;        /* ... some call that returns when the device is done among it */
    bool attached;      /* the job ran already when it was first looked at */
    bool sampled;       /* waits come from samples: so does what lies between them */
};

void threads_clear(struct threads *t);
/* NULL if unknown. */
struct thread *threads_find(const struct threads *t, uint32_t tid);
/* Finds or makes; NULL: out of memory. */
struct thread *threads_get(struct threads *t, uint32_t tid, uint32_t tgid);
bool threads_change(struct threads *t, const struct event_thread *e);
bool threads_wait(struct threads *t, const struct event_wait *e);
bool threads_call(struct threads *t, const struct event_call *e);
bool threads_op(struct threads *t, const struct event_op *e);
/* The thread asks a device for work. false: out of memory. */
bool threads_launch(struct threads *t, struct thread *th);
/* The thread of a process that launched first; NULL: none of it does. */
const struct thread *threads_launcher(const struct threads *t, uint32_t tgid);
/* The launching thread of the other process on this machine that waits on that connection, as ranks
 * do; NULL: no other is seen, or it does not launch. */
const struct thread *threads_rank(const struct threads *t, uint64_t channel, uint32_t tgid);
/* Is y the launching thread of another process that has a connection with tgid? */
bool threads_joined(const struct threads *t, uint32_t tgid, const struct thread *y);
/* Was y's process made for process tgid: by it, or by a program that it runs to make processes
 * (multiprocessing's fork server; not a worker that runs commands)? */
bool threads_made_for(const struct threads *t, const struct thread *y, uint32_t tgid);
/* Which thread of a process makes its deliveries, and which one it wakes with them. */
void threads_set_maker(struct threads *t, const struct thread *maker, const struct thread *hop);
bool threads_maker(const struct threads *t, uint32_t tgid, const struct thread **ret_maker,
                   const struct thread **ret_hop);
bool threads_hold_channel(struct threads *t, const struct event_channel *e);
bool threads_channel_known(const struct threads *t, uint64_t channel);
/* Can process tgid write to the channel? */
bool threads_writes(const struct threads *t, uint64_t channel, uint32_t tgid);
/* Totals of a connection, the last that are known. */
bool threads_closed(struct threads *t, const struct event_closed *e);
/* Bytes so far with the peer that a wait was on; where it has no name, of that connection. */
void threads_socket(const struct threads *t, const struct event_wait *w, uint64_t *rx,
                    uint64_t *tx);
/* Many waits of [t0, t1) were lost. */
void threads_lose(struct threads *t, int64_t t0, int64_t t1);
bool threads_lost(const struct threads *t, int64_t t0, int64_t t1);
void threads_trim(struct threads *t, int64_t horizon);

/* Index of the first wait that ends (t_in) after `t`; waits.count if none. */
size_t waits_after(const struct waits *w, int64_t t);
/* The driver call that the thread sat in at time t; NULL: none. */
const struct event_call *calls_over(const struct calls *c, int64_t t);

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How much of [a0, a1) lies within [b0, b1). */
static inline int64_t overlap(int64_t a0, int64_t a1, int64_t b0, int64_t b1)
{
    int64_t lo = later(a0, b0), hi = sooner(a1, b1);
    return hi > lo ? hi - lo : 0;
}

/* Index of the first call that ends after `t`; calls.count if none. */
size_t calls_after(const struct calls *c, int64_t t);

#endif
