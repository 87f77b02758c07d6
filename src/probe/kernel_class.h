/* SPDX-License-Identifier: MIT */
/*
 * kernel_class: compute or communication, from the (mangled) name of a kernel.
 */
#ifndef GPUFEED_PROBE_KERNEL_CLASS_H
#define GPUFEED_PROBE_KERNEL_CLASS_H

#include <stdbool.h>
#include <stdint.h>

/* Communication: NCCL's and RCCL's kernels, NVSHMEM's, and the all-reduce kernels of inference
 * engines and of torch's symmetric memory. */
bool kernel_is_comm(const char *name);

/* Remembers answers by the address of the name, which CUPTI keeps one per kernel; the first bytes
 * are compared too, since an unloaded module's address may be used again. One word per entry, so
 * threads may share it without a lock. Zero-initialised is empty. */
#define KERNEL_CACHE 512u
struct kernel_cache {
    uint64_t entries[KERNEL_CACHE];
};
bool kernel_cache_is_comm(struct kernel_cache *c, const char *name);

#endif
