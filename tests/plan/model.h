/* SPDX-License-Identifier: MIT */
/*
 * model: a training job as a discrete-event model with known truth, for property tests.
 *
 * It shares no code with plan/replay: actors (trainer, loader workers, neighbours) take turns on
 * cores, read and decode, and the trainer feeds a device. The loader works as PyTorch's: items are
 * dealt round robin, taken in order, `prefetch` of them are on order per worker, and taking one
 * orders the next. Every draw of a read, decode, kernel, copy or host time depends on (seed, item
 * or step, purpose) alone, so a run with one time set to zero is the same run with that cause truly
 * taken away. Delays of waking and lengths of slices are drawn as they come.
 */
#ifndef GPUFEED_TESTS_PLAN_MODEL_H
#define GPUFEED_TESTS_PLAN_MODEL_H

#include "plan/replay_log.h"

#include <stdbool.h>
#include <stdint.h>

enum model_tail { TAIL_NONE, TAIL_LOGNORMAL, TAIL_PARETO };

/* Times are means in ns of one item or step; jitter comes on top and keeps the mean. */

/* A second loader of the trainer. Its items are made and taken as the first one's are; each is a step. */
struct model_second {
    int workers; /* 0: there is none */
    int prefetch;
    int items;   /* taken after each epoch of the first loader, whose epoch_items must be set */
    bool zipped; /* ... or one after each item of the first; epoch_items counts both then */
    bool persistent;
    double read, decode;
};

struct model_config {
    uint64_t seed;
    int items;   /* deliveries in all */
    int jobs;    /* > 1: so many trainers with their devices and workers share out the items, on the
                  * same cores; then no log, and truth->total alone holds */
    int workers; /* 0: the trainer loads by itself */
    int prefetch;
    int cores;        /* 0: one for everybody */
    int64_t slice;    /* > 0: first come first served in slices this long; 0: processor sharing */
    bool woken_first; /* slices: whoever begins to compute goes before those whose slice ran out */
    int neighbours;   /* foreign threads that burn a core about half of the time */
    int rounds;       /* reads and decodes take turns this often within an item */
    double read, decode;
    enum model_tail read_tail, decode_tail;
    double read_spread, decode_spread; /* sigma of the lognormal, 1 / alpha of the Pareto */
    double host, take;                 /* trainer's own code; unpacking a delivery */
    int launches;                      /* kernels a step */
    double launch;                     /* host time of one launch */
    double kernel;                     /* device time of all kernels of a step */
    double copy;                       /* pageable copy of a batch */
    bool pinned;                       /* the copy takes pinned_ratio of that and is not awaited */
    double pinned_ratio;
    int sync_every; /* the trainer waits for its device every so many steps; 0: only at the end */
    int checkpoint_every; /* 0: never */
    double checkpoint;
    int epoch_items; /* 0: one epoch */
    bool persistent; /* workers live over epochs */
    struct model_second second;
    double startup; /* imports of a worker that starts */
    double fork;    /* trainer's time to start one worker */
    double wake;    /* until a woken thread runs */
    uint64_t noise; /* other draws of that delay, all else being equal */
};

/* Ground truth of a run. Shares by the rule of the ledger: a wait that ends with a delivery is
 * shared out over all that its worker did on it. */
struct model_truth {
    double total, compute, copy;
    double wait[CAUSE_COUNT]; /* device idle, by what the trainer waited for or did */
    double unshared_wait;     /* the part of the above that was waits for deliveries */
};

/* What an actor did from t0 to t1; enough to make the event stream that a ledger would see. */
enum model_did {
    DID_IDLE,    /* worker waited for work */
    DID_READ,    /* blocked on storage */
    DID_CPU,     /* on a core: `cause` says for what */
    DID_STARVED, /* runnable without a core (processor sharing: follows its CPU) */
    DID_WAKE,    /* woken, not yet running */
    DID_AWAIT,   /* trainer waited for `item` */
    DID_SYNC,    /* trainer waited for the device */
    DID_COPY,    /* trainer inside a pageable copy */
    DID_WRITE,   /* checkpoint */
    DID_KERNEL,  /* device, actor MODEL_DEVICE */
    DID_DEVICE_COPY,
    DID_DELIVER, /* t0 == t1: worker handed over `item` */
};

#define MODEL_TRAINER 0 /* worker w is actor 1 + w; the second loader's follow the first one's */
#define MODEL_DEVICE UINT16_MAX

struct model_seg {
    int64_t t0, t1;
    uint32_t item;
    uint16_t actor;
    uint8_t did;   /* enum model_did */
    uint8_t cause; /* enum cause */
};

struct model_trace {
    struct model_seg *v; /* owned: free() it */
    size_t count, cap;
};

/* A config drawn from a seed: 1-16 workers, jitter and heavy tails, cores, copies, checkpoints. */
struct model_config model_random(uint64_t seed, int items);

/* Runs the job; log, truth and trace may be NULL. The log gets one consumer (tid 1, device 0).
 * Aborts when out of memory. */
void model_run(const struct model_config *config, struct replay_log *log, struct model_truth *truth,
               struct model_trace *trace);

#endif
