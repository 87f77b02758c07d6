/* SPDX-License-Identifier: MIT */
#include "probe/call_class.h"
#include "probe/probe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A call that may block but returned sooner than this is not worth a record. */
#define BRIEF_NS 20000

/* The call that this thread is in; driver calls do not nest for CUPTI. */
struct current {
    int64_t t0;
    uint32_t id, tid;
};
static __thread struct current current;

static const uint8_t call_kinds[] = {
    [CLASS_LAUNCH] = RING_CALL_LAUNCH, [CLASS_COPY] = RING_CALL_COPY,
    [CLASS_SET] = RING_CALL_OTHER,     [CLASS_SYNC] = RING_CALL_SYNC,
    [CLASS_MEMORY] = RING_CALL_MEMORY, [CLASS_CONTEXT] = RING_CALL_CONTEXT,
    [CLASS_OTHER] = RING_CALL_OTHER,
};

static uint16_t device_of(struct probe *p, abi_cu_context context)
{
    if (!context)
        return UINT16_MAX;
    for (size_t i = 0; i < PROBE_CONTEXTS; i++) {
        if (__atomic_load_n(&p->contexts[i].context, __ATOMIC_ACQUIRE) == context)
            return p->contexts[i].device;
    }
    return UINT16_MAX;
}

static bool leaves_records(uint8_t class)
{
    return class == CLASS_LAUNCH || class == CLASS_COPY || class == CLASS_SET;
}

static void on_enter(struct probe *p, uint8_t class, const struct abi_callback_data *data)
{
    if (current.tid == 0)
        current.tid = (uint32_t)gettid();
    current.id = data->correlation_id;
    if (class & CLASS_LAST)
        flush_now(p, false);
    current.t0 = clock_now();
    if (leaves_records(class & CLASS_MASK))
        join_enter(p->join, data->correlation_id, current.tid, current.t0, class & CLASS_MANY);
}

static void on_exit_of(struct probe *p, uint8_t class, const struct abi_callback_data *data)
{
    const int *result = data->return_value;
    int64_t now = clock_now();
    uint8_t kind = class & CLASS_MASK;

    if (current.id != data->correlation_id) /* begun before we listened */
        return;
    if (leaves_records(kind))
        join_exit(p->join, data->correlation_id, now, result && *result != ABI_CU_SUCCESS);
    if (kind == CLASS_LAUNCH || (kind != CLASS_SYNC && now - current.t0 < BRIEF_NS))
        return;
    struct ring_record out = {.kind = RING_CALL,
                              .span_kind = call_kinds[kind],
                              .t0 = current.t0,
                              .t1 = now,
                              .tid = current.tid,
                              .device = device_of(p, data->context)};
    ring_writer_push(&p->ring, &out, 1, now);
}

static void push_device(struct probe *p, enum ring_kind kind, uint16_t device, int64_t now)
{
    struct ring_record out = {.kind = (uint8_t)kind, .t0 = now, .device = device};

    ring_writer_push(&p->ring, &out, 1, now);
}

static void context_created(struct probe *p, abi_cu_context context, int64_t now)
{
    uint32_t device;

    if (p->cupti.device_of(context, &device) != ABI_CUPTI_SUCCESS || device >= RING_DEVICES)
        return;
    pthread_mutex_lock(&p->context_lock);
    for (size_t i = 0; i < PROBE_CONTEXTS; i++) {
        if (p->contexts[i].context)
            continue;
        p->contexts[i].device = (uint16_t)device;
        __atomic_store_n(&p->contexts[i].context, context, __ATOMIC_RELEASE);
        if (p->held[device]++ == 0)
            push_device(p, RING_TAKEN, (uint16_t)device, now);
        break;
    }
    pthread_mutex_unlock(&p->context_lock);
    flush_hurry(p); /* the device has to get its name */
}

static void context_destroyed(struct probe *p, abi_cu_context context, int64_t now)
{
    pthread_mutex_lock(&p->context_lock);
    for (size_t i = 0; i < PROBE_CONTEXTS; i++) {
        if (p->contexts[i].context != context)
            continue;
        uint16_t device = p->contexts[i].device;
        __atomic_store_n(&p->contexts[i].context, NULL, __ATOMIC_RELEASE);
        if (--p->held[device] == 0)
            push_device(p, RING_RELEASED, device, now);
        break;
    }
    pthread_mutex_unlock(&p->context_lock);
}

void listen_forget_thread(void)
{
    memset(&current, 0, sizeof(current));
}

void listen_release_all(struct probe *p, int64_t now)
{
    pthread_mutex_lock(&p->context_lock);
    for (uint16_t i = 0; i < RING_DEVICES; i++) {
        if (p->held[i] > 0)
            push_device(p, RING_RELEASED, i, now);
        p->held[i] = 0;
    }
    memset(p->contexts, 0, sizeof(p->contexts));
    pthread_mutex_unlock(&p->context_lock);
}

void listen_callback(void *probe, int domain, uint32_t cbid, const void *data)
{
    struct probe *p = probe;
    int saved = errno;

    if (!__atomic_load_n(&p->active, __ATOMIC_ACQUIRE))
        return;
    if (domain == ABI_DOMAIN_DRIVER) {
        const struct abi_callback_data *call = data;
        uint8_t class = call_class(cbid);
        if (class == CLASS_NONE)
            return;
        if (call->site == ABI_SITE_ENTER)
            on_enter(p, class, call);
        else
            on_exit_of(p, class, call);
    } else if (domain == ABI_DOMAIN_RESOURCE) {
        const struct abi_resource_data *resource = data;
        if (cbid == ABI_RESOURCE_CONTEXT_CREATED)
            context_created(p, resource->context, clock_now());
        else if (cbid == ABI_RESOURCE_CONTEXT_DESTROY_STARTING)
            context_destroyed(p, resource->context, clock_now());
    }
    errno = saved;
}

abi_cupti_result listen_enable(struct probe *p)
{
    static const uint32_t resources[] = {ABI_RESOURCE_CONTEXT_CREATED,
                                         ABI_RESOURCE_CONTEXT_DESTROY_STARTING};
    abi_cupti_result result;

    for (size_t i = 0; i < 2; i++) {
        result = p->cupti.enable_callback(1, p->subscriber, ABI_DOMAIN_RESOURCE, resources[i]);
        if (result != ABI_CUPTI_SUCCESS)
            return result;
    }
    for (uint32_t cbid = 1; cbid < ABI_CBID_LIMIT; cbid++) {
        if (call_class(cbid) == CLASS_NONE)
            continue;
        result = p->cupti.enable_callback(1, p->subscriber, ABI_DOMAIN_DRIVER, cbid);
        if (result != ABI_CUPTI_SUCCESS && cbid == ABI_CBID_cuLaunchKernel)
            return result; /* others may be younger than this CUPTI */
    }
    return ABI_CUPTI_SUCCESS;
}
