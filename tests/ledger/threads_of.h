/* SPDX-License-Identifier: MIT */
/* threads_of: made-up threads, waits and calls for the tests of turn, walk, gap and crowd. */
#ifndef GPUFEED_TESTS_LEDGER_THREADS_OF_H
#define GPUFEED_TESTS_LEDGER_THREADS_OF_H

#include "ledger/thread.h"

#include "base/unit.h"

#include <stdlib.h>

#define MS NS_PER_MS
#define US NS_PER_US

/* The threads of most tests. */
#define TRAINER 100u
#define PIN 101u /* a thread of the trainer's process */
#define WORKER 200u
#define FEEDER 201u /* threads of the worker's process */
#define SHARER 202u
#define OTHER 300u /* another worker */
#define STORE 1u   /* a resource */

static inline void started(struct threads *t, int64_t at, uint32_t tid, uint32_t tgid,
                           uint32_t parent)
{
    struct event_thread e = {.t = at,
                             .tid = tid,
                             .tgid = tgid,
                             .parent_tgid = parent,
                             .change = THREAD_START,
                             .job = true,
                             .name = "python3"};
    if (!threads_change(t, &e))
        abort();
}

static inline void ended(struct threads *t, int64_t at, uint32_t tid, uint32_t tgid)
{
    struct event_thread e = {.t = at, .tid = tid, .tgid = tgid, .change = THREAD_EXIT};
    if (!threads_change(t, &e))
        abort();
}

static inline struct event_wait a_wait(uint32_t tid, uint32_t tgid, enum target target,
                                       int64_t t_out, int64_t t_wake)
{
    return (struct event_wait){.t_out = t_out,
                               .t_wake = t_wake,
                               .t_in = t_wake,
                               .tid = tid,
                               .tgid = tgid,
                               .target = (uint8_t)target};
}

static inline void push(struct threads *t, struct event_wait w)
{
    if (!threads_wait(t, &w))
        abort();
}

static inline void woken(struct threads *t, uint32_t tid, uint32_t tgid, enum target target,
                         int64_t t_out, int64_t t_wake, uint32_t waker, uint32_t waker_tgid)
{
    struct event_wait w = a_wait(tid, tgid, target, t_out, t_wake);
    w.waker_tid = waker;
    w.waker_tgid = waker_tgid;
    push(t, w);
}

static inline void reads(struct threads *t, uint32_t tid, uint32_t tgid, int64_t t_out,
                         int64_t t_wake)
{
    struct event_wait w = a_wait(tid, tgid, TARGET_FILE, t_out, t_wake);
    w.resource = STORE;
    push(t, w);
}

static inline void called(struct threads *t, uint32_t tid, enum call_kind kind, int64_t t0,
                          int64_t t1)
{
    struct event_call c = {.t0 = t0, .t1 = t1, .pid = tid, .tid = tid, .kind = (uint8_t)kind};
    if (!threads_call(t, &c))
        abort();
}

#endif
