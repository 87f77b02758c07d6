/* SPDX-License-Identifier: MIT */
/*
 * fact: one thing known about the machine or the job, a row of the recording's
 * table `fact` that rules select from. Absent facts are absent rows, never zeros.
 *
 * kind and name are fixed words (doc/facts.md lists all of them), subject names
 * the thing: ("mount", "/data", "fstype") "nfs4"; ("disk", "nvme0n1", "rotational") 0;
 * ("job", "", "cores_allowed") 8; ("loader", "", "workers") 4.
 */
#ifndef GPUFEED_MODEL_FACT_H
#define GPUFEED_MODEL_FACT_H

/* Source of what the events of the job say. */
#define FACT_LEARNT "wait chain"

struct fact {
    const char *kind, *subject, *name;
    const char *text;   /* NULL: numeric */
    double number;      /* NAN: textual */
    const char *unit;   /* "bytes", "s", "1/s", "count", "1" ...; "" for texts */
    const char *source; /* "/proc/self/mountinfo", "nvml", "wait chain", ... */
};

/* Receives facts; the strings are only valid during the call. Returns 0 or a negative status. */
typedef int (*fact_fn)(void *arg, const struct fact *fact);

#endif
