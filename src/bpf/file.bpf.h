/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * file: from a system call's argument to the file, pipe or socket behind it.
 * Included once, by wait.bpf.c. Runs at most once per blocked interval.
 */
#ifndef GPUFEED_BPF_FILE_H
#define GPUFEED_BPF_FILE_H

#include "state.bpf.h"

#ifndef bpf_core_field_offset /* libbpf before 0.8 */
#define bpf_core_field_offset(type, field)                                                         \
    __builtin_preserve_field_info(((type *)0)->field, BPF_FIELD_BYTE_OFFSET)
#endif

#define POLL_LOOK 4 /* descriptors of a poll or select that are looked at */

static __always_inline u64 inode_of_socket(struct socket *socket)
{
    struct file *file = FIELD(struct socket, socket, file);

    return file ? FIELD(struct inode, FIELD(struct file, file, f_inode), i_ino) : 0;
}

static __always_inline void describe_unix(struct thread *t, struct sock *sk)
{
    struct socket *socket;
    struct sock *peer;
    u64 other;

    t->file_kind = BPF_FILE_UNIX;
    if (!bpf_core_type_exists(struct unix_sock)) /* a module that is not loaded */
        return;
    peer = FIELD(struct unix_sock, sk, peer);
    socket = peer ? FIELD(struct sock, peer, sk_socket) : 0;
    other = socket ? inode_of_socket(socket) : 0;
    if (other && other < t->ino)
        t->ino = other;
}

static __always_inline void describe_tcp(struct thread *t, struct sock *sk, u32 protocol)
{
    t->file_kind = BPF_FILE_TCP;
    t->sock = (u64)sk;
    t->rx_out = 0;
    t->unsent = 0;
    if (protocol != IPPROTO_TCP)
        return;
    t->rx_out = FIELD(struct tcp_sock, sk, bytes_received);
    t->unsent = FIELD(struct tcp_sock, sk, write_seq) - FIELD(struct tcp_sock, sk, snd_una);
}

static __always_inline void describe_socket(struct thread *t, struct file *file)
{
    struct socket *socket = FIELD(struct file, file, private_data);
    struct sock *sk = FIELD(struct socket, socket, sk);
    u32 family, protocol;

    t->file_kind = BPF_FILE_OTHER;
    if (!sk)
        return;
    family = FIELD(struct sock, sk, __sk_common.skc_family);
    protocol = FIELD(struct sock, sk, sk_protocol);
    if (family == AF_UNIX) {
        describe_unix(t, sk);
    } else if (family == AF_INET || family == AF_INET6) {
        if (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP) {
            describe_tcp(t, sk, protocol);
        } else if (protocol == IPPROTO_UDP) {
            t->file_kind = BPF_FILE_UDP;
            t->sock = (u64)sk;
        }
    }
}

/* Anonymous inodes share one inode: only the name of the entry tells them apart. */
static __always_inline void describe_anonymous(struct thread *t, struct file *file)
{
    struct dentry *dentry = FIELD(struct file, file, f_path.dentry);
    const unsigned char *name = FIELD(struct dentry, dentry, d_name.name);
    char text[9] = {};

    t->file_kind = BPF_FILE_OTHER;
    t->ino = 0;
    bpf_probe_read_kernel(text, 8, name);
    if (text[1] == 'e' && text[5] == 't') { /* [eventfd] */
        struct eventfd_ctx *context = FIELD(struct file, file, private_data);

        t->file_kind = BPF_FILE_EVENTFD;
        t->ino = FIELD(struct eventfd_ctx, context, id);
    } else if (text[1] == 'e' && text[5] == 'p') { /* [eventpoll] */
        t->file_kind = BPF_FILE_EPOLL;
    } else if (text[1] == 't') { /* [timerfd] */
        t->file_kind = BPF_FILE_TIMERFD;
    }
}

/* Fills file_kind, ino, dev, magic (and the socket) of t. */
static __noinline int describe_file(struct thread *t, struct file *file)
{
    struct inode *inode = FIELD(struct file, file, f_inode);
    struct super_block *sb = FIELD(struct inode, inode, i_sb);
    u32 type = FIELD(struct inode, inode, i_mode) & S_IFMT;

    t->ino = FIELD(struct inode, inode, i_ino);
    t->dev = FIELD(struct super_block, sb, s_dev);
    t->magic = FIELD(struct super_block, sb, s_magic);
    t->sock = 0;
    if (t->magic == ANON_INODE_FS_MAGIC) {
        describe_anonymous(t, file);
    } else if (type == S_IFSOCK) {
        describe_socket(t, file);
    } else if (type == S_IFIFO) {
        t->file_kind = BPF_FILE_PIPE;
    } else if (type == S_IFCHR) {
        t->file_kind = BPF_FILE_CHARDEV;
        t->dev = FIELD(struct inode, inode, i_rdev);
    } else {
        t->file_kind = BPF_FILE_REGULAR;
        if (type == S_IFBLK)
            t->dev = FIELD(struct inode, inode, i_rdev);
    }
    return 0;
}

static __always_inline struct file *file_of(struct task_struct *p, u64 fd)
{
    struct files_struct *files = FIELD(struct task_struct, p, files);
    struct fdtable *table = files ? FIELD(struct files_struct, files, fdt) : 0;
    struct file **slots, *file = 0;

    fd = (u32)fd;
    if (!table || fd >= FIELD(struct fdtable, table, max_fds))
        return 0;
    slots = FIELD(struct fdtable, table, fd);
    bpf_probe_read_kernel(&file, sizeof(file), &slots[fd]);
    return file;
}

static __always_inline void describe_fd(struct thread *t, struct task_struct *p, u64 fd)
{
    struct file *file = file_of(p, fd);

    if (file)
        describe_file(t, file);
    else
        count_lost(BPF_LOST_FILE);
}

/* Of several descriptors the first TCP connection, else the first of all. */
static __always_inline bool better(struct thread *t, struct task_struct *p, u64 fd)
{
    struct file *file = file_of(p, fd);
    u32 kind = t->file_kind;

    if (!file)
        return false;
    if (kind != BPF_FILE_NONE &&
        (FIELD(struct inode, FIELD(struct file, file, f_inode), i_mode) & S_IFMT) != S_IFSOCK)
        return false;
    describe_file(t, file);
    return t->file_kind == BPF_FILE_TCP;
}

struct pollfd_user {
    s32 fd;
    u16 events, revents;
};

static __always_inline void describe_poll(struct thread *t, struct task_struct *p, u64 array,
                                          u64 count)
{
    struct pollfd_user list[POLL_LOOK] = {};

    if (!count)
        return;
    if (count > 1)
        t->flags |= BPF_OFF_MULTI;
    if (count >= POLL_LOOK
            ? bpf_probe_read_user(list, sizeof(list), (void *)array)
            : bpf_probe_read_user(list, (count & 3) * sizeof(list[0]), (void *)array)) {
        count_lost(BPF_LOST_FILE);
        return;
    }
    for (int i = 0; i < POLL_LOOK; i++)
        if (i < count && list[i].fd >= 0 && better(t, p, list[i].fd))
            break;
}

static __always_inline u32 lowest_bit(u64 word)
{
    u32 n = 0;

    for (int step = 32; step; step /= 2)
        if (!(word & ((1ULL << step) - 1))) {
            n += step;
            word >>= step;
        }
    return n;
}

#define SET_WORDS 16 /* FD_SETSIZE bits */

struct fd_set_user {
    u64 words[SET_WORDS];
};

int take_bit(struct fd_set_user *set);

/* Takes the lowest bit out of the set; -1: it is empty. Global, so that it is verified only once.
 */
__noinline int take_bit(struct fd_set_user *set)
{
    if (!set)
        return -1;
    for (int i = 0; i < SET_WORDS; i++) {
        u64 word = set->words[i];

        if (word) {
            set->words[i] = word & (word - 1);
            return i * 64 + lowest_bit(word);
        }
    }
    return -1;
}

/* The first descriptors of the read set, else of the write set. */
static __always_inline void describe_select(struct thread *t, struct task_struct *p, u64 count,
                                            u64 read_set, u64 write_set)
{
    struct fd_set_user set = {};
    u32 bytes = (count + 63) / 64 * 8;

    if (!count)
        return;
    asm volatile("" : "+r"(bytes)); /* the verifier must see the check on what is used */
    if (bytes > sizeof(set))
        bytes = sizeof(set);
    if (read_set)
        bpf_probe_read_user(&set, bytes, (void *)read_set);
    else if (write_set)
        bpf_probe_read_user(&set, bytes, (void *)write_set);
    for (int i = 0; i < POLL_LOOK; i++) {
        int fd = take_bit(&set);

        if (fd < 0)
            break;
        if (i)
            t->flags |= BPF_OFF_MULTI;
        if (better(t, p, fd))
            break;
    }
}

static __always_inline struct file *file_of_node(struct rb_node *node)
{
    u64 item = (u64)node - bpf_core_field_offset(struct epitem, rbn);

    return node ? FIELD(struct epitem, item, ffd.file) : 0;
}

/* Guesses from the root of the interest tree and its children; see epoll_ready. */
static __always_inline void describe_epoll(struct thread *t, struct task_struct *p, u64 fd)
{
    struct file *epoll = file_of(p, fd), *file;
    struct rb_node *root, *side;
    struct eventpoll *ep;

    if (!epoll) {
        count_lost(BPF_LOST_FILE);
        return;
    }
    ep = FIELD(struct file, epoll, private_data);
    t->epoll = (u64)ep;
    t->file_kind = BPF_FILE_EPOLL;
    root = FIELD(struct eventpoll, ep, rbr.rb_root.rb_node);
    file = file_of_node(root);
    if (!file)
        return;
    describe_file(t, file);
    for (int i = 0; i < 2; i++) {
        side = i ? FIELD(struct rb_node, root, rb_left) : FIELD(struct rb_node, root, rb_right);
        if (!side)
            continue;
        t->flags |= BPF_OFF_MULTI;
        file = file_of_node(side);
        if (t->file_kind != BPF_FILE_TCP && file &&
            (FIELD(struct inode, FIELD(struct file, file, f_inode), i_mode) & S_IFMT) == S_IFSOCK)
            describe_file(t, file);
    }
}

/* Back from epoll_wait: the first item of the ready list is what ended the wait. */
static __always_inline void epoll_ready(struct thread *t)
{
    struct eventpoll *ep = (struct eventpoll *)t->epoll;
    u64 head = t->epoll + bpf_core_field_offset(struct eventpoll, rdllist);
    u64 link = (u64)FIELD(struct eventpoll, ep, rdllist.next);
    struct file *file;

    if (!link || link == head)
        return;
    file = FIELD(struct epitem, link - bpf_core_field_offset(struct epitem, rdllink), ffd.file);
    if (!file)
        return;
    describe_file(t, file);
    t->flags &= ~BPF_OFF_MULTI;
    if (t->file_kind == BPF_FILE_TCP) /* nothing was waiting to be read when it went to sleep */
        t->rx_out -=
            FIELD(struct tcp_sock, t->sock, rcv_nxt) - FIELD(struct tcp_sock, t->sock, copied_seq);
}

/* The request that entry `i` before the next one to submit asks for. */
static __always_inline bool read_request(struct io_ring_ctx *ring, u32 i, struct io_uring_sqe *ret)
{
    u32 head = FIELD(struct io_ring_ctx, ring, cached_sq_head);
    u32 mask = FIELD(struct io_ring_ctx, ring, sq_entries) - 1, at = (head - 1 - i) & mask;
    u32 *array = FIELD(struct io_ring_ctx, ring, sq_array);
    u64 entries = (u64)FIELD(struct io_ring_ctx, ring, sq_sqes);
    u64 size =
        FIELD(struct io_ring_ctx, ring, flags) & IORING_SETUP_SQE128 ? 2 * SQE_BYTES : SQE_BYTES;

    if (i >= head || !entries)
        return false;
    if (array)
        bpf_probe_read_kernel(&at, sizeof(at), &array[at]);
    return !bpf_probe_read_kernel(ret, sizeof(*ret), (void *)(entries + (u64)(at & mask) * size));
}

static __always_inline bool is_uring(struct file *file)
{
    struct dentry *dentry = FIELD(struct file, file, f_path.dentry);
    char text[12] = {};

    bpf_probe_read_kernel(text, sizeof(text) - 1, FIELD(struct dentry, dentry, d_name.name));
    return text[1] == 'i' && text[3] == '_' && text[4] == 'u'; /* [io_uring] */
}

/*
 * A thread in io_uring_enter waits for what it asked for last: that request stands for the call.
 * Requests without a file of their own (time-outs) are passed over; registered files are not looked up.
 */
static __noinline int describe_uring(struct thread *t, struct task_struct *p, u64 fd)
{
    struct file *file = file_of(p, fd);
    struct io_uring_sqe sqe = {};
    struct io_ring_ctx *ring;
    u32 call = 0;

    t->flags |= BPF_OFF_URING;
    if (!bpf_core_type_exists(struct io_ring_ctx) || !file || !is_uring(file))
        return 0;
    ring = FIELD(struct file, file, private_data);
    for (u32 i = 0; i < POLL_LOOK && !call; i++)
        if (read_request(ring, i, &sqe))
            call = uring_call[sqe.opcode & (BPF_URING_CALLS - 1)];
    if (!call)
        return 0;
    t->syscall = call;
    file = sqe.flags & IOSQE_FIXED_FILE ? 0 : file_of(p, sqe.fd);
    if (file)
        describe_file(t, file);
    return 0;
}

/* Opening or looking up a path: the file system where the walk stands. */
static __always_inline void describe_path(struct thread *t, struct task_struct *p)
{
    struct nameidata *walk = FIELD(struct task_struct, p, nameidata);
    struct dentry *dentry;
    struct super_block *sb;
    struct inode *inode;

    if (!walk)
        return;
    dentry = FIELD(struct nameidata, walk, path.dentry);
    if (!dentry)
        return;
    sb = FIELD(struct dentry, dentry, d_sb);
    inode = FIELD(struct dentry, dentry, d_inode);
    t->file_kind = BPF_FILE_REGULAR;
    t->dev = FIELD(struct super_block, sb, s_dev);
    t->magic = FIELD(struct super_block, sb, s_magic);
    t->ino = inode ? FIELD(struct inode, inode, i_ino) : 0;
}

static __always_inline void v4_mapped(u8 *to, u32 address)
{
    __builtin_memset(to, 0, 10);
    to[10] = to[11] = 0xff;
    __builtin_memcpy(to + 12, &address, 4);
}

static __always_inline void fill_socket(struct bpf_off *o, struct thread *t)
{
    struct sock *sk = (struct sock *)t->sock;
    u16 port = FIELD(struct sock, sk, __sk_common.skc_dport);

    o->peer_port = __builtin_bswap16(port);
    o->local_port = FIELD(struct sock, sk, __sk_common.skc_num);
    if (bpf_core_field_exists(((struct sock_common *)0)->skc_net.net)) {
        struct net *net = FIELD(struct sock, sk, __sk_common.skc_net.net);

        o->netns = FIELD(struct net, net, ns.inum);
    }
    if (bpf_core_field_exists(((struct sock_common *)0)->skc_v6_daddr) &&
        FIELD(struct sock, sk, __sk_common.skc_family) == AF_INET6) {
        bpf_core_read(o->addr, 16, &sk->__sk_common.skc_v6_daddr);
        bpf_core_read(o->local_addr, 16, &sk->__sk_common.skc_v6_rcv_saddr);
    } else {
        v4_mapped(o->addr, FIELD(struct sock, sk, __sk_common.skc_daddr));
        v4_mapped(o->local_addr, FIELD(struct sock, sk, __sk_common.skc_rcv_saddr));
    }
    if (t->file_kind != BPF_FILE_TCP || FIELD(struct sock, sk, sk_protocol) != IPPROTO_TCP)
        return;
    o->sock_rx = FIELD(struct tcp_sock, sk, bytes_received);
    o->sock_tx = FIELD(struct tcp_sock, sk, bytes_acked);
    o->sock_rx_during = o->sock_rx - t->rx_out;
    o->sock_unsent = t->unsent;
}

#endif
