/* SPDX-License-Identifier: MIT */
#include "probe/probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* The functions that begin a profiler's work, and which probe is in its way: the hooks get no
 * argument of ours. Set once per process, before the hooks are. */
static struct {
    struct probe *probe;
    void *subscribe, *subscribe_v2, *register_buffers;
} armed;

/* Gives CUPTI back whole: our buffers come home, nothing of ours stays switched on. */
static void withdraw(struct probe *p)
{
    static const int kinds[] = {ABI_KIND_CONCURRENT_KERNEL, ABI_KIND_MEMCPY, ABI_KIND_MEMSET,
                                ABI_KIND_MEMCPY2};
    struct ring_record told = {.kind = RING_UNSEEN,
                               .span_kind = RING_UNSEEN_TAKEN,
                               .flags = 1, /* the first of them */
                               .device = UINT16_MAX};

    flush_now(p, true);
    pthread_mutex_lock(&p->flush_lock);
    __atomic_store_n(&p->active, false, __ATOMIC_RELEASE);
    __atomic_store_n(&p->withdrawn, true, __ATOMIC_RELEASE);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        p->cupti.activity_disable(kinds[i]);
    p->cupti.unsubscribe(p->subscriber);
    told.t0 = told.t1 = clock_now();
    p->flushed_at = told.t0;
    probe_push(p, &told);
    pthread_mutex_unlock(&p->flush_lock);
}

/* The first caller puts all entries back and withdraws; others wait here until that is done. */
static void make_way(void)
{
    struct probe *p = armed.probe;
    int saved = errno;

    pthread_mutex_lock(&p->hook_lock);
    bool first = false;
    for (int i = 0; i < PROBE_HOOKS; i++) {
        first = first || p->hooks[i].function;
        hook_remove(&p->hooks[i]);
    }
    if (first && __atomic_load_n(&p->active, __ATOMIC_ACQUIRE))
        withdraw(p);
    pthread_mutex_unlock(&p->hook_lock);
    errno = saved;
}

typedef abi_cupti_result (*any_fn)(void *, void *, void *, void *);

static abi_cupti_result call_on(void *function, void *a, void *b, void *c, void *d)
{
    any_fn f;

    memcpy(&f, &function, sizeof(f));
    return f(a, b, c, d);
}

static abi_cupti_result before_subscribe(void *a, void *b, void *c, void *d)
{
    make_way();
    return call_on(armed.subscribe, a, b, c, d);
}

static abi_cupti_result before_subscribe_v2(void *a, void *b, void *c, void *d)
{
    make_way();
    return call_on(armed.subscribe_v2, a, b, c, d);
}

static abi_cupti_result before_register(void *a, void *b, void *c, void *d)
{
    make_way();
    return call_on(armed.register_buffers, a, b, c, d);
}

static void arm_one(struct hook *hook, void *function, any_fn instead)
{
    void *to;

    memcpy(&to, &instead, sizeof(to));
    hook_set(hook, function, to);
}

void withdraw_arm(struct probe *p)
{
    armed.probe = p;
    armed.subscribe = dlsym(p->cupti.library, "cuptiSubscribe");
    armed.subscribe_v2 = dlsym(p->cupti.library, "cuptiSubscribe_v2");
    armed.register_buffers = dlsym(p->cupti.library, "cuptiActivityRegisterCallbacks");
    pthread_mutex_lock(&p->hook_lock);
    arm_one(&p->hooks[0], armed.subscribe, before_subscribe);
    arm_one(&p->hooks[1], armed.subscribe_v2, before_subscribe_v2);
    arm_one(&p->hooks[2], armed.register_buffers, before_register);
    pthread_mutex_unlock(&p->hook_lock);
}
