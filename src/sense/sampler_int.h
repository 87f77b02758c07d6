/* SPDX-License-Identifier: MIT */
/*
 * sampler_int: what the parts of the sampler share; nobody else includes it.
 *
 *   sampler.c         the tick: reads threads, makes events, keeps the period
 *   sampler_tree.c    which processes and threads there are
 *   sampler_target.c  system call -> what is waited on
 *   sampler_fault.c   page fault -> what is waited on
 *   sampler_names.c   path -> resource, by the mount table of the process
 *   sampler_socket.c  socket inode -> peer, byte counts
 *   sampler_closed.c  what connections had carried that ended between two looks
 *   sampler_ends.c    who holds which pipe or socket; who woke
 *   sampler_clock.c   readings -> times (pure)
 *   sampler_write.c   bytes written to files -> times (pure)
 *   procfs.c, syscalls.c  texts and numbers -> values (pure)
 */
#ifndef GPUFEED_SENSE_SAMPLER_INT_H
#define GPUFEED_SENSE_SAMPLER_INT_H

#include "base/map.h"
#include "sense/procfs.h"
#include "sense/sampler.h"
#include "sense/sampler_clock.h"
#include "sense/sampler_write.h"
#include "sense/mounts.h"

#include <stddef.h>

/* What a thread is blocked on. Two are the same wait when target, resource, channel are. */
struct sampler_what {
    uint8_t target; /* enum target */
    uint16_t flags; /* enum wait_flag */
    uint32_t resource;
    uint64_t channel;
    uint64_t socket; /* inode of a TCP socket: its byte counts can be asked; 0 none */
    int socket_fd;   /* its descriptor in the process that waits */
    uint64_t rx, tx; /* of it, when the wait was first seen */
    uint32_t unsent;
    bool writing; /* waits to write: the other end is a reader */
    uint32_t waker,
        waker_tgid; /* a thread or child process whose end is awaited; tgid 0: not seen */
};

struct sampler_pending {
    struct sampler_piece piece;
    struct sampler_what what;
};

struct sampler_proc {
    uint32_t tgid, ppid;
    uint64_t netns, mntns;
    char folder[128]; /* of the last path that was named, and its name */
    uint32_t folder_resource;
    uint16_t folder_flags;
    int64_t folder_read;
    int64_t threads_read, ends_read, maps_read, born;
    uint64_t link_count;       /* of /proc/PID/task: changes with the number of threads */
    struct sampler_what fault; /* what page faults of this process wait on */
    int dir;                   /* /proc/PID */
    int pidfd;                 /* -1: none */
    bool denied, mark, main_hot;
    bool over;   /* its first thread has ended (its status may not have been asked for yet) */
    bool writes; /* holds the write end of a pipe or socket */
};

struct sampler_thread {
    uint32_t tid, tgid;
    int schedstat, syscall, io; /* descriptors; -1 closed */
    struct sampler_clock clock;
    struct procfs_syscall call; /* last seen, while blocked */
    struct sampler_what what;
    int64_t what_read; /* when `what` was found */
    uint64_t writes;   /* write calls so far */
    int64_t name_read;
    uint32_t idle, skip; /* looks without a change; ticks to pass over */
    bool gone, hot, mark;
    bool ran, wrote; /* since the look before this one */
    bool keep_open;  /* descriptors stay open */
    int64_t gone_at; /* gone: half way between the last look that saw it and the next */
    char comm[16];
    struct sampler_write write;
    struct sampler_pending pending[SAMPLER_PIECES + 1];
    int pending_count;
};

struct sampler_end {
    uint64_t channel, inode;
    uint32_t tgid;
    bool reader, writer;                        /* as told in the last EVENT_CHANNEL */
    bool now_reader, now_writer, changed, mark; /* while looking */
};

/* The mount table of a mount namespace. */
struct sampler_mounts {
    uint64_t mntns;
    struct mounts mounts; /* owned */
    int64_t read;
};

/* A socket as last listed. */
struct sampler_socket {
    uint64_t inode, peer_inode; /* peer_inode: UNIX pair, or loopback TCP; 0 unknown */
    uint64_t netns;
    struct procfs_tcp tcp;
    enum { SOCKET_TCP, SOCKET_UNIX, SOCKET_OTHER } kind;
};

struct sampler {
    struct sampler_opts o;
    struct sampler_proc **procs; /* owned, the elements too */
    size_t proc_count, proc_cap;
    struct sampler_thread **threads; /* owned, the elements too */
    size_t thread_count, thread_cap;
    struct map proc_of_tgid;  /* tgid -> struct sampler_proc * */
    struct map thread_of_tid; /* tid -> struct sampler_thread * */
    struct map others;        /* pid that does not belong to the job -> its parent */
    struct map hot;           /* tids to look at each time */
    struct sampler_end *ends; /* owned */
    size_t end_count, end_cap;
    struct sampler_mounts *mounts; /* owned */
    size_t mounts_count, mounts_cap;
    struct sampler_socket *sockets; /* owned */
    size_t socket_count, socket_cap;
    struct map socket_of_inode; /* inode -> index */
    struct map missing_sockets; /* inode -> time it was not found */
    int64_t sockets_read, sockets_cost, unix_read, unix_cost;
    int diag;   /* netlink socket; -1 none */
    int closed; /* ... that tells of connections that end; -1 none */
    bool closed_asked;
    struct map expected; /* channel of a connection -> resource << 16 | local port */
    bool no_getfd;       /* pidfd_getfd(2) is not there or not allowed */
    uint64_t own_netns;
    int64_t tree_read, tree_cost, others_read;
    int64_t new_read, new_next; /* new pids: last looked for; not to be looked at before */
    bool unseen;                /* some were not looked at since the last look at the tree */
    uint64_t last_pid;          /* of /proc/loadavg, at the last tick */
    int loadavg;                /* descriptor */
    int64_t period_ns, tick_began, open_told;
    double tick_cost; /* smoothed, ns of CPU */
    size_t open_max, open_count;
    struct sampler_stats stats;
};

/* One emission: receiver and time. */
struct sampler_sink {
    sampler_fn fn;
    void *arg;
    int64_t now;
};

/* base of all: reads a small file at once; text is terminated. n < 0: errno. */
#define SAMPLER_TEXT 1024
long sampler_pread(int fd, char buf[SAMPLER_TEXT]);
int sampler_openat(const struct sampler_proc *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

struct sampler_proc *sampler_proc(const struct sampler *s, uint32_t tgid);    /* NULL: none */
struct sampler_thread *sampler_thread(const struct sampler *s, uint32_t tid); /* NULL: none */

/* tree: finds new and ended processes and threads, emits EVENT_THREAD */
void sampler_tree_look(struct sampler *s, const struct sampler_sink *k);
void sampler_tree_exit(struct sampler *s, struct sampler_thread *t, const struct sampler_sink *k);
void sampler_tree_sweep(struct sampler *s); /* frees what is gone */
void sampler_tree_clear(struct sampler *s);

/* target: what thread t of p, blocked in t->call, waits on */
void sampler_target_find(struct sampler *s, struct sampler_proc *p, struct sampler_thread *t,
                         int64_t now);

/* fault: t is blocked outside any call: a page fault (state D), else stopped or traced */
void sampler_fault_find(struct sampler *s, struct sampler_proc *p, const struct sampler_thread *t,
                        int64_t now, struct sampler_what *w);

/* names: the resource on which an absolute path of process p lies; 0 unknown */
uint32_t sampler_names_path(struct sampler *s, struct sampler_proc *p, const char *path,
                            uint16_t *flags, int64_t now);
void sampler_names_clear(struct sampler *s);

/* socket: NULL when descriptor fd of p is no TCP or UNIX socket that can be seen */
const struct sampler_socket *sampler_socket_find(struct sampler *s, struct sampler_proc *p, int fd,
                                                 uint64_t inode, int64_t now);
/* Byte counts of a TCP socket; false if they cannot be had. */
bool sampler_socket_bytes(struct sampler *s, const struct sampler_proc *p, int fd, uint64_t inode,
                          uint64_t *ret_rx, uint64_t *ret_tx, uint32_t *ret_unsent);
/* A number that is equal at both ends, and at those of the wait chain. */
uint64_t sampler_socket_channel(const struct sampler_socket *k);
struct resource_socket sampler_socket_ends(const struct sampler_socket *k);
void sampler_socket_clear(struct sampler *s);

/* closed: a connection ended before its bytes were read: from now on ends are listened to */
void sampler_closed_missed(struct sampler *s);
/* Process p waits on the connection of w: its end is worth an event. */
void sampler_closed_expect(struct sampler *s, const struct sampler_proc *p,
                           const struct sampler_what *w, uint16_t local_port);
/* Emits EVENT_CLOSED for those that have ended since. */
void sampler_closed_look(struct sampler *s, const struct sampler_sink *k);
void sampler_closed_clear(struct sampler *s);

/* ends: who holds what */
void sampler_ends_look(struct sampler *s, struct sampler_proc *p, const struct sampler_sink *k);
void sampler_ends_forget(struct sampler *s, uint32_t tgid);
/* Looks again at all processes if channel is held by nobody but tgid. */
void sampler_ends_refresh(struct sampler *s, uint64_t channel, uint32_t tgid,
                          const struct sampler_sink *k);
/* Who probably ended a wait of t on w: sets waker_tid, waker_tgid or leaves them 0. */
void sampler_ends_waker(struct sampler *s, const struct sampler_thread *t,
                        const struct sampler_what *w, struct event_wait *e);

#endif
