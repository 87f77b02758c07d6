/* SPDX-License-Identifier: MIT */
#include "sense/wait_threads.h"

#include "base/mem.h"
#include "sense/fs_name.h"

#include <stdlib.h>
#include <string.h>

#define WAKES_MAX 4096      /* processes whose wakes are counted at a time */
#define FOLLOWED UINT64_MAX /* instead of a count: its threads are being announced */

void wait_threads_clear(struct wait_threads *t)
{
    map_clear(&t->by_tid);
    map_clear(&t->by_tgid);
    map_clear(&t->wakes);
    free(t->list);
    *t = (struct wait_threads){0};
}

static struct wait_thread *find(const struct wait_threads *t, uint32_t tid)
{
    uint64_t at;
    return map_get(&t->by_tid, tid, &at) ? &t->list[at - 1] : NULL;
}

static void count_group(struct wait_threads *t, uint32_t tgid, int step)
{
    uint64_t n = 0;
    map_get(&t->by_tgid, tgid, &n);
    n += (uint64_t)step;
    if (n)
        map_put(&t->by_tgid, tgid, n);
    else
        map_remove(&t->by_tgid, tgid);
}

static struct wait_thread *take_slot(struct wait_threads *t)
{
    if (t->free_slot) {
        struct wait_thread *slot = &t->list[t->free_slot - 1];
        t->free_slot = slot->tgid;
        return slot;
    }
    if (!mem_grow((void **)&t->list, &t->cap, t->count + 1, sizeof(*t->list)))
        return NULL;
    return &t->list[t->count++];
}

static void forget(struct wait_threads *t, struct wait_thread *thread)
{
    count_group(t, thread->tgid, -1);
    map_remove(&t->by_tid, thread->tid);
    if (!thread->job && !map_get(&t->by_tgid, thread->tgid, NULL)) {
        map_remove(&t->wakes, thread->tgid);
        t->outside -= t->outside > 0;
    }
    *thread = (struct wait_thread){.tgid = t->free_slot};
    t->free_slot = (uint32_t)(thread - t->list) + 1;
}

static struct wait_thread *learn(struct wait_threads *t, const struct bpf_task *r)
{
    struct wait_thread *thread = take_slot(t);
    if (!thread)
        return NULL;
    *thread = (struct wait_thread){.tid = r->tid, .tgid = r->tgid, .job = !r->outside};
    memcpy(thread->name, r->comm, sizeof(thread->name));
    if (!map_put(&t->by_tid, r->tid, (uint64_t)(thread - t->list) + 1))
        return NULL;
    count_group(t, r->tgid, 1);
    return thread;
}

/* exec leaves one thread, with the process's own number and a new name. */
static void rename_exec(struct wait_threads *t, const struct bpf_task *r)
{
    struct wait_thread *thread = find(t, r->tid);
    struct wait_thread *before = find(t, r->exit_code);
    if (before && before != thread && before->tgid == r->tgid)
        forget(t, before);
    if (!thread)
        thread = learn(t, r);
    if (thread)
        memcpy(thread->name, r->comm, sizeof(thread->name));
}

bool wait_threads_task(struct wait_threads *t, const struct bpf_task *r, struct event_thread *ret)
{
    struct event_thread e = {.t = (int64_t)r->t,
                             .tid = r->tid,
                             .tgid = r->tgid,
                             .parent_tgid = r->parent_tgid,
                             .job = !r->outside};
    struct wait_thread *known = find(t, r->tid);
    memcpy(e.name, r->comm, sizeof(e.name));
    e.name[sizeof(e.name) - 1] = '\0';
    switch (r->kind) {
    case BPF_FORK:
        if (known && known->tgid == r->tgid)
            return false;
        if (known) /* its exit was lost and the number is in use again */
            forget(t, known);
        learn(t, r);
        e.change = THREAD_START;
        break;
    case BPF_EXEC:
        rename_exec(t, r);
        e.change = THREAD_EXEC;
        break;
    default:
        if (known)
            forget(t, known);
        e.change = THREAD_EXIT;
    }
    *ret = e;
    return true;
}

bool wait_threads_name(struct wait_threads *t, const struct bpf_off *o, struct event_thread *ret)
{
    struct wait_thread *thread = find(t, o->tid);
    if (!thread || memcmp(thread->name, o->comm, sizeof(thread->name)) == 0)
        return false;
    memcpy(thread->name, o->comm, sizeof(thread->name));
    *ret = (struct event_thread){.t = (int64_t)o->t_out,
                                 .tid = o->tid,
                                 .tgid = o->tgid,
                                 .change = THREAD_NAME,
                                 .job = thread->job};
    memcpy(ret->name, o->comm, sizeof(ret->name));
    ret->name[sizeof(ret->name) - 1] = '\0';
    return true;
}

bool wait_threads_follow(struct wait_threads *t, const struct bpf_off *o)
{
    uint64_t wakes = 0;
    uint32_t tgid = o->waker_tgid;
    if (tgid <= 1 || o->flags & (BPF_OFF_WAKE_IRQ | BPF_OFF_KTHREAD_WAKER | BPF_OFF_RUNNABLE) ||
        tgid == o->tgid || tgid == t->own_tgid || map_get(&t->by_tgid, tgid, NULL) ||
        t->outside >= WAIT_OUTSIDE_MAX)
        return false;
    bool daemon = o->file_kind == BPF_FILE_REGULAR && o->fs_magic == FS_MAGIC_FUSE;
    if (map_get(&t->wakes, tgid, &wakes) && wakes == FOLLOWED)
        return false;
    if (t->wakes.count >= WAKES_MAX)
        map_clear(&t->wakes);
    if (!daemon && ++wakes < WAIT_OUTSIDE_WAKES) {
        map_put(&t->wakes, tgid, wakes);
        return false;
    }
    map_put(&t->wakes, tgid, FOLLOWED);
    t->outside++;
    return true;
}
