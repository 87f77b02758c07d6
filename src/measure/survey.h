/* SPDX-License-Identifier: MIT */
/*
 * survey: one look at a machine, and at a job on it if one is named: all sources of facts are
 * started, watched for a while and asked. Nothing is changed and nothing is written.
 *
 * Of a live machine rates and counters are differences over the interval. A dump (a root folder) may
 * hold a second reading of what changed, in .gpufeed/later; .gpufeed/dump then says how much later
 * ("interval_ns 1000000000") and which job it is about ("pid 4711").
 */
#ifndef GPUFEED_MEASURE_SURVEY_H
#define GPUFEED_MEASURE_SURVEY_H

#include "base/error.h"
#include "model/fact.h"

#include <stdbool.h>
#include <stdint.h>

struct dump;

struct survey_options {
    const char *root;        /* NULL: this machine */
    uint32_t pid;            /* first process of the job; 0: the one that the dump names, or none */
    const char *const *data; /* where the job's data will lie, NULL at the end; NULL none */
    const char *vm_size;     /* of the cloud machine; NULL: as far as it can be found out */
    int64_t interval_ns;     /* of a live machine; 0: no rates */
    struct dump *dump;       /* gets all that is read (measure/dump.h); NULL none */
};

struct survey {
    uint32_t pid;        /* of the job that was looked at; 0 none */
    int64_t interval_ns; /* that rates were taken over; 0 none */
};

/* Hands out facts; stops at fn's first non-zero status and returns it. */
int survey_run(const struct survey_options *o, fact_fn fn, void *arg, struct survey *ret,
               struct error *e);

/* The first process of the job in a control group: a folder below /sys/fs/cgroup, such as
 * "system.slice/slurmd.service/job_9", or its full path. STATUS_MISSING: no such group, or it is empty. */
int survey_cgroup(const char *root, const char *name, uint32_t *ret_pid, struct error *e);

/* Is it known what a cloud machine of this size should have (data/machines.tsv)? */
bool survey_vm_size_known(const char *size);

#endif
