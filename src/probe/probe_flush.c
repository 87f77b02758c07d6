/* SPDX-License-Identifier: MIT */
#include "probe/probe.h"

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#define PERIOD_NS INT64_C(100000000)
#define SECOND_NS INT64_C(1000000000)
/* A call whose records did not come for so long after its return left none. */
#define PATIENCE_NS (10 * SECOND_NS)
#define EXIT_WAIT_NS SECOND_NS
#define NAP_NS 500000
#define STACK_BYTES (512u * 1024)
#define BIG_STACK_BYTES (8u * 1024 * 1024)

static void push_unseen(struct probe *p, enum ring_unseen why, int64_t t0, int64_t t1,
                        uint64_t records)
{
    struct ring_record out = {.kind = RING_UNSEEN,
                              .span_kind = (uint8_t)why,
                              .t0 = t0,
                              .t1 = t1,
                              .bytes = records,
                              .device = UINT16_MAX};
    ring_writer_push(&p->ring, &out, 1, t1);
}

/* With flush_lock. */
static void tell_withdrawn(struct probe *p)
{
    int64_t now = clock_now();

    push_unseen(p, RING_UNSEEN_TAKEN, p->flushed_at, now, 0);
    p->flushed_at = now;
    ring_writer_beat(&p->ring, now, now);
}

/* With flush_lock. */
static void flush_locked(struct probe *p, bool final)
{
    int64_t before = p->flushed_at;

    if (__atomic_load_n(&p->withdrawn, __ATOMIC_ACQUIRE)) {
        tell_withdrawn(p);
        return;
    }
    device_name_all(p);
    activity_begin_flush(&p->activity);
    p->flushed_at = clock_now();
    p->cupti.flush_all(final ? ABI_FLAG_FLUSH_FORCED : 0);
    uint64_t lost = activity_take_lost(&p->activity);
    int64_t now = clock_now();
    if (lost > 0)
        push_unseen(p, RING_UNSEEN_DROPPED, before, now, lost);
    int64_t oldest = join_oldest_missing(p->join, now, final ? 0 : PATIENCE_NS, p->activity.flush);
    int64_t until = oldest < p->flushed_at ? oldest : p->flushed_at;
    ring_writer_beat(&p->ring, until, now);
}

static void until_time(struct timespec *ret, int64_t at)
{
    ret->tv_sec = at / SECOND_NS;
    ret->tv_nsec = at % SECOND_NS;
}

/* False: the flush under way takes too long (CUPTI hangs), and the job must still go on. */
static bool lock_within(struct probe *p, int64_t wait_ns)
{
    struct timespec nap = {.tv_nsec = NAP_NS};
    int64_t deadline = clock_now() + wait_ns;

    while (pthread_mutex_trylock(&p->flush_lock) != 0) {
        if (clock_now() >= deadline)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}

void flush_now(struct probe *p, bool final)
{
    if (!lock_within(p, final ? EXIT_WAIT_NS : 0))
        return;
    if (p->subscriber)
        flush_locked(p, final);
    pthread_mutex_unlock(&p->flush_lock);
}

/* --- the thread ------------------------------------------------------------------------------ */

/* False: stop. */
static bool wait_for_next(struct probe *p, int64_t next)
{
    struct timespec at;

    until_time(&at, next);
    pthread_mutex_lock(&p->wake_lock);
    while (!p->stop && !p->hurry && pthread_cond_timedwait(&p->wake, &p->wake_lock, &at) == 0) {
    }
    p->hurry = false;
    bool go_on = !p->stop;
    pthread_mutex_unlock(&p->wake_lock);
    return go_on;
}

static void *flusher(void *arg)
{
    struct probe *p = arg;

    prctl(PR_SET_NAME, "gpufeed-probe");
    int64_t next = clock_now() + PERIOD_NS;

    while (wait_for_next(p, next)) {
        flush_now(p, false);
        next += PERIOD_NS;
        if (next < clock_now()) /* stopped or slow: no burst afterwards */
            next = clock_now() + PERIOD_NS;
    }
    pthread_mutex_lock(&p->wake_lock);
    p->flusher_runs = false;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->wake_lock);
    return NULL;
}

bool flush_start_thread(struct probe *p)
{
    pthread_condattr_t monotonic;
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_t thread;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    p->flusher_runs = true; /* before it runs, since it is what takes that back */
    bool started = pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 &&
                   pthread_create(&thread, &attr, flusher, p) == 0;
    if (!started) { /* thread-local storage alone may be larger than that */
        pthread_attr_setstacksize(&attr, BIG_STACK_BYTES);
        started = pthread_create(&thread, &attr, flusher, p) == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (!started)
        p->flusher_runs = false;
    return started;
}

void flush_stop_thread(struct probe *p)
{
    struct timespec deadline;

    until_time(&deadline, clock_now() + EXIT_WAIT_NS);
    pthread_mutex_lock(&p->wake_lock);
    if (p->flusher_runs) {
        p->stop = true;
        pthread_cond_broadcast(&p->wake);
        while (p->flusher_runs && pthread_cond_timedwait(&p->wake, &p->wake_lock, &deadline) == 0) {
        }
    }
    pthread_mutex_unlock(&p->wake_lock);
}

void flush_hurry(struct probe *p)
{
    pthread_mutex_lock(&p->wake_lock);
    p->hurry = true;
    if (p->flusher_runs)
        pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->wake_lock);
}
