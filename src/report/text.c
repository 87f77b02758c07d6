/* SPDX-License-Identifier: MIT */
#include "report/text.h"

#include "base/unit.h"
#include "report/page.h"
#include "report/phrase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_DEFAULT = 40, RESOURCE_LEAST = 8, NARROW = 60 };

/* How much each part may take; tried from the roomiest on until the page fits. */
struct room {
    int groups, waits, chain, findings, fix, because, notes, note, verdict, links;
};

/* The exact fix goes last. */
static const struct room rooms[] = {
    {4, 8, 4, 5, 4, 2, 5, 3, 6, 16}, {4, 6, 4, 4, 4, 1, 4, 2, 6, 12},
    {4, 6, 3, 3, 4, 1, 3, 2, 6, 10}, {4, 5, 3, 3, 4, 0, 3, 2, 6, 8},
    {4, 4, 2, 3, 3, 0, 3, 1, 6, 6},  {3, 4, 2, 2, 3, 0, 2, 1, 5, 5},
    {2, 3, 2, 2, 2, 0, 2, 1, 5, 4},  {2, 3, 1, 2, 1, 0, 1, 1, 4, 3},
};
#define ROOMS (sizeof(rooms) / sizeof(rooms[0]))

struct text {
    struct page page;
    const struct report *r;
    const struct sum *sum;
    const struct sum_group *groups;
    size_t group_count;
    const struct room *room;
    bool note_said; /* the first note was given as the reason of unknown time */
};

/* Below NARROW columns the same text takes twice as many lines, and the page scrolls. */
static int lines(const struct text *t, int count)
{
    return t->page.width < NARROW ? 2 * count : count;
}

static void put_head(struct text *t)
{
    struct page *p = &t->page;
    page_put(p, TONE_BOLD, t->r->title ? t->r->title : "unnamed job", p->width);
    page_end(p);
    struct str *s = page_scratch(p);
    phrase_head(t->r, s);
    page_wrap(p, TONE_DIM, "", str_text(s), lines(t, 2));
    if (!t->r->cut_short)
        return;
    s = page_scratch(p);
    str_addf(s, "cut short: %s", t->r->cut_short);
    page_wrap(p, TONE_WARN, "! ", str_text(s), lines(t, 2));
}

static void put_share(struct text *t, const struct sum_group *g, enum state state, int columns)
{
    char buf[32];
    struct str *s = page_scratch(&t->page);
    if (g->ns > 0)
        str_addf(s, "%s%s", phrase_state_mark(t->r, state),
                 unit_format_share(buf, sizeof(buf), (double)g->state_ns[state] / (double)g->ns));
    else
        str_add(s, "unknown");
    str_addf(s, " %s", state_name(state));
    page_right(&t->page, TONE_PLAIN, str_text(s), columns);
}

static int label_columns(const struct text *t)
{
    int widest = 0;
    for (size_t i = 0; i < t->group_count; i++) {
        int w = plain_width(t->groups[i].label);
        widest = w > widest ? w : widest;
    }
    int most =
        t->page.width < 60 ? t->page.width - 32 : 26; /* the shares take the rest of a line */
    return widest > most ? most : widest;
}

/* "█ compute 55 %  ░ wait 41 %": the bars' signs, with the states of all accelerators. */
static void put_legend(struct text *t, int indent)
{
    struct page *p = &t->page;
    char buf[32];
    int used = indent;
    page_spaces(p, indent);
    for (int i = 0; i < STATE_COUNT; i++) {
        if (!t->sum->state_ns[i])
            continue;
        double share = (double)t->sum->state_ns[i] / (double)t->sum->ns;
        struct str *s = page_scratch(p);
        str_addf(s, " %s %s%s", state_name(i), phrase_state_mark(t->r, (enum state)i),
                 unit_format_share(buf, sizeof(buf), share));
        if (used + 1 + (int)s->len > p->width) {
            page_end(p);
            page_spaces(p, indent);
            used = indent;
        }
        page_state_mark(p, i);
        used += 3 + page_put(p, TONE_PLAIN, str_text(s), p->width);
        page_spaces(p, 2);
    }
    page_end(p);
}

static void put_bars(struct text *t)
{
    struct page *p = &t->page;
    int label = label_columns(t) + 1;
    int compute = 14 + plain_width(phrase_state_mark(t->r, STATE_COMPUTE));
    int wait = 12 + plain_width(phrase_state_mark(t->r, STATE_WAIT));
    size_t shown = t->group_count;
    if (shown > (size_t)t->room->groups)
        shown = (size_t)t->room->groups;
    if (!t->sum->ns)
        return;
    page_end(p);
    for (size_t i = 0; i < shown; i++) {
        const struct sum_group *g = &t->groups[i];
        page_left(p, TONE_PLAIN, g->label, label);
        page_state_bar(p, g->state_ns, p->width - label - compute - wait);
        put_share(t, g, STATE_COMPUTE, compute);
        put_share(t, g, STATE_WAIT, wait);
        page_end(p);
    }
    if (shown < t->group_count) {
        struct str *s = page_scratch(p);
        str_addf(s, "%zu more lines of accelerators with less wait", t->group_count - shown);
        page_spaces(p, label);
        page_put(p, TONE_PLAIN, str_text(s), p->width - label);
        page_end(p);
    }
    put_legend(t, label);
}

struct columns {
    int cause, resource, bar, time, share, money;
};

static struct columns wait_columns(const struct text *t)
{
    struct columns c = {.cause = 18, .time = 12, .share = 8};
    c.money = t->r->money.currency ? 12 : 0;
    c.bar = t->page.width >= 96 ? 12 : 0;
    c.resource = t->page.width - 2 - c.cause - c.time - c.share - c.money - c.bar;
    if (c.resource < RESOURCE_LEAST) { /* what was waited for says more than its cost */
        c.resource += c.money;
        c.money = 0;
    }
    return c;
}

static void put_time(struct page *p, int64_t ns, enum evidence evidence, int columns)
{
    char buf[32];
    struct str *s = page_scratch(p);
    str_addf(s, "%s%s", evidence_mark(evidence), unit_format_ns(buf, sizeof(buf), ns));
    page_right(p, TONE_PLAIN, str_text(s), columns);
}

static void put_wait(struct text *t, const struct columns *c, const char *cause,
                     const struct sum_wait *w)
{
    struct page *p = &t->page;
    char buf[48];
    page_spaces(p, 2);
    page_left(p, TONE_PLAIN, cause, c->cause);
    if (c->bar) {
        page_share_bar(p, (double)w->ns / (double)t->sum->waited_ns, c->bar - 2);
        page_spaces(p, 2);
    }
    int width = plain_fit(p->out, w->resource ? w->resource : "-", c->resource - 1, p->unicode,
                          PLAIN_CUT_MIDDLE);
    page_spaces(p, c->resource - width);
    put_time(p, w->ns, w->evidence, c->time);
    page_right(p, TONE_PLAIN, phrase_share(buf, sizeof(buf), w->share), c->share);
    if (c->money)
        page_right(p, TONE_PLAIN,
                   isfinite(w->money)
                       ? unit_format_money(buf, sizeof(buf), w->money, t->r->money.currency)
                       : "unknown",
                   c->money);
    page_end(p);
}

/* What the table leaves out, in one row. */
static void put_other_waits(struct text *t, const struct columns *c, size_t from)
{
    struct sum_wait other = {0};
    char label[32];
    for (size_t i = from; i < t->sum->wait_count; i++) {
        const struct sum_wait *w = &t->sum->waits[i];
        other.ns += w->ns;
        other.share += w->share;
        other.money += w->money;
        other.evidence = w->evidence > other.evidence ? w->evidence : other.evidence;
    }
    struct str s = {0};
    str_addf(&s, "%zu more", t->sum->wait_count - from);
    str_copy(label, sizeof(label), str_text(&s));
    t->page.out->failed |= s.failed;
    str_clear(&s);
    put_wait(t, c, label, &other);
}

static void put_waits(struct text *t)
{
    struct page *p = &t->page;
    struct columns c = wait_columns(t);
    size_t count = t->sum->wait_count, shown = 0;
    size_t most = (size_t)(t->sum->quiet ? 3 : t->room->waits);
    if (!count)
        return;
    page_end(p);
    struct str *s = page_scratch(p);
    str_add(s, "Waited for");
    if (t->r->accelerator_count > 1)
        str_addf(s, ", %zu accelerators together", t->r->accelerator_count);
    page_left(p, TONE_BOLD, str_text(s), 2 + c.cause + c.bar + c.resource);
    page_right(p, TONE_DIM, "time", c.time);
    page_right(p, TONE_DIM, "share", c.share);
    page_right(p, TONE_DIM, c.money ? "cost" : "", c.money);
    page_end(p);
    /* a single row left over takes no more room than "1 more" */
    while (shown < count && (shown < most || count == most + 1)) {
        const struct sum_wait *w = &t->sum->waits[shown];
        if (w->share < 0.005 && shown && count - shown > 1)
            break;
        put_wait(t, &c, cause_title(w->cause), w);
        shown++;
    }
    if (shown < count)
        put_other_waits(t, &c, shown);
}

static void put_unknown(struct text *t)
{
    struct page *p = &t->page;
    struct str *s = page_scratch(p);
    if (phrase_unknown(t->r, t->sum, s, &t->note_said))
        page_wrap(p, TONE_WARN, "! ", str_text(s), lines(t, 3));
}

static void put_chain(struct text *t)
{
    struct page *p = &t->page;
    if (!t->r->chain_count || t->sum->quiet)
        return;
    struct str *s = page_scratch(p);
    str_add(s, "Longest wait: ");
    phrase_chain_head(t->r, 0, s);
    page_heading(p, str_text(s));
    s = page_scratch(p);
    phrase_chain(&t->r->chains[0], s);
    page_wrap(p, TONE_PLAIN, "  ", str_text(s), lines(t, t->room->chain));
}

static void put_more(struct page *p, const char *lead, size_t count, const char *what)
{
    struct str *s = page_scratch(p);
    str_addf(s, "%zu more%s: report --json or --html lists them", count, what);
    page_wrap(p, TONE_PLAIN, lead, str_text(s), 2);
}

static void put_communication(struct text *t)
{
    struct page *p = &t->page;
    const struct evidence_list *l = &t->r->communication;
    size_t shown = l->count < (size_t)t->room->links ? l->count : (size_t)t->room->links;
    if (!l->count)
        return;
    page_heading(p, "Communication");
    for (size_t i = 0; i < shown; i++) {
        struct str *s = page_scratch(p);
        str_addf(s, "%s: %s", l->items[i].name, l->items[i].text ? l->items[i].text : "");
        page_wrap(p, TONE_PLAIN, "  ", str_text(s), 2);
    }
    if (shown < l->count) {
        put_more(p, "  ", l->count - shown, "");
    }
}

static void put_gain(struct text *t, const struct report_finding *f)
{
    struct page *p = &t->page;
    struct str *s = page_scratch(p);
    phrase_gain(t->r, f, s);
    struct str safe = {0};
    plain_add(&safe, str_text(s), p->unicode);
    p->out->failed |= safe.failed;
    if (safe.len) {
        page_spaces(p, 4);
        page_put(p, TONE_BOLD, str_text(&safe), p->width - 4);
        page_end(p);
    }
    str_clear(&safe);
}

static void put_finding(struct text *t, size_t index)
{
    struct page *p = &t->page;
    const struct report_finding *f = &t->r->findings[index];
    struct str *s = page_scratch(p);
    str_addf(s, "%2zu. ", index + 1);
    int used = page_put(p, TONE_PLAIN, str_text(s), 8);
    used += page_put(p, page_severity(f->severity), severity_name(f->severity), 8);
    page_title(p, f, used);
    put_gain(t, f);
    if (f->evidence.count && t->room->because && !t->sum->quiet) {
        s = page_scratch(p);
        phrase_evidence(&f->evidence, s);
        page_wrap(p, TONE_DIM, "    ", str_text(s), lines(t, t->room->because));
    }
    if (f->fix)
        page_wrap(p, TONE_PLAIN, p->unicode ? "    \xe2\x86\x92 " : "    > ", f->fix,
                  lines(t, t->room->fix));
}

static void put_findings(struct text *t)
{
    struct page *p = &t->page;
    size_t count = t->r->finding_count, shown = count;
    if (!count)
        return;
    if (shown > (size_t)t->room->findings)
        shown = (size_t)t->room->findings;
    page_heading(p, "What to do, the most useful first");
    for (size_t i = 0; i < shown; i++)
        put_finding(t, i);
    if (shown < count) {
        put_more(p, "    ", count - shown, "");
    }
}

static void put_notes(struct text *t)
{
    struct page *p = &t->page;
    size_t from = t->note_said ? 1 : 0, end = t->r->note_count;
    if (end > from + (size_t)t->room->notes)
        end = from + (size_t)t->room->notes;
    if (from < end)
        page_end(p);
    for (size_t i = from; i < end; i++)
        page_wrap(p, TONE_WARN, "! ", t->r->notes[i], lines(t, t->room->note));
    if (end < t->r->note_count) {
        put_more(p, "! ", t->r->note_count - end, " notes");
    }
}

static void put_verdict(struct text *t)
{
    struct page *p = &t->page;
    const char *sentence = t->r->verdict.sentence;
    page_end(p);
    page_wrap(p, TONE_BOLD, "Verdict: ", sentence ? sentence : "unknown: too little was seen.",
              lines(t, t->room->verdict));
    struct str *s = page_scratch(p);
    phrase_cost(t->r, s);
    page_wrap(p, TONE_DIM, "gpufeed: ", str_text(s), lines(t, 2));
}

static void put_page(struct text *t)
{
    t->note_said = false;
    put_head(t);
    put_bars(t);
    put_waits(t);
    put_unknown(t);
    put_chain(t);
    put_communication(t);
    put_findings(t);
    put_notes(t);
    put_verdict(t);
    page_scratch(&t->page);
}

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void put_fitting(struct text *t, int lines, struct str *out)
{
    struct str made = {0};
    t->page.out = &made;
    for (size_t i = 0; i < ROOMS; i++) {
        str_reset(&made);
        t->room = &rooms[i];
        put_page(t);
        if (made.failed || count_lines(str_text(&made)) <= lines)
            break;
    }
    str_addn(out, str_text(&made), made.len);
    out->failed |= made.failed;
    str_clear(&made);
    str_clear(&t->page.text);
}

void report_text(const struct report *r, const struct report_text_options *options, struct str *out)
{
    struct sum sum;
    struct sum_group *groups = NULL;
    struct text t = {.r = r, .sum = &sum};
    t.page.colour = options->colour;
    t.page.unicode = options->unicode;
    t.page.width = page_width(options->width);
    if (!sum_of(r, &sum)) {
        out->failed = true;
        return;
    }
    if (sum_groups(r, 4, &groups, &t.group_count)) {
        t.groups = groups;
        put_fitting(&t, lines(&t, options->lines > 0 ? options->lines : LINES_DEFAULT), out);
    } else {
        out->failed = true;
    }
    free(groups);
    sum_clear(&sum);
}
