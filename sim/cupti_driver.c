/* SPDX-License-Identifier: MIT */
/*
 * cupti_driver: finding libcuda, the single subscriber, and callbacks.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti.h"

#define SUBSCRIBER_PREFIX "CUPTI for "
#define OTHER_TOOL "a simulated profiler"

struct abi_subscriber {
    abi_subscriber next; /* in state.all */
    abi_callback_fn callback;
    void *user;
    char name[64];
};

static struct {
    pthread_mutex_t lock;
    const struct sim_driver *driver;
    abi_subscriber subscriber;
    abi_subscriber all; /* a callback of one that left may still run: none is freed */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Callbacks read this without the lock. */
static abi_subscriber _Atomic active;
static _Thread_local abi_cupti_result last_error;

/* ---- from libcuda ------------------------------------------------------------- */

static void on_api(uint32_t cbid, const struct abi_callback_data *data)
{
    abi_subscriber subscriber = atomic_load_explicit(&active, memory_order_acquire);
    if (subscriber)
        subscriber->callback(subscriber->user, ABI_DOMAIN_DRIVER, cbid, data);
}

static void on_resource(uint32_t cbid, abi_cu_context context, abi_cu_stream stream)
{
    abi_subscriber subscriber = atomic_load_explicit(&active, memory_order_acquire);
    struct abi_resource_data data = {.context = context, .stream = stream};
    if (subscriber)
        subscriber->callback(subscriber->user, ABI_DOMAIN_RESOURCE, cbid, &data);
}

static void on_synchronize(uint32_t cbid, abi_cu_context context, abi_cu_stream stream)
{
    abi_subscriber subscriber = atomic_load_explicit(&active, memory_order_acquire);
    struct abi_synchronize_data data = {.context = context, .stream = stream};
    if (subscriber)
        subscriber->callback(subscriber->user, ABI_DOMAIN_SYNCHRONIZE, cbid, &data);
}

struct sim_hooks *cupti_hooks(void)
{
    static struct sim_hooks hooks = {
        .api = on_api,
        .resource = on_resource,
        .synchronize = on_synchronize,
        .record = cupti_record,
    };
    return &hooks;
}

const struct sim_driver *cupti_driver(void)
{
    pthread_mutex_lock(&state.lock);
    if (!state.driver) {
        void *library = dlopen("libcuda.so.1", RTLD_NOW);
        const struct sim_driver *(*find)(void) = NULL;
        if (library)
            find = (const struct sim_driver *(*)(void))(uintptr_t)dlsym(library, "sim_driver_v1");
        if (find) {
            state.driver = find();
            state.driver->attach(cupti_hooks());
        }
    }
    const struct sim_driver *driver = state.driver;
    pthread_mutex_unlock(&state.lock);
    return driver;
}

abi_cupti_result cupti_ready(void)
{
    const struct sim_driver *driver = cupti_driver();
    return driver && driver->usable() ? ABI_CUPTI_SUCCESS : ABI_CUPTI_NOT_INITIALIZED;
}

abi_cupti_result cupti_fail(abi_cupti_result result)
{
    if (result != ABI_CUPTI_SUCCESS)
        last_error = result;
    return result;
}

/* ---- the subscriber --------------------------------------------------------------- */

static bool held_by_other_tool(void)
{
    const char *taken = getenv("GPUFEED_SIM_CUPTI_TAKEN");
    return taken && strcmp(taken, "1") == 0;
}

static void tell_holder(const struct abi_subscriber_params *params, const char *name)
{
    if (params && params->old_subscriber_name && params->old_subscriber_size)
        snprintf(params->old_subscriber_name, params->old_subscriber_size, "%s", name);
}

static abi_cupti_result subscribe(abi_subscriber *subscriber, abi_callback_fn callback, void *user,
                                  const struct abi_subscriber_params *params)
{
    abi_cupti_result result = cupti_ready();

    if (!subscriber || (params && params->struct_size < sizeof(*params)))
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    if (result != ABI_CUPTI_SUCCESS)
        return cupti_fail(result);
    if (held_by_other_tool()) {
        tell_holder(params, OTHER_TOOL);
        return cupti_fail(ABI_CUPTI_MULTIPLE_SUBSCRIBERS);
    }
    pthread_mutex_lock(&state.lock);
    if (state.subscriber) {
        tell_holder(params, state.subscriber->name);
        result = ABI_CUPTI_MULTIPLE_SUBSCRIBERS;
    } else if (!(state.subscriber = calloc(1, sizeof(*state.subscriber)))) {
        result = ABI_CUPTI_OUT_OF_MEMORY;
    } else {
        snprintf(state.subscriber->name, sizeof(state.subscriber->name), "%s%.53s",
                 SUBSCRIBER_PREFIX,
                 params && params->subscriber_name ? params->subscriber_name : "unknown");
        state.subscriber->callback = callback;
        state.subscriber->user = user;
        state.subscriber->next = state.all;
        state.all = state.subscriber;
        *subscriber = state.subscriber;
        if (callback)
            atomic_store_explicit(&active, state.subscriber, memory_order_release);
    }
    pthread_mutex_unlock(&state.lock);
    return cupti_fail(result);
}

SIM_EXPORT abi_cupti_result cuptiSubscribe(abi_subscriber *subscriber, abi_callback_fn callback,
                                           void *user);
SIM_EXPORT abi_cupti_result cuptiSubscribe(abi_subscriber *subscriber, abi_callback_fn callback,
                                           void *user)
{
    return subscribe(subscriber, callback, user, NULL);
}

SIM_EXPORT abi_cupti_result cuptiSubscribe_v2(abi_subscriber *subscriber, abi_callback_fn callback,
                                              void *user, struct abi_subscriber_params *params);
SIM_EXPORT abi_cupti_result cuptiSubscribe_v2(abi_subscriber *subscriber, abi_callback_fn callback,
                                              void *user, struct abi_subscriber_params *params)
{
    return subscribe(subscriber, callback, user, params);
}

static bool is_subscriber(abi_subscriber subscriber)
{
    pthread_mutex_lock(&state.lock);
    bool same = subscriber && subscriber == state.subscriber;
    pthread_mutex_unlock(&state.lock);
    return same;
}

static void disable_callbacks(void)
{
    struct sim_hooks *hooks = cupti_hooks();

    for (int i = 0; i < ABI_CBID_LIMIT; i++)
        atomic_store_explicit(&hooks->callbacks[i], 0, memory_order_relaxed);
    atomic_store(&hooks->resources, 0);
    atomic_store(&hooks->synchronizes, 0);
}

SIM_EXPORT abi_cupti_result cuptiUnsubscribe(abi_subscriber subscriber);
SIM_EXPORT abi_cupti_result cuptiUnsubscribe(abi_subscriber subscriber)
{
    if (!is_subscriber(subscriber))
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    disable_callbacks();
    atomic_store_explicit(&active, NULL, memory_order_release);
    pthread_mutex_lock(&state.lock);
    state.subscriber = NULL;
    pthread_mutex_unlock(&state.lock);
    return ABI_CUPTI_SUCCESS;
}

/* ---- which callbacks ------------------------------------------------------------------ */

static void switch_bit(_Atomic uint32_t *bits, uint32_t bit, bool on)
{
    if (on)
        atomic_fetch_or(bits, UINT32_C(1) << bit);
    else
        atomic_fetch_and(bits, ~(UINT32_C(1) << bit));
}

SIM_EXPORT abi_cupti_result cuptiEnableCallback(uint32_t enable, abi_subscriber subscriber,
                                                int domain, uint32_t cbid);
SIM_EXPORT abi_cupti_result cuptiEnableCallback(uint32_t enable, abi_subscriber subscriber,
                                                int domain, uint32_t cbid)
{
    struct sim_hooks *hooks = cupti_hooks();

    if (!is_subscriber(subscriber) || domain <= 0 || domain >= ABI_DOMAINS || cbid == 0 ||
        cbid >= ABI_CBID_LIMIT || (domain == ABI_DOMAIN_RESOURCE && cbid > 31) ||
        (domain == ABI_DOMAIN_SYNCHRONIZE && cbid > ABI_SYNCHRONIZE_CONTEXT))
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    if (domain == ABI_DOMAIN_DRIVER)
        atomic_store(&hooks->callbacks[cbid], enable != 0);
    else if (domain == ABI_DOMAIN_RESOURCE)
        switch_bit(&hooks->resources, cbid, enable != 0);
    else if (domain == ABI_DOMAIN_SYNCHRONIZE)
        switch_bit(&hooks->synchronizes, cbid, enable != 0);
    return ABI_CUPTI_SUCCESS; /* nothing calls back in the other domains */
}

SIM_EXPORT abi_cupti_result cuptiEnableDomain(uint32_t enable, abi_subscriber subscriber,
                                              int domain);
SIM_EXPORT abi_cupti_result cuptiEnableDomain(uint32_t enable, abi_subscriber subscriber,
                                              int domain)
{
    struct sim_hooks *hooks = cupti_hooks();

    if (!is_subscriber(subscriber) || domain <= 0 || domain >= ABI_DOMAINS)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    if (domain == ABI_DOMAIN_DRIVER)
        for (int i = 1; i < ABI_CBID_LIMIT; i++)
            atomic_store(&hooks->callbacks[i], enable != 0);
    else if (domain == ABI_DOMAIN_RESOURCE)
        atomic_store(&hooks->resources, enable ? UINT32_MAX : 0);
    else if (domain == ABI_DOMAIN_SYNCHRONIZE)
        atomic_store(&hooks->synchronizes, enable ? UINT32_MAX : 0);
    return ABI_CUPTI_SUCCESS;
}

SIM_EXPORT abi_cupti_result cuptiEnableAllDomains(uint32_t enable, abi_subscriber subscriber);
SIM_EXPORT abi_cupti_result cuptiEnableAllDomains(uint32_t enable, abi_subscriber subscriber)
{
    abi_cupti_result result = ABI_CUPTI_SUCCESS;

    for (int domain = 1; domain < ABI_DOMAINS && result == ABI_CUPTI_SUCCESS; domain++)
        result = cuptiEnableDomain(enable, subscriber, domain);
    return result;
}

SIM_EXPORT abi_cupti_result cuptiGetCallbackState(uint32_t *enable, abi_subscriber subscriber,
                                                  int domain, uint32_t cbid);
SIM_EXPORT abi_cupti_result cuptiGetCallbackState(uint32_t *enable, abi_subscriber subscriber,
                                                  int domain, uint32_t cbid)
{
    struct sim_hooks *hooks = cupti_hooks();

    if (!enable || !is_subscriber(subscriber) || cbid >= ABI_CBID_LIMIT)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    *enable = 0;
    if (domain == ABI_DOMAIN_DRIVER)
        *enable = atomic_load(&hooks->callbacks[cbid]);
    else if (domain == ABI_DOMAIN_RESOURCE && cbid < 32)
        *enable = atomic_load(&hooks->resources) >> cbid & 1;
    else if (domain == ABI_DOMAIN_SYNCHRONIZE && cbid < 32)
        *enable = atomic_load(&hooks->synchronizes) >> cbid & 1;
    return ABI_CUPTI_SUCCESS;
}

#define CALLBACK_NAME(cbid_name, number) {number, #cbid_name},

SIM_EXPORT abi_cupti_result cuptiGetCallbackName(int domain, uint32_t cbid, const char **name);
SIM_EXPORT abi_cupti_result cuptiGetCallbackName(int domain, uint32_t cbid, const char **name)
{
    static const struct {
        uint32_t cbid;
        const char *name;
    } names[] = {ABI_DRIVER_CBIDS(CALLBACK_NAME)};

    if (!name || domain != ABI_DOMAIN_DRIVER)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].cbid == cbid) {
            *name = names[i].name;
            return ABI_CUPTI_SUCCESS;
        }
    return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
}

SIM_EXPORT abi_cupti_result cuptiSupportedDomains(size_t *count, int **domains);
SIM_EXPORT abi_cupti_result cuptiSupportedDomains(size_t *count, int **domains)
{
    static int supported[] = {ABI_DOMAIN_DRIVER, ABI_DOMAIN_RESOURCE, ABI_DOMAIN_SYNCHRONIZE};

    if (!count || !domains)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    *count = sizeof(supported) / sizeof(*supported);
    *domains = supported;
    return ABI_CUPTI_SUCCESS;
}

/* ---- small questions --------------------------------------------------------------------- */

SIM_EXPORT abi_cupti_result cuptiGetVersion(uint32_t *version);
SIM_EXPORT abi_cupti_result cuptiGetVersion(uint32_t *version)
{
    if (!version)
        return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
    *version = SIM_CUPTI_VERSION;
    return ABI_CUPTI_SUCCESS;
}

SIM_EXPORT abi_cupti_result cuptiGetLastError(void);
SIM_EXPORT abi_cupti_result cuptiGetLastError(void)
{
    abi_cupti_result result = last_error;
    last_error = ABI_CUPTI_SUCCESS;
    return result;
}

SIM_EXPORT abi_cupti_result cuptiGetContextId(abi_cu_context context, uint32_t *id);
SIM_EXPORT abi_cupti_result cuptiGetContextId(abi_cu_context context, uint32_t *id)
{
    uint32_t device;
    abi_cupti_result result = id ? cupti_ready() : ABI_CUPTI_INVALID_PARAMETER;
    if (result == ABI_CUPTI_SUCCESS && !cupti_driver()->context_info(context, id, &device))
        result = ABI_CUPTI_INVALID_CONTEXT;
    return cupti_fail(result);
}

/* A NULL context means the current one. */
SIM_EXPORT abi_cupti_result cuptiGetDeviceId(abi_cu_context context, uint32_t *device);
SIM_EXPORT abi_cupti_result cuptiGetDeviceId(abi_cu_context context, uint32_t *device)
{
    uint32_t id;
    abi_cupti_result result = device ? cupti_ready() : ABI_CUPTI_INVALID_PARAMETER;
    if (result == ABI_CUPTI_SUCCESS && !context)
        context = cupti_driver()->current();
    if (result == ABI_CUPTI_SUCCESS && !cupti_driver()->context_info(context, &id, device))
        result = ABI_CUPTI_INVALID_CONTEXT;
    return cupti_fail(result);
}

SIM_EXPORT abi_cupti_result cuptiGetStreamIdEx(abi_cu_context context, abi_cu_stream stream,
                                               uint8_t per_thread, uint32_t *id);
SIM_EXPORT abi_cupti_result cuptiGetStreamIdEx(abi_cu_context context, abi_cu_stream stream,
                                               uint8_t per_thread, uint32_t *id)
{
    abi_cupti_result result = id ? cupti_ready() : ABI_CUPTI_INVALID_PARAMETER;
    if (result == ABI_CUPTI_SUCCESS && !context)
        context = cupti_driver()->current();
    if (result == ABI_CUPTI_SUCCESS &&
        !cupti_driver()->stream_info(context, stream, per_thread != 0, id))
        result = ABI_CUPTI_INVALID_STREAM;
    return cupti_fail(result);
}

SIM_EXPORT abi_cupti_result cuptiGetStreamId(abi_cu_context context, abi_cu_stream stream,
                                             uint32_t *id);
SIM_EXPORT abi_cupti_result cuptiGetStreamId(abi_cu_context context, abi_cu_stream stream,
                                             uint32_t *id)
{
    return cuptiGetStreamIdEx(context, stream, 0, id);
}

SIM_EXPORT abi_cupti_result cuptiFinalize(void);
SIM_EXPORT abi_cupti_result cuptiFinalize(void)
{
    struct sim_hooks *hooks = cupti_hooks();
    abi_cupti_result result = cupti_ready();

    if (result != ABI_CUPTI_SUCCESS)
        return cupti_fail(result);
    disable_callbacks();
    atomic_store(&hooks->kinds, 0);
    for (int i = 0; i < ABI_CBID_LIMIT; i++)
        atomic_store(&hooks->api_records[i], 0);
    atomic_store_explicit(&active, NULL, memory_order_release);
    pthread_mutex_lock(&state.lock);
    state.subscriber = NULL;
    pthread_mutex_unlock(&state.lock);
    return ABI_CUPTI_SUCCESS;
}

static const struct {
    int result;
    const char *name, *text;
} results[] = {
    {ABI_CUPTI_SUCCESS, "CUPTI_SUCCESS", "no error"},
    {ABI_CUPTI_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER", "a parameter is invalid"},
    {ABI_CUPTI_INVALID_DEVICE, "CUPTI_ERROR_INVALID_DEVICE", "no such device"},
    {ABI_CUPTI_INVALID_CONTEXT, "CUPTI_ERROR_INVALID_CONTEXT", "no such context"},
    {ABI_CUPTI_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION", "not possible now"},
    {ABI_CUPTI_OUT_OF_MEMORY, "CUPTI_ERROR_OUT_OF_MEMORY", "out of memory"},
    {ABI_CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT",
     "the buffer is too small"},
    {ABI_CUPTI_NOT_IMPLEMENTED, "CUPTI_ERROR_API_NOT_IMPLEMENTED", "not implemented"},
    {ABI_CUPTI_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED", "no more records"},
    {ABI_CUPTI_NOT_READY, "CUPTI_ERROR_NOT_READY", "not ready"},
    {ABI_CUPTI_NOT_COMPATIBLE, "CUPTI_ERROR_NOT_COMPATIBLE", "not compatible with another setting"},
    {ABI_CUPTI_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED", "CUPTI is not initialized"},
    {ABI_CUPTI_QUEUE_EMPTY, "CUPTI_ERROR_QUEUE_EMPTY", "the queue is empty"},
    {ABI_CUPTI_INVALID_STREAM, "CUPTI_ERROR_INVALID_STREAM", "no such stream"},
    {ABI_CUPTI_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND", "no such activity kind"},
    {ABI_CUPTI_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED", "not supported"},
    {ABI_CUPTI_INSUFFICIENT_PRIVILEGES, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
     "insufficient privileges"},
    {ABI_CUPTI_MULTIPLE_SUBSCRIBERS, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
     "another subscriber holds CUPTI"},
    {ABI_CUPTI_UNKNOWN, "CUPTI_ERROR_UNKNOWN", "unknown error"},
};

SIM_EXPORT abi_cupti_result cuptiGetResultString(abi_cupti_result result, const char **text);
SIM_EXPORT abi_cupti_result cuptiGetResultString(abi_cupti_result result, const char **text)
{
    for (size_t i = 0; text && i < sizeof(results) / sizeof(*results); i++)
        if (results[i].result == result) {
            *text = results[i].name;
            return ABI_CUPTI_SUCCESS;
        }
    return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
}

SIM_EXPORT abi_cupti_result cuptiGetErrorMessage(abi_cupti_result result, const char **text);
SIM_EXPORT abi_cupti_result cuptiGetErrorMessage(abi_cupti_result result, const char **text)
{
    for (size_t i = 0; text && i < sizeof(results) / sizeof(*results); i++)
        if (results[i].result == result) {
            *text = results[i].text;
            return ABI_CUPTI_SUCCESS;
        }
    return cupti_fail(ABI_CUPTI_INVALID_PARAMETER);
}
