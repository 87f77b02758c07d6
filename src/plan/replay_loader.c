/* SPDX-License-Identifier: MIT */
/* A job that loads its data on the launching thread, seen as if workers could do that. */
#include "plan/replay_view.h"

#include "base/mem.h"

static bool push_part(struct view *v, struct view_part part)
{
    if (!mem_grow((void **)&v->parts, &v->part_cap, v->part_count + 1, sizeof(*v->parts)))
        return false;
    v->parts[v->part_count++] = part;
    return true;
}

static bool push_op(struct view *v, struct view_op op)
{
    if (!mem_grow((void **)&v->ops, &v->op_cap, v->op_count + 1, sizeof(*v->ops)))
        return false;
    v->ops[v->op_count++] = op;
    return true;
}

static bool loads(const struct view_op *op)
{
    return op->kind == REPLAY_THREAD &&
           (op->cause == CAUSE_STORAGE || op->cause == CAUSE_PREPARE || op->cause == CAUSE_MEMORY);
}

bool view_build_loader(struct view *v, const struct view *from)
{
    *v = *from;
    v->items = NULL;
    v->epochs = NULL;
    v->epoch_count = v->epoch_cap = 0;
    v->parts = NULL;
    v->part_count = v->part_cap = 0;
    v->ops = NULL;
    v->op_count = v->op_cap = 0;
    v->steps = mem_zalloc(from->step_count * sizeof(*v->steps));
    v->items = mem_zalloc(from->step_count * sizeof(*v->items));
    v->epochs = mem_zalloc(sizeof(*v->epochs));
    if (!v->steps || !v->items || !v->epochs)
        return false;
    v->epoch_count = v->epoch_cap = 1;
    v->epochs[0].slots = 1;
    v->item_count = 0;
    v->start_ops = 1;
    struct view_op release = {.kind = VIEW_RELEASE};
    if (!push_op(v, release))
        return false;
    for (size_t s = 0; s < from->step_count; s++) {
        struct view_item item = {
            .parts_at = (uint32_t)v->part_count, .step = (uint32_t)s, .trigger = VIEW_AT_RELEASE};
        v->steps[s] = from->steps[s];
        v->steps[s].ops_at = (uint32_t)v->op_count;
        for (uint32_t i = 0; i < from->steps[s].op_count; i++) {
            const struct view_op *op = &from->ops[from->steps[s].ops_at + i];
            struct view_part part = {op->ns, op->resource, op->cause};
            if (!(loads(op) ? push_part(v, part) : push_op(v, *op)))
                return false;
        }
        v->steps[s].op_count = (uint32_t)(v->op_count - v->steps[s].ops_at);
        item.part_count = (uint16_t)(v->part_count - item.parts_at);
        v->steps[s].item = item.part_count ? (uint32_t)v->item_count : VIEW_NO_ITEM;
        if (item.part_count)
            v->items[v->item_count++] = item;
    }
    return true;
}
