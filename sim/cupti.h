/* SPDX-License-Identifier: MIT */
/*
 * cupti: what the parts of the simulated libcupti share.
 *
 * It learns all it reports from libcuda through hooks.h, which it finds at the
 * first call that needs it. Its clock is that of the system's time of day, as the
 * real one's, so that nobody takes it for CLOCK_MONOTONIC by accident.
 *
 * In a child of a process that used CUDA every function but the version and the
 * words for results answers CUPTI_ERROR_NOT_INITIALIZED.
 */
#ifndef GPUFEED_SIM_CUPTI_H
#define GPUFEED_SIM_CUPTI_H

#include "config.h"
#include "hooks.h"

#define SIM_CUPTI_VERSION 130001

/* libcuda's side; NULL when there is no simulated libcuda. Attaches the hooks. */
const struct sim_driver *cupti_driver(void);
struct sim_hooks *cupti_hooks(void);
/* CUPTI_SUCCESS, or why the library cannot work in this process. */
abi_cupti_result cupti_ready(void);
/* Remembers an error for cuptiGetLastError and hands it on. */
abi_cupti_result cupti_fail(abi_cupti_result result);

/* ---- activity buffers ------------------------------------------------------ */

/* Called by libcuda with its lock held. */
void cupti_record(const union sim_record *record, int64_t end_ns);
/* A worker delivers full buffers; started with the first activity kind. */
void cupti_start_worker(void);
/* ns of CUPTI's clock for a CLOCK_MONOTONIC time. */
uint64_t cupti_time(int64_t monotonic);

#endif
