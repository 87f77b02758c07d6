/* SPDX-License-Identifier: MIT */
#include "sense/sampler_int.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "bpf/wait.h"
#include "sense/syscalls.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LINK_MAX 512
#define POLL_MAX 64
#define SELECT_MAX 1024
#define PAGE UINT64_C(4096)

/* One look at what a thread waits on. */
struct look {
    struct sampler *s;
    struct sampler_proc *p;
    int64_t now;
    struct sampler_what *w;
};

static bool starts(const char *text, const char *head)
{
    return !strncmp(text, head, strlen(head));
}

/* Copies memory of the job's process; the address belongs to it and may be wrong. */
static bool read_memory(const struct look *l, uint64_t address, void *buf, size_t size)
{
    struct iovec here = {buf, size}, there = {(void *)(uintptr_t)address, size};
    return process_vm_readv((pid_t)l->p->tgid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool read_string(const struct look *l, uint64_t address, char *buf, size_t size)
{
    size_t got = 0;
    while (got < size) {
        size_t chunk = (size_t)(PAGE - (address + got) % PAGE); /* the next page may be absent */
        if (chunk > size - got)
            chunk = size - got;
        if (!read_memory(l, address + got, buf + got, chunk))
            return false;
        if (memchr(buf + got, '\0', chunk))
            return true;
        got += chunk;
    }
    return false;
}

/* A FIFO has a path like a file. Asks the cache only: a hung server must not hold us. */
static bool is_fifo(const struct look *l, int fd, uint64_t *ret_inode)
{
    char name[32];
    struct statx st;
    snprintf(name, sizeof(name), "fd/%d", fd);
    if (statx(l->p->dir, name, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st) ||
        !S_ISFIFO(st.stx_mode))
        return false;
    *ret_inode = st.stx_ino;
    return true;
}

/* The accelerator's node, the FUSE daemon's, or a terminal and such. */
static void device_target(const struct look *l, int fd)
{
    char name[32];
    struct stat st;
    bool accelerator, fuse;
    snprintf(name, sizeof(name), "fd/%d", fd);
    if (!l->s->o.resources || fstatat(l->p->dir, name, &st, 0) || !S_ISCHR(st.st_mode))
        return;
    uint32_t rdev = major(st.st_rdev) << 20 | minor(st.st_rdev);
    l->w->resource = resource_of_chardev(l->s->o.resources, rdev, &accelerator, &fuse);
    if (accelerator)
        l->w->target = TARGET_DEVICE;
    else if (fuse)
        l->w->target = TARGET_PIPE; /* a daemon without requests */
}

static void file_target(const struct look *l, int fd, const char *path)
{
    struct sampler_what *w = l->w;
    uint64_t inode;
    if (starts(path, "/dev/") && !starts(path, "/dev/shm/")) {
        device_target(l, fd);
        return;
    }
    w->target = w->writing ? TARGET_WRITE : TARGET_FILE;
    w->resource = sampler_names_path(l->s, l->p, path, &w->flags, l->now);
    if (fd >= 0 && !(w->flags & WAIT_REMOTE_FS) && is_fifo(l, fd, &inode)) {
        w->target = TARGET_PIPE;
        w->resource = 0;
        w->channel = resource_inode_channel(BPF_FILE_PIPE, 0, inode);
    }
}

/* Sockets that live shorter than the lists are old still tell their protocol (sockfs, xattr(7)).
 * One that is closed by now was no wait that we could name. */
static enum target unlisted(const struct look *l, int fd)
{
    char path[64], protocol[32];
    snprintf(path, sizeof(path), "/proc/%u/fd/%d", l->p->tgid, fd);
    if (getxattr(path, "system.sockprotoname", protocol, sizeof(protocol)) <= 0)
        return TARGET_UNKNOWN;
    return starts(protocol, "UNIX") ? TARGET_PIPE : TARGET_SOCKET;
}

static void socket_target(const struct look *l, int fd, uint64_t inode)
{
    struct sampler_what *w = l->w;
    const struct sampler_socket *k = sampler_socket_find(l->s, l->p, fd, inode, l->now);
    if (!k)
        w->target = unlisted(l, fd);
    else
        w->target = k->kind == SOCKET_UNIX ? TARGET_PIPE : TARGET_SOCKET;
    if (!k && w->target == TARGET_PIPE)
        w->channel = resource_inode_channel(BPF_FILE_UNIX, 0, inode);
    if (!k)
        return;
    w->channel = sampler_socket_channel(k);
    if (k->kind == SOCKET_UNIX)
        return;
    struct resource_socket ends = sampler_socket_ends(k);
    w->socket = inode;
    w->socket_fd = fd;
    w->unsent = k->tcp.unsent;
    if (l->s->o.resources)
        w->resource = resource_of_socket(l->s->o.resources, &ends, &w->flags);
    sampler_socket_bytes(l->s, l->p, fd, inode, &w->rx, &w->tx, &w->unsent);
    sampler_closed_expect(l->s, l->p, w, ends.local_port);
}

static void epoll_target(const struct look *l, int fd);

/* fdinfo of a pidfd has a line "Pid:\t4711"; 0: it is not seen. */
static uint32_t pidfd_process(const struct look *l, int fd)
{
    char text[SAMPLER_TEXT];
    int info = sampler_openat(l->p, "fdinfo/%d", fd);
    long n = info < 0 ? -1 : sampler_pread(info, text);
    if (info >= 0)
        close(info);
    const char *pid = n > 0 ? strstr(text, "\nPid:") : NULL;
    return pid ? (uint32_t)strtoul(pid + 5, NULL, 10) : 0;
}

/* What reading, writing or polling a descriptor waits on. */
static void fd_target(const struct look *l, int fd, bool inside_epoll)
{
    char name[32], link[LINK_MAX];
    uint64_t inode = 0;
    snprintf(name, sizeof(name), "fd/%d", fd);
    ssize_t n = readlinkat(l->p->dir, name, link, sizeof(link) - 1);
    if (n <= 0)
        return;
    link[n] = '\0';
    switch (procfs_parse_link(link, &inode)) {
    case PROCFS_LINK_FILE:
        file_target(l, fd, link);
        break;
    case PROCFS_LINK_PIPE:
        l->w->target = TARGET_PIPE;
        l->w->channel = resource_inode_channel(BPF_FILE_PIPE, 0, inode);
        break;
    case PROCFS_LINK_SOCKET:
        socket_target(l, fd, inode);
        break;
    case PROCFS_LINK_EVENTFD:
        l->w->target = TARGET_PIPE;
        break;
    case PROCFS_LINK_TIMERFD:
    case PROCFS_LINK_SIGNALFD:
    case PROCFS_LINK_INOTIFY:
        l->w->target = TARGET_SLEEP;
        break;
    case PROCFS_LINK_PIDFD:
        l->w->target = TARGET_CHILD;
        l->w->waker = pidfd_process(l, fd);
        break;
    case PROCFS_LINK_EPOLL:
        l->w->target = TARGET_POLL;
        if (!inside_epoll)
            epoll_target(l, fd);
        break;
    case PROCFS_LINK_IO_URING:
        l->w->target = TARGET_POLL;
        break;
    case PROCFS_LINK_OTHER:
        break;
    }
}

/* Does it tell more than that somebody may wake or a timer run out? */
static bool telling(const struct sampler_what *w)
{
    bool connected = w->channel != 0; /* one that listens waits for nobody in particular */
    return w->target == TARGET_DEVICE || w->target == TARGET_FILE ||
           ((w->target == TARGET_PIPE || w->target == TARGET_SOCKET) && connected);
}

/* Several descriptors are one wait if all that tell anything tell the same. */
static void set_target(const struct look *l, const int *fds, size_t count, bool inside_epoll)
{
    struct sampler_what best = {.target = TARGET_POLL}, any = {.target = TARGET_POLL};
    size_t tell = 0;
    for (size_t i = 0; i < count; i++) {
        struct sampler_what one = {.writing = l->w->writing};
        struct look look = {l->s, l->p, l->now, &one};
        fd_target(&look, fds[i], inside_epoll);
        any = one;
        if (!telling(&one))
            continue;
        bool like = tell && one.target == best.target && one.resource == best.resource;
        if (!tell) {
            best = one;
        } else if (like) {
            best.channel = one.channel == best.channel ? best.channel : 0;
            best.socket = one.socket == best.socket ? best.socket : 0;
        } else {
            best = (struct sampler_what){.target = TARGET_POLL};
            tell = count;
            break;
        }
        tell++;
    }
    *l->w = tell ? best : count == 1 ? any : (struct sampler_what){.target = TARGET_POLL};
}

static void poll_target(const struct look *l, uint64_t address, uint64_t count)
{
    struct pollfd set[POLL_MAX];
    int fds[POLL_MAX];
    size_t n = 0;
    if (!count) {
        l->w->target = TARGET_SLEEP;
        return;
    }
    l->w->target = TARGET_POLL;
    if (count > POLL_MAX || !read_memory(l, address, set, sizeof(set[0]) * (size_t)count))
        return;
    for (size_t i = 0; i < count; i++)
        if (set[i].fd >= 0)
            fds[n++] = set[i].fd;
    l->w->writing = count == 1 && set[0].events == POLLOUT;
    set_target(l, fds, n, false);
}

static void select_target(const struct look *l, const uint64_t args[6])
{
    uint64_t words[SELECT_MAX / 64];
    int fds[POLL_MAX];
    size_t n = 0;
    uint64_t top = args[0] < SELECT_MAX ? args[0] : SELECT_MAX;
    if (!top || (!args[1] && !args[2] && !args[3])) {
        l->w->target = TARGET_SLEEP;
        return;
    }
    l->w->target = TARGET_POLL;
    for (int set = 1; set <= 2; set++) {
        size_t bytes = (size_t)((top + 63) / 64 * 8);
        if (!args[set] || !read_memory(l, args[set], words, bytes))
            continue;
        for (uint64_t fd = 0; fd < top && n < POLL_MAX; fd++)
            if (words[fd / 64] >> (fd % 64) & 1)
                fds[n++] = (int)fd;
    }
    if (n)
        set_target(l, fds, n, false);
}

/* fdinfo of an epoll descriptor has a line "tfd:  5 events: 19 ..." for each member. */
static void epoll_target(const struct look *l, int fd)
{
    char text[SAMPLER_TEXT * 8];
    int fds[POLL_MAX];
    size_t n = 0;
    int info = sampler_openat(l->p, "fdinfo/%d", fd);
    ssize_t got = info < 0 ? -1 : pread(info, text, sizeof(text) - 1, 0);
    if (info >= 0)
        close(info);
    l->w->target = TARGET_POLL;
    if (got <= 0)
        return;
    text[got] = '\0';
    for (const char *p = text; n < POLL_MAX && (p = strstr(p, "tfd:")); p += 4)
        fds[n++] = atoi(p + 4);
    if (n)
        set_target(l, fds, n, true);
}

static bool link_of(const struct look *l, const char *name, char *buf, size_t size)
{
    ssize_t n = readlinkat(l->p->dir, name, buf, size - 1);
    if (n <= 0)
        return false;
    buf[n] = '\0';
    return true;
}

/* Calls whose first argument is the folder in which the path is looked up. */
static bool relative_to_folder(long nr)
{
    static const long calls[] = {
        SYS_openat,     SYS_openat2,    SYS_newfstatat, SYS_statx,     SYS_faccessat,
        SYS_faccessat2, SYS_readlinkat, SYS_execveat,   SYS_mkdirat,   SYS_unlinkat,
        SYS_renameat2,  SYS_linkat,     SYS_fchmodat,   SYS_utimensat, SYS_name_to_handle_at,
#ifdef SYS_renameat
        SYS_renameat,
#endif
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (calls[i] == nr)
            return true;
    return false;
}

/* An open that empties the file: what is on its way to the disk is waited for. */
static bool opens_anew(const struct procfs_syscall *c)
{
#ifdef SYS_open
    if (c->nr == SYS_open || c->nr == SYS_creat)
        return c->nr == SYS_creat || (c->args[1] & O_TRUNC);
#endif
    return c->nr == SYS_openat && (c->args[2] & O_TRUNC);
}

static void path_target(const struct look *l, const struct procfs_syscall *c)
{
    char path[LINK_MAX], full[2 * LINK_MAX], base[LINK_MAX], name[32] = "cwd";
    bool folder = relative_to_folder(c->nr);
    l->w->writing |= opens_anew(c);
    l->w->target = l->w->writing ? TARGET_WRITE : TARGET_FILE;
    if (!read_string(l, c->args[folder ? 1 : 0], path, sizeof(path)))
        return;
    if (path[0] == '/') {
        file_target(l, -1, path);
        return;
    }
    if (folder && (int)c->args[0] != AT_FDCWD)
        snprintf(name, sizeof(name), "fd/%d", (int)c->args[0]);
    if (!link_of(l, name, base, sizeof(base)) || base[0] != '/')
        return;
    snprintf(full, sizeof(full), "%s/%s", base, path);
    file_target(l, -1, full);
}

static void poll_call(const struct look *l, const struct procfs_syscall *c)
{
    switch ((enum bpf_syscall_class)syscall_class(c->nr)) {
    case BPF_SYSCALL_POLL:
        poll_target(l, c->args[0], c->args[1]);
        break;
    case BPF_SYSCALL_SELECT:
        select_target(l, c->args);
        break;
    default:
        epoll_target(l, (int)c->args[0]);
    }
}

/* A lock over the network is the file server's business; others belong to a thread here. */
static void lock_target(const struct look *l, const struct procfs_syscall *c)
{
    if (syscall_class(c->nr) == BPF_SYSCALL_FD)
        fd_target(l, (int)c->args[0], false);
    if (!(l->w->flags & WAIT_REMOTE_FS))
        *l->w = (struct sampler_what){.target = TARGET_FUTEX};
}

/* The child of a process that has one only; 0: it has several or none. */
static uint32_t only_child(const struct look *l)
{
    uint32_t child = 0;
    for (size_t i = 0; i < l->s->proc_count; i++) {
        const struct sampler_proc *p = l->s->procs[i];
        if (p->ppid != l->p->tgid || !p->mark || p->over)
            continue;
        if (child)
            return 0;
        child = p->tgid;
    }
    return child;
}

/* The process that a call waits for; 0: any of several, or a group. */
static uint32_t awaited_child(const struct look *l, const struct procfs_syscall *c)
{
    bool one = c->nr == SYS_wait4 ? (int)c->args[0] > 0
                                  : c->nr == SYS_waitid && (idtype_t)c->args[0] == P_PID;
    if (c->nr == SYS_waitid && (idtype_t)c->args[0] == P_PIDFD)
        return pidfd_process(l, (int)c->args[1]);
    return one ? (uint32_t)c->args[c->nr == SYS_wait4 ? 0 : 1] : only_child(l);
}

/* pthread_join() waits for the kernel to clear the number of the thread, which is the value that it
 * awaits to change. A private futex is never ended by another process. */
static void futex_target(const struct look *l, const struct procfs_syscall *c)
{
    int op = c->nr == SYS_futex ? (int)c->args[1] & FUTEX_CMD_MASK : -1;
    bool private = c->nr == SYS_futex && (c->args[1] & FUTEX_PRIVATE_FLAG);
    l->w->target = TARGET_FUTEX;
    l->w->flags |= private ? WAIT_PRIVATE : 0;
    const struct sampler_thread *t = sampler_thread(l->s, (uint32_t)c->args[2]);
    if (!private && (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) && t && t->tgid == l->p->tgid)
        l->w->waker = t->tid;
}

/* Of calls whose arguments tell no more. */
static uint8_t plain_target(enum syscall_kind kind)
{
    static const uint8_t targets[] = {
        [SYSCALL_QUEUE] = TARGET_PIPE,
        [SYSCALL_SLEEP] = TARGET_SLEEP,
        /* of a child or another thread, or of a timer: nobody knows yet */
        [SYSCALL_SIGNAL] = TARGET_PIPE,
        [SYSCALL_MEMORY] = TARGET_MEMORY,
    };
    return targets[kind];
}

static void call_target(const struct look *l, const struct procfs_syscall *c)
{
    bool fd = syscall_class(c->nr) == BPF_SYSCALL_FD;
    switch (syscall_kind(c->nr)) {
    case SYSCALL_WRITE:
        l->w->writing = true;
        l->w->target = TARGET_WRITE;
        if (fd)
            fd_target(l, (int)c->args[0], false);
        break;
    case SYSCALL_READ:
    case SYSCALL_IOCTL:
        fd_target(l, (int)c->args[0], false);
        break;
    case SYSCALL_CHANGE:
        l->w->writing = true;
        path_target(l, c);
        break;
    case SYSCALL_PATH:
        path_target(l, c);
        break;
    case SYSCALL_POLL:
        poll_call(l, c);
        break;
    case SYSCALL_LOCK:
        lock_target(l, c);
        break;
    case SYSCALL_FUTEX:
        futex_target(l, c);
        break;
    case SYSCALL_CHILD:
        l->w->target = TARGET_CHILD;
        l->w->waker = awaited_child(l, c);
        break;
    case SYSCALL_QUEUE:
    case SYSCALL_SLEEP:
    case SYSCALL_SIGNAL:
    case SYSCALL_MEMORY:
        l->w->target = plain_target(syscall_kind(c->nr));
        break;
    case SYSCALL_UNKNOWN:
        break;
    }
}

void sampler_target_find(struct sampler *s, struct sampler_proc *p, struct sampler_thread *t,
                         int64_t now)
{
    struct sampler_what what = {.target = TARGET_UNKNOWN};
    struct look l = {s, p, now, &what};
    if (t->call.nr == PROCFS_OUTSIDE)
        sampler_fault_find(s, p, t, now, &what);
    else
        call_target(&l, &t->call);
    const struct sampler_thread *waker = sampler_thread(s, what.waker);
    what.waker_tgid = waker ? waker->tgid : 0;
    t->what = what;
    t->what_read = now;
}
