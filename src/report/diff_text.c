/* SPDX-License-Identifier: MIT */
#include "report/diff.h"

#include "base/unit.h"
#include "report/page.h"
#include "report/phrase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CAUSES_MAX = 8, FINDINGS_MAX = 8 };

struct columns {
    int name, figure, change; /* change 0: there is no room for it */
};

static struct columns columns_of(const struct page *p)
{
    static const struct columns roomy = {24, 14, 20};
    struct columns narrow = {18, 10, p->width - 38};
    if (narrow.change < 16)
        narrow = (struct columns){18, 11, 0};
    return p->width >= 72 ? roomy : narrow;
}

#define WORTH_A_ROW 0.005 /* a share below this in both runs is left out */
#define NOTABLE 0.01      /* a change from here on is coloured */

struct side {
    struct page page;
    const struct diff *d;
};

static void put_run(struct page *p, const char *which, const char *title)
{
    page_left(p, TONE_DIM, which, 8);
    page_put(p, TONE_BOLD, title ? title : "unnamed job", p->width - 8);
    page_end(p);
}

static void put_columns(struct page *p, const char *what)
{
    struct columns c = columns_of(p);
    page_end(p);
    page_left(p, TONE_BOLD, what, c.name);
    page_right(p, TONE_DIM, "before", c.figure);
    page_right(p, TONE_DIM, "after", c.figure);
    page_right(p, TONE_DIM, "change", c.change);
    page_end(p);
}

static void put_row(struct page *p, const char *name, const char *before, const char *after,
                    enum tone tone, const char *change)
{
    struct columns c = columns_of(p);
    page_spaces(p, 2);
    page_left(p, TONE_PLAIN, name, c.name - 2);
    page_right(p, TONE_PLAIN, before, c.figure);
    page_right(p, TONE_PLAIN, after, c.figure);
    page_right(p, tone, change, c.change);
    page_end(p);
}

/* A recording without an accelerator has no span. */
static const char *took(char *out, size_t size, double seconds)
{
    return seconds > 0 ? unit_format_ns(out, size, unit_ns(seconds)) : "-";
}

static void put_span(struct side *s)
{
    char before[32], after[32];
    double speedup = s->d->speedup;
    struct str *change = page_scratch(&s->page);
    if (isfinite(speedup))
        str_addf(change, speedup < 100 ? "%.2f\xc3\x97 as fast" : "%.0f\xc3\x97 as fast", speedup);
    enum tone tone = !isfinite(speedup) || fabs(speedup - 1) < NOTABLE ? TONE_PLAIN
                     : speedup > 1                                     ? TONE_GOOD
                                                                       : TONE_BAD;
    put_row(&s->page, "took", took(before, sizeof(before), s->d->span_seconds.before),
            took(after, sizeof(after), s->d->span_seconds.after), tone, str_text(change));
}

/* better: +1 if more is better, -1 if less is, 0 neither. */
static void put_share(struct side *s, const char *name, struct diff_figure f, int better)
{
    char before[32], after[32];
    double points = (f.after - f.before) * 100.0;
    struct str *change = page_scratch(&s->page);
    if (isfinite(points))
        str_addf(change, fabs(points) < 9.95 ? "%+.1f points" : "%+.0f points", points);
    enum tone tone = TONE_PLAIN;
    if (better && isfinite(points) && fabs(points) >= NOTABLE * 100.0)
        tone = points * better > 0 ? TONE_GOOD : TONE_BAD;
    put_row(&s->page, name, phrase_share(before, sizeof(before), f.before),
            phrase_share(after, sizeof(after), f.after), tone, str_text(change));
}

static bool worth_a_row(struct diff_figure f)
{
    return f.before >= WORTH_A_ROW || f.after >= WORTH_A_ROW;
}

static void put_states(struct side *s)
{
    static const signed char better[STATE_COUNT] = {
        [STATE_COMPUTE] = 1, [STATE_COMM] = -1, [STATE_COPY] = -1, [STATE_WAIT] = -1};
    put_columns(&s->page, "Time");
    put_span(s);
    for (int i = 0; i < STATE_COUNT; i++)
        if (i == STATE_COMPUTE || worth_a_row(s->d->state[i]))
            put_share(s, state_name(i), s->d->state[i], better[i]);
}

struct moved {
    enum cause cause;
    struct diff_figure share;
};

static double distance(const struct moved *m)
{
    double by = fabs(m->share.after - m->share.before);
    return isfinite(by) ? by : 0;
}

static int by_change(const void *a, const void *b)
{
    const struct moved *x = a, *y = b;
    double p = distance(x), q = distance(y);
    if (p != q)
        return p > q ? -1 : 1;
    return x->cause < y->cause ? -1 : 1;
}

static void put_causes(struct side *s)
{
    struct moved moved[CAUSE_COUNT];
    int count = 0;
    for (int c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++) {
        struct diff_figure f = s->d->cause[c];
        if (c == CAUSE_UNKNOWN) {
            f.before += s->d->cause[CAUSE_NONE].before;
            f.after += s->d->cause[CAUSE_NONE].after;
        }
        if (worth_a_row(f))
            moved[count++] = (struct moved){(enum cause)c, f};
    }
    if (!count)
        return;
    qsort(moved, (size_t)count, sizeof(*moved), by_change);
    put_columns(&s->page, "Waited for");
    for (int i = 0; i < count && i < CAUSES_MAX; i++)
        put_share(s, cause_title(moved[i].cause), moved[i].share,
                  moved[i].cause == CAUSE_UNKNOWN ? 0 : -1);
    if (count > CAUSES_MAX) {
        str_addf(s->page.out, "  %d more: diff --json lists them", count - CAUSES_MAX);
        page_end(&s->page);
    }
}

static void put_amount(struct side *s, const char *name, struct diff_figure f, int better)
{
    char before[48], after[48], change[48];
    double by = f.after - f.before;
    if (!isfinite(by))
        return;
    struct str *text = page_scratch(&s->page);
    unit_format_money(change, sizeof(change), fabs(by), s->d->currency);
    if (by != 0)
        str_addf(text, "%s%s", change[0] == '<' ? "" : by < 0 ? "-" : "+", change);
    enum tone tone = !better || fabs(by) < NOTABLE * fabs(f.before) ? TONE_PLAIN
                     : by * better > 0                              ? TONE_GOOD
                                                                    : TONE_BAD;
    put_row(&s->page, name, unit_format_money(before, sizeof(before), f.before, s->d->currency),
            unit_format_money(after, sizeof(after), f.after, s->d->currency), tone, str_text(text));
}

static void put_money(struct side *s)
{
    if (!s->d->currency)
        return;
    put_columns(&s->page, "Cost");
    put_amount(s, "an hour", s->d->rate_per_hour, 0);
    put_amount(s, "spent", s->d->spent, -1);
    put_amount(s, "spent on waiting", s->d->waited, -1);
}

static void put_finding(struct side *s, const struct diff_finding *f)
{
    static const enum tone tones[DIFF_CHANGE_COUNT] = {
        [DIFF_GONE] = TONE_GOOD, [DIFF_NEW] = TONE_BAD, [DIFF_KEPT] = TONE_PLAIN};
    struct page *p = &s->page;
    int severity = f->change == DIFF_GONE ? f->severity_before : f->severity_after;
    bool info = severity <= (int)SEVERITY_INFO;
    page_spaces(p, 2);
    page_left(p, info ? TONE_PLAIN : tones[f->change], diff_change_name(f->change), 6);
    page_left(p, TONE_DIM, severity < 0 ? "" : severity_name((enum severity)severity), 10);
    struct str *text = page_scratch(p);
    str_addf(text, "%s [%s]", f->title ? f->title : "", f->id ? f->id : "");
    page_put(p, TONE_PLAIN, str_text(text), p->width - 18);
    page_end(p);
}

static void put_findings(struct side *s)
{
    size_t count = s->d->finding_count;
    if (!count)
        return;
    page_heading(&s->page, "Findings");
    for (size_t i = 0; i < count && i < FINDINGS_MAX; i++)
        put_finding(s, &s->d->findings[i]);
    if (count > FINDINGS_MAX) {
        str_addf(s->page.out, "  %zu more: diff --json lists them", count - FINDINGS_MAX);
        page_end(&s->page);
    }
}

void report_diff_text(const struct diff *d, const struct report_text_options *options,
                      struct str *out)
{
    struct side s = {.d = d,
                     .page = {.out = out,
                              .width = page_width(options->width),
                              .colour = options->colour,
                              .unicode = options->unicode}};
    put_run(&s.page, "before", d->title_before);
    put_run(&s.page, "after", d->title_after);
    put_states(&s);
    put_causes(&s);
    put_money(&s);
    put_findings(&s);
    page_end(&s.page);
    for (size_t i = 0; i < d->note_count; i++)
        page_wrap(&s.page, TONE_WARN, "! ", d->notes[i], 2);
    if (d->note_count)
        page_end(&s.page);
    page_wrap(&s.page, TONE_BOLD, "Verdict: ", d->sentence ? d->sentence : "unknown", 5);
    page_scratch(&s.page);
    str_clear(&s.page.text);
}
