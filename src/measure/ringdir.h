/* SPDX-License-Identifier: MIT */
/*
 * ringdir: the folder in which a job's probes leave their rings, and what the
 * job's environment must say. All texts are malloc'ed, NULL when out of memory.
 */
#ifndef GPUFEED_MEASURE_RINGDIR_H
#define GPUFEED_MEASURE_RINGDIR_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes a folder of our own in /dev/shm, or in $TMPDIR or /tmp. Its mode is 0700; where root
 * measures, 01733, so that a job that changes its user can leave its rings (mode 0600) there.
 * *ret_lock is a descriptor to be kept open (-1: none): it tells probes and later gpufeeds that this
 * folder is in use. Folders that a killed gpufeed left behind are removed. */
int ringdir_make(char *buf, size_t size, int *ret_lock, struct error *e);
/* Removes it with the rings in it. "" is fine. */
void ringdir_remove(const char *dir);

char *ringdir_env(const char *dir);
/* CUDA_INJECTION64_PATH=...: the probe beside the program. */
char *ringdir_probe_env(void);
/* Whether a CUDA_INJECTION64_PATH names a probe of gpufeed's: that of one around us. */
bool ringdir_is_probe(const char *path);
/* The folder of the simulated libraries; false: they are not beside the program. */
bool ringdir_sim(char *buf, size_t size);
/* prefix + dir, and with `before` what the variable holds already. */
char *ringdir_sim_env(const char *prefix, const char *dir, bool before);

/* Finds a folder or file of ours beside the program: in the build tree or where it was installed.
 * Tries each name in turn relative to the program's folder; false if none exists. */
bool ringdir_beside(char *buf, size_t size, const char *const *names);

#endif
