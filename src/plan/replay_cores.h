/* SPDX-License-Identifier: MIT */
/*
 * replay_cores: virtual time, delays, and threads that share cores. Used by replay_sim.c only.
 *
 * An entity (0 .. n - 1; each `stride`-th from 0 on is a consumer) has at most one pending event: a
 * delay that ends, or work on a core that ends. How cores are shared is learnt, so there are four
 * disciplines:
 *
 *   SHARED      processor sharing: n threads on c cores run at min(1, c / n) each
 *   THREAD_1ST  the same, but the consumer has a core at once (a scheduler that favours sleepers)
 *   SLICES      first come first served, a slice at a time
 *   WOKEN_1ST   slices, but work that begins goes before work whose slice ran out
 *
 * Work that is wanted at the moment when other work of the same entity ends keeps its core.
 * Slices vary by a quarter: equal ones would lock threads into unequal turns.
 * A fraction of a core (a quota) slows all down in the latter two.
 *
 * Neighbours are `others` further threads that always want a core (a fraction: that part of the
 * time).
 */
#ifndef GPUFEED_PLAN_REPLAY_CORES_H
#define GPUFEED_PLAN_REPLAY_CORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cores_discipline {
    CORES_SHARED,
    CORES_THREAD_FIRST,
    CORES_SLICES,
    CORES_WOKEN_FIRST,
    CORES_DISCIPLINES
};

struct cores_event {
    double key;
    uint32_t who;
};

struct cores_heap {
    struct cores_event *v; /* owned */
    size_t count;
};

struct cores_queue {
    uint32_t *v; /* owned ring of `entities` + `neighbours` places */
    size_t head, count;
};

struct cores_entity {
    double work;      /* left, while it wants a core */
    double piece;     /* of that, being done on a core (slices) */
    double from, all; /* since when it wants the core, and how much */
    bool wants;
};

struct cores {
    double cores; /* 0: plenty; set before use, as are: */
    uint8_t discipline;
    double slice;
    double others;
    size_t stride; /* from one consumer to the next; 0: there is only entity 0 */

    double now, served;            /* served: time that each sharing thread has got */
    double starved, starved_first; /* waits for a core: of all; of consumers */
    double starved_last;           /* of the event that cores_next returned */
    struct cores_heap delays, sharing;
    struct cores_queue fresh, expired;
    uint32_t keeps;              /* slices: entity + 1 that had a core until now */
    uint32_t kept;               /* and wants it again */
    struct cores_entity *entity; /* owned */
    size_t entities;             /* those of the caller; in slices the neighbours come after them */
    size_t neighbours;
    size_t pending;           /* of the caller's entities */
    unsigned running, places; /* slices: on a core; cores rounded up */
    double speed;
    uint32_t draw; /* state of the slices' variation */
};

/* cores, discipline, slice, others and stride are set, all else zero. False: out of memory. */
bool cores_init(struct cores *m, size_t entities);
void cores_clear(struct cores *m);

void cores_delay(struct cores *m, uint32_t who, double ns);
void cores_want(struct cores *m, uint32_t who, double ns); /* only while cores > 0 */

/* Moves to the next event: true: *who's delay or work has ended; false: only a slice has, or it was
 * a neighbour's. */
bool cores_next(struct cores *m, uint32_t *who);
/* Fills free cores; to be called when the event has been dealt with. */
void cores_dispatch(struct cores *m);
bool cores_idle(const struct cores *m); /* nobody but neighbours has an event pending */

#endif
