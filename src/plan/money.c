/* SPDX-License-Identifier: MIT */
#include "plan/money.h"

#include "base/unit.h"

#include <math.h>

double money_of_ns(double ns, double per_hour)
{
    return per_hour >= 0 ? ns / (double)NS_PER_S / S_PER_HOUR * per_hour : NAN;
}

struct money money_of_ledger(const struct whatif_ledger *l, double per_hour)
{
    struct money m = {.spent = money_of_ns((double)l->span_ns, per_hour)};
    for (int c = 0; c < CAUSE_COUNT; c++) {
        m.by_cause[c] = money_of_ns(whatif_bound_ns(l, UINT64_C(1) << c), per_hour);
        m.waited += m.by_cause[c];
    }
    return m;
}
