/* SPDX-License-Identifier: MIT */
/*
 * whatif: prices a list of fixes and answers the two questions about bigger machines.
 *
 * A fix is replayed where the log allows it; where not (no deliveries: sampler, foreign trace) its
 * gain is bounded by the rows that it acts on and marked so. In a list each fix is priced after
 * those before it, the most useful first, so that gains add up; together they never exceed what
 * the accelerators waited for.
 */
#ifndef GPUFEED_PLAN_WHATIF_H
#define GPUFEED_PLAN_WHATIF_H

#include "plan/replay.h"

/* What the ledger says, over all accelerators: sums of its rows. */
struct whatif_ledger {
    int64_t span_ns; /* of the run */
    int64_t state_ns[STATE_COUNT];
    int64_t cause_ns[CAUSE_COUNT]; /* of wait, comm and copy rows */
    bool awaited_known;
    double awaited_ns; /* computing for which the hosts did nothing but wait (ledger/foreign.h) */
    /* launched work that did not begin, for whatever reason: what it waited for may compute */
    double late_ns;
};

struct whatif_fix {
    const struct replay_scenario *scenario; /* borrowed; NULL: no replay can tell */
    double at_most_ns;                      /* bound from rows; NAN: none known */
    bool at_best; /* the scenario saves more than the fix may: its gain is a bound too */
    /* answers */
    double gain_ns; /* NAN unknown */
    bool bounded;   /* an upper bound, not a replay */
};

/* Seconds of the run's span in which an average accelerator waited: the most that any list saves.
 */
double whatif_waited_ns(const struct whatif_ledger *l);
/* The part of that with one of these causes (bit 1 << cause): the bound of a fix. */
double whatif_bound_ns(const struct whatif_ledger *l, uint64_t causes);

/* Prices a fix with no other made. replay may be NULL. */
int whatif_alone(const struct replay *replay, const struct whatif_ledger *l, struct whatif_fix *fix,
                 struct error *e);
/*
 * Orders and prices fixes[0..count-1], which whatif_alone has priced: in place 0 of ret_order (count
 * places) stands the one that saves most alone, then always the one that saves most beside those
 * before it, unknown gains last, equal ones as they were given. Each gain is what the fix adds to
 * those before it, but never more than was told of the one before (two that are worth little apart
 * and much together: the list stays in order); *ret_saved is what all save together. Behind WHATIF_RANKED places the given
 * order stays: replays cost time.
 * A fix that was bounded alone stays so. A scenario that no longer fits in one replay gets gain 0.
 */
#define WHATIF_RANKED 8
int whatif_list(const struct replay *replay, const struct whatif_ledger *l,
                struct whatif_fix *fixes, size_t count, size_t *ret_order, double *ret_saved,
                struct error *e);
/* Compute share once `saved_ns` of the span are gone. NAN without a span. */
double whatif_utilisation(const struct whatif_ledger *l, double saved_ns);

struct whatif_machines {
    double faster_max_speedup; /* >= 1; an accelerator of infinite speed. NAN unknown */
    bool faster_bounded;
    int more_help;       /* 1, 0; -1 unknown */
    double more_speedup; /* of twice as many accelerators; NAN unknown */
};

/*
 * Infinite speed: kernels take no time, all else stays as it is. Without a replay: all computing
 * goes, all waiting stays; where it is known for how much of the computing the host only waited
 * (foreign traces), no more than that goes.
 *
 * More accelerators: twice as many, each with its own launching thread and as many workers as the
 * one that was seen, share out the same work on the cores that there are; what wants a core beyond
 * them queues. Reads take as long as they did, or twice as long where `storage_full` says that the
 * store gives no more bytes a second. They help when the run then ends at least WHATIF_MORE_SHARE
 * of its length earlier (half would be perfect). Unknown without a replay, and where the number
 * of cores is not known.
 *
 * Neither is known where more than WHATIF_UNTOLD of a consumer's time it waited for deliveries that
 * are not in the log: how long they would be waited for otherwise nobody can tell.
 */
#define WHATIF_MORE_SHARE 0.1
#define WHATIF_UNTOLD 0.1
int whatif_machines(const struct replay *replay, const struct whatif_ledger *l, bool storage_full,
                    struct whatif_machines *ret, struct error *e);

#endif
