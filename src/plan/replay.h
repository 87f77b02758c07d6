/* SPDX-License-Identifier: MIT */
/*
 * replay: what a run would have taken had something been otherwise.
 *
 * The recorded deliveries and steps run again on virtual clocks. Worker w begins item i at
 *   max(its own previous end, the moment when its request was made)
 * where the request is made when the consumer takes the item `depth` places before it; the item
 * then takes its recorded turn-around less what the scenario takes away, and its CPU parts share
 * the cores with everything else that wants one (processor sharing). The consumer takes items in
 * recorded order at max(own clock, item ready), then spends its own time less what is taken away,
 * with a device clock beside it for asynchronous launches and synchronisations. Several loaders of one
 * consumer (training and validation, or zipped) each have their workers, depth and epochs.
 *
 * With nothing changed the virtual clocks must give back the real length; what they miss is in
 * `identity_ns`, and every gain is identity_ns - predicted, so that a flaw common to both cancels.
 * Pure: no files, clocks or environment. One thread at a time per `struct replay`.
 */
#ifndef GPUFEED_PLAN_REPLAY_H
#define GPUFEED_PLAN_REPLAY_H

#include "plan/replay_log.h"

#define REPLAY_AWAY_MAX 24

/* What is known from elsewhere; zeros: learn it. */
struct replay_setup {
    double cores;   /* cores that the job may use; 0 unknown */
    double busy;    /* of them, in use on average, whoever used them; 0 unknown: by the log alone */
    uint32_t depth; /* items requested ahead over all workers (prefetch_factor * workers) */
    /* What workers would cost a job that has none: the thread's time to take an item from them, and
     * to start all of them. */
    int64_t take_ns, start_ns;
};

enum replay_where { REPLAY_DELIVERIES = 1, REPLAY_OWN = 2, REPLAY_EVERYWHERE = 3 };

/* A cause taken away, or made shorter. */
struct replay_away {
    uint8_t cause;     /* enum cause; CAUSE_NONE is ignored: computing is no cause */
    uint8_t where;     /* enum replay_where */
    uint32_t resource; /* 0: every resource */
    double keep;       /* factor on its time: 0 takes it away, 0.1 leaves a tenth */
};

/* All zero is the identity. Fields combine; replay_scenario_add joins two. */
struct replay_scenario {
    struct replay_away away[REPLAY_AWAY_MAX];
    int away_count;
    int64_t storage_cap_ns; /* > 0: a delivery reads for at most this long (its time from NVMe) */
    /* The next three are about the loader that was waited for longest. */
    double workers_times; /* > 0: workers * this */
    int workers_add;      /* after that; items are dealt anew, round robin */
    double depth_times;   /* > 0: items requested ahead per worker * this */
    bool pinned;          /* pageable copies become pinned: */
    double pinned_ratio;  /*   time of a pinned copy / of a pageable one; 0: one half */
    bool pinned_async;    /*   and the copy call no longer waits for the copy */
    bool accelerator_infinite;
    double accelerator_times; /* > 0: kernels run this many times as fast */
    /* > 0: this many accelerators (rounded) for each that there was, each with its launching thread
     * and its workers, on the cores that there are. They share out the same work. */
    double consumers_times;
    bool restarts_away; /* workers live on: startup of all but the first generation away */
    double cores;       /* > 0: this many cores instead */
};

/* false: away[] is full */
bool replay_scenario_away(struct replay_scenario *s, enum cause cause, enum replay_where where,
                          uint32_t resource, double keep);
/* Joins `more` into *s as a later fix: lists add up, factors multiply. */
bool replay_scenario_add(struct replay_scenario *s, const struct replay_scenario *more);

/*
 * Lengths are of the kept log; gain_ns is scaled to the whole log (kept and dropped).
 * Several consumers: the job ends with its last one. Where they wait for each other
 * (late-peer), each is replayed without that wait and the slowest counts.
 */
struct replay_result {
    int64_t real_ns, identity_ns, predicted_ns; /* predicted_ns = real_ns - unscaled gain */
    int64_t gain_ns;      /* never above what the consumers waited for; noise below 0 is 0 */
    int64_t compute_ns;   /* device time of kernels under the scenario, over all consumers */
    int64_t feed_wait_ns; /* waits for deliveries under the scenario, over all consumers */
};

struct replay;

/* Learns depth, workers and spare cores from the log, which must outlive it and stay unchanged.
 * NULL and *e on failure: STATUS_MISSING when the log holds no steps. */
struct replay *replay_new(const struct replay_log *log, const struct replay_setup *setup,
                          struct error *e);
void replay_free(struct replay *r); /* NULL is fine */

int replay_run(const struct replay *r, const struct replay_scenario *scenario,
               struct replay_result *ret, struct error *e);

/* What was learnt of one consumer; of several loaders, of the one that it waited for longest. */
struct replay_learnt {
    uint32_t loaders;  /* >= 1 */
    uint32_t loader;   /* numbered as their first deliveries began */
    double part;       /* of the waits for deliveries that were for its own */
    uint32_t restarts; /* times that workers were started anew, of all loaders together */
    uint32_t workers;  /* 0: it fetches by itself */
    uint32_t depth;    /* over all workers */
    bool depth_bound;  /* only a lower bound: no worker ever waited for work */
    double cores;      /* as told or calibrated on runnable time; 0: not known, plenty */
    double others;     /* neighbours that wanted cores too, on average */
    int discipline;    /* how they are shared: enum cores_discipline of replay_cores.h */
    int64_t real_ns, identity_ns;
    int64_t starved_ns; /* of workers and thread, as recorded */
    int64_t untold_ns;  /* waits for deliveries that the log does not hold */
};
bool replay_learnt(const struct replay *r, int consumer, struct replay_learnt *ret);

#endif
