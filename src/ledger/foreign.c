/* SPDX-License-Identifier: MIT */
#include "ledger/foreign.h"

#include "base/unit.h"

struct explaining {
    const struct thread *th;
    struct shares *out;
    int64_t own;         /* operators and the thread's own code */
    int64_t longest;     /* the longest piece in one operator ... */
    uint32_t longest_op; /* ... and its name */
};

/* ---- gaps ---- */

/* [a, b) of a range in which the thread loads data: what it read is what own recordings call that, the
 * rest is the range's. */
static void take_loading(struct explaining *x, const struct op_piece *range, int64_t a, int64_t b)
{
    const struct ops *o = &x->th->ops[OP_CALL];
    int64_t rest = b - a;
    for (size_t i = ops_after(o, a); i < o->count && o->item[i].t0 < b; i++) {
        const struct op_piece *p = &o->item[i];
        int64_t ns = (p->t1 < b ? p->t1 : b) - (p->t0 > a ? p->t0 : a);
        if (!p->loads)
            continue;
        shares_add(x->out, (enum cause)p->cause, p->resource, ns);
        rest -= ns;
    }
    shares_add(x->out, (enum cause)range->cause, range->resource, rest);
}

static void take(struct explaining *x, int kind, const struct op_piece *p, int64_t a, int64_t b)
{
    int64_t ns = b - a;
    if (kind == OP_RANGE && p->loads) {
        take_loading(x, p, a, b);
        return;
    }
    if (kind != OP_CODE) {
        shares_add(x->out, (enum cause)p->cause, p->resource, ns);
        return;
    }
    x->own += ns;
    if (ns > x->longest) {
        x->longest = ns;
        x->longest_op = p->resource;
    }
}

/* What is in no piece of this kind is looked for in the next. */
static void walk(struct explaining *x, int kind, int64_t a, int64_t b)
{
    if (kind == OP_KINDS) {
        x->own += b - a;
        return;
    }
    const struct ops *o = &x->th->ops[kind];
    for (size_t i = ops_after(o, a); i < o->count && o->item[i].t0 < b; i++) {
        const struct op_piece *p = &o->item[i];
        int64_t p1 = p->t1 < b ? p->t1 : b;
        if (p->t0 > a) {
            walk(x, kind + 1, a, p->t0);
            a = p->t0;
        }
        take(x, kind, p, a, p1);
        a = p1;
    }
    if (a < b)
        walk(x, kind + 1, a, b);
}

int64_t foreign_late(const struct gap *gap)
{
    int64_t asked = gap->launch_t1 > gap->t0 ? gap->launch_t1 : gap->t0;
    return gap->t1 - asked > FOREIGN_BEGIN_NS ? gap->t1 - asked : 0;
}

/* From the launch on. */
static void take_launch(struct explaining *x, const struct gap *gap, int64_t launch)
{
    int64_t late = foreign_late(gap);
    enum cause c = gap->ended_by_copy_call ? CAUSE_PAGEABLE_COPY : CAUSE_LAUNCH;
    shares_add(x->out, c, 0, gap->t1 - late - launch);
    shares_add(x->out, CAUSE_UNKNOWN, 0, late);
}

/* Launched work did not begin; and where the thread was in a call that awaits the device, that. */
static void tell_late(struct chain_links *links, const struct gap *gap, const struct intern *names,
                      int64_t late)
{
    const struct ops *o = &gap->thread->ops[OP_CALL];
    for (size_t i = ops_after(o, gap->t1 - late); i < o->count && o->item[i].t0 < gap->t1; i++) {
        const struct op_piece *p = &o->item[i];
        int64_t a = p->t0 > gap->t1 - late ? p->t0 : gap->t1 - late,
                b = p->t1 < gap->t1 ? p->t1 : gap->t1;
        if (!p->awaits_device || (b - a) * 2 < late)
            continue;
        chain_tell(links, gap->thread, b - a, "launched work that did not begin, and was in %.48s",
                   p->resource ? intern_text(names, p->resource) : "the next launch");
        return;
    }
    chain_tell(links, gap->thread, late, "launched work that did not begin");
}

void foreign_explain(struct threads *threads, const struct intern *names, const struct gap *gap,
                     struct shares *ret, enum evidence *evidence, struct chain_links *links)
{
    struct explaining x = {.th = gap->thread, .out = ret};
    int64_t launch = gap->launch_t0 < gap->t0   ? gap->t0
                     : gap->launch_t0 > gap->t1 ? gap->t1
                                                : gap->launch_t0;
    *evidence = EVIDENCE_DEVICE;
    take_launch(&x, gap, launch);
    walk(&x, OP_RANGE, gap->t0, launch);
    if (x.own <= GAP_LAUNCH_CPU_NS)
        shares_add(ret, CAUSE_LAUNCH, 0, x.own);
    else
        shares_add(ret, CAUSE_HOST, x.longest * 2 > x.own ? x.longest_op : 0, x.own);
    int64_t late = foreign_late(gap);
    if (links && late * 2 > gap->t1 - gap->t0)
        tell_late(links, gap, names, late);
    else if (links)
        chain_tell_largest(links, x.th, ret, names);
}

/* ---- what a faster device would save ---- */

struct awaiting {
    const struct threads *threads;
    const struct thread *by; /* whose call it is */
};

static int64_t undisturbed(const struct awaiting *w, size_t at, int64_t a, int64_t b);

/* Of [a, b): what other thread `at` leaves, it being in no call. Its operators disturb. */
static int64_t outside_code(const struct awaiting *w, size_t at, int64_t a, int64_t b)
{
    const struct ops *o = &w->threads->list[at]->ops[OP_CODE];
    int64_t ns = 0;
    for (size_t i = ops_after(o, a); i < o->count && o->item[i].t0 < b; i++) {
        if (o->item[i].t0 > a)
            ns += undisturbed(w, at + 1, a, o->item[i].t0);
        a = o->item[i].t1;
    }
    return a < b ? ns + undisturbed(w, at + 1, a, b) : ns;
}

/* The part of [a, b) in which none of the threads from `at` on does anything but wait, where two wait, it
 * counts for the first of them. */
static int64_t undisturbed(const struct awaiting *w, size_t at, int64_t a, int64_t b)
{
    bool after = false;
    for (size_t i = 0; i < at && !after; i++)
        after = w->threads->list[i] == w->by;
    for (; at < w->threads->count; at++) {
        const struct thread *th = w->threads->list[at];
        if (th != w->by && th->launches)
            break;
        after |= th == w->by;
    }
    if (at == w->threads->count)
        return b - a;
    const struct ops *o = &w->threads->list[at]->ops[OP_CALL];
    int64_t ns = 0;
    for (size_t i = ops_after(o, a); i < o->count && o->item[i].t0 < b; i++) {
        const struct op_piece *p = &o->item[i];
        int64_t p1 = p->t1 < b ? p->t1 : b;
        if (p->t0 > a) {
            ns += outside_code(w, at, a, p->t0);
            a = p->t0;
        }
        if (p->awaits_device && after)
            ns += undisturbed(w, at + 1, a, p1);
        a = p1;
    }
    return a < b ? ns + outside_code(w, at, a, b) : ns;
}

int64_t foreign_awaited(const struct threads *threads, int64_t t0, int64_t t1)
{
    int64_t ns = 0;
    for (size_t k = 0; k < threads->count; k++) {
        const struct thread *th = threads->list[k];
        const struct ops *o = &th->ops[OP_CALL];
        struct awaiting w = {threads, th};
        for (size_t i = th->launches ? ops_after(o, t0) : o->count;
             i < o->count && o->item[i].t0 < t1; i++) {
            const struct op_piece *p = &o->item[i];
            int64_t a = p->t0 > t0 ? p->t0 : t0, b = p->t1 < t1 ? p->t1 : t1;
            if (p->awaits_device && a < b)
                ns += undisturbed(&w, 0, a, b);
        }
    }
    return ns;
}
