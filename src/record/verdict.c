/* SPDX-License-Identifier: MIT */
#include "record/verdict.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "record/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMPUTE_LIMITED 0.8 /* of all time: more than what any bound may save */
#define SPEEDUP_TOLD 1.005  /* below it a fix is named without a figure */
#define SHARE_TOLD 0.99 /* from it on a share of the time is told, as 1000 times means nothing */
#define READ_MS_MAX 1e9 /* a mean beyond it is no measurement */

/* "41 % it waited for storage": the clause of each cause; %s takes " RESOURCE" or "". */
static const char *const clauses[CAUSE_COUNT] = {
    [CAUSE_NONE] = "it waited",
    [CAUSE_UNKNOWN] = "it waited for an unknown reason",
    [CAUSE_STORAGE] = "it waited for storage",
    [CAUSE_PREPARE] = "it waited for CPU work on the data",
    [CAUSE_CPU_STARVED] = "it waited for threads that had no free core",
    [CAUSE_NETWORK] = "it waited for the network",
    [CAUSE_COLLECTIVE] = "it waited for collectives",
    [CAUSE_LATE_PEER] = "it waited for a late rank",
    [CAUSE_KV_TRANSFER] = "it waited for KV-cache transfers",
    [CAUSE_PAGEABLE_COPY] = "it copied from pageable memory",
    [CAUSE_LINK] = "it copied over PCIe or NVLink",
    [CAUSE_LAUNCH] = "it waited for kernel launches",
    [CAUSE_HOST] = "it waited for host code between kernel launches",
    [CAUSE_CHECKPOINT] = "it waited for checkpoints",
    [CAUSE_STARTUP] = "it waited for processes to start or end",
    [CAUSE_MEMORY] = "it waited for memory pages",
    [CAUSE_LOCK] = "it waited for a lock",
    [CAUSE_SLEEP] = "it waited while the job slept",
};

static bool is_loss(enum state s)
{
    return s == STATE_WAIT || s == STATE_COMM || s == STATE_COPY;
}

struct sums {
    double total, compute, unseen, lost;
    double cause[CAUSE_COUNT];                   /* all in ns over all accelerators */
    enum evidence computed, waited[CAUSE_COUNT]; /* the weakest of each */
    enum cause top;                              /* CAUSE_NONE: no loss at all */
    const char *resource; /* where most of the top cause was lost; NULL unknown */
};

static void add_row(struct sums *s, const struct report_row *row)
{
    enum evidence *weakest = row->state == STATE_COMPUTE ? &s->computed
                             : is_loss(row->state)       ? &s->waited[row->cause]
                                                         : NULL;
    if (weakest && row->evidence > *weakest)
        *weakest = row->evidence;
    if (is_loss(row->state)) {
        s->cause[row->cause] += (double)row->ns;
        s->lost += (double)row->ns;
    }
}

static void sum_up(const struct report *r, struct sums *s)
{
    *s = (struct sums){.top = CAUSE_NONE};
    for (size_t i = 0; i < r->accelerator_count; i++) {
        s->total += (double)r->accelerators[i].ns;
        s->compute += (double)r->accelerators[i].state_ns[STATE_COMPUTE];
        s->unseen += (double)r->accelerators[i].state_ns[STATE_UNSEEN];
    }
    for (size_t i = 0; i < r->row_count; i++)
        add_row(s, &r->rows[i]);
    for (int c = 1; c < CAUSE_COUNT; c++)
        if (s->cause[c] > (s->top == CAUSE_NONE ? 0 : s->cause[s->top]))
            s->top = (enum cause)c;
    int64_t most = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct report_row *row = &r->rows[i];
        if (is_loss(row->state) && row->cause == s->top && row->resource && row->ns > most) {
            most = row->ns;
            s->resource = row->resource;
        }
    }
}

static const struct report_finding *first_fix(const struct report *r)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (r->findings[i].severity > SEVERITY_INFO)
            return &r->findings[i];
    return NULL;
}

static bool has_finding(const struct report *r, const char *id)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (!strcmp(r->findings[i].id, id))
            return true;
    return false;
}

static bool foreign(const struct report *r)
{
    return r->mode && !strcmp(r->mode, "foreign trace");
}

/* Devices could not be looked at: that no time stands in the ledger says nothing. */
static bool devices_unseen(const struct report *r)
{
    for (size_t i = 0; i < r->evidence.count; i++)
        if (!strcmp(r->evidence.items[i].name, "devices not seen"))
            return true;
    return false;
}

static double speedup(const struct report *r, double gain_seconds)
{
    double left = unit_seconds(r->span_ns) - gain_seconds;
    return gain_seconds >= 0 && left > 0 ? unit_seconds(r->span_ns) / left : NAN;
}

/* Seconds that no accelerator, however fast, could save more of. */
static double faster_gain(const struct report *r)
{
    double faster = r->verdict.faster_accelerator_max_speedup;
    return faster >= 1 ? unit_seconds(r->span_ns) * (1 - 1 / faster) : NAN;
}

/* Where one gain is not known, or only as a bound, computing must be most of all. */
static bool outdone(const struct report *r, const struct report_finding *fix, const struct sums *s)
{
    if (fix->gain_bounded || !isfinite(faster_gain(r)))
        return s->compute < COMPUTE_LIMITED * s->total;
    return fix->gain_seconds > faster_gain(r);
}

/*
 * What the job is limited by (doc/ARCHITECTURE.md): compute, where more time is computed than all
 * that was waited and copied, and the first finding above info saves no more than an accelerator of
 * infinite speed. Else what that finding cures, or, without one that saves something, the cause of
 * most waiting. Unknown, where more time was not seen than either, or too little was seen at all.
 */
static const char *limit(const struct report *r, const struct sums *s, enum cause cured)
{
    const struct report_finding *fix = first_fix(r);
    bool saves = fix && fix->gain_seconds > 0;
    if (s->total <= 0 || r->too_short)
        return "unknown";
    if (s->unseen > s->compute && s->unseen > s->lost)
        return "unknown";
    if (s->compute > s->lost && !(saves && outdone(r, fix, s)))
        return "compute";
    if (saves && cured != CAUSE_NONE)
        return cause_name(cured);
    return cause_name(s->top == CAUSE_NONE ? CAUSE_UNKNOWN : s->top);
}

static void add_gpus(struct str *out, const struct report *r)
{
    if (r->accelerator_count == 1) {
        const char *id = r->accelerators[0].id, *colon = strrchr(id, ':');
        str_addf(out, "GPU %s", colon && colon[1] ? colon + 1 : "0");
    } else {
        str_addf(out, "%zu GPUs", r->accelerator_count);
    }
}

static const struct evidence_item *item(const struct report_finding *f, const char *name)
{
    for (size_t i = 0; i < f->evidence.count; i++)
        if (!strcmp(f->evidence.items[i].name, name))
            return &f->evidence.items[i];
    return NULL;
}

/* " (4.1 ms a read, 8 reads in flight)" where a storage finding about this resource tells it. */
static void add_reads(struct str *out, const struct report *r, const char *resource)
{
    char buf[32];
    for (size_t i = 0; i < r->finding_count; i++) {
        const struct report_finding *f = &r->findings[i];
        const struct evidence_item *about = item(f, "resource"), *ms = item(f, "mean read");
        const struct evidence_item *flight = item(f, "reads in flight");
        if (!ms || !about || !about->text || strcmp(about->text, resource))
            continue;
        if (!(ms->value >= 0 && ms->value < READ_MS_MAX))
            return;
        if (ms->value >= 0.1 && ms->value < 999.5)
            str_addf(out, ms->value < 9.95 ? " (%.1f ms a read" : " (%.0f ms a read", ms->value);
        else
            str_addf(out, " (%s a read",
                     unit_format_ns(buf, sizeof(buf), (int64_t)(ms->value * (double)NS_PER_MS)));
        if (flight)
            str_addf(out, flight->value >= 10 ? ", %.0f reads in flight" : ", %.2g reads in flight",
                     flight->value);
        str_add(out, ")");
        return;
    }
}

static void add_top(struct str *out, const struct report *r, const struct sums *s)
{
    char buf[32];
    if (s->top == CAUSE_NONE || s->cause[s->top] < 0.01 * s->total)
        return;
    const char *clause = s->top == CAUSE_UNKNOWN && r->late_ns * 2 > s->cause[s->top]
                             ? "it had not started work that was launched"
                         : clauses[s->top] ? clauses[s->top]
                                           : cause_title(s->top);
    if (s->top == CAUSE_LATE_PEER && has_finding(r, "network-service-slow"))
        clause = "it waited for answers from"; /* a service, no rank */
    else if (s->top == CAUSE_LATE_PEER && has_finding(r, "service-idle"))
        clause = "it waited for requests from"; /* a client, no rank */
    bool they = r->accelerator_count > 1 && !strncmp(clause, "it ", 3);
    str_addf(out, "; %s%s %s%s", evidence_words(s->waited[s->top]),
             unit_format_share(buf, sizeof(buf), s->cause[s->top] / s->total), they ? "they " : "",
             they ? clause + 3 : clause);
    if (s->resource && (s->top == CAUSE_STORAGE || s->top == CAUSE_NETWORK ||
                        s->top == CAUSE_LATE_PEER || s->top == CAUSE_CHECKPOINT))
        str_addf(out, s->top == CAUSE_STORAGE || s->top == CAUSE_LATE_PEER ? " %s" : " (%s)",
                 s->resource);
    if (s->resource && s->top == CAUSE_STORAGE)
        add_reads(out, r, s->resource);
}

static void add_fix(struct str *out, const struct report *r)
{
    char buf[48];
    const struct report_finding *fix = first_fix(r);
    if (!fix) {
        if (has_finding(r, "healthy"))
            str_add(out, " Nothing worth fixing.");
        return;
    }
    double times = speedup(r, fix->gain_seconds);
    str_addf(out, " %s first", fix->first);
    if (times >= SPEEDUP_TOLD) {
        if (!(fix->gain_share >= SHARE_TOLD))
            str_addf(out, ": up to %.*f×", times < 1.1 ? 2 : 1, times);
        else
            str_addf(out, ": up to %s of the time",
                     unit_format_share(buf, sizeof(buf), fix->gain_share));
        if (r->money.currency && isfinite(fix->gain_share))
            str_addf(out, ", %s/h",
                     unit_format_money(buf, sizeof(buf), fix->gain_share * r->money.rate_per_hour,
                                       r->money.currency));
    }
    str_add(out, ".");
}

/* What other accelerators would change: a faster one, and more of them. */
static void add_machines(struct str *out, const struct report *r)
{
    const struct report_verdict *v = &r->verdict;
    double faster = v->faster_accelerator_max_speedup;
    bool known = isfinite(faster);
    if (known)
        str_addf(out, " A faster GPU gains at most %.*f×",
                 faster < 1.95   ? 2
                 : faster < 99.5 ? 1
                                 : 0,
                 faster);
    if (v->more_accelerators_help >= 0)
        str_addf(out, "%s %s", known ? ";" : "",
                 v->more_accelerators_help          ? "twice as many GPUs help"
                 : strcmp(v->limited_by, "compute") ? "more GPUs would wait too"
                                                    : "twice as many save less than a tenth");
    str_add(out, known || v->more_accelerators_help >= 0 ? "." : "");
}

static char *sentence(const struct report *r, const struct sums *s)
{
    char share[32], span[32];
    struct str out = {0};
    if (!r->accelerator_count || s->total <= 0) {
        str_add(&out, devices_unseen(r) && foreign(r) ? "These files hold no device activity."
                      : devices_unseen(r) ? "What the job did on its accelerators was not seen."
                      : foreign(r)        ? "The trace shows no work of an accelerator."
                      : r->cut_short      ? "The recording ends before an accelerator was seen."
                                          : "The job never held an accelerator.");
        if (first_fix(r) && first_fix(r)->title)
            str_addf(&out, " %s.", first_fix(r)->title);
    } else {
        add_gpus(&out, r);
        str_addf(&out, " computed %s%s of %s", evidence_words(s->computed),
                 unit_format_share(share, sizeof(share), s->compute / s->total),
                 unit_format_ns(span, sizeof(span), r->span_ns));
        add_top(&out, r, s);
        str_add(&out, ".");
        if (r->too_short)
            str_addf(&out, " Too short to judge (%s): let it run for some seconds.", r->too_short);
        add_machines(&out, r);
        add_fix(&out, r);
    }
    if (out.failed)
        str_clear(&out);
    return out.data;
}

/* More accelerators help what is limited by accelerators. Where something else limits the run they
 * would wait for it too, however many more workers came with them. */
static int more_help(const char *limited_by, int replayed)
{
    if (!strcmp(limited_by, "compute"))
        return replayed;
    return strcmp(limited_by, "unknown") ? 0 : -1;
}

bool verdict_fill(struct report *r, const struct price_verdict *price)
{
    struct sums s;
    sum_up(r, &s);
    struct report_verdict *v = &r->verdict;
    if (s.total > 0)
        v->utilisation = s.compute / s.total;
    v->utilisation_after_fixes = price->utilisation_after_fixes;
    v->faster_accelerator_max_speedup = price->faster_accelerator_max_speedup;
    const char *limited_by = limit(r, &s, price->first_cause);
    v->more_accelerators_help = more_help(limited_by, price->more_accelerators_help);
    v->limited_by = mem_strdup(limited_by);
    v->sentence = v->limited_by ? sentence(r, &s) : NULL;
    return v->sentence != NULL;
}
