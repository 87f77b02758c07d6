/* SPDX-License-Identifier: MIT */
#include "probe/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The driver calls us without an argument, and CUPTI's buffer callbacks, pthread_atfork and atexit
 * carry none: this pointer is the one mutable global. */
static struct probe *the_probe;

__attribute__((visibility("default"))) int InitializeInjection(void);

void probe_push(struct probe *p, const struct ring_record *record)
{
    ring_writer_push(&p->ring, record, 1, clock_now());
}

static void blind(struct probe *p, enum ring_blind why, uint64_t code)
{
    struct ring_record out = {.kind = RING_BLIND,
                              .span_kind = (uint8_t)why,
                              .t0 = clock_now(),
                              .bytes = code,
                              .device = UINT16_MAX};
    probe_push(p, &out);
}

static void buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    int saved = errno;

    activity_buffer_get(&the_probe->activity, buffer, size, max_records);
    errno = saved;
}

static void buffer_completed(abi_cu_context context, uint32_t stream, uint8_t *buffer, size_t size,
                             size_t valid)
{
    int saved = errno;

    (void)context;
    (void)stream;
    (void)size;
    activity_buffer_done(&the_probe->activity, buffer, valid);
    errno = saved;
}

/* --- subscribing ----------------------------------------------------------------------------- */

struct attempt {
    struct probe *p;
    abi_cupti_result error; /* of the last candidate */
    bool taken;
};

static bool try_cupti(void *arg, struct cupti *c)
{
    struct attempt *a = arg;
    abi_cupti_result result = c->subscribe(&a->p->subscriber, listen_callback, a->p);

    a->taken = result == ABI_CUPTI_MULTIPLE_SUBSCRIBERS;
    a->error = result;
    return result == ABI_CUPTI_SUCCESS || a->taken;
}

static abi_cupti_result enable_activity(struct probe *p)
{
    static const int kinds[] = {ABI_KIND_CONCURRENT_KERNEL, ABI_KIND_MEMCPY, ABI_KIND_MEMSET,
                                ABI_KIND_MEMCPY2};
    abi_cupti_result result = p->cupti.register_buffers(buffer_requested, buffer_completed);

    if (result != ABI_CUPTI_SUCCESS)
        return result;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        result = p->cupti.activity_enable(kinds[i]);
        if (result != ABI_CUPTI_SUCCESS && kinds[i] != ABI_KIND_MEMCPY2)
            return result;
    }
    return ABI_CUPTI_SUCCESS;
}

/* From here on callbacks may come. False: the ring says why we are blind. */
static bool begin(struct probe *p, int driver_version)
{
    struct attempt attempt = {.p = p};

    if (!cupti_find(&p->cupti, driver_version, try_cupti, &attempt)) {
        blind(p, attempt.error ? RING_BLIND_ERROR : RING_BLIND_NO_CUPTI, (uint64_t)attempt.error);
        return false;
    }
    if (attempt.taken) {
        blind(p, RING_BLIND_TAKEN, 0);
        return false;
    }
    if (p->cupti.version)
        p->cupti.version(&p->ring.header->cupti_version);
    activity_begin_flush(&p->activity);
    p->flushed_at = clock_now();
    abi_cupti_result result = enable_activity(p);
    if (result == ABI_CUPTI_SUCCESS)
        result = listen_enable(p);
    if (result != ABI_CUPTI_SUCCESS) {
        p->cupti.unsubscribe(p->subscriber);
        p->subscriber = NULL;
        blind(p, RING_BLIND_ERROR, (uint64_t)result);
        return false;
    }
    return true;
}

/* --- fork and exit --------------------------------------------------------------------------- */

/* The child has no flusher, and CUDA does not work in it; a new cuInit there injects again. */
static void in_child(void)
{
    if (!the_probe)
        return;
    __atomic_store_n(&the_probe->active, false, __ATOMIC_RELAXED);
    the_probe->pid = 0;
    listen_forget_thread();
    ring_writer_abandon(&the_probe->ring);
}

static void at_exit(void)
{
    struct probe *p = the_probe;
    int saved = errno;

    if (p && p->pid == getpid() && p->ring.header) {
        flush_stop_thread(p);
        flush_now(p, true);
        __atomic_store_n(&p->active, false, __ATOMIC_RELAXED);
        int64_t now = clock_now();
        listen_release_all(p, now);
        ring_writer_beat(&p->ring, now, now);
    }
    errno = saved;
}

static void register_handlers(void)
{
    static bool registered;

    if (registered)
        return;
    registered = true;
    pthread_atfork(NULL, NULL, in_child);
    atexit(at_exit);
}

/* --- life ------------------------------------------------------------------------------------ */

static void *map_zeroed(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

static struct probe *make_probe(const char *dir)
{
    struct probe *p = map_zeroed(sizeof(*p));
    const char *simulate = getenv(SIMULATE_ENV);

    if (!p)
        return NULL;
    p->pid = getpid();
    p->simulated = simulate && strcmp(simulate, "1") == 0;
    p->join = map_zeroed(sizeof(*p->join));
    if (!p->join || !ring_writer_open(&p->ring, dir, clock_now())) {
        if (p->join)
            munmap(p->join, sizeof(*p->join));
        munmap(p, sizeof(*p));
        return NULL;
    }
    activity_init(&p->activity, &p->ring, p->join, &p->cupti);
    pthread_mutex_init(&p->hook_lock, NULL);
    pthread_mutex_init(&p->context_lock, NULL);
    pthread_mutex_init(&p->flush_lock, NULL);
    pthread_mutex_init(&p->wake_lock, NULL);
    return p;
}

static void inject(const char *dir)
{
    struct probe *before = the_probe;
    int driver_version = 0;

    if (before && before->pid == getpid())
        return;
    struct probe *p = make_probe(dir);
    if (!p)
        return;
    if (before && before->subscriber) { /* a child's copy of its parent's subscription */
        for (int i = 0; i < PROBE_HOOKS; i++)
            hook_remove(&before->hooks[i]);
        before->cupti.unsubscribe(before->subscriber);
    }
    the_probe = p;
    device_find_driver(p);
    if (p->driver.version && p->driver.version(&driver_version) == ABI_CU_SUCCESS)
        p->ring.header->cuda_version = (uint32_t)driver_version;
    register_handlers();
    if (!begin(p, driver_version))
        return;
    withdraw_arm(p);
    __atomic_store_n(&p->active, true, __ATOMIC_RELEASE);
    flush_start_thread(p);
}

int InitializeInjection(void)
{
    int saved = errno;
    const char *dir = getenv(RING_DIR_ENV);

    if (dir && dir[0])
        inject(dir);
    errno = saved;
    return 1;
}
