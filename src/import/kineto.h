/* SPDX-License-Identifier: MIT */
/*
 * kineto: what the parts of the importer of PyTorch profiler traces share. Internal to the room.
 *
 * kineto.c reads the file's frame, kineto_event.c one event of "traceEvents", kineto_take.c says what it means,
 * kineto_job.c what the file says about devices and ranks.
 */
#ifndef GPUFEED_IMPORT_KINETO_H
#define GPUFEED_IMPORT_KINETO_H

#include "base/map.h"
#include "import/collective.h"
#include "import/scan.h"
#include "import/trace.h"

#define KINETO_NAMES 1024u      /* slots of the cache of names */
#define KINETO_GROUPS 64u       /* of ranks that are kept apart */
#define KINETO_OPERATORS 20000u /* distinct names; PyTorch has some 3,000 operators */

struct kineto {
    struct scan scan;
    struct sink *sink;   /* borrowed */
    struct trace *trace; /* owned */
    struct collectives collectives;
    struct intern groups; /* of ranks */
    int64_t base_unix_ns; /* what timestamps count from; INT64_MIN: not told, they are Unix time */
    int64_t origin;       /* the first timestamp, ns; INT64_MIN: none yet. Times count from it */
    bool has_events;      /* "traceEvents" was seen */
    bool single_loader;   /* torch's loader ran in the training thread */
    uint64_t cpu_events, other_device_events;
    /* that were told of device activity and calls; nothing here needs them */
    uint64_t external_ids;
    uint32_t steps;
    uint32_t operators, last_operator; /* distinct names so far; the largest number of one */
    struct {
        char name[96];       /* "" unknown */
        int64_t sms, memory; /* 0 or less: unknown */
    } device[SINK_DEVICES];
    char all_named[96]; /* the name that all of them have; "" none told */
    bool names_differ;
    struct kineto_name {
        uint64_t key;      /* hash of the whole name; 0: free */
        uint32_t resource; /* of operators: its number in the sink */
        uint32_t call;     /* of calls: its number in the trace */
        uint8_t known;     /* enum: what was found out already */
        bool comm, host_copy, pageable;
    } names[KINETO_NAMES];
};

/* The scanner stands after the event's opening brace. */
bool kineto_event(struct kineto *k);
/* After the key "deviceProperties" or "distributedInfo". */
bool kineto_devices(struct kineto *k);
bool kineto_distributed(struct kineto *k);

#endif
