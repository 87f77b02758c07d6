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

/* Would workers do this? *after_read: the thread has read and not launched since, so that its own
 * code prepares what it read. */
static bool loads(const struct view_op *op, bool *after_read)
{
    if (op->kind != REPLAY_THREAD) {
        *after_read &= op->kind == VIEW_SPAWN || op->kind == VIEW_RELEASE;
        return false;
    }
    *after_read |= op->cause == CAUSE_STORAGE;
    return op->cause == CAUSE_STORAGE || op->cause == CAUSE_PREPARE || op->cause == CAUSE_MEMORY ||
           (*after_read && (op->cause == CAUSE_HOST || op->cause == CAUSE_CPU_STARVED));
}

static struct view_part part_of(const struct view_op *op)
{
    return (struct view_part){op->ns, op->resource,
                              op->cause == CAUSE_HOST ? CAUSE_PREPARE : op->cause};
}

/* One worker that is asked with each step, and no items yet. */
static bool begin_loader(struct view *v, const struct view *from, int64_t take_ns, int64_t start_ns)
{
    struct view_op release = {.kind = VIEW_RELEASE};
    *v = *from;
    v->loader_count = 1;
    v->awaited = 0;
    v->loaders[0] = (struct view_loader){.first = 0};
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
    v->epochs[0] = (struct view_epoch){.slots = 1, .first_of_loader = true};
    v->item_count = 0;
    v->start_ops = 1;
    v->start_ns += (double)start_ns;
    v->usual.lag_waited = v->usual.lag_ready = (double)take_ns;
    return push_op(v, release);
}

bool view_build_loader(struct view *v, const struct view *from, int64_t take_ns, int64_t start_ns)
{
    if (!begin_loader(v, from, take_ns, start_ns))
        return false;
    for (size_t s = 0; s < from->step_count; s++) {
        struct view_item item = {
            .parts_at = (uint32_t)v->part_count, .step = (uint32_t)s, .trigger = VIEW_AT_RELEASE};
        v->steps[s] = from->steps[s];
        v->steps[s].ops_at = (uint32_t)v->op_count;
        bool after_read = false;
        for (uint32_t i = 0; i < from->steps[s].op_count; i++) {
            const struct view_op *op = &from->ops[from->steps[s].ops_at + i];
            if (!(loads(op, &after_read) ? push_part(v, part_of(op)) : push_op(v, *op)))
                return false;
        }
        v->steps[s].op_count = (uint32_t)(v->op_count - v->steps[s].ops_at);
        item.part_count = (uint16_t)(v->part_count - item.parts_at);
        v->steps[s].item = item.part_count ? (uint32_t)v->item_count : VIEW_NO_ITEM;
        if (!item.part_count)
            continue;
        v->steps[s].lag += (double)take_ns;
        v->items[v->item_count++] = item;
    }
    v->loaders[0].end = (uint32_t)v->item_count;
    return true;
}
