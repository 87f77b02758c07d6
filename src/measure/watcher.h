/* SPDX-License-Identifier: MIT */
/*
 * watcher: the source of waits of one measurement: BPF where it is permitted, else
 * the sampler. It owns the names of resources too.
 */
#ifndef GPUFEED_MEASURE_WATCHER_H
#define GPUFEED_MEASURE_WATCHER_H

#include "base/error.h"
#include "base/map.h"
#include "base/str.h"
#include "model/event.h"

#include <stdbool.h>

struct watcher {
    struct resources *resources; /* owned, as the next two; NULL: not there */
    struct wait_bpf *bpf;
    struct sampler *sampler;
    int (*sink)(void *arg, const struct event *e);
    void *arg;
    int64_t looked;       /* when the kernel's events were taken last; 0: never */
    uint64_t taken, lost; /* of them: since then, and up to then */
};

/* Watches the process tree below pid. One line for the user goes to *note when the wait
 * chain could not be had. Never fails as a whole; with neither source waits are unknown. */
void watcher_open(struct watcher *w, uint32_t pid, const char *origin, bool no_bpf,
                  struct intern *names, struct str *note);
bool watcher_sees(const struct watcher *w);
/* Hands over what is new; returns when to look again (CLOCK_MONOTONIC). */
int64_t watcher_tick(struct watcher *w, int64_t now);
/* Hands over the waits that are still going on. */
void watcher_finish(struct watcher *w, int64_t now);
void watcher_close(struct watcher *w);

/* CPU time of the kernel side in ns; -1 unknown. Events lost so far. */
int64_t watcher_kernel_ns(const struct watcher *w);
uint64_t watcher_lost(const struct watcher *w);

#endif
