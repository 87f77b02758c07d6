/* SPDX-License-Identifier: MIT */
/*
 * ledger: events in, rows out. Every nanosecond of every accelerator, from the moment
 * it was first taken to the moment it was last released, is in exactly one row.
 *
 * Push events as they come (any order within the delay; per thread in order), and say with
 * ledger_advance up to when all is known: windows that ended `delay_ns` before that are
 * closed and their rows handed to the sink. Pure: no clock, file or environment. One thread.
 */
#ifndef GPUFEED_LEDGER_LEDGER_H
#define GPUFEED_LEDGER_LEDGER_H

#include "base/error.h"
#include "base/map.h"
#include "model/event.h"
#include "model/fact.h"
#include "model/ledger_row.h"
#include "plan/replay_log.h"

#define LEDGER_DEVICES_MAX 64

struct ledger;

struct ledger_options {
    int64_t window_ns;          /* 0: 1 s */
    int64_t delay_ns;           /* how far behind the known events it works; 0: 0.8 s */
    const struct intern *names; /* of resources; borrowed, may grow */
    struct replay_log *log;     /* borrowed; NULL: no replay */
    void *arg;                  /* for the two below */
    void (*row)(void *arg, const struct ledger_row *row);
    /* The longest wait of a window, when it is at least 1 ms. */
    void (*chain)(void *arg, const struct chain_example *chain);
};

/* NULL: out of memory. */
struct ledger *ledger_new(const struct ledger_options *options);
void ledger_free(struct ledger *l); /* NULL is fine */

/* Copies what it needs of the event. Out of memory counts as lost, never fails. */
void ledger_push(struct ledger *l, const struct event *e);
/* Threads are watched by a source of waits from now on; without one, what a thread did is unknown. */
void ledger_watch_waits(struct ledger *l);
/* No activity records will come: a device works from a launch to the next synchronisation. */
void ledger_calls_only(struct ledger *l);
void ledger_advance(struct ledger *l, int64_t complete_until);
/* Hands out what the open windows hold so far; what comes after is rows of its own. */
void ledger_flush(struct ledger *l);
/* Books everything up to the last release; devices still held are booked up to `t`. */
void ledger_finish(struct ledger *l, int64_t t);

/* The span so far: false while no device was taken. */
bool ledger_span(const struct ledger *l, int64_t *t0, int64_t *t1);
/* Up to when all of every device is in rows: a wait that goes on is in none yet. INT64_MAX: nothing was
 * taken. */
int64_t ledger_booked(const struct ledger *l);
/* Events lost for want of memory or because they came too late. */
uint64_t ledger_lost(const struct ledger *l);
/* Writes what was learnt of loader, storage, copies, launches and checkpoints (doc/facts.md). */
int ledger_facts(const struct ledger *l, fact_fn fn, void *arg);
/* The thread and process that launch on a device; 0 unknown. */
uint32_t ledger_launcher(const struct ledger *l, uint32_t device, uint32_t *ret_pid);

#endif
