/* SPDX-License-Identifier: MIT */
/*
 * plain: start and stop of sources that look once, when they are asked for their facts, and
 * keep nothing but the options they were started with.
 */
#ifndef GPUFEED_SENSE_PLAIN_H
#define GPUFEED_SENSE_PLAIN_H

#include "sense/source.h"

/* The state is a copy of *o. */
int plain_start(void **ret, const struct source_opts *o, int64_t now, struct error *e);
void plain_stop(void *self);

#endif
