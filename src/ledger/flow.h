/* SPDX-License-Identifier: MIT */
/*
 * flow: whether reads of one TCP peer are limited by its latency or by its bytes a second.
 *
 * Where latency limits, a reader gets its bytes as soon beside others as alone, and two get twice
 * as many; where bandwidth does, it waits the longer, the more others wait already, or two get
 * together what one gets. Where readers never differ in number nothing is told. Only waits whose
 * times are exact may be given.
 */
#ifndef GPUFEED_LEDGER_FLOW_H
#define GPUFEED_LEDGER_FLOW_H

#include "model/event.h"

struct flow; /* of one peer */

struct flow_told {
    double bandwidth_bound; /* 1, 0; NAN: cannot be told */
    /* Of the time waited, the part after the first bytes of an answer: all of it is transfer; NAN:
     * no bytes came. One reader of an answer that dribbles may be limited by the peer or the line,
     * so that nobody knows what a second one would get. */
    double transfer_share;
};

struct flow *flow_new(void); /* NULL: out of memory */
void flow_free(struct flow *f);
void flow_wait(struct flow *f, const struct event_wait *w);
void flow_told(const struct flow *f, struct flow_told *ret);

#endif
