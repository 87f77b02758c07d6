/* SPDX-License-Identifier: MIT */
/*
 * rules: the set of rules and how they are run over a recording (doc/rules.md).
 *
 * A rule can only read: one SELECT, checked by an authorizer that knows nothing
 * but SELECT and functions, within a budget of steps. A rule that does not
 * compile, takes too long or fails becomes one note with its file and SQL's
 * words, never an error: the others still run.
 */
#ifndef GPUFEED_RECORD_RULES_H
#define GPUFEED_RECORD_RULES_H

#include "record/fill.h"
#include "record/rule.h"

struct rules {
    struct rule *list; /* owned; sorted by id */
    size_t count, cap;
};

/* The compiled-in rules and those of dir/ *.sql (NULL: none) that are for `use`; a file there whose id
 * is known replaces that rule. A file that cannot be read as a rule becomes a note of r. An absent or
 * unreadable folder is an error. */
int rules_load(const char *dir, enum rule_use use, struct report *r, struct rules *ret,
               struct error *e);
void rules_clear(struct rules *rules);

/* A finding's way to be priced, same index as report.findings. */
struct rule_scenario {
    char *text;     /* "away storage", "workers +2", "none" ...; owned */
    double at_most; /* seconds that the rows it acts on allow; NAN: the rule gave none */
};
struct rule_scenarios {
    struct rule_scenario *list;
    size_t count, cap;
};
void rule_scenarios_clear(struct rule_scenarios *s);

/* Appends a finding for every row that a rule returns, in order of rules; gains are unknown. */
int rules_run(struct recording *db, const struct rules *rules, struct report *r,
              struct rule_scenarios *ret, struct error *e);

/* As rules_run for one rule, which must not fail. */
int rules_run_one(struct recording *db, const struct rule *rule, struct report *r,
                  struct rule_scenarios *ret, struct error *e);

/*
 * Once, before rules_run: makes the stable names (ledger, cause, fact ...) tables in memory,
 * so that many rules read them quickly. `more` are facts that the recorded deliveries tell;
 * each counts as `counts` says.
 */
enum rule_fact_counts {
    FACT_IF_ABSENT, /* where the recording has none of that name */
    FACT_AT_MOST,   /* ... or a larger one */
    FACT_INSTEAD    /* whatever it has */
};
struct rule_fact {
    const char *kind, *name;
    double number;
    const char *unit;
    enum rule_fact_counts counts;
};
int rules_prepare(struct recording *db, const struct rule_fact *more, size_t count,
                  struct error *e);

/* After rules_prepare, for the rules of check: makes the views of rule_views.c. */
int rules_prepare_machine(struct recording *db, struct error *e);

#endif
