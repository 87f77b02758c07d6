/* SPDX-License-Identifier: MIT */
/*
 * gap_explain: a gap while it is explained. Shared by gap.c, gap_groups.c (deliveries) and gap_children.c
 * (children that start or end).
 */
#ifndef GPUFEED_LEDGER_GAP_EXPLAIN_H
#define GPUFEED_LEDGER_GAP_EXPLAIN_H

#include "ledger/gap.h"

#define GROUPS_MAX 32

/* Deliveries that belong together: from the children that put into one channel, or from one thread of this
 * process. */
struct group {
    uint32_t key;        /* 0: children; else the waking thread */
    uint64_t channel;    /* of children: 0 not known */
    int64_t ns;          /* summed waits */
    uint32_t tgid;       /* of the last delivery ... */
    uint32_t tid;        /* ... its longest wait's waker */
    int64_t longest, t;  /* that wait, and when it ended */
    int64_t last;        /* when the last one ended */
    bool loads;          /* a loader's thread of this process: it began before the gap did */
    struct shares parts; /* of the last delivery */
};

struct explaining {
    struct walk walk;
    struct threads *threads;
    const struct gap *gap;
    const struct thread *th;
    int64_t a, b; /* the part of the gap before the launch */
    int64_t cpu;
    bool starting;       /* before the first launch ever */
    struct group *group; /* GROUPS_MAX of them */
    int groups;
    int64_t nobody;
    enum cause nobody_cause;
    int64_t spilt; /* of sampled waits that belong to a driver call beside the gap */
    const struct event_wait *sampled; /* the longest sampled wait outside calls in the gap */
    enum evidence evidence;
    struct shares *out;
};

/* A wait of `ns` in the gap was ended by another thread. */
void gap_groups_add(struct explaining *x, const struct event_wait *w, int64_t ns);
/* Shares all of them out; `links`, unless NULL, receives the longest in words. */
void gap_groups_share(struct explaining *x, struct chain_links *links);

/* Did a child of an earlier batch end this wait by ending? */
bool gap_woken_by_exit(const struct explaining *x, const struct event_wait *w);
/* Of a wait that nobody is known to have ended: did a child end meanwhile? Then that was awaited. One that had
 * ended before is awaited in vain where another process holds its pipe, too, by which then nothing comes. */
bool gap_child_ended(const struct explaining *x, const struct event_wait *w);
/* Did a process start or end that nobody has looked at while it worked? One that was awaited and never seen may
 * have done anything. */
bool gap_of_a_start(const struct explaining *x, const struct event_wait *w);
/* A process that starts, and has made no other that could work for it yet: whom samples take for the waker is no
 * loader. */
bool gap_starts_alone(const struct explaining *x);
/* When the thread last made a child before the launch; x->a: it made none. */
int64_t gap_last_fork(const struct explaining *x);

#endif
