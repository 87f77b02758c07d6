/* SPDX-License-Identifier: MIT */
/*
 * call_class: which driver functions the probe listens to, and as what.
 */
#ifndef GPUFEED_PROBE_CALL_CLASS_H
#define GPUFEED_PROBE_CALL_CLASS_H

#include <stdint.h>

enum call_class {
    CLASS_NONE,
    CLASS_LAUNCH, /* these three leave activity records ... */
    CLASS_COPY,
    CLASS_SET,
    CLASS_SYNC,
    CLASS_MEMORY,
    CLASS_CONTEXT,
    CLASS_OTHER,
    CLASS_MASK = 15,
    CLASS_MANY = 16, /* ... of which there can be many for one call */
    CLASS_LAST = 32, /* flush before it: what it does ends the records of a context */
};

/* enum call_class and its flags for a driver callback number. */
uint8_t call_class(uint32_t cbid);

#endif
