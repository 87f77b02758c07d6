/* SPDX-License-Identifier: MIT */
#include "made_up.h"

#include "base/unit.h"

#define STEP_NS (20 * NS_PER_MS)
#define STEPS_PER_TICK 5
#define WORKERS 8u
#define TRAINER 100u
#define CHECKPOINT_EVERY 500
#define TIMES_PER_STEP 3 /* a worker reads, loses its core and works */

static const char *const stores[] = {"nfs://10.0.0.4/data", "nfs://10.0.0.5/data", "disk nvme0n1",
                                     "/mnt/scratch"};
#define STORES (sizeof(stores) / sizeof(stores[0]))

static void push_wait(struct ledger *l, uint32_t tid, uint32_t tgid, int64_t t0, int64_t t1,
                      enum target target, uint32_t waker, uint32_t resource)
{
    struct event e = {.kind = EVENT_WAIT,
                      .wait = {.t_out = t0,
                               .t_wake = t1,
                               .t_in = t1 + 5000,
                               .tid = tid,
                               .tgid = tgid,
                               .target = (uint8_t)target,
                               .waker_tid = waker,
                               .waker_tgid = waker ? waker / 10 * 10 : 0,
                               .resource = resource}};
    if (target == TARGET_CORE)
        e.wait.t_wake = t0;
    ledger_push(l, &e);
}

static void push_thread(struct ledger *l, uint32_t tid, uint32_t tgid, uint32_t parent)
{
    struct event e = {.kind = EVENT_THREAD,
                      .thread = {.t = 0,
                                 .tid = tid,
                                 .tgid = tgid,
                                 .parent_tgid = parent,
                                 .change = THREAD_START,
                                 .job = true}};
    ledger_push(l, &e);
}

static void push_copy(struct ledger *l, int64_t t)
{
    struct event e = {.kind = EVENT_SPAN,
                      .span = {.t0 = t,
                               .t1 = t + 400 * NS_PER_US,
                               .launch_t0 = t - 9000,
                               .launch_t1 = t - 4000,
                               .pid = TRAINER,
                               .tid = TRAINER,
                               .kind = SPAN_COPY,
                               .host_copy = true,
                               .bytes = 8 << 20}};
    ledger_push(l, &e);
}

static void push_kernels(struct ledger *l, int64_t t)
{
    for (int k = 0; k < MADE_UP_KERNELS; k++) {
        int64_t t0 = t + k * 200 * NS_PER_US;
        struct event e = {.kind = EVENT_SPAN,
                          .span = {.t0 = t0,
                                   .t1 = t0 + (k % 3 ? 200 : 150) * NS_PER_US,
                                   .launch_t0 = t0 - 9000,
                                   .launch_t1 = t0 - 4000,
                                   .pid = TRAINER,
                                   .tid = TRAINER,
                                   .stream = (uint32_t)k % 2}};
        ledger_push(l, &e);
    }
}

void made_up_begin(struct ledger *l, struct intern *names)
{
    for (size_t i = 0; i < STORES; i++)
        intern_put(names, stores[i]);
    ledger_watch_waits(l);
    push_thread(l, TRAINER, TRAINER, 1);
    for (uint32_t w = 0; w < WORKERS; w++) {
        push_thread(l, 200 + 10 * w, 200 + 10 * w, TRAINER);
        push_thread(l, 201 + 10 * w, 200 + 10 * w, TRAINER);
    }
    struct event taken = {.kind = EVENT_DEVICE, .device = {.pid = TRAINER, .taken = true}};
    ledger_push(l, &taken);
}

/* Worker w makes a batch, hands it to its queue's thread, and that one to the trainer, which
 * then loses its core for a moment and now and then writes a checkpoint. */
static void push_batch(struct ledger *l, uint32_t w, int64_t t, uint64_t step)
{
    int64_t at = t - 7 * STEP_NS;
    for (int i = 0; i < TIMES_PER_STEP; i++, at += 2 * STEP_NS) {
        uint32_t store = 1 + (uint32_t)((step + (uint64_t)i) % STORES);
        push_wait(l, w, w, at, at + STEP_NS, TARGET_FILE, 0, store);
        push_wait(l, w, w, at + STEP_NS + NS_PER_MS, at + STEP_NS + 3 * NS_PER_MS, TARGET_CORE, 0,
                  0);
    }
    push_wait(l, w + 1, w, t - 7 * STEP_NS, t + 7 * NS_PER_MS, TARGET_FUTEX, w, 0);
    push_wait(l, TRAINER, TRAINER, t, t + 7 * NS_PER_MS, TARGET_PIPE, w + 1, 0);
    push_wait(l, TRAINER, TRAINER, t + 7 * NS_PER_MS + 50 * NS_PER_US,
              t + 7 * NS_PER_MS + 250 * NS_PER_US, TARGET_CORE, 0, 0);
    if (step % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1)
        push_wait(l, TRAINER, TRAINER, t + 7 * NS_PER_MS + 300 * NS_PER_US,
                  t + 7 * NS_PER_MS + 900 * NS_PER_US, TARGET_WRITE, 0, STORES);
}

uint64_t made_up_run(struct ledger *l, int64_t seconds, void (*tick)(void *arg, int64_t t),
                     void *arg)
{
    uint64_t spans = 0, step = 0;
    int64_t end = seconds * NS_PER_S;
    for (int64_t t = 1; t < end - STEP_NS; t += STEP_NS, step++) {
        push_batch(l, 200u + 10u * (uint32_t)(step % WORKERS), t, step);
        push_copy(l, t + 8 * NS_PER_MS);
        push_kernels(l, t + 8 * NS_PER_MS + 500 * NS_PER_US);
        spans += MADE_UP_KERNELS + 1;
        if (step % STEPS_PER_TICK)
            continue;
        ledger_advance(l, t);
        if (tick)
            tick(arg, t);
    }
    ledger_finish(l, end);
    return spans;
}
