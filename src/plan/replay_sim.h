/* SPDX-License-Identifier: MIT */
/* replay_sim: the state of the virtual clocks. Shared by replay_sim.c, replay_setup.c and replay_left.c. */
#ifndef GPUFEED_PLAN_REPLAY_SIM_H
#define GPUFEED_PLAN_REPLAY_SIM_H

#include "plan/replay_cores.h"
#include "plan/replay_view.h"

enum worker_phase { WORKER_STARTUP, WORKER_PARTS };

struct worker {
    uint32_t item;    /* its next or current item; VIEW_NO_ITEM: none left */
    uint32_t startup; /* WORKER_STARTUP: position whose startup parts it runs */
    uint32_t at;      /* next part */
    double shrink;    /* of storage, for the cap */
    /* of CPU time: a first item takes no longer than others where its worker lives on */
    double warm;
    double starved; /* what is left of recorded waits for a core */
    bool busy;
    uint8_t phase;
};

/* A loader's workers, or what a scenario makes of them. */
struct sim_loader {
    uint32_t base, count; /* its workers are base .. base + count - 1 of all */
    bool redealt;         /* items are dealt anew, round robin */
    bool as_recorded;     /* each request is made where it was */
};

enum consumer_phase { CONSUMER_START, CONSUMER_BEGIN, CONSUMER_TAKE, CONSUMER_OPS, CONSUMER_DONE };

struct sim {
    const struct view *v;
    const struct sim_params *params;
    const struct replay_scenario *sc;
    struct cores *m;        /* the clock, delays and cores; shared by all sets */
    uint32_t base;          /* the consumer's entity */
    struct worker *workers; /* owned */
    uint32_t worker_count;  /* of all loaders */
    struct sim_loader loaders[VIEW_LOADERS_MAX];
    uint32_t *next_item;    /* owned: the same slot's next position */
    uint32_t *trigger_head; /* owned: first item requested by the take of this step */
    uint32_t *trigger_next; /* owned */
    uint32_t *epoch_head;   /* owned: first item requested at an epoch's release */
    uint32_t *startup_of;   /* owned: per epoch and slot of its loader, or NULL */
    uint8_t *flags;         /* owned: per item, ITEM_* */
    uint8_t consumer_phase;
    bool consumer_waits, consumer_waited;
    uint32_t step, op;
    uint32_t more_workers, more_epoch; /* the next slot to start of those not recorded; 0 none */
    bool first_start; /* in this step a loader's workers are started for the first time */
    double waits_from, burst, device, compute, feed_wait;
    double fixed; /* waits at the begin of epochs, starting of workers, checkpoints */
    double keep_delivery[CAUSE_COUNT], keep_own[CAUSE_COUNT];
    double recorded, starved; /* of params; the same for the step's own waits for a core */
    bool by_resource;
    double device_factor;
};

/* ---- a set before it runs: replay_setup.c ---- */

/* The set of this number on the clock m, of which it sets `stride`. False: out of memory; sim_clear
 * it in any case. */
bool sim_set_up(struct sim *s, const struct view *v, const struct sim_params *params,
                struct cores *m, uint32_t number);
void sim_clear(struct sim *s);

/* Which of all workers makes item p. */
uint32_t sim_slot(const struct sim *s, uint32_t p);

/* ---- what a scenario leaves of a time: replay_left.c ---- */

/* Sums the scenario up; before anything below. */
void left_resolve(struct sim *s);
double left_of_part(const struct sim *s, const struct worker *w, const struct view_part *p);
/* Factor on the item's reads that keeps them below the scenario's cap. */
double left_of_storage(const struct sim *s, const struct view_item *item);
/* Factor on waits for a core as recorded: in parts from .. to - 1 of an item, in a step. */
double left_of_item_starved(const struct sim *s, const struct view_item *item, uint32_t from,
                            uint32_t to);
double left_of_step_starved(const struct sim *s, const struct view_step *step);
/* A wake-up that took longer than the quickest ones waited for a core, where cores were scarce.
 * kept: factors by cause. */
double left_of_wake(const struct sim *s, double ns, double quick, const double *kept);
double left_of_device(const struct sim *s, const struct view_op *op);
/* Thread time of a SYNC: until the device has done what was waited for, and back. */
double left_of_sync(const struct sim *s, const struct view_op *op);
double left_of_thread(const struct sim *s, const struct view_op *op);

#endif
