/* SPDX-License-Identifier: MIT */
/*
 * share: what each process that uses simulated devices shows to the others.
 *
 * Every process that initialised the simulated libcuda keeps one sparse file,
 * DIR/PID.sim, mapped and written by it alone; the simulated NVML of any process
 * maps the files of all and adds them up. A file whose process is gone (no such
 * pid, or another start time) counts for nothing and is removed when it may be.
 *
 * Busy time lies in a ring of granules of 1 ms. One word holds the number of its
 * millisecond and the busy ns in it, so that a reader never mixes two rounds. A
 * process writes work when its times are known, which may be ahead of now; what
 * would lie further ahead than the ring goes is left out.
 */
#ifndef GPUFEED_SIM_SHARE_H
#define GPUFEED_SIM_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "config.h"

#define SHARE_MAGIC UINT32_C(0x67667333)
#define SHARE_GRANULES 16384 /* 16 s */
#define SHARE_BUSY_BITS 20   /* a granule's ns fit */

enum share_engine { SHARE_KERNEL, SHARE_COPY, SHARE_ENGINES };

struct share_device {
    _Atomic uint32_t contexts;
    _Atomic uint64_t memory_bytes;
    _Atomic uint64_t granules[SHARE_ENGINES][SHARE_GRANULES];
};

struct share_file {
    _Atomic uint32_t magic; /* written last */
    uint32_t pid;
    uint64_t start_ticks; /* field 22 of /proc/PID/stat */
    _Alignas(4096) struct share_device devices[SIM_DEVICES_MAX];
};

/* Creates and maps the file of this process. Without a folder to write it returns anonymous memory
 * that nobody else sees; NULL only when memory is out. `path` (of 300 bytes) is empty then. */
struct share_file *share_create(const char *dir, char path[300]);
/* Takes the file away, and its folder with the last one, unless the user has named that. */
void share_remove(const char *dir, const char *path);
/* Adds busy time [start, end) of one engine of one device. */
void share_add_busy(struct share_device *device, enum share_engine engine, int64_t start,
                    int64_t end);

/* One process as a reader sees it; `file` is mapped read-only. */
struct share_process {
    const struct share_file *file;
    pid_t pid;
};

struct share_view {
    struct share_process *processes;
    size_t count;
};

/* Maps the files of all living processes: those of `dir`, or of every folder that fits the pattern. */
void share_view_open(struct share_view *view, const char *pattern);
void share_view_close(struct share_view *view);
/* Busy ns of one device within [from, to), at most to - from; process NULL: all, united per granule. */
int64_t share_busy(const struct share_view *view, const struct share_process *process, int device,
                   enum share_engine engine, int64_t from, int64_t to);

#endif
