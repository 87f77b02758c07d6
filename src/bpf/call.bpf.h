/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * call: uprobes on the driver's entry points and on getaddrinfo. Included once,
 * by wait.bpf.c. They fire for every process that maps the library and leave at
 * once for threads that are not watched.
 */
#ifndef GPUFEED_BPF_CALL_H
#define GPUFEED_BPF_CALL_H

#include "state.bpf.h"

#define HOST_ADDRESSES 8

/* The cookie of the probe is an enum call_kind. Calls inside calls belong to the outermost. */
SEC("uprobe/call")
int on_call(struct pt_regs *ctx)
{
    struct thread *t = thread_of(bpf_get_current_task_btf());

    if (!t)
        return 0;
    if (t->call_depth++ == 0) {
        t->call_kind = bpf_get_attach_cookie(ctx);
        t->call_t0 = bpf_ktime_get_ns();
    }
    return 0;
}

SEC("uretprobe/call")
int on_call_return(struct pt_regs *ctx)
{
    struct task_struct *p = bpf_get_current_task_btf();
    struct thread *t = thread_of(p);
    struct bpf_call *r;

    if (!t || !t->call_depth || --t->call_depth)
        return 0;
    r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
    if (!r) {
        count_lost(BPF_LOST_RING);
        return 0;
    }
    r->kind = BPF_CALLED;
    r->call = t->call_kind;
    r->t0 = t->call_t0;
    r->t1 = bpf_ktime_get_ns();
    r->tid = tid_of(p);
    r->tgid = tgid_of(p);
    bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
    return 0;
}

/* getaddrinfo(node, service, hints, **list) */
SEC("uprobe/host")
int on_host(struct pt_regs *ctx)
{
    struct thread *t = thread_of(bpf_get_current_task_btf());

    if (!t)
        return 0;
    t->host_node = REGS_FIRST(ctx);
    t->host_list = REGS_FOURTH(ctx);
    return 0;
}

/* struct addrinfo of 64-bit glibc and musl. */
struct addrinfo_user {
    s32 flags, family, type, protocol;
    u32 length, pad;
    u64 address, name, next;
};

struct sockaddr_user {
    u16 family, port;
    u32 v4; /* IPv6: flow label */
    u8 v6[16];
};

static __always_inline void emit_host(u32 tgid, u64 node, u64 address)
{
    struct sockaddr_user a = {};
    struct bpf_host *r;

    if (bpf_probe_read_user(&a, 8, (void *)address))
        return;
    if (a.family != AF_INET &&
        (a.family != AF_INET6 || bpf_probe_read_user(a.v6, 16, (void *)(address + 8))))
        return;
    r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
    if (!r) {
        count_lost(BPF_LOST_RING);
        return;
    }
    r->kind = BPF_HOST;
    r->tgid = tgid;
    if (a.family == AF_INET6) {
        __builtin_memcpy(r->addr, a.v6, 16);
    } else {
        __builtin_memset(r->addr, 0, 10);
        r->addr[10] = r->addr[11] = 0xff;
        __builtin_memcpy(r->addr + 12, &a.v4, 4);
    }
    if (bpf_probe_read_user_str(r->name, sizeof(r->name), (void *)node) <= 0)
        r->name[0] = 0;
    bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

SEC("uretprobe/host")
int on_host_return(struct pt_regs *ctx)
{
    struct task_struct *p = bpf_get_current_task_btf();
    struct thread *t = thread_of(p);
    struct addrinfo_user item = {};
    u64 at = 0;

    if (!t || !t->host_node || REGS_RESULT(ctx))
        return 0;
    if (bpf_probe_read_user(&at, sizeof(at), (void *)t->host_list))
        return 0;
    for (int i = 0; i < HOST_ADDRESSES && at; i++) {
        if (bpf_probe_read_user(&item, sizeof(item), (void *)at))
            break;
        emit_host(tgid_of(p), t->host_node, item.address);
        at = item.next;
    }
    t->host_node = 0;
    return 0;
}

#endif
