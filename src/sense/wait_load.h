/* SPDX-License-Identifier: MIT */
/*
 * wait_load: loads and attaches the programs of src/bpf/wait.bpf.c as far as this
 * kernel has what they hook into, and finds out how interrupts can be told.
 */
#ifndef GPUFEED_SENSE_WAIT_LOAD_H
#define GPUFEED_SENSE_WAIT_LOAD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Slots of the map `counts`. */
enum {
    WAIT_COUNT_TASK_OK,
    WAIT_COUNT_TASK_BAD,
    WAIT_COUNT_IRQ_BAD,
    WAIT_COUNT_IRQ_OK,
    WAIT_COUNT_ADDED
};

#define WAIT_LINKS_MAX 32

struct wait_chain; /* the skeleton */
struct bpf_link;
struct wait_bpf_opts;

struct wait_load {
    struct wait_chain *skel;
    struct bpf_link *links[WAIT_LINKS_MAX];
    size_t link_count;
    struct bpf_link *find, *open; /* iterators over threads */
    bool multi;                   /* driver calls are attached by uprobe_multi */
};

int wait_load_open(struct wait_load *l, const struct wait_bpf_opts *o, struct error *e);
void wait_load_close(struct wait_load *l);
void wait_load_lost(const struct wait_load *l, uint64_t *counts);
/* name NULL: all programs; -1: the kernel does not count. runs may be NULL. */
int64_t wait_load_run_time(const struct wait_load *l, const char *name, uint64_t *runs);

#endif
