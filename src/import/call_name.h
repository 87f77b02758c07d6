/* SPDX-License-Identifier: MIT */
/*
 * call_name: what a call of the CUDA or HIP runtime or driver does, from its name.
 */
#ifndef GPUFEED_IMPORT_CALL_NAME_H
#define GPUFEED_IMPORT_CALL_NAME_H

#include "model/event.h"

#include <stddef.h>

/* CALL_OTHER for names that are not known; `name` need not be terminated. */
enum call_kind call_name_kind(const char *name, size_t len);

#endif
