/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * irq: is this core in an interrupt handler? A wake from there names whoever was
 * interrupted, an innocent thread. Included once, by wait.bpf.c.
 *
 * Two ways: by the stack (nearly free), or, where calibration finds that the stack
 * does not tell, by counting entries and exits of handlers.
 */
#ifndef GPUFEED_BPF_IRQ_H
#define GPUFEED_BPF_IRQ_H

#include "state.bpf.h"

/*
 * Interrupt handlers run on the core's own stack, except when they interrupt user mode; then
 * the interrupted thread is in no system call. Programs with less than 64 bytes of
 * stack run on the kernel stack of whoever they trace, so our frame tells where we are.
 */
static __always_inline bool in_interrupt_by_stack(struct task_struct *current)
{
    u64 here, base = (u64)current->stack - bpf_get_current_task();
    struct pt_regs *regs;

    asm volatile("%0 = r10; %0 -= %1" : "=&r"(here) : "r"(current));
    if (here - base >= THREAD_BYTES)
        return true;
    if (current->flags & PF_KTHREAD)
        return false;
    regs = (struct pt_regs *)bpf_task_pt_regs(current);
    return REGS_SYSCALL(regs) < 0;
}

static __always_inline bool in_interrupt_by_count(void)
{
    u32 zero = 0, *depth = bpf_map_lookup_elem(&irq_depth, &zero);

    return depth && *depth;
}

/* ---- interrupts by counting, for kernels whose stacks do not tell ---- */

static __always_inline int irq_step(int step)
{
    u32 zero = 0, *depth = bpf_map_lookup_elem(&irq_depth, &zero);

    if (depth && (step > 0 || *depth))
        *depth += step;
    return 0;
}

SEC("tp_btf/irq_handler_entry")
int on_irq_in(u64 *ctx)
{
    return irq_step(1);
}

SEC("tp_btf/irq_handler_exit")
int on_irq_out(u64 *ctx)
{
    return irq_step(-1);
}

SEC("tp_btf/softirq_entry")
int on_softirq_in(u64 *ctx)
{
    return irq_step(1);
}

SEC("tp_btf/softirq_exit")
int on_softirq_out(u64 *ctx)
{
    return irq_step(-1);
}

SEC("tp_btf/hrtimer_expire_entry")
int on_timer_in(u64 *ctx)
{
    return irq_step(1);
}

SEC("tp_btf/hrtimer_expire_exit")
int on_timer_out(u64 *ctx)
{
    return irq_step(-1);
}

/* ---- calibration of the stack method, attached for a moment while opening ---- */

static __always_inline void calibrate(u32 slot)
{
    u64 *n;

    slot += in_interrupt_by_stack(bpf_get_current_task_btf());
    n = bpf_map_lookup_elem(&counts, &slot);
    if (n)
        __sync_fetch_and_add(n, 1);
}

/* Whoever gives up its core is in task context; page faults are left out, see above. */
SEC("tp_btf/sched_switch")
int calibrate_task(u64 *ctx)
{
    struct task_struct *prev = (struct task_struct *)ctx[1];
    bool preempted = ctx[0];

    if (preempted)
        return 0;
    if (!(prev->flags & PF_KTHREAD) && REGS_SYSCALL((struct pt_regs *)bpf_task_pt_regs(prev)) < 0)
        return 0;
    calibrate(0);
    return 0;
}

/* Kernel threads run soft interrupts on their own stack; as wakers they are never named anyway. */
SEC("tp_btf/softirq_entry")
int calibrate_irq(u64 *ctx)
{
    if (!(bpf_get_current_task_btf()->flags & PF_KTHREAD))
        calibrate(2);
    return 0;
}

#endif
