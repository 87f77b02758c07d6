/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * wait: records when and why watched threads leave their core and who wakes them.
 *
 * One record per blocked interval, written when the thread is back on a core.
 * A preemption shorter than short_runnable_ns is not reported by itself: such
 * times are summed per thread and reported as one interval that ends with the
 * last of them, so that the sum is right to within short_runnable_ns a thread.
 * Time on a core that went into the page cache: see write.bpf.h.
 * Nothing here waits, allocates under the run queue lock or wakes the reader.
 */
#include "state.bpf.h"

#include "file.bpf.h"

#include "irq.bpf.h"

#include "call.bpf.h"

#include "write.bpf.h"

char wait_license[] SEC("license") = "Dual MIT/GPL";

#define EARLY_WAKE_NS 20000  /* a wake that raced with the switch came at most this much before */
#define FAULT_CPU_NS 2000000 /* CPU time a fault may take before it waits for its file */

/* The waker belongs to this wait: it came after the thread left its core, or raced with that. */
static __always_inline bool is_woken(struct thread *t)
{
    u64 t_wake = t->t_wake;

    return t_wake >= t->t_out || (t_wake > t->t_in && t_wake + EARLY_WAKE_NS >= t->t_out);
}

static __always_inline void fill_waker(struct bpf_off *o, struct thread *t)
{
    o->t_wake = 0;
    o->waker_tid = o->waker_tgid = o->waker_kind = 0;
    if (t->flags & BPF_OFF_RUNNABLE) {
        o->t_wake = o->t_out;
    } else if (is_woken(t)) {
        o->t_wake = t->t_wake < o->t_out ? o->t_out : t->t_wake;
        o->flags |= t->wake_flags;
        o->waker_tid = t->waker_tid;
        o->waker_tgid = t->waker_tgid;
        o->waker_kind = (t->wake_flags & BPF_OFF_KTHREAD_WAKER) != 0;
    }
}

static __always_inline void emit(struct thread *t, struct task_struct *p, u64 t_out, u64 now,
                                 u32 flags)
{
    struct bpf_off *o = bpf_ringbuf_reserve(&ring, sizeof(*o), 0);

    if (!o) {
        count_lost(BPF_LOST_RING);
        return;
    }
    o->kind = BPF_OFFCORE;
    o->flags = t->flags | flags;
    o->t_out = t_out;
    o->t_in = now;
    o->tid = tid_of(p);
    o->tgid = tgid_of(p);
    fill_waker(o, t);
    o->syscall = t->syscall;
    o->file_kind = t->file_kind;
    o->ino = t->ino;
    o->dev = t->dev;
    o->fs_magic = t->magic;
    o->fault_ino = t->fault_ino;
    o->fault_dev = t->fault_dev;
    __builtin_memset(&o->sock_rx, 0,
                     __builtin_offsetof(struct bpf_off, fault_ino) -
                         __builtin_offsetof(struct bpf_off, sock_rx));
    if (t->sock)
        fill_socket(o, t);
    name_task(o->comm, p);
    bpf_ringbuf_submit(o, BPF_RB_NO_WAKEUP);
}

/* Why a thread that goes to sleep does so. */
static __always_inline void explain(struct thread *t, struct task_struct *p, u64 now)
{
    struct pt_regs *regs;
    s64 nr;

    if (p->flags & PF_IO_WORKER)
        return;
    regs = (struct pt_regs *)bpf_task_pt_regs(p);
    nr = REGS_SYSCALL(regs);
    t->syscall = nr;
    if (t->fault_ip != REGS_IP(regs) || now - t->fault_t > FAULT_CPU_NS)
        t->fault_ino = t->fault_dev = 0;
    if (nr < 0) {
        t->flags |= BPF_OFF_FAULT;
        return;
    }
    if (nr >= BPF_SYSCALLS)
        return;
    switch (syscall_class[nr & (BPF_SYSCALLS - 1)] & ~BPF_SYSCALL_WRITES) {
    case BPF_SYSCALL_FD:
        describe_fd(t, p, REGS_ARG(regs, 0));
        break;
    case BPF_SYSCALL_POLL:
        describe_poll(t, p, REGS_ARG(regs, 0), REGS_ARG(regs, 1));
        break;
    case BPF_SYSCALL_SELECT:
        describe_select(t, p, REGS_ARG(regs, 0), REGS_ARG(regs, 1), REGS_ARG(regs, 2));
        break;
    case BPF_SYSCALL_EPOLL:
        describe_epoll(t, p, REGS_ARG(regs, 0));
        break;
    case BPF_SYSCALL_PATH:
        describe_path(t, p);
        break;
    case BPF_SYSCALL_URING:
        describe_uring(t, p, REGS_ARG(regs, 0));
        break;
    case BPF_SYSCALL_FUTEX:
        if (REGS_ARG(regs, 3))
            t->flags |= BPF_OFF_TIMED;
        break;
    }
}

static __always_inline void leave(struct thread *t, struct task_struct *task, bool preempted,
                                  u32 state, u64 now)
{
    leave_writing(t, task, now, !preempted && state);
    if (state & TASK_DEAD)
        return;
    t->file_kind = BPF_FILE_NONE;
    t->syscall = -1;
    t->sock = 0;
    t->epoll = 0;
    t->dev = 0;
    t->magic = 0;
    t->ino = 0;
    t->run_out = task->se.sum_exec_runtime;
    if (preempted || !state) {
        t->flags = BPF_OFF_RUNNABLE;
        t->t_out = now;
        return;
    }
    t->flags = 0;
    if (state & TASK_UNINTERRUPTIBLE)
        t->flags |= BPF_OFF_UNINTR;
    if (BPF_CORE_READ_BITFIELD(task, in_iowait))
        t->flags |= BPF_OFF_IOWAIT;
    if (t->reclaim)
        t->flags |= BPF_OFF_RECLAIM;
    explain(t, task, now);
    t->t_out = now;
}

/* Adds up short preemptions; reports when they are worth a record. */
static __always_inline void enter_runnable(struct thread *t, struct task_struct *p, u64 now)
{
    u64 last = now - t->t_out, all = t->runnable_ns + last, report = all;

    if (now - all < t->t_in || now - all < t->write_end)
        report = last; /* there is no room for the earlier ones */
    if (report < short_runnable_ns) {
        t->runnable_ns = all;
        return;
    }
    t->runnable_ns = all - report;
    emit(t, p, now - report, now, 0);
    t->t_in = now;
}

static __always_inline void enter(struct thread *t, struct task_struct *p, u64 now)
{
    if (t->flags & BPF_OFF_RUNNABLE) {
        enter_runnable(t, p, now);
    } else {
        if (t->epoll)
            epoll_ready(t);
        emit(t, p, t->t_out, now, 0);
        t->t_in = now;
    }
    enter_writing(t, now);
    t->fault_t += now - t->t_out; /* the fault goes on where it was */
    t->t_out = 0;
}

/*
 * A thread leaves that was not seen to come back: some kernels hide the switches of protected
 * processes, and with them who comes after. What it has run since tells when it came back.
 */
static __always_inline void enter_late(struct thread *t, struct task_struct *p, u64 now)
{
    u64 ran = p->se.sum_exec_runtime - t->run_out;
    u64 t_in = now - ran;
    u64 first = is_woken(t) ? t->t_wake : t->t_out;

    t->epoll = 0; /* its ready list is used up */
    if (ran > now || t_in < first)
        t_in = first;
    enter(t, p, t_in);
}

SEC("tp_btf/sched_switch")
int on_switch(u64 *ctx)
{
    bool preempted = ctx[0];
    struct task_struct *prev = (struct task_struct *)ctx[1];
    struct task_struct *next = (struct task_struct *)ctx[2];
    struct thread *in, *out;
    u64 now = 0;

    in = thread_of(next);
    if (in && in->t_out) {
        now = bpf_ktime_get_ns();
        enter(in, next, now);
    }
    out = thread_of(prev);
    if (out) {
        u32 state = have_prev_state ? (u32)ctx[3] : prev->__state;

        if (!now)
            now = bpf_ktime_get_ns();
        if (out->t_out)
            enter_late(out, prev, now);
        leave(out, prev, preempted, state, now);
    }
    return 0;
}

SEC("tp_btf/sched_waking")
int on_waking(u64 *ctx)
{
    struct task_struct *current;
    struct thread *t = thread_of((struct task_struct *)ctx[0]);
    u32 flags = 0;

    if (!t || (t->t_out && (t->t_wake >= t->t_out || (t->flags & BPF_OFF_RUNNABLE))))
        return 0;
    current = bpf_get_current_task_btf();
    if (irq_by_stack ? in_interrupt_by_stack(current) : in_interrupt_by_count()) {
        flags = BPF_OFF_WAKE_IRQ;
        t->waker_tid = t->waker_tgid = 0;
    } else {
        if (current->flags & (PF_KTHREAD | PF_IO_WORKER))
            flags = BPF_OFF_KTHREAD_WAKER;
        t->waker_tid = tid_of(current);
        t->waker_tgid = tgid_of(current);
    }
    t->wake_flags = flags;
    t->t_wake = bpf_ktime_get_ns();
    return 0;
}

/* The file whose pages this thread asks the disk for, and from which instruction. */
static __always_inline void note_fault(struct thread *t, struct task_struct *p,
                                       struct address_space *mapping)
{
    struct inode *inode = mapping ? FIELD(struct address_space, mapping, host) : 0;
    struct super_block *sb = inode ? FIELD(struct inode, inode, i_sb) : 0;

    if (!sb)
        return;
    t->fault_ino = FIELD(struct inode, inode, i_ino);
    t->fault_dev = FIELD(struct super_block, sb, s_dev);
    t->fault_ip = REGS_IP((struct pt_regs *)bpf_task_pt_regs(p));
    t->fault_t = bpf_ktime_get_ns();
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int on_page_added(u64 *ctx)
{
    struct task_struct *p = bpf_get_current_task_btf();
    struct thread *t = thread_of(p);
    struct address_space *mapping;

    if (!t)
        return 0;
    if (bpf_core_type_exists(struct folio))
        mapping = FIELD(struct folio, ctx[0], mapping);
    else
        mapping = FIELD(struct page, ctx[0], mapping);
    note_fault(t, p, mapping);
    return 0;
}

SEC("tp_btf/mm_filemap_fault")
int on_file_fault(u64 *ctx)
{
    struct task_struct *p = bpf_get_current_task_btf();
    struct thread *t = thread_of(p);

    if (t)
        note_fault(t, p, (struct address_space *)ctx[0]);
    return 0;
}

static __always_inline int reclaim(bool begin)
{
    struct thread *t = thread_of(bpf_get_current_task_btf());

    if (t)
        t->reclaim = begin;
    return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int on_reclaim_in(u64 *ctx)
{
    return reclaim(true);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int on_reclaim_out(u64 *ctx)
{
    return reclaim(false);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int on_memcg_in(u64 *ctx)
{
    return reclaim(true);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int on_memcg_out(u64 *ctx)
{
    return reclaim(false);
}

static __always_inline u32 parent_tgid(struct task_struct *p)
{
    struct task_struct *parent = FIELD(struct task_struct, p, real_parent);

    if (!reader_ns)
        return FIELD(struct task_struct, parent, tgid);
    return tgid_of(parent);
}

static __always_inline void emit_task(u32 kind, struct task_struct *p, u32 outside, u32 code)
{
    struct bpf_task *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

    if (!r) {
        count_lost(BPF_LOST_RING);
        return;
    }
    r->kind = kind;
    r->tid = tid_of(p);
    r->tgid = tgid_of(p);
    r->parent_tgid = parent_tgid(p);
    r->t = bpf_ktime_get_ns();
    r->exit_code = code;
    r->outside = outside;
    name_task(r->comm, p);
    bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

static __always_inline void adopt(struct task_struct *p, u32 outside)
{
    struct thread *t;

    if (thread_of(p))
        return;
    t = bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!t) {
        count_lost(BPF_LOST_MAP);
        return;
    }
    t->outside = outside;
    t->t_in = bpf_ktime_get_ns();
    emit_task(BPF_FORK, p, outside, 0);
}

SEC("tp_btf/sched_process_fork")
int on_fork(u64 *ctx)
{
    struct task_struct *parent = (struct task_struct *)ctx[0];
    struct task_struct *child = (struct task_struct *)ctx[1];
    u32 tgid = tgid_of(parent), child_tgid = tgid_of(child);
    struct watch *w = bpf_map_lookup_elem(&watched, &tgid), child_watch;

    if (!w)
        return 0;
    child_watch.outside = w->outside;
    if (child_tgid != tgid) {
        if (w->outside)
            return 0;
        tgid = child_tgid;
        if (bpf_map_update_elem(&watched, &tgid, &child_watch, BPF_ANY))
            count_lost(BPF_LOST_MAP);
    }
    adopt(child, child_watch.outside);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int on_exec(u64 *ctx)
{
    struct task_struct *p = (struct task_struct *)ctx[0];
    struct thread *t = thread_of(p);

    if (t)
        emit_task(BPF_EXEC, p, t->outside, ctx[1]);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(u64 *ctx)
{
    struct task_struct *p = (struct task_struct *)ctx[0];
    struct thread *t = thread_of(p);
    u32 tgid = tgid_of(p);

    if (!t)
        return 0;
    leave_writing(t, p, bpf_ktime_get_ns(), true);
    emit_task(BPF_EXITED, p, t->outside, p->exit_code);
    if (FIELD(struct signal_struct, FIELD(struct task_struct, p, signal), live.counter) == 0)
        bpf_map_delete_elem(&watched, &tgid);
    return 0;
}

/* Starts watching the threads that exist already: those of watched groups and, for the job,
 * those of its children. User space runs it again until counts[4] stays 0. */
SEC("iter/task")
int find_threads(struct bpf_iter__task *ctx)
{
    struct task_struct *p = ctx->task;
    struct watch *w, child = {};
    u32 tgid, parent, slot = 4;
    u64 *added;

    if (!p || (p->flags & PF_KTHREAD))
        return 0;
    tgid = tgid_of(p);
    w = bpf_map_lookup_elem(&watched, &tgid);
    if (!w) {
        parent = parent_tgid(p);
        w = bpf_map_lookup_elem(&watched, &parent);
        if (!w || w->outside)
            return 0;
        if (bpf_map_update_elem(&watched, &tgid, &child, BPF_NOEXIST))
            count_lost(BPF_LOST_MAP);
        added = bpf_map_lookup_elem(&counts, &slot);
        if (added)
            (*added)++;
        adopt(p, 0);
        return 0;
    }
    adopt(p, w->outside);
    return 0;
}

/* Reports threads that are off their core, or write, right now. */
SEC("iter/task")
int report_open(struct bpf_iter__task *ctx)
{
    struct task_struct *p = ctx->task;
    struct thread *t;

    if (!p)
        return 0;
    t = thread_of(p);
    if (t && t->t_out)
        emit(t, p, t->t_out, bpf_ktime_get_ns(), BPF_OFF_OPEN);
    else if (t && t->write_t0)
        emit_writing(t, p, BPF_OFF_OPEN);
    return 0;
}
