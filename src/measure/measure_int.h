/* SPDX-License-Identifier: MIT */
/*
 * measure_int: the state of one live measurement, and what writes of it into the recording
 * (measure_write.c): its facts, rows, chains, names and deliveries. The recording's first
 * failure is kept in `status` and `error`; what cannot be written is lost.
 */
#ifndef GPUFEED_MEASURE_INT_H
#define GPUFEED_MEASURE_INT_H

#include "measure/measure.h"

#include "base/map.h"
#include "base/unit.h"
#include "ledger/ledger.h"
#include "measure/driver.h"
#include "measure/own_reads.h"
#include "measure/watcher.h"
#include "plan/replay_log.h"
#include "record/record.h"
#include "sense/probe_ring.h"
#include "sense/sources.h"

#include <limits.h>

#define COMMIT_NS (500 * NS_PER_MS) /* between two commits */

struct measure {
    struct measure_options o;
    struct intern names;
    struct ledger *ledger;
    struct replay_log *log;
    struct record *record;
    struct probe_rings *rings;
    struct watcher watcher;
    struct sources sources;
    bool sources_started;
    char ring_dir[64];
    int ring_lock;       /* descriptor; 0: none */
    char nvml[PATH_MAX]; /* the simulated library */
    char *env[8];
    int64_t start, committed, delivered, sampled, next;
    bool gives_way;
    int64_t told, tell_every; /* when the sources last told their facts, and until they do again */
    size_t accelerators;      /* written to the recording */
    uint32_t resources;       /* likewise */
    size_t notes;
    struct map workloads; /* pids whose names are written */
    struct replay_cursor cursor[REPLAY_CONSUMERS_MAX];
    struct map holders; /* (device, pid) that hold */
    uint32_t root;      /* the job's first process */
    bool attached;      /* calls are seen from outside: one made-up device */
    struct driver_looks looks;
    struct own_reads own_reads;
    bool python, torch; /* a process that holds a device is an interpreter of Python; has PyTorch */
    const char *blind;  /* why devices are not seen at all; NULL: they are */
    int status;         /* of the recording: the first failure */
    struct error error;
};

/* Remembers the recording's first failure. */
void measure_check(struct measure *m, int rc);
/* A line for the user, in the recording. */
void measure_note(struct measure *m, const char *line);
/* Who a process is, once. */
void measure_name_workload(struct measure *m, uint32_t pid);
/* For the ledger and the sources; `arg` is the measurement. */
void measure_on_row(void *arg, const struct ledger_row *row);
void measure_on_chain(void *arg, const struct chain_example *chain);
int measure_on_fact(void *arg, const struct fact *fact);
/* Resources, accelerators and notes that are new since. */
void measure_write_names(struct measure *m);
/* Deliveries that are new since. */
void measure_write_deliveries(struct measure *m);
/* All facts, at the end. */
void measure_write_facts(struct measure *m, int64_t now);
/* All that is known so far: a killed gpufeed has lost what it did not commit. */
void measure_commit(struct measure *m);

#endif
