/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * kernel: the few fields of kernel types that the BPF side reads.
 *
 * Only names matter here: preserve_access_index makes libbpf look up every
 * offset in the running kernel's BTF, so order and size are free and fields
 * that no kernel from 5.15 on lacks need no check. NAME___x is another form
 * of type NAME for kernels where a field looks different.
 */
#ifndef GPUFEED_BPF_KERNEL_H
#define GPUFEED_BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
    struct list_head *next, *prev;
};

struct rb_node {
    struct rb_node *rb_right, *rb_left;
};

struct rb_root {
    struct rb_node *rb_node;
};

struct rb_root_cached {
    struct rb_root rb_root;
};

struct super_block {
    u32 s_dev;
    unsigned long s_magic;
};

struct inode {
    u16 i_mode;
    u32 i_rdev;
    unsigned long i_ino;
    struct super_block *i_sb;
};

struct qstr {
    const unsigned char *name;
};

struct dentry {
    struct qstr d_name;
    struct inode *d_inode;
    struct super_block *d_sb;
};

struct path {
    struct dentry *dentry;
};

struct file {
    struct inode *f_inode;
    struct path f_path;
    void *private_data;
};

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
};

struct files_struct {
    struct fdtable *fdt;
};

struct nameidata {
    struct path path;
};

struct address_space {
    struct inode *host;
};

struct folio {
    struct address_space *mapping;
};

struct page {
    struct address_space *mapping;
};

typedef struct {
    int counter;
} atomic_t;

struct signal_struct {
    atomic_t live;
};

struct sched_entity {
    u64 sum_exec_runtime;
};

struct task_io_accounting {
    u64 wchar, write_bytes;
};

struct ns_common {
    unsigned int inum;
};

struct pid_namespace {
    struct ns_common ns;
};

struct upid {
    int nr;
    struct pid_namespace *ns;
};

struct pid {
    unsigned int level;
    struct upid numbers[1];
};

struct task_struct {
    unsigned int __state;
    void *stack;
    unsigned int flags;
    unsigned int in_iowait : 1;
    struct sched_entity se;
    int exit_code;
    int pid, tgid;
    struct task_struct *real_parent;
    struct task_struct *group_leader;
    char comm[16];
    struct nameidata *nameidata;
    struct files_struct *files;
    struct signal_struct *signal;
    struct task_io_accounting ioac;
    struct pid *thread_pid;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
    unsigned long ip, di, si, dx, cx, r10, orig_ax, ax;
};
#define REGS_SYSCALL(r) ((s64)(r)->orig_ax)
#define REGS_ARG(r, n) ((n) == 0 ? (r)->di : (n) == 1 ? (r)->si : (n) == 2 ? (r)->dx : (r)->r10)
#define REGS_FIRST(r) ((r)->di) /* arguments of a function */
#define REGS_FOURTH(r) ((r)->cx)
#define REGS_IP(r) ((r)->ip)
#define REGS_RESULT(r) ((r)->ax)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
    u64 regs[31];
    u64 pc, orig_x0;
    s32 syscallno;
};
#define REGS_SYSCALL(r) ((s64)(r)->syscallno)
#define REGS_ARG(r, n) ((n) == 0 ? (r)->orig_x0 : (r)->regs[n])
#define REGS_FIRST(r) ((r)->regs[0])
#define REGS_FOURTH(r) ((r)->regs[3])
#define REGS_IP(r) ((r)->pc)
#define REGS_RESULT(r) ((r)->regs[0])
#else
#error "no register names for this architecture"
#endif

struct net {
    struct ns_common ns;
};

typedef struct {
    struct net *net;
} possible_net_t;

struct in6_addr {
    u8 bytes[16];
};

struct sock_common {
    u32 skc_daddr, skc_rcv_saddr;
    u16 skc_dport, skc_num, skc_family;
    possible_net_t skc_net;
    struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct socket;

struct sock {
    struct sock_common __sk_common;
    u16 sk_protocol;
    struct socket *sk_socket;
};

struct socket {
    struct sock *sk;
    struct file *file;
};

struct unix_sock {
    struct sock *peer;
};

struct tcp_sock {
    u64 bytes_received, bytes_acked;
    u32 write_seq, snd_una, rcv_nxt, copied_seq;
};

struct epoll_filefd {
    struct file *file;
} __attribute__((packed));

struct epitem {
    struct rb_node rbn;
    struct list_head rdllink;
    struct epoll_filefd ffd;
};

struct eventpoll {
    struct list_head rdllist;
    struct rb_root_cached rbr;
};

struct eventfd_ctx {
    int id;
};

/* The start of it, which is the ABI. */
struct io_uring_sqe {
    u8 opcode, flags;
    u16 ioprio;
    s32 fd;
};

struct io_ring_ctx {
    u32 *sq_array;
    struct io_uring_sqe *sq_sqes;
    unsigned int flags, cached_sq_head, sq_entries;
};

struct bpf_iter_meta;

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
};

#pragma clang attribute pop

/* Constants of the kernel's ABI. */
#define PF_KTHREAD 0x00200000
#define PF_IO_WORKER 0x00000010 /* io_uring's threads: their registers tell no system call */
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_DEAD 0x0080
#define IOSQE_FIXED_FILE 1
#define SQE_BYTES 64
#define IORING_SETUP_SQE128 (1 << 10) /* entries of twice the size */
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IPPROTO_MPTCP 262
#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFCHR 0020000
#define S_IFIFO 0010000
#define ANON_INODE_FS_MAGIC 0x09041934
#define THREAD_BYTES 16384 /* kernel stack of x86-64 and of arm64 without KASAN */

#endif
