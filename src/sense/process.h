/* SPDX-License-Identifier: MIT */
/*
 * process: what /proc tells of one running process: whose child and whose it is,
 * what it has mapped, what it was told by its environment.
 *
 * Any of it may be hidden (another user's process) or gone: then the answer is no.
 */
#ifndef GPUFEED_SENSE_PROCESS_H
#define GPUFEED_SENSE_PROCESS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether `ancestor` is pid's parent, or its parent's, and so on; a process is no child of its own. */
bool process_descends(uint32_t pid, uint32_t ancestor);
/* Its effective user. */
bool process_user(uint32_t pid, uid_t *ret);
/* The first mapped file whose last part fits, as a path that leads there from our mount namespace. */
bool process_maps(uint32_t pid, bool (*fits)(const char *file), char *buf, size_t size);
/* Whether a last part of a path is the CUDA driver's library. */
bool process_is_libcuda(const char *file);
/* Replaces *out by its environment, NAME=VALUE texts each with its NUL. */
bool process_environment(uint32_t pid, struct str *out);
/* The value of a variable in such a text; NULL: it is not there. */
const char *process_variable(const struct str *environment, const char *name);

#endif
