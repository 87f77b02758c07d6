/* SPDX-License-Identifier: MIT */
/*
 * money: what accelerator time costs. The price is that of the whole machine or job per hour, so
 * it is spread over all accelerator time in the ledger. NAN or negative prices give NAN.
 */
#ifndef GPUFEED_PLAN_MONEY_H
#define GPUFEED_PLAN_MONEY_H

#include "plan/whatif.h"

struct money {
    double spent;  /* for the span */
    double waited; /* of that, while accelerators waited: by_cause added up */
    double by_cause[CAUSE_COUNT];
};

/* Price of `ns` at a rate per hour. */
double money_of_ns(double ns, double per_hour);
struct money money_of_ledger(const struct whatif_ledger *l, double per_hour);

#endif
