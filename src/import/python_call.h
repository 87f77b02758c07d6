/* SPDX-License-Identifier: MIT */
/*
 * python_call: which calls of CPython's built-in functions wait, and for what, by the names that the PyTorch profiler
 * gives them with `with_stack`: "<built-in function sleep>", "<built-in method recv of socket object at 0x7f..>".
 */
#ifndef GPUFEED_IMPORT_PYTHON_CALL_H
#define GPUFEED_IMPORT_PYTHON_CALL_H

#include "model/words.h"

#include <stddef.h>

struct python_call {
    const char *name, *type; /* type NULL: a function; it may be the beginning of the type's name */
    enum cause cause;        /* CAUSE_UNKNOWN: for anything, as poll() and locks do */
    const char *text;        /* for the report */
};

/* NULL: no call that is known to wait. */
const struct python_call *python_call_of(const char *name, size_t len);

#endif
