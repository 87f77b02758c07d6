/* SPDX-License-Identifier: MIT */
#include "report/check.h"

#include "report/page.h"
#include "report/phrase.h"

#include <math.h>
#include <string.h>

enum { LINES_MAX = 12, FACT_LABEL = 44, SEVERITY_COLUMNS = 9 };

static void put_finding(struct page *p, const struct report_finding *f, bool verbose)
{
    struct str *s;
    page_left(p, page_severity(f->severity), severity_name(f->severity), SEVERITY_COLUMNS);
    page_title(p, f, SEVERITY_COLUMNS);
    if (f->evidence.count) {
        s = page_scratch(p);
        phrase_evidence(&f->evidence, s);
        page_wrap(p, TONE_DIM, "    ", str_text(s), LINES_MAX);
    }
    if (verbose && f->why && *f->why)
        page_wrap(p, TONE_PLAIN, "    ", f->why, LINES_MAX);
    page_wrap(p, TONE_PLAIN, p->unicode ? "    \xe2\x86\x92 " : "    > ", f->fix, LINES_MAX);
    s = page_scratch(p);
    str_addf(s, "source: %s", f->source);
    if (f->source && *f->source)
        page_wrap(p, TONE_DIM, "      ", str_text(s), 2);
}

static void put_unjudged(struct page *p, const struct check_report *c)
{
    if (!c->unjudged_count)
        return;
    page_heading(p, "Rules that could not be judged, and what is not known");
    for (size_t i = 0; i < c->unjudged_count; i++) {
        page_spaces(p, 2);
        page_left(p, TONE_PLAIN, c->unjudged[i].id, 36);
        page_put(p, TONE_DIM, c->unjudged[i].missing, p->width - 40);
        page_end(p);
    }
}

static void put_facts(struct page *p, const struct check_report *c)
{
    if (!c->fact_count)
        return;
    int label = p->width < 2 * FACT_LABEL ? p->width / 2 : FACT_LABEL;
    page_heading(p, "Facts");
    for (size_t i = 0; i < c->fact_count; i++) {
        const struct check_fact *f = &c->facts[i];
        struct evidence_item it = {.unit = f->unit, .value = f->number, .text = f->text};
        struct str *s = page_scratch(p);
        str_addf(s, "%s %s%s%s", f->kind, f->subject, *f->subject ? " " : "", f->name);
        page_spaces(p, 2);
        page_left(p, TONE_PLAIN, str_text(s), label);
        s = page_scratch(p);
        str_add(s, " ");
        phrase_value(&it, s);
        page_put(p, TONE_PLAIN, str_text(s), p->width - label - 2);
        page_end(p);
    }
}

/* "this machine: nothing wrong was found, 41 of 62 rules judged; see --verbose": in 80 columns. */
static void put_sum(struct page *p, const struct check_report *c, bool verbose)
{
    struct str *s = page_scratch(p);
    size_t n = c->found.finding_count;
    str_addf(s, "%s: ", c->what ? c->what : "this machine");
    if (n)
        str_addf(s, "%zu finding%s, ", n, n == 1 ? "" : "s");
    else if (c->judged)
        str_add(s, "nothing wrong was found, ");
    else
        str_add(s, "nothing is known, ");
    str_addf(s, "%zu of %zu rules judged", c->judged, c->rules);
    if (c->unjudged_count && !verbose)
        str_add(s, "; see --verbose");
    page_wrap(p, n || !c->judged ? TONE_BOLD : TONE_GOOD, "", str_text(s), LINES_MAX);
}

void report_check_text(const struct check_report *c, const struct report_check_options *options,
                       struct str *out)
{
    struct page p = {.out = out,
                     .colour = options->text.colour,
                     .unicode = options->text.unicode,
                     .width = page_width(options->text.width)};
    for (size_t i = 0; i < c->found.finding_count; i++) {
        put_finding(&p, &c->found.findings[i], options->verbose);
        page_end(&p);
    }
    for (size_t i = 0; i < c->found.note_count; i++)
        page_wrap(&p, TONE_WARN, "! ", c->found.notes[i], 4);
    put_sum(&p, c, options->verbose);
    if (options->verbose) {
        put_unjudged(&p, c);
        put_facts(&p, c);
    }
    out->failed |= p.text.failed;
    str_clear(&p.text);
}
