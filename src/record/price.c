/* SPDX-License-Identifier: MIT */
#include "record/price.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "plan/money.h"
#include "plan/whatif.h"
#include "record/fill.h"
#include "record/price_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the replay gains less than this part of the run by is no warning, nor any advice to turn a loader's knob. */
#define GAIN_TELLS 0.005
/* An info finding that alone saves so many times what each of the others does, and this part of the run, is more
 * than info. */
#define FURTHER 3
#define WORTH 0.1

/* A finding on its way to its place in the list. */
struct priced {
    struct report_finding finding;
    const char *text; /* its scenario */
    struct replay_scenario scenario;
    struct whatif_fix fix; /* fix.scenario is set to the above or NULL by point() */
    bool replays;
    size_t order; /* in which the rules gave it */
};

/* Info last; else the larger gain alone first, unknown gains after known ones, the more severe before others. */
static int by_gain(const void *pa, const void *pb)
{
    const struct priced *a = pa, *b = pb;
    bool info_a = a->finding.severity == SEVERITY_INFO,
         info_b = b->finding.severity == SEVERITY_INFO;
    if (info_a != info_b)
        return info_a ? 1 : -1;
    double ga = isfinite(a->fix.gain_ns) ? a->fix.gain_ns : -1;
    double gb = isfinite(b->fix.gain_ns) ? b->fix.gain_ns : -1;
    if (ga != gb)
        return ga > gb ? -1 : 1;
    if (a->finding.severity != b->finding.severity)
        return a->finding.severity > b->finding.severity ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static struct whatif_ledger sum_up(const struct report *r)
{
    struct whatif_ledger l = {.span_ns = r->span_ns,
                              .awaited_known = isfinite(r->awaited_ns),
                              .awaited_ns = r->awaited_ns,
                              .late_ns = isfinite(r->late_ns) ? r->late_ns : 0};
    for (size_t i = 0; i < r->row_count; i++) {
        const struct report_row *row = &r->rows[i];
        l.state_ns[row->state] += row->ns;
        if (row->state == STATE_WAIT || row->state == STATE_COMM || row->state == STATE_COPY)
            l.cause_ns[row->cause] += row->ns;
    }
    return l;
}

/* Sorting moves the scenarios: points each fix at its own. */
static void point(struct priced *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        list[i].fix.scenario = list[i].replays ? &list[i].scenario : NULL;
}

/* Orders and prices the findings above info, the first `count` of the list. */
static int price_list(const struct price_log *log, const struct whatif_ledger *l,
                      struct priced *list, size_t count, double *ret_saved, struct error *e)
{
    struct whatif_fix *fixes = mem_zalloc(count * sizeof(*fixes));
    size_t *order = mem_zalloc(count * sizeof(*order));
    struct priced *old = mem_zalloc(count * sizeof(*old));
    int status = STATUS_OK;
    if (!fixes || !order || !old)
        status = error_set(e, STATUS_MEMORY, "out of memory pricing the findings");
    for (size_t i = 0; i < count && !status; i++) {
        fixes[i] = list[i].fix;
        old[i] = list[i];
    }
    if (!status)
        status = whatif_list(price_replay(log), l, fixes, count, order, ret_saved, e);
    for (size_t i = 0; i < count && !status; i++) {
        list[i] = old[order[i]];
        list[i].fix = fixes[order[i]];
    }
    point(list, count);
    free(fixes);
    free(order);
    free(old);
    return status;
}

static void set_gain(const struct report *r, struct priced *p)
{
    struct report_finding *f = &p->finding;
    f->gain_seconds = p->fix.gain_ns / (double)NS_PER_S;
    f->gain_share = r->span_ns > 0 ? p->fix.gain_ns / (double)r->span_ns : NAN;
    /* what rests on bounds or estimates is no more than that, replayed or not */
    f->gain_bounded = p->fix.bounded ||
                      (isfinite(p->fix.gain_ns) && report_waits_evidence(r) >= EVIDENCE_SAMPLED);
}

/* What a scenario cures: of several causes the first; the loader's scenarios, what most of the loader's time goes to. */
static enum cause cures(const char *text, const struct whatif_ledger *l)
{
    char word[32];
    int cause = sscanf(text, "away %31s", word) == 1 ? cause_of_name(word) : -1;
    if (cause > 0)
        return (enum cause)cause;
    if (!strcmp(text, "pinned"))
        return CAUSE_PAGEABLE_COPY;
    if (!strcmp(text, "persistent"))
        return CAUSE_STARTUP;
    if (!strncmp(text, "workers", 7) || !strncmp(text, "prefetch", 8))
        return l->cause_ns[CAUSE_PREPARE] > l->cause_ns[CAUSE_STORAGE] ? CAUSE_PREPARE
                                                                       : CAUSE_STORAGE;
    return CAUSE_NONE;
}

/* Another way to the same end that leads this much further is the way: a finding of little gain does not stand
 * before it. */
static void promote(struct priced *list, size_t count, double span_ns)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].finding.severity > SEVERITY_INFO && !isfinite(list[i].fix.gain_ns))
            return;
        if (list[i].finding.severity > SEVERITY_INFO)
            most = fmax(most, list[i].fix.gain_ns);
    }
    for (size_t i = 0; most > 0 && i < count; i++)
        if (list[i].finding.severity == SEVERITY_INFO && list[i].replays &&
            list[i].fix.gain_ns > FURTHER * most && list[i].fix.gain_ns > WORTH * span_ns)
            list[i].finding.severity = SEVERITY_WARNING;
}

/* Does the replay show that next to nothing comes of it? */
static bool gains_nothing(const struct report *r, const struct priced *p)
{
    return p->replays && !p->fix.bounded && p->fix.gain_ns < GAIN_TELLS * (double)r->span_ns;
}

/* What gains nothing alone is an aside. */
static void quieten(const struct report *r, struct priced *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gains_nothing(r, &list[i]))
            list[i].finding.severity = SEVERITY_INFO;
}

static int price_sorted(const struct price_log *log, struct report *r, struct priced *list,
                        struct price_verdict *ret, struct error *e)
{
    struct whatif_ledger l = sum_up(r);
    struct whatif_machines machines;
    size_t count = r->finding_count, loud = 0;
    double saved = 0;
    int status = STATUS_OK;
    point(list, count);
    for (size_t i = 0; i < count && !status && !r->too_short; i++)
        status = whatif_alone(price_replay(log), &l, &list[i].fix, e);
    promote(list, count, (double)r->span_ns);
    if (!status && !r->too_short)
        quieten(r, list, count);
    qsort(list, count, sizeof(*list), by_gain);
    point(list, count);
    if (r->too_short)
        return status;
    while (loud < count && list[loud].finding.severity > SEVERITY_INFO)
        loud++;
    if (!status)
        status = price_list(log, &l, list, loud, &saved, e);
    if (!status)
        status = whatif_machines(price_replay(log), &l, price_storage_full(log), &machines, e);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++)
        set_gain(r, &list[i]);
    if (loud)
        ret->first_cause = cures(list[0].text, &l);
    ret->utilisation_after_fixes = whatif_utilisation(&l, saved);
    ret->faster_accelerator_max_speedup = machines.faster_max_speedup;
    ret->more_accelerators_help = machines.more_help;
    return STATUS_OK;
}

/* An aside (info) that says to turn a knob of the loader, where the replay shows that nothing comes of it. */
static bool turns_nothing(const struct report *r, const struct priced *p)
{
    bool knob = !strncmp(p->text, "workers", 7) || !strncmp(p->text, "prefetch", 8);
    return knob && p->finding.severity == SEVERITY_INFO && gains_nothing(r, p);
}

int price_findings(const struct price_log *log, struct report *r,
                   const struct rule_scenarios *scenarios, struct price_verdict *ret,
                   struct error *e)
{
    *ret = (struct price_verdict){NAN, NAN, -1, CAUSE_NONE};
    struct priced *list = mem_zalloc(r->finding_count * sizeof(*list));
    if (!list)
        return error_set(e, STATUS_MEMORY, "out of memory pricing the findings");
    for (size_t i = 0; i < r->finding_count; i++) {
        const struct rule_scenario *s = &scenarios->list[i];
        list[i] = (struct priced){.finding = r->findings[i],
                                  .text = s->text,
                                  .fix = {.at_most_ns = s->at_most * (double)NS_PER_S},
                                  .order = i};
        list[i].replays = price_scenario(log, s->text, &list[i].scenario, &list[i].fix.at_best);
    }
    int status = price_sorted(log, r, list, ret, e);
    for (size_t i = 0; i < r->finding_count; i++)
        r->findings[i] = list[i].finding;
    for (size_t i = r->finding_count; !status && i-- > 0;)
        if (turns_nothing(r, &list[i]))
            report_drop_finding(r, i);
    free(list);
    return status;
}

static bool is_currency(const char *code)
{
    return code && strlen(code) == 3 && strspn(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 3;
}

/* To ask for another currency does not change what an amount is worth: it stays the one that it was given in. */
static bool other_currency(const struct report *r, const struct record_options *o)
{
    return isnan(o->price_per_hour) && r->money.rate_per_hour > 0 && o->currency &&
           is_currency(r->money.currency) && strcmp(o->currency, r->money.currency) != 0;
}

static bool note_currency(struct report *r, const struct record_options *o)
{
    struct str line = {0};
    str_addf(&line, "the price was given in %s: to have it in %s, give the price in %s, too",
             r->money.currency, o->currency, o->currency);
    bool ok = !line.failed && fill_note(r, str_text(&line));
    str_clear(&line);
    return ok;
}

/* What was given to the measurement leaves r; *ret_rate and *ret_code (owned; NULL: out of memory) are what
 * counts. */
static void take_price(struct report *r, const struct record_options *o, double *ret_rate,
                       char **ret_code)
{
    char *recorded = r->money.currency;
    bool asked = o->currency && !other_currency(r, o);
    const char *code = asked ? o->currency : is_currency(recorded) ? recorded : "EUR";
    *ret_rate = isnan(o->price_per_hour) ? r->money.rate_per_hour : o->price_per_hour;
    *ret_code = mem_strdup(code);
    r->money.currency = NULL;
    r->money.rate_per_hour = NAN;
    free(recorded);
}

bool price_money(struct report *r, const struct record_options *options)
{
    double rate;
    char *code;
    if (other_currency(r, options) && !note_currency(r, options))
        return false;
    take_price(r, options, &rate, &code);
    if (!isfinite(rate) || rate <= 0) {
        free(code);
        return true;
    }
    struct whatif_ledger l = sum_up(r);
    struct money money = money_of_ledger(&l, rate);
    struct report_money *m = &r->money;
    m->currency = code;
    m->rate_per_hour = rate;
    m->spent = money.spent;
    m->waited = money.waited;
    memcpy(m->by_cause, money.by_cause, sizeof(m->by_cause));
    return m->currency != NULL;
}
