/* SPDX-License-Identifier: MIT */
/*
 * hook: a call of ours before the first call of a function of a library.
 *
 * CUPTI has one subscriber. While the probe is that one, a profiler that the
 * job starts later (torch.profiler) is refused and shows no GPU at all. So the
 * entry of cuptiSubscribe is overwritten with a jump to us; at its first call
 * the entry is put back as it was, the probe withdraws, and the call goes on as
 * if nobody had ever been there. No instruction is moved or emulated, hence
 * nothing depends on what the entry looks like. Where memory may not be made
 * writable (SELinux execmod) or the function is too short, hook_set says no.
 */
#ifndef GPUFEED_PROBE_HOOK_H
#define GPUFEED_PROBE_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#define HOOK_BYTES 16

struct hook {
    void *function; /* NULL: not set */
    uint8_t saved[HOOK_BYTES];
};

bool hook_set(struct hook *h, void *function, void *instead);
/* The function is as it was; harmless if it was not hooked. */
void hook_remove(struct hook *h);

#endif
