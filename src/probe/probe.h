/* SPDX-License-Identifier: MIT */
/*
 * probe: the parts of libgpufeed-probe.so, which the CUDA driver loads into a
 * job (CUDA_INJECTION64_PATH) and calls once, inside cuInit.
 *
 * The job must not notice: no function here fails, aborts, prints or leaves
 * errno changed. Threads: InitializeInjection runs once; listen_* in any of
 * the job's threads; flush_* in the flusher, or in the thread that exits or
 * destroys a context. Lock order: flush_lock, then the leaf locks of ring and
 * activity. CUPTI is called with flush_lock held at most.
 */
#ifndef GPUFEED_PROBE_PROBE_H
#define GPUFEED_PROBE_PROBE_H

#include "probe/activity.h"
#include "probe/hook.h"

#include <pthread.h>
#include <sys/types.h>

#define PROBE_CONTEXTS 64
#define PROBE_HOOKS 3

struct probe_driver { /* of the libcuda that loaded us; NULL: not there */
    abi_cu_result (*version)(int *);
    abi_cu_result (*device)(abi_cu_device *, int);
    abi_cu_result (*uuid)(struct abi_cu_uuid *, abi_cu_device);
    abi_cu_result (*name)(char *, int, abi_cu_device);
};

struct probe_context {
    abi_cu_context context; /* NULL: free */
    uint16_t device;
};

struct probe {
    pid_t pid;
    bool active;    /* atomic: callbacks are listened to */
    bool withdrawn; /* atomic: another profiler has CUPTI; time is unseen */
    bool simulated;
    struct ring_writer ring;
    struct join *join;
    struct activity activity;
    struct cupti cupti;
    struct probe_driver driver;
    abi_subscriber subscriber;
    struct hook hooks[PROBE_HOOKS];
    pthread_mutex_t hook_lock;

    pthread_mutex_t context_lock;
    struct probe_context contexts[PROBE_CONTEXTS];
    unsigned held[RING_DEVICES]; /* contexts on each device */

    pthread_mutex_t flush_lock; /* one flush at a time, none while withdrawing */
    int64_t flushed_at;         /* start of the last flush, or end of the last unseen time told */
    pthread_mutex_t wake_lock;  /* of what follows */
    pthread_cond_t wake;
    bool flusher_runs, stop, hurry;
};

/* probe_listen.c */
void listen_callback(void *probe, int domain, uint32_t cbid, const void *data);
/* Switches on the callbacks wanted; the first error that is not "no such function", or 0. */
abi_cupti_result listen_enable(struct probe *p);
/* After fork: this thread has another number. */
void listen_forget_thread(void);
/* The end of the job: all contexts count as released. */
void listen_release_all(struct probe *p, int64_t now);

/* probe_flush.c */
bool flush_start_thread(struct probe *p);
void flush_stop_thread(struct probe *p);
void flush_hurry(struct probe *p);
/* final: take also what has not ended. Returns at once if a flush is under way, unless final. */
void flush_now(struct probe *p, bool final);

/* probe_device.c */
void device_find_driver(struct probe *p);
/* Names the devices held that have no name in the ring's header yet. */
void device_name_all(struct probe *p);

/* probe_withdraw.c */
void withdraw_arm(struct probe *p);

void probe_push(struct probe *p, const struct ring_record *record);

#endif
