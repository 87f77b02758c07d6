/* SPDX-License-Identifier: MIT */
/*
 * replay_build: what is only needed while a view is made. Shared by replay_takes.c and
 * replay_items.c (which items there are), replay_view.c (parts and steps) and replay_request.c
 * (what each item waited for).
 */
#ifndef GPUFEED_PLAN_REPLAY_BUILD_H
#define GPUFEED_PLAN_REPLAY_BUILD_H

#include "plan/replay_internal.h"
#include "plan/replay_view.h"

/* A delivery can be several items where some were not seen; see replay_takes.c. */
enum item_half { ITEM_WHOLE, ITEM_FIRST, ITEM_REST, ITEM_PIECE };

/* An item as it was recorded. */
struct item_time {
    double start, end, taken; /* taken: the step's t1 */
    double work;              /* when it began on the item: start, but for a worker's first */
    double idle;
    uint16_t worker;
    uint32_t delivery;              /* index in c->deliveries */
    uint32_t step;                  /* that takes it */
    uint8_t half;                   /* enum item_half */
    double share;                   /* of each part's time: less than 1 for a piece */
    uint16_t first_part, last_part; /* those of the delivery's parts that are its own */
    uint32_t trigger;               /* step whose take made its request, or VIEW_AT_* */
};

/* A moment of the consumer's that its ops are cut at. */
struct mark {
    double seen;
    uint32_t what;
    uint8_t kind; /* VIEW_SPAWN, VIEW_RELEASE, VIEW_REQUEST */
};

struct build {
    struct view *v;
    const struct log_consumer *c;
    struct item_time *items; /* owned */
    struct mark *marks;      /* owned, by time */
    size_t mark_count, mark_cap;
    double *releases;   /* owned, per epoch: the consumer's moment */
    double *spawns;     /* owned, per item: the same */
    double *requests;   /* owned, per item: the same, where the trigger is VIEW_AT_MARK */
    uint8_t *loader_of; /* owned, per delivery */
    uint32_t *before;   /* owned, per delivery: index + 1 of the untaken one that counts to it */
    uint32_t *
        untold; /* owned, per step: the last up to it that took nothing known, or VIEW_AT_RELEASE */
    double wake;                              /* from a request to its worker's going on, usually */
    uint32_t (*depth_of)[REPLAY_WORKERS_MAX]; /* owned, per loader and worker; 0: as the loader's */
};

static inline double from_origin(const struct build *b, int64_t ns)
{
    return (double)(ns - b->v->origin);
}

/* The value below which `share` of v[0..n-1] lie; sorts them. 0 for none. */
double view_quantile(double *v, size_t n, double share);

/* What a step took. */
struct taken {
    uint32_t delivery; /* index; VIEW_NO_ITEM: none */
    uint8_t half;      /* enum item_half */
    double from, to;   /* of ITEM_PIECE: which part of it */
};

struct taking {
    struct taken *by;   /* owned, per step */
    uint8_t *seen;      /* owned, per delivery: 1 taken, 2 its first half too */
    uint32_t *startups; /* owned: deliveries with a startup and a wait after it */
    size_t startup_count, from;
};

/* False: out of memory; to be cleared all the same. */
bool takes_find(const struct build *b, struct taking *k);
void takes_clear(struct taking *k);
/* A worker's first delivery begins with its own startup: all up to the last startup part, and the
 * wait for a core that is reported after it. Returns how many parts, and their time. */
uint16_t takes_startup(const struct log_consumer *c, const struct packed_delivery *d,
                       int64_t *ret_ns);

static inline const struct view_loader *loader_of_item(const struct build *b, uint32_t p)
{
    return &b->v->loaders[b->v->items[p].loader];
}

/* Fills loader_of and v->loader_count. False: out of memory, as below. */
bool loaders_find(struct build *b);
/* Fills v->busy. */
bool busy_cores(struct build *b);
/* Makes the items; v->steps is there. */
bool items_collect(struct build *b);
#define ITEMS_JOINED 16
/* The deliveries that item p is made of, latest first: its own and untaken ones before it. */
uint32_t items_made(const struct build *b, uint32_t p, uint32_t list[ITEMS_JOINED]);
/* How far ahead work is requested (given > 0: so far). */
bool request_depth(struct build *b, uint32_t given);
/* Splits the items into epochs, and finds what each item's request was made by. Sets marks. */
bool request_epochs(struct build *b);
/* Once the marks are set: what passed between each request and its item's start. */
bool request_slack(struct build *b);

#endif
