/* SPDX-License-Identifier: MIT */
/*
 * environment: the variables of a job that are kept, because they shape training. All others are
 * nobody's business.
 */
#ifndef GPUFEED_SENSE_ENVIRONMENT_H
#define GPUFEED_SENSE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Is the variable of this name (len bytes) kept? */
bool environment_wanted(const char *name, size_t len);

#endif
