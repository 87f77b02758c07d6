/* SPDX-License-Identifier: MIT */
/*
 * replay_view: one consumer's log, resolved for the virtual clocks. Shared by plan/replay only.
 *
 * Items are the deliveries that were taken: one loader's after another's, each loader's in the order
 * taken. An item's position is its place among them all.
 * All times are doubles of ns from `origin`, the moment when the log's first item or step began.
 */
#ifndef GPUFEED_PLAN_REPLAY_VIEW_H
#define GPUFEED_PLAN_REPLAY_VIEW_H

#include "plan/replay.h"

#define VIEW_LOADERS_MAX 8
#define VIEW_NO_ITEM UINT32_MAX
#define VIEW_AT_RELEASE UINT32_MAX    /* an item requested when its epoch begins */
#define VIEW_AT_MARK (UINT32_MAX - 1) /* at a VIEW_REQUEST op */
/* Op kinds beside enum replay_op_kind. */
#define VIEW_SPAWN 4   /* the worker whose first item is `resource` is started */
#define VIEW_RELEASE 5 /* the first items of epoch `resource` are requested */
#define VIEW_REQUEST 6 /* item `resource` is requested; only where triggers stay as recorded */

struct view_part {
    double ns;
    uint32_t resource;
    uint8_t cause;
};

/* Items first .. end - 1 come from it, each requested when an earlier one of it was taken. */
struct view_loader {
    uint32_t first, end;
    uint32_t workers, depth;
    uint32_t slots; /* most of an epoch, >= workers: with those who made little */
    bool depth_bound;
    double item_cpu; /* of an item that is not its worker's first, usually */
    double wait_ns;  /* waits for its items */
};

struct view_item {
    double slack; /* from max(previous end, request) to its start */
    double spawn; /* startup: from the VIEW_SPAWN op to this worker's start */
    uint32_t parts_at;
    uint32_t epoch;
    uint32_t step;             /* that takes it */
    uint32_t trigger;          /* step whose take makes its request, or VIEW_AT_* */
    uint16_t part_count, slot; /* slot: among its loader's workers */
    uint8_t loader;
    uint16_t startup_parts; /* leading parts that are the worker's, not the item's */
    bool startup;
    bool stale;  /* of an earlier epoch: there from the start, in slot 0, without parts */
    bool waited; /* its worker waited for the request: slack is the time to wake up */
};

/* Items first .. next epoch's first - 1 of one loader: all were requested after everything of it before was
 * taken. */
struct view_epoch {
    uint32_t first;
    bool first_of_loader;
    uint32_t slots;      /* workers seen in it */
    uint32_t spawns;     /* of them, started for it */
    uint32_t last_spawn; /* position of the last one's first item */
};

struct view_op {
    double ns;
    double backlog; /* SYNC: device work already queued behind what was waited for, >= 0 */
    uint32_t resource;
    uint8_t kind, cause;
};

struct view_step {
    double lag;    /* from max(t0, item ready) to t1 */
    uint32_t item; /* position or VIEW_NO_ITEM */
    uint32_t ops_at, op_count;
    bool waited; /* for the item: lag holds the time to wake up */
};

/* What a wait adds or leaves out where the virtual clocks wait and the real ones did not, or the
 * other way round. */
struct view_usual {
    double lag_waited, lag_ready;              /* of the consumer */
    double slack_waited;                       /* of a worker */
    double lag_quick, slack_quick, sync_quick; /* the quickest tenth: nobody else had the core */
};

struct view {
    int64_t origin;
    double start_ns; /* the consumer's first t0 */
    double real_ns;  /* last end, or the device's last work */
    double whole_ns; /* kept and dropped */
    struct view_loader loaders[VIEW_LOADERS_MAX];
    uint32_t loader_count; /* >= 1; the only one may have no items */
    uint32_t awaited;      /* the loader that was waited for longest: advice is about that one */
    uint32_t workers;      /* of all loaders */
    uint32_t slots;        /* most of an epoch, of all loaders together */
    double fork_ns;        /* thread time to start one worker */
    struct view_usual usual;
    double wait_ns;                  /* waits for deliveries */
    double untold_ns;                /* of them, waits for deliveries that are not in the log */
    double delivery_ns[CAUSE_COUNT]; /* parts of items */
    double own_ns[CAUSE_COUNT];      /* THREAD ops */
    double device_ns[CAUSE_COUNT];   /* DEVICE and SPREAD ops; NONE: compute */
    double sync_ns;
    double busy;             /* cores that workers and thread were seen to use at once, at least */
    bool scarce;             /* waits for a core are a good part of the run */
    struct view_item *items; /* owned, as all arrays here */
    size_t item_count;
    struct view_epoch *epochs;
    size_t epoch_count, epoch_cap;
    uint32_t start_ops; /* the first so many of ops[] are marks to be set at the origin */
    struct view_step *steps;
    size_t step_count;
    struct view_part *parts;
    size_t part_count, part_cap;
    struct view_op *ops;
    size_t op_count, op_cap;
};

/* depth 0: learn it; else of each loader. False: out of memory (the view is to be cleared all the same). */
bool view_build(struct view *v, const struct replay_log *log, int consumer, uint32_t depth);
/* The same job with its own loading moved into items that workers could make: THREAD ops with
 * storage, prepare or memory, and the thread's own code between reading and launching.
 * from->workers must be 0. take_ns and start_ns: of struct replay_setup. */
bool view_build_loader(struct view *v, const struct view *from, int64_t take_ns, int64_t start_ns);
void view_clear(struct view *v);

/* CPU time of the item itself, its worker's start left out. */
double view_item_cpu(const struct view *v, const struct view_item *item);

static inline bool cause_takes_core(uint8_t cause)
{
    return cause == CAUSE_PREPARE || cause == CAUSE_HOST || cause == CAUSE_LAUNCH ||
           cause == CAUSE_STARTUP;
}

/* ---- replay_sim.c ---- */

struct sim_params {
    const struct replay_scenario *scenario;
    double cores;       /* 0: plenty */
    uint8_t discipline; /* enum cores_discipline */
    double slice;
    double others;     /* neighbours that want cores too */
    double recorded;   /* part of the recorded waits for a core that neighbours made: they stay as
                        * they were, in the measure of the CPU time that they delayed */
    bool no_late_peer; /* the peers' lateness is replayed at the peers */
    double *item_starved, *step_starved; /* NULL, or by position and by step: added to */
};

struct sim_result {
    double length_ns, compute_ns, feed_wait_ns;
    double starved_ns, thread_starved_ns; /* waits for a core: of all, and of the consumer */
};

/* Several consumers: as long as it takes them to do together what the log holds, and the mean of
 * their compute and waits over it. False: out of memory. */
bool sim_run(const struct view *v, const struct sim_params *params, struct sim_result *ret);

/* ---- replay_fit.c ---- */

/* CPU time of workers and thread, as recorded. */
double view_cpu_ns(const struct view *v);
/* How this consumer's cores were shared: given 0: not known; `busy` of them were in use on average,
 * by whomever, 0: not known. False: out of memory. */
bool fit_cores(const struct view *v, double given, double busy, struct sim_params *ret);

#endif
