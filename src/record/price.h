/* SPDX-License-Identifier: MIT */
/*
 * price: what each finding is worth, and what money the waits cost. Internal.
 *
 * Gains come from replaying the recorded deliveries (plan/). Where a recording
 * has none, or a scenario cannot be replayed, a gain is bounded by the rows that
 * the finding acts on and marked so. Findings above info are priced as a list, the
 * most useful first: each after those before it, so that the gains add up; info findings are other
 * ways to the same end and are priced alone. No gain exceeds the wait.
 */
#ifndef GPUFEED_RECORD_PRICE_H
#define GPUFEED_RECORD_PRICE_H

#include "record/read.h"
#include "record/rules.h"

/* Figures of the verdict that need a replay; NAN or -1: unknown. */
struct price_verdict {
    double utilisation_after_fixes;
    double faster_accelerator_max_speedup;
    int more_accelerators_help;
    /* what the first finding above info cures; CAUSE_NONE: nothing, or it has no scenario */
    enum cause first_cause;
};

struct price_log; /* the recorded deliveries, ready for replay */

/* *ret is NULL where there is nothing to replay; deliveries that cannot be read become a note. */
int price_load(struct recording *db, struct report *r, struct price_log **ret, struct error *e);
void price_free(struct price_log *log);

/* What scenarios need of facts and views; after rules_prepare. log may be NULL. */
int price_learn(struct price_log *log, struct recording *db, struct error *e);

/* Facts that the deliveries tell; returns how many, at most PRICE_FACTS. */
#define PRICE_FACTS 6
size_t price_facts(const struct price_log *log, struct rule_fact facts[PRICE_FACTS]);

/* Steps of the launching thread that made most; 0: none is known. */
uint64_t price_steps(const struct price_log *log);

/* Prices and sorts the findings: first what saves most alone, then what saves most beside those
 * before it, and info last. Of a run that is too short nothing is priced. */
int price_findings(const struct price_log *log, struct report *r,
                   const struct rule_scenarios *scenarios, struct price_verdict *ret,
                   struct error *e);

/* Fills r->money by the price of the options, else by that which was recorded (rate_per_hour and currency of r);
 * without a price all is unknown. False: out of memory. */
bool price_money(struct report *r, const struct record_options *options);

#endif
