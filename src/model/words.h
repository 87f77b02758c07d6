/* SPDX-License-Identifier: MIT */
/*
 * words: the states of an accelerator and the causes of its waits.
 *
 * Every nanosecond of every accelerator is in exactly one (state, cause,
 * resource) row. cause is CAUSE_NONE for compute and unused (null in JSON).
 */
#ifndef GPUFEED_MODEL_WORDS_H
#define GPUFEED_MODEL_WORDS_H

#include <stdint.h>

enum state {
    STATE_COMPUTE, /* a kernel other than communication, or a memset, runs */
    STATE_COMM,    /* only communication kernels run: exposed communication */
    STATE_COPY,    /* only copies run: exposed copy */
    STATE_WAIT,    /* nothing runs, a job holds the device */
    STATE_UNUSED,  /* no job holds the device */
    STATE_UNSEEN,  /* not looked at, or lost */
    STATE_COUNT
};

enum cause {
#define X(NAME, id, title, meaning) CAUSE_##NAME,
#include "causes_list.h"
#undef X
    CAUSE_COUNT
};

/* "compute", "comm", ...: the names of the JSON. */
const char *state_name(enum state s);
/* "storage", "late-peer", ...; "none" for CAUSE_NONE. */
const char *cause_name(enum cause c);
const char *cause_title(enum cause c);
const char *cause_meaning(enum cause c);
/* The number for a name; -1 if there is none. */
int state_of_name(const char *name);
int cause_of_name(const char *name);

#endif
