/* SPDX-License-Identifier: MIT */
#include "probe/kernel_class.h"

#include <stddef.h>
#include <string.h>

#define LOOKED_AT 256 /* bytes of a name; templates make them very long */

static const char *const comm_words[] = {
    "nccl", /* ncclKernel_*, ncclDevKernel_*, ncclSymk*; finds "rccl" not */
    "rccl",
    "nvshmem",
    "cross_device_reduce_", /* custom all-reduce of inference engines */
    "one_shot_all_reduce",
    "two_shot_all_reduce",
    "multimem_all_",
    "multimem_one_shot",
};

bool kernel_is_comm(const char *name)
{
    char head[LOOKED_AT + 1];

    if (!name)
        return false;
    size_t n = strnlen(name, LOOKED_AT);
    memcpy(head, name, n);
    head[n] = '\0';
    for (size_t i = 0; i < sizeof(comm_words) / sizeof(comm_words[0]); i++) {
        if (strstr(head, comm_words[i]))
            return true;
    }
    return false;
}

/* Of the first bytes, up to the end of the name: 15 bits. */
static uint64_t fingerprint(const char *name)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < 24 && name[i]; i++)
        h = (h ^ (unsigned char)name[i]) * 1099511628211u;
    return h >> 49;
}

bool kernel_cache_is_comm(struct kernel_cache *c, const char *name)
{
    uint64_t address = (uint64_t)(uintptr_t)name;

    if (!name)
        return false;
    uint64_t *entry = &c->entries[(address >> 4) % KERNEL_CACHE];
    /* address << 16, 15 bits of fingerprint, the answer */
    uint64_t key = address << 16 | fingerprint(name) << 1;
    uint64_t known = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if ((known & ~UINT64_C(1)) == key)
        return known & 1;
    bool comm = kernel_is_comm(name);
    __atomic_store_n(entry, key | comm, __ATOMIC_RELAXED);
    return comm;
}
