/* SPDX-License-Identifier: MIT */
#include "plan/whatif.h"

#include <math.h>
#include <string.h>

/* Of the run: where more launched work did not begin, what a faster accelerator gains is not known. */
#define LATE_MAX 0.05

/* Over all accelerators and all that a job held of them. */
static double held_ns(const struct whatif_ledger *l)
{
    double sum = 0;
    for (int s = 0; s < STATE_COUNT; s++)
        sum += (double)l->state_ns[s];
    return sum;
}

/* From accelerator time to time of the run. */
static double of_span(const struct whatif_ledger *l, double accelerator_ns)
{
    double held = held_ns(l);
    return held > 0 ? accelerator_ns * (double)l->span_ns / held : 0;
}

double whatif_waited_ns(const struct whatif_ledger *l)
{
    return of_span(l, (double)l->state_ns[STATE_COMM] + (double)l->state_ns[STATE_COPY] +
                          (double)l->state_ns[STATE_WAIT]);
}

double whatif_bound_ns(const struct whatif_ledger *l, uint64_t causes)
{
    double sum = 0;
    for (int c = 0; c < CAUSE_COUNT; c++)
        if (causes >> c & 1)
            sum += (double)l->cause_ns[c];
    return of_span(l, sum);
}

static double clamp(double v, double lo, double hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* NAN where it cannot be replayed; only running out of memory is a failure. */
static int replayed(const struct replay *replay, const struct replay_scenario *s, double *ret,
                    struct error *e)
{
    struct replay_result r;
    *ret = NAN;
    if (!replay || !s)
        return STATUS_OK;
    int status = replay_run(replay, s, &r, e);
    if (!status)
        *ret = (double)r.gain_ns;
    return status;
}

int whatif_alone(const struct replay *replay, const struct whatif_ledger *l, struct whatif_fix *fix,
                 struct error *e)
{
    double gain;
    int status = replayed(replay, fix->scenario, &gain, e);
    if (status)
        return status;
    fix->bounded = fix->at_best || !isfinite(gain);
    if (!isfinite(gain))
        gain = fix->at_most_ns;
    fix->bounded &= isfinite(gain);
    fix->gain_ns = isfinite(gain) ? clamp(gain, 0, whatif_waited_ns(l)) : NAN;
    return STATUS_OK;
}

/* A list on its way: what the fixes chosen so far bring. */
struct list {
    const struct replay *replay;
    struct replay_scenario joint;
    size_t joined; /* scenarios in it */
    double joint_gain, saved, waited;
    double last; /* what was told of the fix before */
};

/* What a fix adds to those before it; NAN where that is not known. */
static int adds(const struct list *l, const struct whatif_fix *f, double *ret, struct error *e)
{
    struct replay_scenario joint = l->joint;
    double now = l->joint_gain;
    int status = STATUS_OK;
    *ret = NAN;
    if (!isfinite(f->gain_ns))
        return STATUS_OK;
    if (!f->bounded && !l->joined)
        now = f->gain_ns; /* alone it has been replayed */
    else if (!f->bounded && replay_scenario_add(&joint, f->scenario))
        status = replayed(l->replay, &joint, &now, e);
    if (!status)
        *ret = clamp(f->bounded ? f->gain_ns : now - l->joint_gain, 0, l->waited - l->saved);
    return status;
}

static void choose(struct list *l, struct whatif_fix *f, double more)
{
    f->gain_ns = more < l->last ? more : l->last;
    if (!isfinite(more)) {
        f->gain_ns = NAN;
        return;
    }
    l->last = f->gain_ns;
    l->saved += more;
    if (!f->bounded && replay_scenario_add(&l->joint, f->scenario)) {
        l->joint_gain += more;
        l->joined++;
    }
}

/* Which of the fixes from `place` on adds most; the next one where enough were chosen. */
static int best_of(const struct list *l, const struct whatif_fix *fixes, const size_t *order,
                   size_t place, size_t count, size_t *ret, double *ret_more, struct error *e)
{
    size_t last = place < WHATIF_RANKED ? count : place + 1;
    *ret = place;
    *ret_more = NAN;
    for (size_t i = place; i < last; i++) {
        double more;
        int status = adds(l, &fixes[order[i]], &more, e);
        if (status)
            return status;
        if (isfinite(more) && !(more <= *ret_more)) {
            *ret = i;
            *ret_more = more;
        }
    }
    return STATUS_OK;
}

int whatif_list(const struct replay *replay, const struct whatif_ledger *l,
                struct whatif_fix *fixes, size_t count, size_t *ret_order, double *ret_saved,
                struct error *e)
{
    struct list list = {.replay = replay, .waited = whatif_waited_ns(l), .last = INFINITY};
    for (size_t i = 0; i < count; i++)
        ret_order[i] = i;
    for (size_t place = 0; place < count; place++) {
        size_t best;
        double more;
        int status = best_of(&list, fixes, ret_order, place, count, &best, &more, e);
        if (status)
            return status;
        size_t chosen = ret_order[best];
        memmove(&ret_order[place + 1], &ret_order[place], (best - place) * sizeof(*ret_order));
        ret_order[place] = chosen;
        choose(&list, &fixes[chosen], more);
    }
    *ret_saved = list.saved;
    return STATUS_OK;
}

double whatif_utilisation(const struct whatif_ledger *l, double saved_ns)
{
    double compute = of_span(l, (double)l->state_ns[STATE_COMPUTE]);
    double left = (double)l->span_ns - saved_ns;
    return left > 0 ? clamp(compute / left, 0, 1) : NAN;
}

static double speedup(const struct whatif_ledger *l, double gain)
{
    double span = (double)l->span_ns;
    return isfinite(gain) && gain < span ? span / (span - fmax(gain, 0)) : NAN;
}

/* Nearly all that was waited for is known: other machines can be replayed. */
static bool tells_waits(const struct replay *replay, bool *ret_cores)
{
    struct replay_learnt learnt;
    *ret_cores = true;
    for (int c = 0; replay_learnt(replay, c, &learnt); c++) {
        if ((double)learnt.untold_ns > WHATIF_UNTOLD * (double)learnt.real_ns)
            return false;
        *ret_cores &= learnt.real_ns <= 0 || learnt.cores > 0;
    }
    return true;
}

static int more_accelerators(const struct replay *replay, const struct whatif_ledger *l,
                             bool storage_full, struct whatif_machines *ret, struct error *e)
{
    struct replay_scenario twice = {.consumers_times = 2};
    double gain;
    if (storage_full) /* twice as many readers of the same bytes a second */
        replay_scenario_away(&twice, CAUSE_STORAGE, REPLAY_EVERYWHERE, 0, 2);
    int status = replayed(replay, &twice, &gain, e);
    if (status)
        return status;
    ret->more_speedup = speedup(l, gain);
    ret->more_help = gain >= WHATIF_MORE_SHARE * (double)l->span_ns;
    return STATUS_OK;
}

int whatif_machines(const struct replay *replay, const struct whatif_ledger *l, bool storage_full,
                    struct whatif_machines *ret, struct error *e)
{
    const struct replay_scenario faster = {.accelerator_infinite = true};
    struct whatif_machines m = {NAN, false, -1, NAN};
    double gain;
    bool cores;
    if (l->span_ns > 0 && !replay) {
        double compute = of_span(l, (double)l->state_ns[STATE_COMPUTE]);
        double awaited = l->awaited_known ? of_span(l, l->awaited_ns) : compute;
        double late = of_span(l, l->late_ns);
        if (late <= LATE_MAX * (double)l->span_ns)
            m.faster_max_speedup = speedup(l, (awaited < compute ? awaited : compute) + late);
        m.faster_bounded = true;
    } else if (l->span_ns > 0 && tells_waits(replay, &cores)) {
        int status = replayed(replay, &faster, &gain, e);
        if (status)
            return status;
        m.faster_max_speedup = speedup(l, gain);
        if (cores)
            status = more_accelerators(replay, l, storage_full, &m, e);
        if (status)
            return status;
    }
    *ret = m;
    return STATUS_OK;
}
