/* SPDX-License-Identifier: MIT */
/*
 * The ledger engine alone on one core: a made-up hour of a job whose loader starves
 * it, with kernels, launches, waits and wakes. Prints spans per second and the peak
 * memory, once for a tenth and once for the whole, to show that it does not grow.
 */
#include "base/unit.h"
#include "ledger/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define STEP_NS (20 * NS_PER_MS)
#define KERNELS 60 /* a step: 3,000 kernels a second */
#define WORKERS 8u

static void on_row(void *arg, const struct ledger_row *row)
{
    *(uint64_t *)arg += (uint64_t)row->ns;
}

static void push_wait(struct ledger *l, uint32_t tid, uint32_t tgid, int64_t t0, int64_t t1,
                      enum target target, uint32_t waker, uint32_t waker_tgid)
{
    struct event e = {.kind = EVENT_WAIT,
                      .wait = {.t_out = t0, .t_wake = t1, .t_in = t1 + 5000, .tid = tid,
                               .tgid = tgid, .target = (uint8_t)target, .waker_tid = waker,
                               .waker_tgid = waker_tgid, .resource = 1}};
    ledger_push(l, &e);
}

static void push_thread(struct ledger *l, uint32_t tid, uint32_t tgid, uint32_t parent)
{
    struct event e = {.kind = EVENT_THREAD,
                      .thread = {.t = 0, .tid = tid, .tgid = tgid, .parent_tgid = parent,
                                 .change = THREAD_START, .job = true}};
    ledger_push(l, &e);
}

static void push_kernels(struct ledger *l, int64_t t)
{
    for (int k = 0; k < KERNELS; k++) {
        int64_t t0 = t + k * 200 * NS_PER_US;
        struct event e = {.kind = EVENT_SPAN,
                          .span = {.t0 = t0, .t1 = t0 + (k % 3 ? 200 : 150) * NS_PER_US,
                                   .launch_t0 = t0 - 9000, .launch_t1 = t0 - 4000, .pid = 100,
                                   .tid = 100, .stream = (uint32_t)k % 2}};
        ledger_push(l, &e);
    }
}

static uint64_t run(struct ledger *l, int64_t seconds)
{
    uint64_t spans = 0, step = 0;
    int64_t end = seconds * NS_PER_S;
    for (int64_t t = 1; t < end - STEP_NS; t += STEP_NS, step++) {
        uint32_t w = 200u + 10u * (uint32_t)(step % WORKERS);
        push_wait(l, w, w, t - 7 * STEP_NS, t - 2 * STEP_NS, TARGET_FILE, 0, 0);
        push_wait(l, w + 1, w, t - 7 * STEP_NS, t + 7 * NS_PER_MS, TARGET_FUTEX, w, w);
        push_wait(l, 100, 100, t, t + 7 * NS_PER_MS, TARGET_PIPE, w + 1, w);
        push_kernels(l, t + 8 * NS_PER_MS);
        spans += KERNELS;
        if (step % 5 == 0)
            ledger_advance(l, t);
    }
    ledger_finish(l, end);
    return spans;
}

static void measure(int64_t seconds)
{
    struct intern names = {0};
    struct timespec a, b;
    struct rusage self;
    uint64_t booked = 0;
    struct replay_log *log = replay_log_new(0);
    struct ledger_options o = {.names = &names, .log = log, .row = on_row, .arg = &booked};
    struct ledger *l = ledger_new(&o);
    if (!l || !log)
        exit(1);
    intern_put(&names, "nfs://10.0.0.4/data");
    ledger_watch_waits(l);
    push_thread(l, 100, 100, 1);
    for (uint32_t w = 0; w < WORKERS; w++) {
        push_thread(l, 200 + 10 * w, 200 + 10 * w, 100);
        push_thread(l, 201 + 10 * w, 200 + 10 * w, 100);
    }
    struct event taken = {.kind = EVENT_DEVICE, .device = {.pid = 100, .taken = true}};
    ledger_push(l, &taken);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    uint64_t spans = run(l, seconds);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    getrusage(RUSAGE_SELF, &self);
    double s = (double)(b.tv_sec - a.tv_sec) + unit_seconds(b.tv_nsec - a.tv_nsec);
    printf("ledger: %lld s of job (%.1f s booked), %.1f M spans in %.2f s of CPU: %.2f M spans/s, "
           "peak %ld MiB, lost %llu\n", (long long)seconds, unit_seconds((int64_t)booked),
           (double)spans / 1e6, s, (double)spans / s / 1e6, self.ru_maxrss / 1024,
           (unsigned long long)ledger_lost(l));
    ledger_free(l);
    replay_log_free(log);
    intern_clear(&names);
}

int main(void)
{
    measure(360);
    measure(3600);
    return 0;
}
