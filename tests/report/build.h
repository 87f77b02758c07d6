/* SPDX-License-Identifier: MIT */
/*
 * build: short calls that add to a view, for fixtures. They abort when out of memory.
 */
#ifndef TESTS_REPORT_BUILD_H
#define TESTS_REPORT_BUILD_H

#include "base/str.h"
#include "model/report.h"

#define MS(n) ((int64_t)(n)*1000000)
#define S(n) ((int64_t)(n)*1000000000)

char *build_text(const char *text); /* NULL stays NULL */
size_t build_accelerator(struct report *r, const char *id, const char *name, bool simulated);
/* A row; adds its time to the accelerator's state and total. */
void build_row(struct report *r, size_t accelerator, const char *workload, enum state state,
               enum cause cause, const char *resource, int64_t ns, enum evidence evidence);
void build_evidence(struct evidence_list *l, const char *name, double value, const char *unit,
                    const char *source);
void build_evidence_text(struct evidence_list *l, const char *name, const char *text,
                         const char *source);
struct report_finding *build_finding(struct report *r, enum severity severity, const char *id,
                                     const char *title, const char *fix, double gain_seconds);
void build_note(struct report *r, const char *text);
struct chain_example *build_chain(struct report *r, int64_t t0, int64_t ns, enum cause cause,
                                  const char *resource);
void build_link(struct chain_example *c, const char *who, const char *did);
/* Shares of rows, the verdict's utilisation, money from a rate (currency NULL: none), and
 * windows of `window_ns` that vary around each accelerator's means and add up to them. */
void build_finish(struct report *r, const char *currency, double rate, int64_t window_ns);

#endif
