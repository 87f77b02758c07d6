/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * write: time on a core in which a thread fills files. Included once, by wait.bpf.c.
 *
 * A write() that only copies into the page cache never blocks, so no switch shows it. A watched
 * thread is looked at when it leaves its core and at each tick of the clock (100 to 1000
 * a second, by the kernel's HZ): is it in a call that writes to a regular file (or renames or
 * deletes one), and how many bytes of the page cache has it made dirty so far? Between two looks that both found it in such a call, it
 * wrote all the time; between one that did and one that did not, half of the time. Where no tick
 * fell between getting a core and leaving it, the bytes tell the time, at the speed of those
 * that were seen.
 *
 * Adjoining times are one record, told when they end and in pieces.
 */
#ifndef GPUFEED_BPF_WRITE_H
#define GPUFEED_BPF_WRITE_H

#include "state.bpf.h"

#include "file.bpf.h"

#define WRITE_MIN_NS 20000      /* shorter times are not worth a record */
#define WRITE_PIECE_NS 20000000 /* longer ones are reported in pieces */
#define WRITE_LOOK_NS 900000    /* timers of others are ticks too */
#define WRITE_KIB_NS 512 /* a KiB of the page cache takes about this long, before it is learnt */
#define WRITE_KIB_MAX (64 << 10) /* what was learnt from more is forgotten by halves */

static __always_inline void emit_writing(struct thread *t, struct task_struct *p, u32 flags)
{
    struct bpf_off *o = bpf_ringbuf_reserve(&ring, sizeof(*o), 0);

    if (!o) {
        count_lost(BPF_LOST_RING);
        return;
    }
    __builtin_memset(o, 0, sizeof(*o));
    o->kind = BPF_OFFCORE;
    o->flags = BPF_OFF_WROTE | flags;
    o->t_out = t->write_t0;
    o->t_wake = o->t_in = t->write_t1;
    o->tid = tid_of(p);
    o->tgid = tgid_of(p);
    o->syscall = -1;
    o->file_kind = t->write_ino ? BPF_FILE_REGULAR : BPF_FILE_NONE;
    o->ino = t->write_ino;
    o->dev = t->write_dev;
    o->fs_magic = t->write_magic;
    name_task(o->comm, p);
    bpf_ringbuf_submit(o, BPF_RB_NO_WAKEUP);
}

static __always_inline void end_writing(struct thread *t, struct task_struct *p)
{
    if (t->write_t1 >= t->write_t0 + WRITE_MIN_NS) {
        emit_writing(t, p, 0);
        t->write_end = t->write_t1;
    }
    t->write_t0 = t->write_t1 = 0;
}

static __always_inline void add_writing(struct thread *t, struct task_struct *p, u64 t0, u64 t1)
{
    if (t->write_t1 != t0) {
        end_writing(t, p);
        t->write_t0 = t0;
    }
    t->write_t1 = t1;
    if (t1 - t->write_t0 >= WRITE_PIECE_NS) {
        end_writing(t, p);
        t->write_t0 = t->write_t1 = t1;
    }
}

/* Is p in a call that writes to a regular file, or renames, deletes and such? Remembers the file. */
static __always_inline bool in_write(struct thread *t, struct task_struct *p)
{
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(p);
    s64 nr = REGS_SYSCALL(regs); /* negative: in user mode, or in a fault */
    struct super_block *sb;
    struct inode *inode;
    struct file *file;
    u32 class;

    if (p->flags & PF_IO_WORKER || nr < 0 || nr >= BPF_SYSCALLS)
        return false;
    class = syscall_class[nr & (BPF_SYSCALLS - 1)];
    if (!(class & BPF_SYSCALL_WRITES))
        return false;
    if ((class & ~BPF_SYSCALL_WRITES) != BPF_SYSCALL_FD)
        return true;
    file = file_of(p, REGS_ARG(regs, 0));
    inode = file ? FIELD(struct file, file, f_inode) : 0;
    if (!inode || (FIELD(struct inode, inode, i_mode) & S_IFMT) != S_IFREG)
        return false;
    sb = FIELD(struct inode, inode, i_sb);
    t->write_ino = FIELD(struct inode, inode, i_ino);
    t->write_dev = FIELD(struct super_block, sb, s_dev);
    t->write_magic = FIELD(struct super_block, sb, s_magic);
    return true;
}

static __always_inline u64 dirtied_by(struct task_struct *p)
{
    return bpf_core_field_exists(p->ioac.write_bytes) ? p->ioac.write_bytes : 0;
}

static __always_inline u64 written_by(struct task_struct *p)
{
    return bpf_core_field_exists(p->ioac.wchar) ? p->ioac.wchar : 0;
}

/* What calls that no tick found took for so many KiB, of `ns` at most. */
static __always_inline u64 time_of(struct thread *t, u64 kib, u64 ns)
{
    u64 time = kib * (t->speed_kib ? t->speed_ns / t->speed_kib : WRITE_KIB_NS);

    return time < ns ? time : ns;
}

static __always_inline void learn_speed(struct thread *t, u64 kib, u64 ns)
{
    t->speed_kib += kib;
    t->speed_ns += ns;
    if (t->speed_kib > WRITE_KIB_MAX) {
        t->speed_kib /= 2;
        t->speed_ns /= 2;
    }
}

enum look { LOOK_TICK, LOOK_PREEMPTED, LOOK_BLOCKS };

static __always_inline void look_at_writing(struct thread *t, struct task_struct *p, u64 now,
                                            enum look look)
{
    u64 dirtied = dirtied_by(p), written = written_by(p);
    u64 kib = (dirtied - t->write_dirtied) / 1024, calls_kib = (written - t->write_chars) / 1024;
    u64 from = t->write_look, ns = now - from, time = 0;
    bool before = t->in_write, found = in_write(t, p), whole = look && !t->write_ticks;

    if (look == LOOK_BLOCKS && !before)
        found = false; /* no moment by chance: a call that blocks does so soon */
    t->write_look = now;
    t->write_dirtied = dirtied;
    t->write_chars = written;
    t->in_write = found && look != LOOK_BLOCKS; /* ... and ends soon after */
    t->write_ticks++;
    if (!from || now <= from)
        return;
    if (before && found) {
        learn_speed(t, kib, ns);
        add_writing(t, p, from, now);
        return;
    }
    if (before || found)
        time = ns / 2;
    else if (whole) /* what exceeds the bytes of calls are stores into a mapping: its own work */
        time = time_of(t, kib < calls_kib ? kib : calls_kib, ns);
    if (time < WRITE_MIN_NS)
        end_writing(t, p);
    else if (found)
        add_writing(t, p, now - time, now);
    else
        add_writing(t, p, from, from + time);
    if (!found)
        end_writing(t, p);
}

static __always_inline void leave_writing(struct thread *t, struct task_struct *p, u64 now,
                                          bool blocks)
{
    if (blocks && !t->in_write && !t->write_t0 && dirtied_by(p) == t->write_dirtied) {
        t->write_chars = written_by(p); /* nothing was written: nearly all switches */
        t->write_look = now;
        return;
    }
    look_at_writing(t, p, now, blocks ? LOOK_BLOCKS : LOOK_PREEMPTED);
    if (t->write_t0)
        end_writing(t, p);
}

static __always_inline void enter_writing(struct thread *t, u64 now)
{
    t->write_look = now;
    t->write_ticks = 0;
}

/* The tick, and other timers that run out on this core. */
SEC("tp_btf/hrtimer_expire_entry")
int on_tick(u64 *ctx)
{
    struct task_struct *p = bpf_get_current_task_btf();
    struct thread *t = thread_of(p);
    u64 now;

    if (!t || t->t_out)
        return 0;
    now = bpf_ktime_get_ns();
    if (now - t->write_look >= WRITE_LOOK_NS)
        look_at_writing(t, p, now, LOOK_TICK);
    return 0;
}

#endif
