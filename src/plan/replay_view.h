/* SPDX-License-Identifier: MIT */
/*
 * replay_view: one consumer's log, resolved for the virtual clocks. Shared by plan/replay only.
 *
 * Items are the deliveries that were taken, in the order taken: position p is the p-th take.
 * All times are doubles of ns from `origin`, the moment when the log's first item or step began.
 */
#ifndef GPUFEED_PLAN_REPLAY_VIEW_H
#define GPUFEED_PLAN_REPLAY_VIEW_H

#include "plan/replay.h"

#define VIEW_NO_ITEM UINT32_MAX
#define VIEW_AT_RELEASE UINT32_MAX /* an item requested when its epoch begins */
/* Op kinds beside enum replay_op_kind; `resource` is an epoch. */
#define VIEW_SPAWN 4   /* its workers are being started */
#define VIEW_RELEASE 5 /* its first items are requested */

struct view_part {
    double ns;
    uint32_t resource;
    uint8_t cause;
};

struct view_item {
    double slack; /* from max(previous end, request) to its start */
    double spawn; /* startup: from the epoch's spawning to this worker's start */
    uint32_t parts_at;
    uint32_t epoch;
    uint32_t trigger; /* its request is made when this position is taken, or VIEW_AT_RELEASE */
    uint16_t part_count, slot;
    uint16_t startup_parts; /* leading parts that are the worker's, not the item's */
    bool startup;
};

/* Items first .. next epoch's first - 1: all were requested after everything before was taken. */
struct view_epoch {
    uint32_t first;
    uint32_t slots; /* workers seen in it */
    bool spawns;    /* and were started for it */
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
};

struct view {
    int64_t origin;
    double start_ns; /* the consumer's first t0 */
    double real_ns;  /* last end, or the device's last work */
    double whole_ns; /* kept and dropped */
    uint32_t workers, depth;
    bool depth_bound;
    double fork_ns;                      /* from one worker's start to the next one's */
    double wait_ns;                      /* waits for deliveries */
    double delivery_ns[CAUSE_COUNT];     /* parts of items */
    double own_ns[CAUSE_COUNT];          /* THREAD ops */
    double device_ns[CAUSE_COUNT];       /* DEVICE and SPREAD ops; NONE: compute */
    double sync_ns;
    struct view_item *items; /* owned, as all arrays here */
    size_t item_count;
    struct view_epoch *epochs;
    size_t epoch_count, epoch_cap;
    uint32_t spawns_at_start, releases_at_start; /* epochs; the others' ops stand among the steps' */
    struct view_step *steps;
    size_t step_count;
    struct view_part *parts;
    size_t part_count, part_cap;
    struct view_op *ops;
    size_t op_count, op_cap;
};

/* depth 0: learn it. False: out of memory (the view is to be cleared all the same). */
bool view_build(struct view *v, const struct replay_log *log, int consumer, uint32_t depth);
/* The same job with its own loading moved into items that workers could make: THREAD ops with
 * storage, prepare or memory. from->workers must be 0. */
bool view_build_loader(struct view *v, const struct view *from);
void view_clear(struct view *v);

static inline bool cause_takes_core(uint8_t cause)
{
    return cause == CAUSE_PREPARE || cause == CAUSE_HOST || cause == CAUSE_LAUNCH ||
           cause == CAUSE_STARTUP;
}

/* ---- replay_sim.c ---- */

struct sim_params {
    const struct replay_scenario *scenario;
    double cores; /* 0: plenty */
    uint8_t discipline; /* enum cores_discipline */
    double slice;
    bool no_late_peer; /* the peers' lateness is replayed at the peers */
};

struct sim_result {
    double length_ns, compute_ns, feed_wait_ns;
    double starved_ns, thread_starved_ns; /* waits for a core: of all, and of the consumer */
};

/* False: out of memory. */
bool sim_run(const struct view *v, const struct sim_params *params, struct sim_result *ret);

#endif
