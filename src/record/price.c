/* SPDX-License-Identifier: MIT */
#include "record/price.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "record/price_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HELPS 0.1         /* twice the accelerators must save this share of the span */
#define COMPUTE_BOUND 0.8 /* without a replay: above this share more accelerators help */

/* A finding on its way to its place in the list. */
struct priced {
    struct report_finding finding;
    const char *text; /* its scenario */
    double at_most;   /* seconds; NAN: the rule set none */
    struct replay_scenario scenario;
    bool replays;
    size_t order; /* in which the rules gave it */
};

/* Info last; else the larger gain first, unknown gains after known ones. */
static int by_gain(const void *pa, const void *pb)
{
    const struct priced *a = pa, *b = pb;
    bool info_a = a->finding.severity == SEVERITY_INFO,
         info_b = b->finding.severity == SEVERITY_INFO;
    if (info_a != info_b)
        return info_a ? 1 : -1;
    double ga = isfinite(a->finding.gain_seconds) ? a->finding.gain_seconds : -1;
    double gb = isfinite(b->finding.gain_seconds) ? b->finding.gain_seconds : -1;
    if (ga != gb)
        return ga > gb ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

struct totals {
    double span;    /* seconds */
    double waited;  /* seconds that an average accelerator waited: no list saves more */
    double compute; /* share */
};

static struct totals total_of(const struct report *r)
{
    struct totals t = {.span = unit_seconds(r->span_ns)};
    double waited = 0, compute = 0, all = 0;
    for (size_t i = 0; i < r->accelerator_count; i++) {
        const struct report_accelerator *a = &r->accelerators[i];
        waited += (double)a->state_ns[STATE_COMM] + (double)a->state_ns[STATE_COPY] +
                  (double)a->state_ns[STATE_WAIT];
        compute += (double)a->state_ns[STATE_COMPUTE];
        all += (double)a->ns;
    }
    if (all > 0) {
        t.waited = t.span * waited / all;
        t.compute = compute / all;
    }
    return t;
}

static void set_gain(const struct totals *t, struct report_finding *f, double seconds)
{
    f->gain_seconds = seconds;
    f->gain_share = t->span > 0 ? seconds / t->span : NAN;
}

/* The gain of one finding with no other fix made. */
static int price_alone(const struct price_log *log, const struct totals *t, struct priced *p,
                       struct error *e)
{
    double gain = NAN;
    p->replays = price_scenario(log, p->text, &p->scenario);
    int status = p->replays ? price_replay(log, &p->scenario, &gain, e) : STATUS_OK;
    p->replays = p->replays && isfinite(gain);
    p->finding.gain_bounded = !p->replays;
    if (!p->replays)
        gain = p->at_most;
    if (isfinite(gain))
        set_gain(t, &p->finding, fmax(0, fmin(gain, t->waited)));
    else
        p->finding.gain_bounded = false;
    return status;
}

/* Prices the sorted findings above info one after the other; *ret is what all save together. */
static int price_list(const struct price_log *log, const struct totals *t, struct priced *list,
                      size_t count, double *ret, struct error *e)
{
    struct replay_scenario joint = {0};
    double replayed = 0, bounded = 0;
    for (size_t i = 0; i < count && list[i].finding.severity > SEVERITY_INFO; i++) {
        struct report_finding *f = &list[i].finding;
        double left = fmax(0, t->waited - replayed - bounded), now;
        if (!isfinite(f->gain_seconds))
            continue;
        if (!list[i].replays) {
            set_gain(t, f, fmin(f->gain_seconds, left));
            bounded += f->gain_seconds;
        } else if (price_join(&joint, &list[i].scenario)) {
            int status = price_replay(log, &joint, &now, e);
            if (status)
                return status;
            double more = isfinite(now) ? now - replayed : 0;
            set_gain(t, f, fmin(fmax(0, more), left));
            replayed += f->gain_seconds;
        }
    }
    *ret = fmin(replayed + bounded, t->waited);
    return STATUS_OK;
}

static double speedup(const struct totals *t, double gain)
{
    return isfinite(gain) && gain >= 0 && gain < t->span ? t->span / (t->span - gain) : NAN;
}

/* An infinitely fast accelerator, and twice as many. */
static int price_machines(const struct price_log *log, const struct totals *t,
                          struct price_verdict *ret, struct error *e)
{
    struct replay_scenario faster = {.accelerator_infinite = true};
    struct replay_scenario more = {.consumers_times = 2};
    double gain;
    if (t->span <= 0)
        return STATUS_OK;
    if (!log) { /* at best all computing goes and all waiting stays */
        ret->faster_accelerator_max_speedup = speedup(t, t->compute * t->span);
        if (t->compute >= COMPUTE_BOUND)
            ret->more_accelerators_help = 1;
        return STATUS_OK;
    }
    int status = price_replay(log, &faster, &gain, e);
    if (status)
        return status;
    ret->faster_accelerator_max_speedup = speedup(t, gain);
    status = price_replay(log, &more, &gain, e);
    if (!status && isfinite(gain))
        ret->more_accelerators_help = gain >= HELPS * t->span;
    return status;
}

/* "away storage" is the fix of storage; other scenarios have words of their own. */
static void name_fix(const struct priced *p, struct price_verdict *ret)
{
    int cause = !strncmp(p->text, "away ", 5) ? cause_of_name(p->text + 5) : -1;
    const char *words = cause > 0                          ? cause_title((enum cause)cause)
                        : !strcmp(p->text, "pinned")       ? "pageable copies"
                        : !strcmp(p->text, "persistent")   ? "worker restarts"
                        : !strncmp(p->text, "workers", 7)  ? "the number of loader workers"
                        : !strncmp(p->text, "prefetch", 8) ? "the prefetch depth"
                                                           : p->finding.id;
    str_copy(ret->first_fix, sizeof(ret->first_fix), words);
}

static int price_sorted(const struct price_log *log, struct report *r, struct priced *list,
                        struct price_verdict *ret, struct error *e)
{
    struct totals t = total_of(r);
    size_t count = r->finding_count;
    double saved = 0;
    int status = STATUS_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = price_alone(log, &t, &list[i], e);
    qsort(list, count, sizeof(*list), by_gain);
    if (!status)
        status = price_list(log, &t, list, count, &saved, e);
    if (!status)
        status = price_machines(log, &t, ret, e);
    if (t.span > 0)
        ret->utilisation_after_fixes =
            saved < t.span ? fmin(1, t.compute * t.span / (t.span - saved)) : NAN;
    if (count && list[0].finding.severity > SEVERITY_INFO)
        name_fix(&list[0], ret);
    return status;
}

int price_findings(const struct price_log *log, struct report *r,
                   const struct rule_scenarios *scenarios, struct price_verdict *ret,
                   struct error *e)
{
    *ret = (struct price_verdict){NAN, NAN, -1, ""};
    struct priced *list = mem_zalloc(r->finding_count * sizeof(*list));
    if (!list)
        return error_set(e, STATUS_MEMORY, "out of memory pricing the findings");
    for (size_t i = 0; i < r->finding_count; i++)
        list[i] = (struct priced){.finding = r->findings[i],
                                  .text = scenarios->list[i].text,
                                  .at_most = scenarios->list[i].at_most,
                                  .order = i};
    int status = price_sorted(log, r, list, ret, e);
    for (size_t i = 0; i < r->finding_count; i++)
        r->findings[i] = list[i].finding;
    free(list);
    return status;
}

bool price_money(struct report *r, const struct record_options *options)
{
    double rate = options->price_per_hour, total = 0, lost[CAUSE_COUNT] = {0};
    if (!isfinite(rate) || rate <= 0)
        return true;
    struct report_money *m = &r->money;
    m->currency = mem_strdup(options->currency ? options->currency : "EUR");
    m->rate_per_hour = rate;
    m->spent = rate * unit_seconds(r->span_ns) / S_PER_HOUR;
    m->waited = 0;
    for (size_t i = 0; i < r->accelerator_count; i++)
        total += (double)r->accelerators[i].ns;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct report_row *row = &r->rows[i];
        if (row->state == STATE_WAIT || row->state == STATE_COMM || row->state == STATE_COPY)
            lost[row->cause] += (double)row->ns;
    }
    for (int c = 0; c < CAUSE_COUNT; c++) {
        m->by_cause[c] = total > 0 ? m->spent * lost[c] / total : 0;
        m->waited += m->by_cause[c];
    }
    return m->currency != NULL;
}
