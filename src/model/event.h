/* SPDX-License-Identifier: MIT */
/*
 * event: what every live source and importer pushes into the ledger.
 *
 * All times are int64 ns of the recording's one clock (CLOCK_MONOTONIC of the
 * machine for live sources; other clocks are joined through a recorded pair
 * before an event is made). Threads are named by their tid in the initial pid
 * namespace. Resources are numbers of the recording's `struct intern`.
 */
#ifndef GPUFEED_MODEL_EVENT_H
#define GPUFEED_MODEL_EVENT_H

#include "model/words.h"

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    EVENT_SPAN,    /* something ran on a device */
    EVENT_CALL,    /* a thread was inside a driver call */
    EVENT_WAIT,    /* a thread was off its core */
    EVENT_THREAD,  /* a thread began, ended or changed its name */
    EVENT_DEVICE,  /* a process took or released a device */
    EVENT_LOST,    /* something was not seen */
    EVENT_CHANNEL, /* a process holds an end of a pipe or socket */
    EVENT_OP,      /* a thread was inside something that a profiler's trace names */
    EVENT_CLOSED,  /* a TCP connection has ended */
};

enum span_kind {
    SPAN_COMPUTE, /* kernel */
    SPAN_COMM,    /* communication kernel */
    SPAN_COPY,
    SPAN_MEMSET, /* counts as compute */
};

struct event_span {
    int64_t t0, t1;               /* device activity */
    int64_t launch_t0, launch_t1; /* the driver call that asked for it; 0, 0 unknown */
    uint32_t device;              /* number in the recording's accelerators */
    uint32_t stream;
    uint32_t pid, tid; /* of the launching thread; tid 0 unknown */
    uint8_t kind;      /* enum span_kind */
    bool host_copy;    /* one side is host memory */
    bool pageable;     /* ... that is not pinned */
    bool sync_copy;    /* the call returned only after the copy */
    bool first;        /* foreign traces: nothing before it is told of its stream */
    uint64_t bytes;
    uint32_t resource; /* of communication: who takes part; 0 unknown */
};

enum call_kind { CALL_LAUNCH, CALL_COPY, CALL_SYNC, CALL_MEMORY, CALL_CONTEXT, CALL_OTHER };

struct event_call {
    int64_t t0, t1;
    uint32_t device; /* UINT32_MAX unknown */
    uint32_t pid, tid;
    uint8_t kind; /* enum call_kind */
};

/* What an off-core thread waited on. */
enum target {
    TARGET_UNKNOWN,
    TARGET_CORE,   /* it was runnable all the time: preempted or yielded */
    TARGET_FILE,   /* system call on a file: read, open, stat, getdents */
    TARGET_FAULT,  /* page fault on a file mapping */
    TARGET_WRITE,  /* write, fsync, rename on a file; also time on a core spent in that */
    TARGET_SOCKET, /* TCP or UDP */
    TARGET_PIPE,   /* pipe, FIFO, UNIX socket, eventfd, message queue, signal: another thread */
    TARGET_FUTEX,  /* or, with a resource, the lock of a file */
    TARGET_POLL,   /* several descriptors, none telling */
    TARGET_SLEEP,
    TARGET_CHILD,  /* waits for a process to end */
    TARGET_DEVICE, /* ioctl or poll on the accelerator's device node */
    TARGET_MEMORY, /* reclaim, swap, fault without a file */
    TARGET_COUNT
};

enum wait_flag {
    WAIT_WAKER_IRQ = 1 << 0,    /* woken in interrupt context: the waker is nobody */
    WAIT_IOWAIT = 1 << 1,       /* the kernel counted it as waiting for a disk */
    WAIT_SAMPLED = 1 << 2,      /* from /proc samples: times are +- half a period */
    WAIT_OPEN_END = 1 << 3,     /* still waiting when last looked at */
    WAIT_REMOTE_FS = 1 << 4,    /* the file system is remote or FUSE */
    WAIT_STORAGE_PEER = 1 << 5, /* the TCP peer is an object store or file server by name or port */
    WAIT_LOOPBACK = 1 << 6,     /* the TCP peer is on this host */
    WAIT_ROOM = 1 << 7,         /* it wrote into a pipe or UNIX socket that was full */
    WAIT_ACCEPTED = 1 << 8,     /* the TCP peer came to a port of ours: it asks, no store does */
    WAIT_PRIVATE = 1 << 9,      /* sampled: a futex that no other process can wake */
    WAIT_TIMED = 1 << 10,       /* on a futex, for a limited time: as for CPython's lock */
};

struct event_wait {
    int64_t t_out, t_wake, t_in; /* left the core <= became runnable <= back on a core */
    uint32_t tid, tgid;
    uint32_t waker_tid, waker_tgid; /* 0: nobody known */
    uint32_t resource;              /* interned name of the thing waited for; 0 none */
    uint8_t target;                 /* enum target */
    uint16_t flags;                 /* enum wait_flag */
    uint64_t channel; /* identity of the pipe, socket or file: equal at both ends; 0 unknown */
    uint64_t rx_bytes, tx_bytes; /* TCP: totals of the connection at t_in */
    uint32_t rx_during;          /* TCP: bytes received from t_out to t_in */
    uint32_t tx_unsent;          /* TCP: bytes queued or in flight at t_out */
    int64_t t_seen;              /* WAIT_SAMPLED: when it was last seen, exact; 0 it was inferred */
};

enum thread_change { THREAD_START, THREAD_EXEC, THREAD_NAME, THREAD_EXIT };

struct event_thread {
    int64_t t;
    uint32_t tid, tgid, parent_tgid;
    uint8_t change; /* enum thread_change */
    bool job;       /* belongs to the measured job; false: an outside waker that is followed */
    char name[16];
};

struct event_device {
    int64_t t;
    uint32_t device, pid;
    bool taken; /* false: released */
};

struct event_lost {
    int64_t t0, t1;
    uint32_t device; /* UINT32_MAX: all */
    uint64_t count;
    bool spans; /* device activity was lost: the time is unseen; else many waits were lost */
};

/*
 * Sampler only: who may be at the other end of a wait whose waker is not known.
 * The candidates of a wait with waker 0 and a channel are all processes that
 * hold a write end of it, the waiting process itself left out.
 */
struct event_channel {
    int64_t t;
    uint64_t channel;
    uint32_t tgid;
    bool reader, writer; /* both false: it holds no end any more */
};

/*
 * Foreign traces only: they show no waits, but what a thread was in. Within a kind, what lies inside
 * another op of the same thread adds nothing; between kinds the first one listed explains the time.
 */
enum op_kind {
    OP_RANGE, /* a range whose cause is known: a loader's next(), a checkpoint */
    OP_CALL,  /* a call of the driver or runtime */
    OP_CODE,  /* an operator of the framework */
    OP_KINDS
};

struct event_op {
    int64_t t0, t1;
    uint32_t pid, tid;
    uint32_t resource;  /* interned name; 0 none */
    uint8_t kind;       /* enum op_kind */
    uint8_t cause;      /* enum cause; OP_CODE: not used */
    bool awaits_device; /* OP_CALL: it returns when the device has done its work */
    bool loads; /* OP_RANGE: the thread loads data itself; OP_CALL: it waits for a file or a peer */
};

/* What a connection that a wait was seen on had carried when it ended. */
struct event_closed {
    int64_t t;
    uint64_t channel;
    uint32_t resource;           /* as in its waits */
    uint64_t rx_bytes, tx_bytes; /* totals */
};

struct event {
    uint8_t kind; /* enum event_kind */
    union {
        struct event_span span;
        struct event_call call;
        struct event_wait wait;
        struct event_thread thread;
        struct event_device device;
        struct event_lost lost;
        struct event_channel channel;
        struct event_op op;
        struct event_closed closed;
    };
};

#endif
