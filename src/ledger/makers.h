/* SPDX-License-Identifier: MIT */
/*
 * makers: who makes the deliveries of one launching thread.
 *
 * A maker is a loader process, or a thread of the launching process. One becomes known when it
 * first wakes the launching thread with a delivery; child processes that work as a known maker does
 * are makers too, though nobody may ever have waited for them.
 *
 * A thread may take from several loaders (training and validation, or zipped). Each has a queue: a pipe
 * that all its workers put into and the thread waits on. A worker for which nobody has waited there yet is of
 * the loader whose worker was made right before or after it, until it puts something while the thread waits on
 * that loader's pipe, and does not wake it.
 */
#ifndef GPUFEED_LEDGER_MAKERS_H
#define GPUFEED_LEDGER_MAKERS_H

#include "ledger/steps.h"

#define MAKERS_MAX 256
#define MAKERS_QUEUE_MAX 256
#define MAKERS_AHEAD_MAX 16

/* A delivery that lies there. */
struct queued {
    uint64_t serial; /* in the log */
    int64_t end;
    int64_t taken; /* when it was taken; INT64_MAX: not known */
};

/* One worker: a loader process, or a thread of this process. */
struct made_by {
    uint32_t key;      /* tgid of a process, tid of a thread */
    uint32_t number;   /* in the log */
    uint64_t channel;  /* that it puts into; 0: not known */
    uint32_t outlet;   /* the number of that channel, `queue` in the log; 0 for threads */
    unsigned unheard;  /* puts that did not end a wait on its queue's channel */
    uint32_t apart;    /* > 0: the queue that it was told apart from, + 1 */
    uint64_t turn;     /* of the last take from it, of all takes; 0: none */
    uint32_t tid, hop; /* the thread that makes; the one it hands over to */
    int64_t seen;      /* deliveries up to here are in the log */
    int64_t asked;     /* its waits for work up to here are accounted for */
    struct queued queue[MAKERS_QUEUE_MAX]; /* [head, tail): not taken, a ring */
    unsigned head, known, tail;            /* [head, known): taken for certain by now */
    int64_t last;                          /* when the thread last waited for one */
    bool answered;                         /* work was given for that one */
};

struct launches;
struct makers {
    struct threads *threads; /* borrowed, as the next three */
    const struct intern *names;
    struct replay_log *log;
    const struct launches *launches;   /* of the launching thread; NULL: not known */
    int consumer;                      /* of the log */
    struct made_by *maker[MAKERS_MAX]; /* owned */
    int count;
    uint32_t distinct;                    /* makers ever seen */
    uint32_t queues;                      /* ever seen */
    uint64_t turns;                       /* takes so far */
    uint32_t last_queue;                  /* that the last take was from */
    uint64_t run;                         /* takes from it in a row */
    unsigned ahead[MAKERS_AHEAD_MAX + 1]; /* how often so many lay there when one was given work */
    uint64_t asides; /* takes before which another maker's delivery woke the thread */
    size_t looked;   /* threads there were when siblings were last looked for */
    int64_t looked_at;
    bool ending; /* the run is over: what its loaders had made ahead nobody took */
    struct steps_totals totals;
};

void makers_clear(struct makers *ms);
/* The maker behind a wake of the launching thread `th`; NULL: not a loader's. *ret_fresh: its
 * newest delivery made the wake. */
struct made_by *makers_of_wake(struct makers *ms, const struct thread *th,
                               const struct event_wait *w, bool *ret_fresh);
/* Finds makers that nobody has waited for yet. */
void makers_find_siblings(struct makers *ms, const struct thread *th, int64_t now);
/* When the maker ended; INT64_MAX: it lives. */
int64_t makers_exit(const struct makers *ms, const struct made_by *m);
/* Did m put something, or a thread of its own begin to hand it over, after t0 and by t1? */
bool makers_put_between(const struct makers *ms, const struct made_by *m, int64_t t0, int64_t t1);
/* Are deliveries taken in turn, one of each maker? Else they are in the order in which they came.
 */
bool makers_in_order(const struct makers *ms);

#endif
