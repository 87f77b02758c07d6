/* SPDX-License-Identifier: MIT */
#include "report/phrase.h"

#include "base/unit.h"

#include <math.h>
#include <string.h>

#define DOT " \xc2\xb7 "
#define TIMES "\xc3\x97"
#define FROM " \xe2\x86\x90 "
#define BUF 48
#define SLOWDOWN_LEAST 0.001
#define SHARE_TOLD_NS (10 * NS_PER_S) /* shorter runs: the own cost's share of a core is not told */

static void separate(struct str *out, size_t start, const char *separator)
{
    if (out->len > start)
        str_add(out, separator);
}

const char *phrase_state_mark(const struct report *r, enum state s)
{
    bool plain = s == STATE_UNUSED || s == STATE_UNSEEN;
    return plain ? "" : evidence_mark(report_state_evidence(r, s));
}

char *phrase_share(char *buf, size_t size, double share)
{
    if (isfinite(share))
        return unit_format_share(buf, size, share);
    str_copy(buf, size, "unknown");
    return buf;
}

static bool same_kind(const struct report_accelerator *a, const struct report_accelerator *b)
{
    return a->simulated == b->simulated && !strcmp(a->name ? a->name : "", b->name ? b->name : "");
}

void phrase_accelerators(const struct report *r, struct str *out)
{
    size_t start = out->len;
    for (size_t i = 0; i < r->accelerator_count; i++) {
        const struct report_accelerator *a = &r->accelerators[i];
        size_t count = 0, earlier = 0;
        for (size_t k = 0; k < r->accelerator_count; k++) {
            bool same = same_kind(&r->accelerators[k], a);
            count += same;
            earlier += same && k < i;
        }
        if (earlier)
            continue;
        separate(out, start, ", ");
        str_addf(out, "%zu " TIMES " %s%s", count,
                 a->name && *a->name ? a->name : "unnamed accelerator",
                 a->simulated ? " (simulated)" : "");
    }
    if (!r->accelerator_count)
        str_add(out, "no accelerator");
}

void phrase_money(const struct report_money *m, struct str *out)
{
    char buf[BUF];
    if (isfinite(m->spent))
        str_addf(out, "%s at ", unit_format_money(buf, sizeof(buf), m->spent, m->currency));
    str_addf(out, "%s/h", unit_format_money(buf, sizeof(buf), m->rate_per_hour, m->currency));
    if (isfinite(m->waited))
        str_addf(out, ", waiting %s", unit_format_money(buf, sizeof(buf), m->waited, m->currency));
}

void phrase_head(const struct report *r, struct str *out)
{
    char buf[BUF];
    bool held =
        r->accelerator_count > 0; /* else there is no span, and it cost nothing to speak of */
    if (held || r->span_ns > 0)
        str_addf(out, "%s" DOT, unit_format_ns(buf, sizeof(buf), r->span_ns));
    phrase_accelerators(r, out);
    if (r->mode)
        str_addf(out, DOT "%s", r->mode);
    if (r->exit_code >= 0)
        str_addf(out, DOT "exit %d", r->exit_code);
    if (held && r->money.currency && isfinite(r->money.rate_per_hour)) {
        str_add(out, DOT);
        phrase_money(&r->money, out);
    }
}

/* An aside is priced as if nothing else were done: its gain does not add to those before it. */
static bool is_alone(const struct report *r, const struct report_finding *f)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (r->findings[i].severity > SEVERITY_INFO)
            return f->severity == SEVERITY_INFO;
    return false;
}

void phrase_gain(const struct report *r, const struct report_finding *f, struct str *out)
{
    char buf[BUF];
    bool share = isfinite(f->gain_share) && f->gain_share > 0;
    if (!isfinite(f->gain_seconds) || f->gain_seconds <= 0)
        return;
    str_addf(out, "saves %s%s", f->gain_bounded ? "at most " : "",
             unit_format_ns(buf, sizeof(buf), unit_ns(f->gain_seconds)));
    if (share)
        str_addf(out, " (%s", unit_format_share(buf, sizeof(buf), f->gain_share));
    if (share && f->gain_share < 0.99)
        str_addf(out, ", %.2f" TIMES, 1.0 / (1.0 - f->gain_share));
    if (share)
        str_add(out, ")");
    if (share && r->money.currency && isfinite(r->money.rate_per_hour))
        str_addf(out, ", %s/h",
                 unit_format_money(buf, sizeof(buf), f->gain_share * r->money.rate_per_hour,
                                   r->money.currency));
    if (is_alone(r, f))
        str_add(out, ", taken alone");
}

/* A number without a unit of its own: written out, three digits where it is not whole. */
static void add_plain(double v, const char *unit, struct str *out)
{
    bool whole = fabs(v) < 1e15 && v == floor(v);
    str_addf(out, whole || fabs(v) >= 100 ? "%.0f" : "%.3g", v);
    if (*unit)
        str_addf(out, " %s", unit);
}

/* Nanoseconds of a unit of time; 0: it is none. */
static double unit_time(const char *unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},
                 {"us", (double)NS_PER_US},
                 {"ms", (double)NS_PER_MS},
                 {"s", (double)NS_PER_S},
                 {"seconds", (double)NS_PER_S}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(unit, units[i].name))
            return units[i].ns;
    return 0;
}

static void add_number(double v, const char *unit, struct str *out)
{
    char buf[BUF];
    const char *u = unit ? unit : "";
    double ns = unit_time(u);
    if (!isfinite(v))
        str_add(out, "unknown");
    else if (unit_format_si(buf, sizeof(buf), v, u))
        str_add(out, buf);
    else if (ns > 0 && fabs(v * ns) < 9e18)
        str_add(out, unit_format_ns(buf, sizeof(buf), (int64_t)round(v * ns)));
    else if ((!strcmp(u, "bytes") || !strcmp(u, "bytes/s")) && v >= 0 && v < 1e18)
        str_addf(out, "%s%s", unit_format_bytes(buf, sizeof(buf), (uint64_t)v), u + 5);
    else if (!strcmp(u, "share") || (!strcmp(u, "1") && v >= 0 && v <= 1))
        str_add(out, unit_format_share(buf, sizeof(buf), v));
    else
        add_plain(strcmp(u, "count") ? v : unit_round_count(v),
                  strcmp(u, "count") && strcmp(u, "1") ? u : "", out);
}

void phrase_value(const struct evidence_item *e, struct str *out)
{
    if (!e->text) {
        str_add(out, evidence_mark(e->how));
        add_number(e->value, e->unit, out);
        return;
    }
    str_add(out, e->text);
    if (e->unit && *e->unit)
        str_addf(out, " %s", e->unit);
}

void phrase_evidence(const struct evidence_list *l, struct str *out)
{
    for (size_t i = 0; i < l->count; i++) {
        str_addf(out, "%s%s ", i ? "; " : "", l->items[i].name ? l->items[i].name : "");
        phrase_value(&l->items[i], out);
    }
}

void phrase_chain(const struct chain_example *c, struct str *out)
{
    for (int i = 0; i < c->count && i < CHAIN_LINKS_MAX; i++)
        str_addf(out, "%s%s %s", i ? FROM : "", c->links[i].who, c->links[i].did);
}

void phrase_chain_head(const struct report *r, size_t index, struct str *out)
{
    const struct chain_example *c = &r->chains[index];
    char buf[BUF], label[SUM_LABEL];
    str_add(out, unit_format_ns(buf, sizeof(buf), c->ns));
    if (c->accelerator < r->accelerator_count)
        str_addf(out, " on %s", sum_device_label(r, c->accelerator, label));
    str_addf(out, " for %s", cause_title(c->cause == CAUSE_NONE ? CAUSE_UNKNOWN : c->cause));
    if (r->chain_resources && r->chain_resources[index])
        str_addf(out, ", %s", r->chain_resources[index]);
}

void phrase_cost(const struct report *r, struct str *out)
{
    const struct report_tool *t = &r->tool;
    char buf[BUF];
    if (isfinite(t->cpu_seconds)) {
        str_addf(out, "%s of CPU", unit_format_ns(buf, sizeof(buf), unit_ns(t->cpu_seconds)));
        if (r->span_ns >= SHARE_TOLD_NS) /* else getting ready would weigh most in a share */
            str_addf(
                out, " (%s of a core)",
                unit_format_share(buf, sizeof(buf), t->cpu_seconds / unit_seconds(r->span_ns)));
    } else {
        str_add(out, "CPU time unknown");
    }
    if (isfinite(t->peak_rss_bytes) && t->peak_rss_bytes >= 0)
        str_addf(out, ", %s", unit_format_bytes(buf, sizeof(buf), (uint64_t)t->peak_rss_bytes));
    if (t->events_lost)
        str_addf(out, ", %llu event%s lost", (unsigned long long)t->events_lost,
                 t->events_lost == 1 ? "" : "s");
    else
        str_add(out, ", no events lost");
    if (t->slowdown_bound >= 0 && t->slowdown_bound < SLOWDOWN_LEAST) /* "at most 0.0 %" is false */
        str_add(out, ", slows the job by less than 0.1 %");
    else if (isfinite(t->slowdown_bound))
        str_addf(out, ", slows the job by at most %s",
                 unit_format_share(buf, sizeof(buf), t->slowdown_bound));
}

static int64_t unknown_ns(const struct report *r, size_t accelerator)
{
    int64_t ns = 0;
    for (size_t i = 0; i < r->row_count; i++)
        if (r->rows[i].accelerator == accelerator && r->rows[i].cause == CAUSE_UNKNOWN)
            ns += r->rows[i].ns;
    return ns;
}

/* What is told of the accelerator with most of it; NULL: nothing. */
static const char *told_reason(const struct report *r)
{
    const char *why = NULL;
    int64_t most = 0;
    for (size_t i = 0; i < r->accelerator_count; i++) {
        int64_t ns = unknown_ns(r, i);
        if (ns > most) {
            most = ns;
            why = r->accelerators[i].unknown_why;
        }
    }
    return why;
}

/* The best reason at hand, from the most to the least particular; true if it is the first note. */
static bool add_reason(const struct report *r, bool unknown, struct str *out)
{
    const char *told = unknown ? told_reason(r) : NULL;
    if (r->cut_short)
        str_add(out, "the recording is cut short");
    else if (r->tool.events_lost)
        str_addf(out, "%llu event%s lost", (unsigned long long)r->tool.events_lost,
                 r->tool.events_lost == 1 ? " was" : "s were");
    else if (told)
        str_add(out, told);
    else if (r->note_explains)
        str_add(out, r->notes[0]);
    else if (r->mode && strcmp(r->mode, "wait chain"))
        str_addf(out, "%s sees less than the wait chain", r->mode);
    else
        str_add(out, cause_meaning(CAUSE_UNKNOWN));
    return !r->cut_short && !r->tool.events_lost && !told && r->note_explains;
}

bool phrase_unknown(const struct report *r, const struct sum *s, struct str *out, bool *ret_note)
{
    char buf[BUF], time[BUF];
    bool unknown = s->unknown_share > SUM_UNKNOWN_MAX, unseen = s->unseen_share > SUM_UNKNOWN_MAX;
    if (unknown)
        str_addf(out, "%s (%s) has no known cause",
                 unit_format_share(buf, sizeof(buf), s->unknown_share),
                 unit_format_ns(time, sizeof(time), s->cause_ns[CAUSE_UNKNOWN]));
    if (unseen)
        str_addf(out, "%s%s (%s) was not seen", unknown ? " and " : "",
                 unit_format_share(buf, sizeof(buf), s->unseen_share),
                 unit_format_ns(time, sizeof(time), s->state_ns[STATE_UNSEEN]));
    if (unknown || unseen) {
        str_add(out, ": ");
        *ret_note = add_reason(r, unknown, out);
    }
    return unknown || unseen;
}
