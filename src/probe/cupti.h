/* SPDX-License-Identifier: MIT */
/*
 * cupti: finding the CUPTI library that fits the job, and its functions.
 *
 * CUPTI keeps one subscriber per copy of the library, and a job must not get a
 * second copy beside its own: what is mapped already is taken; else the copy
 * that the job's own packages bring; else what the loader or the usual CUDA
 * folders have. With GPUFEED_SIMULATE=1 only the simulator's is looked at.
 */
#ifndef GPUFEED_PROBE_CUPTI_H
#define GPUFEED_PROBE_CUPTI_H

#include "probe/cuda_abi.h"

#include <stdbool.h>

#define SIMULATE_ENV "GPUFEED_SIMULATE"
#define SIM_LIBDIR_ENV "GPUFEED_SIM_LIBDIR"

struct cupti {
    void *library; /* never closed: its threads outlive us */
    abi_cupti_result (*subscribe)(abi_subscriber *, abi_callback_fn, void *);
    abi_cupti_result (*unsubscribe)(abi_subscriber);
    abi_cupti_result (*enable_callback)(uint32_t, abi_subscriber, int, uint32_t);
    abi_cupti_result (*activity_enable)(int);
    abi_cupti_result (*activity_disable)(int);
    abi_cupti_result (*register_buffers)(abi_buffer_requested_fn, abi_buffer_completed_fn);
    abi_cupti_result (*flush_all)(uint32_t);
    abi_cupti_result (*next_record)(uint8_t *, size_t, struct abi_activity **);
    abi_cupti_result (*dropped)(abi_cu_context, uint32_t, size_t *);
    abi_cupti_result (*timestamp)(uint64_t *);
    abi_cupti_result (*device_of)(abi_cu_context, uint32_t *);
    abi_cupti_result (*version)(uint32_t *); /* may be NULL */
};

/* Offers each candidate, best first, until `accept` returns true; false: none was accepted. The
 * functions of a candidate are all there. */
bool cupti_find(struct cupti *ret, int driver_version, bool (*accept)(void *, struct cupti *),
                void *arg);

#endif
