/* SPDX-License-Identifier: MIT */
#include "plan/whatif.h"

#include <math.h>

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
    fix->bounded = !isfinite(gain) && isfinite(fix->at_most_ns);
    if (!isfinite(gain))
        gain = fix->at_most_ns;
    fix->gain_ns = isfinite(gain) ? clamp(gain, 0, whatif_waited_ns(l)) : NAN;
    return STATUS_OK;
}

int whatif_list(const struct replay *replay, const struct whatif_ledger *l,
                struct whatif_fix *fixes, size_t count, double *ret_saved, struct error *e)
{
    struct replay_scenario joint = {0};
    double waited = whatif_waited_ns(l), joint_gain = 0, saved = 0;
    for (size_t i = 0; i < count; i++) {
        struct whatif_fix *f = &fixes[i];
        double more = 0;
        int status = whatif_alone(replay, l, f, e);
        if (status)
            return status;
        if (!isfinite(f->gain_ns))
            continue;
        if (f->bounded) {
            more = f->gain_ns;
        } else if (replay_scenario_add(&joint, f->scenario)) {
            double now;
            status = replayed(replay, &joint, &now, e);
            if (status)
                return status;
            more = now - joint_gain;
            joint_gain = fmax(joint_gain, now);
        }
        f->gain_ns = clamp(more, 0, waited - saved);
        saved += f->gain_ns;
    }
    *ret_saved = saved;
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

/* What can be said from the rows alone. */
static void machines_from_rows(const struct whatif_ledger *l, struct whatif_machines *ret)
{
    const uint64_t feed = UINT64_C(1) << CAUSE_STORAGE | UINT64_C(1) << CAUSE_PREPARE |
                          UINT64_C(1) << CAUSE_CPU_STARVED;
    double compute = of_span(l, (double)l->state_ns[STATE_COMPUTE]);
    double span = (double)l->span_ns;
    double awaited = l->awaited_known ? of_span(l, l->awaited_ns) : compute;
    ret->faster_max_speedup = speedup(l, awaited < compute ? awaited : compute);
    ret->faster_bounded = true;
    if (compute >= WHATIF_COMPUTE_BOUND * span)
        ret->more_help = 1;
    else if (whatif_bound_ns(l, feed) >= WHATIF_FEED_BOUND * span)
        ret->more_help = 0;
}

int whatif_machines(const struct replay *replay, const struct whatif_ledger *l,
                    struct whatif_machines *ret, struct error *e)
{
    const struct replay_scenario faster = {.accelerator_infinite = true};
    const struct replay_scenario twice = {.consumers_times = 2};
    struct whatif_machines m = {NAN, false, -1, NAN};
    double gain;
    if (l->span_ns > 0 && !replay) {
        machines_from_rows(l, &m);
    } else if (l->span_ns > 0) {
        int status = replayed(replay, &faster, &gain, e);
        if (status)
            return status;
        m.faster_max_speedup = speedup(l, gain);
        status = replayed(replay, &twice, &gain, e);
        if (status)
            return status;
        m.more_speedup = speedup(l, gain);
        m.more_help = gain >= WHATIF_MORE_SHARE * (double)l->span_ns;
    }
    *ret = m;
    return STATUS_OK;
}
