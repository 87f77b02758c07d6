/* SPDX-License-Identifier: MIT */
/*
 * report/phrase: the words that text and HTML have in common.
 *
 * Texts may hold names from outside as they are: whoever prints them makes them
 * safe (report/plain.h, HTML escapes). Each function appends to *out and leaves
 * an unknown figure out, or says "unknown"; it never prints a zero instead.
 */
#ifndef GPUFEED_REPORT_PHRASE_H
#define GPUFEED_REPORT_PHRASE_H

#include "base/str.h"
#include "model/report.h"
#include "report/sum.h"

/* What goes before the share of a state: "≤ ", "~" or "" (model/ledger_row.h). What was unused or not seen is
 * told as it is. */
const char *phrase_state_mark(const struct report *r, enum state s);
/* unit_format_share, "unknown" for NAN. Returns buf. */
char *phrase_share(char *buf, size_t size, double share);
/* "2 × NVIDIA H100 80GB HBM3 (simulated)"; "no accelerator". */
void phrase_accelerators(const struct report *r, struct str *out);
/* "€ 4.76 at € 28.00/h, waiting € 2.10"; there must be a currency and a rate. */
void phrase_money(const struct report_money *m, struct str *out);
/* "612 s · 1 × NVIDIA H100 · wait chain · exit 0 · € 4.76 at € 28.00/h, ..." */
void phrase_head(const struct report *r, struct str *out);
/* "saves 240 s (39 %, 1.64×), € 10.92/h"; "at most" for a bound; empty where unknown. */
void phrase_gain(const struct report *r, const struct report_finding *f, struct str *out);
/* "4.1 ms", "8 in flight", "nfs4": the value with its unit. */
void phrase_value(const struct evidence_item *e, struct str *out);
/* "read latency 4.1 ms; reads in flight 8" */
void phrase_evidence(const struct evidence_list *l, struct str *out);
/* "trainer (4711) waited 82 ms ← worker 3 read a file" */
void phrase_chain(const struct chain_example *c, struct str *out);
/* "0.41 s on GPU 0 for storage, nfs://10.0.0.4/data" */
void phrase_chain_head(const struct report *r, size_t index, struct str *out);
/* "1.2 s of CPU (0.2 % of a core), 31 MiB, no events lost, slows the job by at most 0.4 %" */
void phrase_cost(const struct report *r, struct str *out);
/* "8.2 % (50 s) has no known cause: …"; appends nothing and returns false at 5 % or less.
 * *ret_note: the reason given is the view's first note, which need not be printed again. */
bool phrase_unknown(const struct report *r, const struct sum *s, struct str *out, bool *ret_note);

#endif
