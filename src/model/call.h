/* SPDX-License-Identifier: MIT */
/*
 * call: what a call of a driver or runtime makes a device wait for.
 */
#ifndef GPUFEED_MODEL_CALL_H
#define GPUFEED_MODEL_CALL_H

#include "model/event.h"
#include "model/words.h"

/* What a device waits for while its launching thread is in such a call. */
enum cause call_cause(enum call_kind kind);

#endif
