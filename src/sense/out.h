/* SPDX-License-Identifier: MIT */
/*
 * out: a small writer of facts. A number that is NAN and a text that is NULL or
 * empty are not sent: absent is absent. After the first failure nothing is sent.
 */
#ifndef GPUFEED_SENSE_OUT_H
#define GPUFEED_SENSE_OUT_H

#include "model/fact.h"

#include <stdint.h>

struct out {
    fact_fn fn;
    void *arg;
    const char *kind, *subject, *source; /* of the facts that follow */
    int rc;
};

void out_number(struct out *o, const char *name, double value, const char *unit);
void out_text(struct out *o, const char *name, const char *text);
/* The difference of two counters as "1/s" or another rate; not sent when no time passed or
 * when the counter went backwards. */
void out_rate(struct out *o, const char *name, double before, double after, int64_t ns,
              const char *unit);

#endif
