/* SPDX-License-Identifier: MIT */
/*
 * How many cores the job was seen to use at once. CPU time is spread evenly over the item or step
 * that spent it and summed up in slots of time, so the largest sum was really there, or more.
 */
#include "plan/replay_build.h"

#include "base/mem.h"

#include <stdlib.h>

#define SLOT_NS (10.0 * (double)NS_PER_MS)
#define SLOTS_MAX 65536.0
#define SLOTS_LEFT 100 /* the busiest one of so many is left out: ends of items are not exact */

struct slots {
    double *v; /* owned: CPU time in each */
    size_t count;
    double width;
};

static void spend(struct slots *s, double from, double to, double cpu)
{
    if (to - from < 1 || cpu <= 0 || from < 0)
        return;
    double rate = cpu > to - from ? 1 : cpu / (to - from);
    for (size_t i = (size_t)(from / s->width); i < s->count && (double)i * s->width < to; i++) {
        double a = (double)i * s->width, e = a + s->width;
        s->v[i] += rate * ((to < e ? to : e) - (from > a ? from : a));
    }
}

static double cpu_of_item(const struct view *v, const struct view_item *item)
{
    double sum = 0;
    for (uint32_t i = item->startup_parts; i < item->part_count; i++)
        if (cause_takes_core(v->parts[item->parts_at + i].cause))
            sum += v->parts[item->parts_at + i].ns;
    return sum;
}

static double cpu_of_step(const struct view *v, const struct view_step *step)
{
    double sum = 0;
    for (uint32_t i = 0; i < step->op_count; i++) {
        const struct view_op *op = &v->ops[step->ops_at + i];
        if (op->kind == REPLAY_THREAD && cause_takes_core(op->cause))
            sum += op->ns;
    }
    return sum;
}

bool busy_cores(struct build *b)
{
    struct view *v = b->v;
    double n = v->real_ns / SLOT_NS;
    struct slots s = {.count = (size_t)(n < SLOTS_MAX ? n : SLOTS_MAX) + 1};
    s.width = v->real_ns / (double)s.count;
    s.v = mem_zalloc(s.count * sizeof(*s.v));
    if (!s.v)
        return false;
    for (size_t p = 0; s.width > 0 && p < v->item_count; p++)
        spend(&s, b->items[p].work, b->items[p].end, cpu_of_item(v, &v->items[p]));
    for (size_t i = 0; s.width > 0 && i < v->step_count; i++)
        spend(&s, from_origin(b, b->c->steps[i].t1), from_origin(b, b->c->steps[i].end),
              cpu_of_step(v, &v->steps[i]));
    if (s.width > 0)
        v->busy = view_quantile(s.v, s.count, 1 - 1.0 / SLOTS_LEFT) / s.width;
    free(s.v);
    return true;
}
