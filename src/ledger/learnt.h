/* SPDX-License-Identifier: MIT */
/*
 * learnt: what the stream of events says about the job beyond its rows: what was
 * read and how long a read took, what was written, how many workers deliver.
 */
#ifndef GPUFEED_LEDGER_LEARNT_H
#define GPUFEED_LEDGER_LEARNT_H

#include "ledger/device.h"
#include "ledger/flow.h"
#include "model/fact.h"

/* Waits of the job on one resource. */
struct learnt_resource {
    uint32_t resource;
    const char *kind; /* "remote", "disk", "peer": constant */
    uint64_t reads, writes, rx_bytes;
    int64_t read_ns, write_ns;
    int64_t own_write_ns; /* of write_ns: by threads that launch */
    uint64_t running;     /* reads since the job launches */
    int64_t first, last;
    struct flow *flow; /* owned; NULL: no TCP peer, or waits come from samples */
};

struct learnt {
    struct learnt_resource *resource; /* owned */
    size_t count, cap;
    struct map index;  /* resource -> index */
    bool sampled;      /* waits come from samples */
    bool launches;     /* a thread of the job has launched */
    bool ended;        /* a worker of the generation that runs has ended */
    uint32_t restarts; /* times that children were made after others had ended, between launches */
    int64_t own_read_ns; /* reads of threads that launch */
};

void learnt_clear(struct learnt *l);
/* Call before the change is made in `threads`. */
void learnt_thread(struct learnt *l, const struct threads *threads, const struct event_thread *e);
void learnt_wait(struct learnt *l, const struct threads *threads, const struct event_wait *w);
int learnt_facts(const struct learnt *l, const struct intern *names, struct device *const *devices,
                 int count, fact_fn fn, void *arg);

#endif
