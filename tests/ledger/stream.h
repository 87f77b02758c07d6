/* SPDX-License-Identifier: MIT */
/*
 * stream: a run of the model (tests/plan/model.h) as a kernel and a probe would report it.
 *
 * The trainer is a process; workers are processes (main thread, queue feeder, resource sharer), or
 * threads of the trainer's process. Only what such sources really see is in the stream: who was off
 * its core, on what, and who woke it; never what the model knows of items.
 */
#ifndef GPUFEED_TESTS_LEDGER_STREAM_H
#define GPUFEED_TESTS_LEDGER_STREAM_H

#include "ledger/ledger.h"
#include "model.h"

/* How the job hands things over. */
struct stream_job {
    uint32_t pid; /* of the trainer; workers get the numbers above it */
    uint32_t device;
    uint32_t store, disk; /* interned: what is read, what checkpoints are written to */
    bool threads;         /* workers are threads of the trainer's process */
    bool pin_thread;      /* a thread of the trainer's process takes from the pipe and hands on */
    bool order_threads;   /* the trainer orders through a queue thread per worker */
    bool sharer;          /* descriptors are fetched from a thread of the worker when unpacking */
    bool locks;           /* an interpreter lock is handed over after a wake */
    bool late_feeder;     /* the queue feeder is made at the first delivery */
    bool spins;           /* synchronisations spin instead of blocking */
    uint8_t read_as;      /* enum target: FILE, FAULT or SOCKET */
    uint8_t read_flags;   /* enum wait_flag */
    int read_pieces;      /* waits that one read consists of */
};

/* Drawn from a seed. */
struct stream_job stream_job_random(uint64_t seed);

struct reported {
    int64_t at; /* when the source hands it over */
    uint64_t nth;
    struct event e;
};

struct stream {
    struct reported *v; /* owned */
    size_t count, cap;
};

/* Appends the events of one run; several runs may share a stream. */
void stream_add(struct stream *s, const struct stream_job *job, const struct model_config *config,
                const struct model_trace *trace, int64_t total);
void stream_sort(struct stream *s);
void stream_clear(struct stream *s);
/* Feeds a sorted stream as a live measurement does, in ticks of 50 ms. */
void stream_feed(const struct stream *s, struct ledger *l, int64_t end);

#endif
