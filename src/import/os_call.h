/* SPDX-License-Identifier: MIT */
/*
 * os_call: what a thread that is in a call of the C library waits for, from the call's name alone.
 */
#ifndef GPUFEED_IMPORT_OS_CALL_H
#define GPUFEED_IMPORT_OS_CALL_H

#include "model/words.h"

/* CAUSE_UNKNOWN where the name does not say: poll() may wait for anything. */
enum cause os_call_cause(const char *name);

#endif
