/* SPDX-License-Identifier: MIT */
/*
 * knob: one kind of thing that `check --fix` may change, each with its file: what its value is and how
 * to set it. Internal to the room.
 *
 * A target and a value are short texts without tabs and line breaks. `may` is the whole list of what
 * a knob touches, whatever a rule or a journal asks for.
 */
#ifndef GPUFEED_FIX_KNOB_H
#define GPUFEED_FIX_KNOB_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define KNOB_TARGET 512
#define KNOB_VALUE 64

struct knob {
    const char *name;
    bool (*may)(const char *target, const char *value);
    /* The present value; STATUS_MISSING: there is no such thing. root: a folder in place of /
     * (of files alone); "" none. */
    int (*get)(const char *root, const char *target, char value[KNOB_VALUE], struct error *e);
    int (*set)(const char *root, const char *target, const char *value, struct error *e);
    /* the value that a set leaves which was killed; NULL: there is none between */
    const char *half;
};

extern const struct knob knob_sysfs;  /* PATH: a file of /sys or /proc/sys that holds one value */
extern const struct knob knob_link;   /* INTERFACE: "up" or "down" */
extern const struct knob knob_module; /* NAME: "loaded" or "absent" */
extern const struct knob knob_limit;  /* PID START LIMIT: "SOFT HARD" */
extern const struct knob knob_atime;  /* MOUNT POINT: "noatime", "relatime" or "strictatime" */
extern const struct knob
    knob_scratch; /* DEVICE[,DEVICE ...]:FOLDER: "mounted" or "absent"; between: "assembled" */

/* Fills the target of knob_limit for a running process; false: it does not run. */
bool limit_target(const char *root, unsigned pid, const char *limit, char target[KNOB_TARGET]);

/* NULL: none of that name (n bytes). */
const struct knob *knob_find(const char *name, size_t n);

#endif
