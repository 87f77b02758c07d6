/* SPDX-License-Identifier: MIT */
/*
 * wait_bpf: the wait chain from the kernel: loads src/bpf/wait.bpf.c, watches a
 * job and hands out what its threads waited for.
 *
 * The job is the given processes, their threads and all that they fork. Other
 * processes that wake the job are followed too (event_thread.job false): FUSE
 * daemons at once, others when seen repeatedly, 64 at most, never pid 1 or
 * gpufeed. Events come in the order of the ring: EVENT_THREAD before the first
 * EVENT_WAIT of a thread, waits in the order of t_in but for a few microseconds
 * between cores. Runnable time in pieces below 50 us is summed per thread and
 * given as one TARGET_CORE wait (see wait.bpf.c). Time on a core spent in writing files is a
 * TARGET_WRITE wait that nobody ended (see write.bpf.h).
 * The kernel does not wake the reader: call wait_bpf_poll at least every 0.3 s.
 * One thread at a time.
 */
#ifndef GPUFEED_SENSE_WAIT_BPF_H
#define GPUFEED_SENSE_WAIT_BPF_H

#include "base/error.h"
#include "bpf/wait.h"
#include "model/event.h"
#include "sense/resource.h"

struct wait_bpf; /* opaque */

struct wait_bpf_opts {
    const uint32_t *pids; /* the first processes of the job; more by wait_bpf_watch */
    size_t pid_count;
    struct resources *resources; /* borrowed: names of what is waited for; must outlive */
    size_t ring_bytes;           /* a power of two; 0: 4 MiB, 1.2 s at 20,000 waits/s */
    bool count_interrupts;       /* tell interrupts by counting even where the stack would do */
    bool as_old;                 /* use nothing that the oldest kernel, 5.15, lacks */
};

/* Non-zero stops the poll, which returns it. */
typedef int (*wait_bpf_fn)(void *arg, const struct event *event);

/*
 * STATUS_DENIED: e names the missing capability; STATUS_MISSING: built without BPF, or a kernel
 * without BTF. *ret is untouched on failure.
 */
int wait_bpf_open(struct wait_bpf **ret, const struct wait_bpf_opts *o, struct error *e);
void wait_bpf_close(struct wait_bpf *w); /* NULL is fine */

/* Adds a running process, its threads and its descendants to the job; each is announced by
 * EVENT_THREAD with THREAD_START. */
int wait_bpf_watch(struct wait_bpf *w, uint32_t pid, struct error *e);

/* Hands out what is in the ring; if there was nothing, waits timeout_ms and looks again. */
int wait_bpf_poll(struct wait_bpf *w, int timeout_ms, wait_bpf_fn fn, void *arg);

/* Waits that are still going on, as EVENT_WAIT with WAIT_OPEN_END and t_in now (and whatever
 * else is in the ring). Walks all threads of the machine: for the end, or every few seconds. */
int wait_bpf_open_waits(struct wait_bpf *w, wait_bpf_fn fn, void *arg);

/*
 * Driver calls as EVENT_CALL by uprobes on the libcuda that process pid maps, or on the
 * library at `path` when that is not NULL. Entry points that this version lacks are left out.
 * STATUS_MISSING: no such library or none of the entry points.
 */
int wait_bpf_attach_cuda(struct wait_bpf *w, const char *path, uint32_t pid, struct error *e);

/* counts[BPF_LOST_COUNT], since opening. */
void wait_bpf_lost(const struct wait_bpf *w, uint64_t *counts);
/* CPU time of the kernel side; -1 where the kernel does not time it (kernel.bpf_stats_enabled is
 * switched on while watching where that is permitted). runs: may be NULL. */
int64_t wait_bpf_run_time_ns(const struct wait_bpf *w, uint64_t *runs);
/* The same for one program, "on_switch" or "on_waking". */
int64_t wait_bpf_program_ns(const struct wait_bpf *w, const char *name, uint64_t *runs);
/* true: interrupts are told by the kernel stack, false: by counting. */
bool wait_bpf_irq_by_stack(const struct wait_bpf *w);

#endif
