/* SPDX-License-Identifier: MIT */
/*
 * report: the one typed view that text, JSON and HTML walk; equal in shape to
 * gpufeed.report/1. record/ fills it from a recording, report/ renders it.
 *
 * Unknown numbers are NAN (null in JSON), unknown texts NULL. All memory is
 * owned by the view; report_clear frees it. Shares are fractions of that
 * accelerator's seconds, gain_share of span_ns.
 */
#ifndef GPUFEED_MODEL_REPORT_H
#define GPUFEED_MODEL_REPORT_H

#include "model/ledger_row.h"

#include <stdbool.h>
#include <stddef.h>

struct evidence_item {
    char *name, *unit, *source;
    double value;      /* NAN: see text */
    char *text;        /* for values that are no numbers; else NULL */
    enum evidence how; /* a number of the ledger: how it came to be known */
};

struct evidence_list {
    struct evidence_item *items;
    size_t count, cap;
};
/* Frees what it holds; it is empty then. */
void evidence_list_clear(struct evidence_list *l);

struct report_accelerator {
    char *id;   /* "GPU-uuid:0", "sim:0": ends in ":N", N the device number */
    char *name; /* "NVIDIA H100 80GB HBM3" */
    bool simulated;
    int64_t ns;                    /* time this accelerator was accounted for */
    int64_t state_ns[STATE_COUNT]; /* adds up to ns */
    char *unknown_why;             /* why waits of it have no known cause; NULL: not told */
};

/* The ledger summed over windows. */
struct report_row {
    size_t accelerator; /* index */
    char *workload;     /* "python3 train.py (4711)" */
    enum state state;
    enum cause cause;
    char *resource; /* NULL none */
    int64_t ns;
    double share;
    enum evidence evidence;
};

/* The ledger over time: one per window and accelerator, for the HTML chart. */
struct report_window {
    size_t accelerator;
    int64_t t0, ns; /* t0 from the start of the span */
    int64_t state_ns[STATE_COUNT];
    int64_t cause_ns[CAUSE_COUNT]; /* of wait, comm and copy */
};

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL, SEVERITY_COUNT };
const char *severity_name(enum severity s); /* "info", "warning", "critical" */
int severity_of_name(const char *name);     /* -1 unknown */

struct report_finding {
    char *id, *title, *why, *fix, *source;
    char *apply; /* what `check --fix` would do, "VERB WORD ..."; NULL nothing */
    char *first; /* what the verdict says to do, "Fix storage" */
    enum severity severity;
    struct evidence_list evidence;
    double gain_seconds; /* NAN unknown */
    double gain_share;   /* of the span */
    bool gain_bounded;   /* an upper bound, not a replay */
};

struct report_money {
    char *currency;       /* NULL: no price was given, all else NAN */
    double rate_per_hour; /* price of the whole machine or job, as given by --price */
    double spent, waited;
    double by_cause[CAUSE_COUNT];
};

struct report_verdict {
    char *limited_by;   /* a cause, "compute" or "unknown" */
    double utilisation; /* compute share of all accelerators' time */
    double utilisation_after_fixes;
    double faster_accelerator_max_speedup; /* assumes infinite speed; >= 1 */
    int more_accelerators_help;            /* 1, 0, -1 unknown */
    char *sentence;
};

struct report_tool {
    char *version;
    double cpu_seconds;
    double peak_rss_bytes;
    uint64_t events_lost;
    double slowdown_bound; /* share; NAN unknown */
};

struct report {
    char *title;     /* the command, secrets removed */
    char *cut_short; /* why the recording is not whole; NULL if it is */
    char *mode;      /* "wait chain", "sampler", "foreign trace" */
    char *
        too_short; /* "31 ms and 2 steps after the start-up": too little for a verdict; NULL: enough */
    int64_t start_unix_ns, span_ns;
    int exit_code; /* of the measured command; -1 unknown */
    struct report_tool tool;
    struct evidence_list evidence;      /* facts of machine and job worth showing */
    struct evidence_list communication; /* what the ranks talk over: a line each, name and text */
    struct report_accelerator *accelerators;
    size_t accelerator_count, accelerator_cap;
    struct report_row *rows; /* sorted: accelerator, then ns descending */
    size_t row_count, row_cap;
    struct report_window *windows;
    size_t window_count, window_cap;
    struct chain_example *chains; /* longest first */
    char **chain_resources;       /* same index as chains; NULL none */
    size_t chain_count, chain_cap, chain_resource_cap;
    struct report_finding *findings; /* by gain, largest first; info last */
    size_t finding_count, finding_cap;
    char **notes; /* one line each: what was lost or not permitted, and what brings it */
    size_t note_count, note_cap;
    bool note_explains; /* the first note says why things are not known: the run itself made it */
    /* foreign traces: launched work did not begin, over all accelerators; NAN unknown */
    double late_ns;
    /* foreign traces: computing for which the hosts only waited, over all accelerators; NAN
     * unknown. For the verdict, not shown */
    double awaited_ns;
    struct report_money money;
    struct report_verdict verdict;
};

/* An empty view: numbers unknown. */
void report_init(struct report *r);
void report_clear(struct report *r);
/* The weakest evidence of the rows of a state; of what was waited for: of wait, comm and copy. */
enum evidence report_state_evidence(const struct report *r, enum state s);
enum evidence report_waits_evidence(const struct report *r);
/* Takes the finding at that place out of the list and frees it. */
void report_drop_finding(struct report *r, size_t at);

#endif
