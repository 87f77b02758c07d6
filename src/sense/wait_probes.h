/* SPDX-License-Identifier: MIT */
/*
 * wait_probes: uprobes on libraries that the job maps: getaddrinfo of each C
 * library (names of peers), and libcuda's entry points where asked for.
 *
 * A C library is found in /proc/PID/maps once the process has run a little,
 * since a new program maps it only after its exec.
 */
#ifndef GPUFEED_SENSE_WAIT_PROBES_H
#define GPUFEED_SENSE_WAIT_PROBES_H

#include "base/error.h"
#include "base/map.h"
#include "sense/wait_load.h"

#define WAIT_LIBRARIES_MAX 16 /* different C libraries, one per kind of container */

struct wait_library {
    uint64_t dev, ino;
};

struct wait_probes {
    struct bpf_link **links; /* owned */
    size_t link_count, link_cap;
    int multi[2]; /* links of driver calls, at return and at entry; 0: none */
    struct wait_library libraries[WAIT_LIBRARIES_MAX];
    size_t library_count;
    struct map seen; /* tgid -> waits seen since its exec */
};

/* Attaches to gpufeed's own C library, as a rule also the job's. */
void wait_probes_init(struct wait_probes *p, const struct wait_load *l);
void wait_probes_clear(struct wait_probes *p);
/* A wait of tgid was seen: now and then looks whether it maps another C library. */
void wait_probes_seen(struct wait_probes *p, const struct wait_load *l, uint32_t tgid);
void wait_probes_exec(struct wait_probes *p, uint32_t tgid);
void wait_probes_exit(struct wait_probes *p, uint32_t tgid);
int wait_probes_cuda(struct wait_probes *p, const struct wait_load *l, const char *path,
                     uint32_t pid, struct error *e);

#endif
