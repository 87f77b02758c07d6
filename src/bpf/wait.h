/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * wait: what the BPF side (wait.bpf.c) tells user space, through one ring buffer.
 *
 * One record per off-core interval of a watched thread, written when it is back
 * on a core, and per time on a core in which it filled the page cache; plus process tree changes and driver calls seen by uprobes. Times are
 * bpf_ktime_get_ns() = CLOCK_MONOTONIC. Fixed-width types only: both sides and
 * both pointer sizes agree.
 */
#ifndef GPUFEED_BPF_WAIT_H
#define GPUFEED_BPF_WAIT_H

#ifndef __BPF__
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef int32_t s32;
#endif

enum bpf_record_kind { BPF_OFFCORE = 1, BPF_FORK, BPF_EXEC, BPF_EXITED, BPF_CALLED, BPF_HOST };

enum bpf_file_kind {
    BPF_FILE_NONE,
    BPF_FILE_REGULAR, /* on a file system: dev, ino, fs_magic, fs_type valid */
    BPF_FILE_PIPE,
    BPF_FILE_TCP,
    BPF_FILE_UDP,
    BPF_FILE_UNIX,
    BPF_FILE_EVENTFD,
    BPF_FILE_TIMERFD,
    BPF_FILE_EPOLL,   /* and nothing inside could be told */
    BPF_FILE_CHARDEV, /* rdev in dev */
    BPF_FILE_OTHER,
};

enum bpf_off_flag {
    BPF_OFF_RUNNABLE = 1 << 0, /* was preempted or yielded: never slept */
    BPF_OFF_IOWAIT = 1 << 1,
    BPF_OFF_FAULT = 1 << 2,    /* in a page fault, no system call */
    BPF_OFF_WAKE_IRQ = 1 << 3, /* woken in hard or soft interrupt context */
    BPF_OFF_MULTI = 1 << 4,    /* the file is one of several that were polled */
    BPF_OFF_UNINTR = 1 << 5,   /* TASK_UNINTERRUPTIBLE */
    BPF_OFF_RECLAIM = 1 << 6,  /* in direct reclaim or swap-in */
    BPF_OFF_KTHREAD_WAKER = 1 << 7,
    BPF_OFF_OPEN = 1 << 8,   /* asked for by a snapshot: still off, t_in is "now" */
    BPF_OFF_WROTE = 1 << 9,  /* was on a core from t_out to t_in and filled the page cache */
    BPF_OFF_URING = 1 << 10, /* in io_uring_enter; syscall is what its last request does, if told */
    BPF_OFF_TIMED = 1 << 11, /* in a futex call that ends after a time */
};

/* How the first argument of a system call leads to a file; the table comes from user space. */
enum bpf_syscall_class {
    BPF_SYSCALL_NONE,
    BPF_SYSCALL_FD,     /* argument 0 is the descriptor */
    BPF_SYSCALL_POLL,   /* pollfd array and count */
    BPF_SYSCALL_SELECT, /* count and bit sets */
    BPF_SYSCALL_EPOLL,
    BPF_SYSCALL_PATH,  /* the path walk tells the file system */
    BPF_SYSCALL_URING, /* the last request of the ring in argument 0 */
    BPF_SYSCALL_FUTEX, /* argument 3 is its time limit, 0 none */
};
#define BPF_SYSCALLS 512
#define BPF_URING_CALLS 64 /* requests of io_uring */
/* Set in the table beside the class: the call writes, syncs or changes files. */
#define BPF_SYSCALL_WRITES 0x80

struct bpf_off {
    u32 kind; /* BPF_OFFCORE */
    u32 flags;
    u64 t_out, t_wake, t_in; /* t_wake 0: unknown */
    u32 tid, tgid;
    u32 waker_tid, waker_tgid;
    s32 syscall; /* -1: none */
    u32 file_kind;
    u64 ino; /* pipe, file; eventfd: its id; UNIX socket: the smaller inode of the pair */
    u32 dev; /* as the kernel's s_dev (MAJOR << 20 | MINOR) */
    u32 fs_magic;
    u64 sock_rx, sock_tx; /* TCP bytes received, bytes acked, at t_in */
    u32 sock_rx_during;   /* received from t_out to t_in */
    u32 sock_unsent;      /* queued or in flight at t_out */
    u8 addr[16];          /* peer; IPv4 as ::ffff:a.b.c.d */
    u8 local_addr[16];
    u16 peer_port, local_port;
    u32 netns;     /* inode of the socket's network namespace */
    u64 fault_ino; /* file whose pages this thread put into the page cache during the wait; 0 none */
    u32 fault_dev;
    u32 waker_kind; /* 0 user thread, 1 kernel thread, also one of io_uring */
    char comm[16];
};

struct bpf_task {
    u32 kind; /* BPF_FORK, BPF_EXEC, BPF_EXITED */
    u32 tid, tgid, parent_tgid;
    u64 t;
    u32 exit_code; /* BPF_EXITED; BPF_EXEC: the tid before, a thread may become the leader */
    u32 outside;   /* 1: followed, but not of the job */
    char comm[16];
};

struct bpf_call {
    u32 kind; /* BPF_CALLED */
    u32 call; /* enum call_kind of model/event.h */
    u64 t0, t1;
    u32 tid, tgid;
};

struct bpf_host {
    u32 kind; /* BPF_HOST: getaddrinfo gave this address for this name */
    u32 tgid;
    u8 addr[16];
    char name[128];
};

/* Why something was lost; index of the `lost` array map. */
enum bpf_lost {
    BPF_LOST_RING, /* ring buffer full */
    BPF_LOST_MAP,  /* a map was full */
    BPF_LOST_REGS, /* no registers at a switch */
    BPF_LOST_FILE, /* the descriptor could not be followed */
    BPF_LOST_COUNT
};

#endif
