/* SPDX-License-Identifier: MIT */
#include "sense/wait_event.h"

#include "sense/fs_name.h"
#include "sense/syscalls.h"

#include <string.h>
#include <sys/syscall.h>

static bool has_socket(const struct bpf_off *o)
{
    return o->file_kind == BPF_FILE_TCP || o->file_kind == BPF_FILE_UDP;
}

static void fill_socket(struct event_wait *w, const struct bpf_off *o, struct resources *r)
{
    struct resource_socket s = {
        .port = o->peer_port, .local_port = o->local_port, .netns = o->netns};
    memcpy(s.addr, o->addr, sizeof(s.addr));
    memcpy(s.local_addr, o->local_addr, sizeof(s.local_addr));
    w->resource = resource_of_socket(r, &s, &w->flags);
    w->channel = resource_socket_channel(&s);
    w->rx_bytes = o->sock_rx;
    w->tx_bytes = o->sock_tx;
    w->rx_during = o->sock_rx_during;
    w->tx_unsent = o->sock_unsent;
}

/* Threads and processes of this machine are at the other end. */
static bool is_local_channel(uint32_t file_kind)
{
    return file_kind == BPF_FILE_PIPE || file_kind == BPF_FILE_UNIX ||
           file_kind == BPF_FILE_EVENTFD;
}

static enum target of_chardev(struct event_wait *w, const struct bpf_off *o, struct resources *r)
{
    bool accelerator, fuse;
    w->resource = resource_of_chardev(r, o->dev, &accelerator, &fuse);
    if (accelerator)
        return TARGET_DEVICE;
    return fuse ? TARGET_PIPE : TARGET_UNKNOWN; /* a FUSE daemon waits for requests */
}

/* What stands behind the descriptor; `file` is what a regular file means to this call. */
static enum target of_file(struct event_wait *w, const struct bpf_off *o, struct resources *r,
                           enum target file, enum target none)
{
    if (has_socket(o)) {
        fill_socket(w, o, r);
        return TARGET_SOCKET;
    }
    if (is_local_channel(o->file_kind)) {
        w->channel = resource_inode_channel(o->file_kind, 0, o->ino);
        return TARGET_PIPE;
    }
    switch (o->file_kind) {
    case BPF_FILE_REGULAR:
        w->resource = resource_of_dev(r, o->tgid, o->dev, o->fs_magic, &w->flags);
        w->channel = resource_inode_channel(o->file_kind, o->dev, o->ino);
        return file;
    case BPF_FILE_CHARDEV:
        return of_chardev(w, o, r);
    case BPF_FILE_TIMERFD:
        return TARGET_SLEEP;
    case BPF_FILE_EPOLL:
        return TARGET_POLL;
    default:
        return none;
    }
}

static enum target of_fault_file(struct event_wait *w, const struct bpf_off *o, struct resources *r,
                                 enum target found)
{
    w->resource = resource_of_dev(r, o->tgid, o->fault_dev, 0, &w->flags);
    w->channel = resource_inode_channel(BPF_FILE_REGULAR, o->fault_dev, o->fault_ino);
    return found;
}

static bool woken_by_sibling(const struct bpf_off *o)
{
    return o->waker_tgid == o->tgid && !(o->flags & (BPF_OFF_WAKE_IRQ | BPF_OFF_KTHREAD_WAKER));
}

/* Nobody's business but a timer's, unless another thread sent the signal that ended it. */
static enum target of_signal(const struct bpf_off *o)
{
    bool sent =
        o->waker_tid && o->t_wake && !(o->flags & (BPF_OFF_WAKE_IRQ | BPF_OFF_KTHREAD_WAKER));
    return sent ? TARGET_PIPE : TARGET_SLEEP;
}

static enum target of_call(struct event_wait *w, const struct bpf_off *o, struct resources *r)
{
    switch (syscall_kind(o->syscall)) {
    case SYSCALL_READ:
    case SYSCALL_PATH:
        return of_file(w, o, r, TARGET_FILE,
                       syscall_kind(o->syscall) == SYSCALL_PATH ? TARGET_FILE : TARGET_UNKNOWN);
    case SYSCALL_WRITE:
    case SYSCALL_CHANGE: {
        enum target target = of_file(w, o, r, TARGET_WRITE, TARGET_WRITE);
        w->flags |= target == TARGET_PIPE ? WAIT_ROOM : 0;
        return target;
    }
    case SYSCALL_IOCTL:
        return of_file(w, o, r, TARGET_UNKNOWN, TARGET_UNKNOWN);
    case SYSCALL_POLL:
        return of_file(w, o, r, TARGET_POLL,
                       o->flags & BPF_OFF_MULTI || o->file_kind ? TARGET_POLL : of_signal(o));
    case SYSCALL_LOCK: /* a lock over the network is the file server's business */
        return of_file(w, o, r, fs_magic_remote(o->fs_magic) ? TARGET_FILE : TARGET_FUTEX,
                       TARGET_FUTEX);
    case SYSCALL_FUTEX:
        return TARGET_FUTEX;
    case SYSCALL_QUEUE:
        return TARGET_PIPE;
    case SYSCALL_SLEEP:
        return TARGET_SLEEP;
    case SYSCALL_SIGNAL:
        return of_signal(o);
    case SYSCALL_CHILD:
        return TARGET_CHILD;
    case SYSCALL_MEMORY:
        return woken_by_sibling(o) ? TARGET_FUTEX : TARGET_MEMORY;
    case SYSCALL_UNKNOWN:
        break;
    }
    return TARGET_UNKNOWN;
}

static enum target target_of(struct event_wait *w, const struct bpf_off *o, struct resources *r)
{
    if (o->flags & BPF_OFF_WROTE)
        return of_file(w, o, r, TARGET_WRITE, TARGET_WRITE);
    if (o->flags & BPF_OFF_RUNNABLE)
        return TARGET_CORE;
    if (o->flags & BPF_OFF_RECLAIM)
        return TARGET_MEMORY;
    if (o->flags & BPF_OFF_FAULT) {
        if (o->fault_ino)
            return of_fault_file(w, o, r, TARGET_FAULT);
        return woken_by_sibling(o) ? TARGET_FUTEX : TARGET_MEMORY;
    }
    enum target found = of_call(w, o, r);
    if (o->fault_ino && !w->resource && (found == TARGET_UNKNOWN || found == TARGET_FILE))
        return of_fault_file(w, o, r, TARGET_FILE);
    return found;
}

/* A daemon that answers for files of one mount also answers for paths on it. */
static void use_daemon(struct event_wait *w, const struct bpf_off *o, struct map *daemons)
{
    uint64_t resource;
    if (!w->waker_tgid || (w->target != TARGET_FILE && w->target != TARGET_WRITE))
        return;
    if (o->file_kind == BPF_FILE_REGULAR && o->fs_magic == FS_MAGIC_FUSE && w->resource) {
        if (!map_get(daemons, w->waker_tgid, &resource) || resource != w->resource)
            map_put(daemons, w->waker_tgid, w->resource);
    } else if (!w->resource && map_get(daemons, w->waker_tgid, &resource)) {
        w->resource = (uint32_t)resource;
        w->flags |= WAIT_REMOTE_FS;
    }
}

/* Of io_uring's requests these alone may be a disk's; the kernel counts a wait for any of them as one. */
static bool reads_or_writes(long call)
{
    return call == SYS_pread64 || call == SYS_readv || call == SYS_pwrite64 || call == SYS_writev ||
           call == SYS_fsync;
}

void wait_event_fill(struct event_wait *ret, const struct bpf_off *o, struct resources *r,
                     struct map *daemons)
{
    struct event_wait w = {
        .t_out = (int64_t)o->t_out, .t_in = (int64_t)o->t_in, .tid = o->tid, .tgid = o->tgid};
    bool woken = o->t_wake >= o->t_out && o->t_wake <= o->t_in && o->t_wake;
    w.t_wake = woken ? (int64_t)o->t_wake : w.t_in;
    if (o->flags & BPF_OFF_TIMED)
        w.flags |= WAIT_TIMED;
    if (o->flags & BPF_OFF_OPEN)
        w.flags |= WAIT_OPEN_END;
    if (o->flags & BPF_OFF_IOWAIT && !(o->flags & BPF_OFF_URING && !reads_or_writes(o->syscall)))
        w.flags |= WAIT_IOWAIT;
    if (o->flags & (BPF_OFF_WAKE_IRQ | BPF_OFF_KTHREAD_WAKER)) {
        w.flags |= WAIT_WAKER_IRQ;
    } else if (woken) {
        w.waker_tid = o->waker_tid;
        w.waker_tgid = o->waker_tgid;
    }
    w.target = (uint8_t)target_of(&w, o, r);
    use_daemon(&w, o, daemons);
    *ret = w;
}
