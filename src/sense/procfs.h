/* SPDX-License-Identifier: MIT */
/*
 * procfs: the texts of /proc/PID files as values. Pure: no file is opened here.
 *
 * Nothing is trusted: a text that does not have the form of proc(5) gives false
 * and leaves the result untouched.
 */
#ifndef GPUFEED_SENSE_PROCFS_H
#define GPUFEED_SENSE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct procfs_stat {
    char comm[16]; /* may hold blanks and brackets */
    char state;    /* R S D T t Z X I */
    uint32_t ppid;
    uint64_t major_faults;
    uint64_t user_ticks, system_ticks;
    uint64_t threads;
    uint64_t start_ticks; /* since boot */
};
bool procfs_parse_stat(const char *text, struct procfs_stat *ret);

struct procfs_schedstat {
    uint64_t run_ns, wait_ns; /* on a core; runnable without one */
    uint64_t switches;        /* times it got on a core */
};
bool procfs_parse_schedstat(const char *text, struct procfs_schedstat *ret);

struct procfs_status {
    uint32_t tgid, ppid;
};
/* /proc/PID/status, of which PID may be a thread's. */
bool procfs_parse_status(const char *text, struct procfs_status *ret);

#define PROCFS_RUNNING (-2) /* on a core, or runnable */
#define PROCFS_OUTSIDE (-1) /* blocked outside any system call: page fault, stop */
struct procfs_syscall {
    long nr; /* or one of the above */
    uint64_t args[6];
};
bool procfs_parse_syscall(const char *text, struct procfs_syscall *ret);

/* /proc/PID/task/TID/io: number of write calls, and bytes of the page cache that it made dirty. */
bool procfs_parse_writes(const char *text, uint64_t *ret_calls, uint64_t *ret_dirtied);

struct procfs_tcp {
    uint8_t local[16], peer[16]; /* IPv4 as ::ffff:a.b.c.d */
    uint16_t local_port, peer_port;
    uint32_t unsent; /* bytes queued or in flight */
    uint64_t inode;
};
/* One line of /proc/net/tcp or tcp6 (the heading gives false). */
bool procfs_parse_tcp(const char *line, struct procfs_tcp *ret);

/* "pipe:[123]", "socket:[123]", "anon_inode:[eventfd]", "/path": what a descriptor is. */
enum procfs_link {
    PROCFS_LINK_FILE,
    PROCFS_LINK_PIPE,
    PROCFS_LINK_SOCKET,
    PROCFS_LINK_EVENTFD,
    PROCFS_LINK_TIMERFD,
    PROCFS_LINK_EPOLL,
    PROCFS_LINK_PIDFD,
    PROCFS_LINK_SIGNALFD,
    PROCFS_LINK_IO_URING,
    PROCFS_LINK_INOTIFY,
    PROCFS_LINK_OTHER,
};
enum procfs_link procfs_parse_link(const char *text, uint64_t *ret_inode);

struct procfs_map {
    bool executable, shared;
    uint64_t bytes, inode;
    const char *path; /* into the line; "" anonymous */
};
/* One line of /proc/PID/maps, which must end in NUL and is not changed. */
bool procfs_parse_map(const char *line, struct procfs_map *ret);

#endif
