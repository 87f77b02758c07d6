/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * state: maps, settings and per-thread state of the wait chain, and the read
 * helpers. Included once, by wait.bpf.c.
 *
 * A thread is watched if and only if it has a `struct thread` in task storage:
 * testing that costs a few ns, so all other threads of the machine are nearly
 * free. The kernel frees it with the thread.
 */
#ifndef GPUFEED_BPF_STATE_H
#define GPUFEED_BPF_STATE_H

#include "kernel.h"
#include "wait.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Set by user space before loading. */
const volatile u8 syscall_class[BPF_SYSCALLS];
const volatile u16 uring_call[BPF_URING_CALLS]; /* the system call that does the same; 0 none */
const volatile bool have_prev_state;  /* sched_switch hands over the state (from 5.18 on) */
const volatile bool have_cast;        /* the kfunc bpf_rdonly_cast exists (from 6.2 on) */
const volatile u32 short_runnable_ns; /* preemptions shorter than this are summed up */
const volatile u32 reader_ns;         /* the reader's pid namespace; 0: the initial one */

/* The kernel stack tells interrupts; set once calibrated, after loading. */
bool irq_by_stack;

struct thread {
    u64 t_out;       /* 0: on a core */
    u64 t_in;        /* end of the last interval that was reported */
    u64 run_out;     /* CPU time the thread had used by t_out */
    u64 runnable_ns; /* short preemptions that were not reported yet */
    u32 flags;
    s32 syscall;
    u32 file_kind;
    u64 ino;
    u32 dev, magic;
    u64 sock; /* kernel addresses; only ever read through fault-safe loads */
    u64 epoll;
    u64 rx_out;
    u32 unsent;
    u32 outside;
    u64 fault_ino, fault_ip, fault_t; /* the last file fault, on the thread's own CPU time */
    u32 fault_dev;
    u32 reclaim;
    u64 call_t0; /* outermost driver call */
    u32 call_depth;
    u32 call_kind;
    u64 host_node, host_list;       /* arguments of getaddrinfo */
    u64 write_t0, write_t1;         /* time of writing that was not reported yet; 0: none */
    u64 write_end;                  /* end of the last one that was reported */
    u64 write_look;                 /* when it last got a core or was looked at */
    u64 write_dirtied, write_chars; /* bytes then: made dirty, given to write calls */
    u64 write_ino;                  /* the file; 0 unknown */
    u32 write_dev, write_magic;
    u64 speed_ns, speed_kib; /* learnt: so long for so much */
    u32 in_write;            /* was in a write call then */
    u32 write_ticks;         /* looks since it got a core */
    /* Written by whoever wakes the thread, on any core, and by nobody else. */
    u64 t_wake;
    u32 wake_flags, waker_tid, waker_tgid;
};

struct watch {
    u32 outside;
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread);
} threads SEC(".maps");

/* Watched thread groups: for threads that are made while others are being found. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, u32);
    __type(value, struct watch);
} watched SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4 << 20);
} ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, BPF_LOST_COUNT);
    __type(key, u32);
    __type(value, u64);
} lost SEC(".maps");

/* Depth of interrupt handlers on this core; only where the stack cannot tell. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, u32);
} irq_depth SEC(".maps");

/* Calibration: [0] task context seen as task, [1] as interrupt, [2], [3] the same for softirqs;
 * [4] process groups that the last search added. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 5);
    __type(key, u32);
    __type(value, u64);
} counts SEC(".maps");

#ifndef NO_RDONLY_CAST
extern void *bpf_rdonly_cast(void *object, u32 btf_id) __ksym __weak;
#else
static __always_inline void *bpf_rdonly_cast(void *object, u32 btf_id)
{
    return object;
}
#endif

/* ((type *)address)->field of an untrusted address: a plain load where the kernel allows it. Also
 * for pointers in trusted types: the verifier searches all of BTF for each of those (1 ms). */
#define FIELD(type, address, field)                                                                \
    ({                                                                                             \
        u64 address_ = (u64)(address);                                                             \
        typeof(((type *)0)->field) value_ = 0;                                                     \
        if (have_cast)                                                                             \
            value_ =                                                                               \
                ((type *)bpf_rdonly_cast((void *)address_, bpf_core_type_id_kernel(type)))->field; \
        else                                                                                       \
            bpf_probe_read_kernel(&value_, sizeof(value_), &((type *)address_)->field);            \
        value_;                                                                                    \
    })

static __always_inline void count_lost(u32 reason)
{
    u64 *n = bpf_map_lookup_elem(&lost, &reason);

    if (n)
        (*n)++;
}

static __always_inline void name_task(char *to, struct task_struct *p)
{
    __builtin_memcpy(to, p->comm, 16);
}

/* A pid namespace in another in another: more are not looked through. */
#define NAMESPACES_MAX 4

/* The number of a thread as the reader's pid namespace has it; 0: it lives outside of that. */
static __always_inline u32 number_in(struct pid *pid)
{
    u64 at = (u64)pid + bpf_core_field_offset(struct pid, numbers);
    u32 level = pid ? FIELD(struct pid, pid, level) : 0;

    for (u32 i = 1; i <= NAMESPACES_MAX && i <= level; i++) {
        u64 upid = at + i * bpf_core_type_size(struct upid);
        struct pid_namespace *ns = FIELD(struct upid, upid, ns);

        if (ns && FIELD(struct pid_namespace, ns, ns.inum) == reader_ns)
            return FIELD(struct upid, upid, nr);
    }
    return 0;
}

static __always_inline u32 tid_of(struct task_struct *p)
{
    return reader_ns ? number_in(FIELD(struct task_struct, p, thread_pid)) : p->pid;
}

static __always_inline u32 tgid_of(struct task_struct *p)
{
    struct task_struct *leader;

    if (!reader_ns)
        return p->tgid;
    leader = FIELD(struct task_struct, p, group_leader);
    return number_in(FIELD(struct task_struct, leader, thread_pid));
}

static __always_inline struct thread *thread_of(struct task_struct *p)
{
    return bpf_task_storage_get(&threads, p, 0, 0);
}

#endif
