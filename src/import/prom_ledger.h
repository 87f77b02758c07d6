/* SPDX-License-Identifier: MIT */
/*
 * prom_ledger: how busy each accelerator was between scrapes, as rows of the ledger.
 *
 * Exporters tell the share of time in which anything ran on the device (DCGM_FI_PROF_GR_ENGINE_ACTIVE,
 * DCGM_FI_DEV_GPU_UTIL, ...). Between two scrapes it is taken to go straight from one value to the other. That
 * share is `compute`, a spinning communication kernel included; the rest is `wait` for something unknown, or `unused`
 * where nothing ran and nothing says that a job holds the device. Evidence: counters. Pure.
 */
#ifndef GPUFEED_IMPORT_PROM_LEDGER_H
#define GPUFEED_IMPORT_PROM_LEDGER_H

#include "import/prom_set.h"
#include "model/ledger_row.h"

struct prom_gpu {
    uint32_t number;    /* from 0 on, in the order of sight */
    char id[96];        /* "GPU-5c1f..." or "gpu 0 on node1" */
    char name[96];      /* model; "" unknown */
    const char *metric; /* that tells how busy it is; constant text */
    int64_t t0, t1;     /* Unix ns */
};

struct prom_ledger_sink {
    void *arg;
    /* Once a device, before its rows; false: leave it out. */
    bool (*gpu)(void *arg, const struct prom_gpu *gpu);
    void (*row)(void *arg, const struct ledger_row *row);
};

/* Nothing where each device has one sample only. The set is sorted. Windows of window_ns from t = 0 on. */
int prom_ledger(const struct prom_set *s, int64_t window_ns, const struct prom_ledger_sink *sink,
                struct error *e);

#endif
