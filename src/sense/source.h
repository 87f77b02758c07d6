/* SPDX-License-Identifier: MIT */
/*
 * source: one live source of facts. Each is a file of its own that ends in one
 * const descriptor, with a row in sources.c.
 *
 * All files are read below `root`, so a dump of another machine can be fed in.
 * "Now" is CLOCK_MONOTONIC ns and comes in as an argument: rates are differences
 * between start and facts. One thread at a time.
 */
#ifndef GPUFEED_SENSE_SOURCE_H
#define GPUFEED_SENSE_SOURCE_H

#include "base/error.h"
#include "model/fact.h"

#include <stdbool.h>
#include <stdint.h>

struct source_opts {
    const char *root; /* NULL: the live machine; must outlive the source */
    uint32_t pid;     /* first process of the measured job; 0: no job, the machine alone */
    uint32_t reaper;  /* orphans of the job become its children (gpufeed run); 0: none */
    /* paths that the job will read its data from, NULL at the end; NULL none */
    const char *const *data;
    const char *vm_size; /* of the cloud machine; NULL: found out where it can be */
    bool survey;         /* of check: look closer than a measurement of a job may */
    const char *nvml;    /* library to open instead of libnvidia-ml.so.1; NULL: that one */
};

struct source {
    const char *name;
    const char *what; /* one line: what it tells */
    /* Makes the state. On failure *ret is untouched and e says why the source is missing. */
    int (*start)(void **ret, const struct source_opts *o, int64_t now, struct error *e);
    /* Looks again, about once a second; NULL: nothing to gain. Failures leave gaps, no error. */
    void (*sample)(void *self, int64_t now);
    /* Hands out all facts known by now; stops at, and returns, fn's first non-zero status. */
    int (*facts)(void *self, int64_t now, fact_fn fn, void *arg);
    void (*stop)(void *self); /* frees; NULL is fine */
    bool live;                /* tells what no file does: a dump must bring its facts along */
    bool survey; /* of use to the rules of check alone: a measurement of a job does without it */
};

extern const struct source source_cpu;        /* cores, quota, load, governor */
extern const struct source source_memory;     /* memory, page cache, swap, reclaim */
extern const struct source source_psi;        /* pressure stall information */
extern const struct source source_disks;      /* block devices */
extern const struct source source_nics;       /* network interfaces */
extern const struct source source_mounts;     /* mounts the job could read from */
extern const struct source source_proc;       /* the job's processes and environment */
extern const struct source source_nvml;       /* NVIDIA devices */
extern const struct source source_limits;     /* resource limits */
extern const struct source source_vm;         /* size of the cloud machine */
extern const struct source source_data;       /* where the job reads its data */
extern const struct source source_loader;     /* the job's loader workers */
extern const struct source source_given;      /* what a dump brings along */
extern const struct source source_self;       /* gpufeed's own cost */
extern const struct source source_pci;        /* PCIe: links, access control, NUMA nodes */
extern const struct source source_rdma;       /* InfiniBand and RoCE ports */
extern const struct source source_gpu_files;  /* files of NVIDIA's driver */
extern const struct source source_modules;    /* kernel release and modules */
extern const struct source source_services;   /* daemons of accelerators and fabrics */
extern const struct source source_nccl_files; /* nccl.conf, topology files, waagent.conf */
extern const struct source source_libraries;  /* communication libraries of the job */
extern const struct source source_job_tcp;    /* bytes of the job's TCP connections */

#endif
