/* SPDX-License-Identifier: MIT */
#include "report/html.h"

#include "base/unit.h"
#include "report/html_part.h"
#include "report/phrase.h"
#include "report_page_css.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Nothing is loaded and nothing runs, whatever a hostile name slips in. */
#define POLICY "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

#define LOGO                                                                                       \
    "<svg viewBox=\"0 0 22 22\" aria-hidden=\"true\"><rect class=\"s-compute\" x=\"1\" y=\"11\" "  \
    "width=\"4\" height=\"10\" rx=\"1.5\"/><rect class=\"s-wait\" x=\"6.5\" y=\"15\" width=\"4\" " \
    "height=\"6\" rx=\"1.5\"/><rect class=\"s-compute\" x=\"12\" y=\"6\" width=\"4\" "             \
    "height=\"15\" rx=\"1.5\"/><rect class=\"s-compute\" x=\"17.5\" y=\"1\" width=\"4\" "          \
    "height=\"20\" rx=\"1.5\"/></svg>"

#define HATCH                                                                                      \
    "<svg class=\"none\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"7\" "            \
    "height=\"7\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"                \
    "<path d=\"M0 0v7\"/></pattern></defs></svg>\n"

static void add_top(struct str *out, const struct report *r)
{
    str_add(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"" POLICY "\">\n"
                 "<meta name=\"referrer\" content=\"no-referrer\">\n<title>gpufeed: ");
    html_text(out, r->title ? r->title : "report");
    str_add(out, "</title>\n<style>\n");
    str_add(out, page_css);
    str_add(out, "</style>\n</head>\n<body>\n" HATCH "<main>\n");
}

static void add_brand(struct str *out, const struct report *r)
{
    struct str head = {0};
    bool simulated = false;
    for (size_t i = 0; i < r->accelerator_count; i++)
        simulated |= r->accelerators[i].simulated;
    str_add(out, "<div class=\"brand\">" LOGO "<span>gpufeed</span>");
    if (simulated)
        str_add(out, "<span class=\"tag\">simulated accelerator</span>");
    str_add(out, "</div>\n");
    html_element(out, "h1", "job mono", r->title ? r->title : "unnamed job");
    phrase_head(r, &head);
    html_element(out, "p", "sub", str_text(&head));
    str_add(out, "\n");
    out->failed |= head.failed;
    str_clear(&head);
}

static void add_ring(struct str *out, const struct report *r, double compute, double wait)
{
    char part[32], share[48];
    snprintf(share, sizeof(share), "%s%s", phrase_state_mark(r, STATE_COMPUTE),
             unit_format_share(part, sizeof(part), compute));
    str_addf(out,
             "<div class=\"ring\"><svg viewBox=\"0 0 120 120\" role=\"img\" aria-label=\"computed "
             "%s of the time\"><circle class=\"track\" cx=\"60\" cy=\"60\" r=\"53\"/>",
             share);
    str_addf(out,
             "<g transform=\"rotate(-90 60 60)\"><circle class=\"wait\" cx=\"60\" cy=\"60\" "
             "r=\"53\" pathLength=\"100\" stroke-dasharray=\"%.2f 100\" "
             "stroke-dashoffset=\"%.2f\"/>",
             wait * 100.0, -compute * 100.0);
    str_addf(out,
             "<circle class=\"part\" cx=\"60\" cy=\"60\" r=\"53\" pathLength=\"100\" "
             "stroke-dasharray=\"%.2f 100\"/></g></svg>",
             compute * 100.0);
    str_add(out, "<div aria-hidden=\"true\">");
    if (strcmp(part, share))
        html_element(out, "span", NULL, evidence_words(report_state_evidence(r, STATE_COMPUTE)));
    str_addf(out, "<strong>%s</strong><span>computing</span></div></div>", part);
}

static const char *limit_title(const char *limited_by)
{
    int cause = cause_of_name(limited_by);
    return cause >= 0 ? cause_title((enum cause)cause) : limited_by;
}

static void add_hero(struct str *out, const struct report *r, const struct sum *s)
{
    const struct report_verdict *v = &r->verdict;
    bool known = isfinite(v->utilisation);
    str_addf(out, "<section class=\"card hero\"%s><div><p class=\"label\">",
             known ? "" : " style=\"grid-template-columns:1fr\"");
    if (v->limited_by && strcmp(v->limited_by, "unknown")) {
        str_add(out, "Limited by ");
        html_text(out, limit_title(v->limited_by));
    } else {
        str_add(out, "Verdict");
    }
    str_add(out, "</p>");
    html_element(out, "p", "verdict", v->sentence ? v->sentence : "Unknown: too little was seen.");
    str_add(out, "</div>");
    if (known)
        add_ring(out, r, v->utilisation, s->ns > 0 ? (double)s->waited_ns / (double)s->ns : 0);
    str_add(out, "</section>\n");
}

static void add_tile(struct str *out, const char *name, const char *value, const char *remark)
{
    str_add(out, "<div>");
    html_element(out, "dt", NULL, name);
    html_element(out, "dd", NULL, value);
    html_element(out, "dd", NULL, remark);
    str_add(out, "</div>\n");
}

static void add_waited_tile(struct str *out, const struct report *r, const struct sum *s)
{
    char value[48], of[48], remark[120];
    if (r->money.currency && isfinite(r->money.waited) && isfinite(r->money.spent)) {
        unit_format_money(value, sizeof(value), r->money.waited, r->money.currency);
        snprintf(remark, sizeof(remark), "of %s spent",
                 unit_format_money(of, sizeof(of), r->money.spent, r->money.currency));
        add_tile(out, "Paid for waiting", value, remark);
    } else if (s->ns > 0) {
        unit_format_ns(value, sizeof(value), s->waited_ns);
        snprintf(remark, sizeof(remark), "%s of the time",
                 unit_format_share(of, sizeof(of), (double)s->waited_ns / (double)s->ns));
        add_tile(out, "Waited", value, remark);
    }
}

static const char *no_help(const struct report_verdict *v)
{
    bool compute = v->limited_by && !strcmp(v->limited_by, "compute");
    return compute ? "twice as many save less than a tenth" : "they would wait too";
}

static void add_tiles(struct str *out, const struct report *r, const struct sum *s)
{
    const struct report_verdict *v = &r->verdict;
    char value[48] = "unknown", from[48], remark[80] = "";
    str_add(out, "<dl class=\"tiles\">\n");
    add_waited_tile(out, r, s);
    if (isfinite(v->utilisation_after_fixes))
        unit_format_share(value, sizeof(value), v->utilisation_after_fixes);
    if (isfinite(v->utilisation))
        snprintf(remark, sizeof(remark), "computing, from %s",
                 unit_format_share(from, sizeof(from), v->utilisation));
    add_tile(out, "After all fixes", value, remark);
    str_copy(value, sizeof(value), "unknown");
    if (isfinite(v->faster_accelerator_max_speedup))
        snprintf(value, sizeof(value), "\xe2\x89\xa4 %.2f\xc3\x97",
                 v->faster_accelerator_max_speedup);
    add_tile(out, "A faster accelerator", value, "even if infinitely fast");
    add_tile(out, "More accelerators",
             v->more_accelerators_help > 0    ? "would help"
             : v->more_accelerators_help == 0 ? "no help"
                                              : "unknown",
             v->more_accelerators_help > 0    ? "there are cores to feed them"
             : v->more_accelerators_help == 0 ? no_help(v)
                                              : "too little was seen");
    str_add(out, "</dl>\n");
}

static void add_alert(struct str *out, const char *head, const char *text)
{
    str_add(out, "<p class=\"alert\"><b>");
    str_add(out, head);
    str_add(out, "</b>");
    html_element(out, "span", NULL, text);
    str_add(out, "</p>\n");
}

static void add_alerts(struct str *out, const struct report *r, const struct sum *s)
{
    struct str words = {0};
    bool note_said = false;
    if (r->cut_short)
        add_alert(out, "Cut short", r->cut_short);
    if (phrase_unknown(r, s, &words, &note_said))
        add_alert(out, "Unknown", str_text(&words));
    for (size_t i = note_said ? 1 : 0; i < r->note_count; i++)
        add_alert(out, "Note", r->notes[i]);
    out->failed |= words.failed;
    str_clear(&words);
}

static void add_end(struct str *out, const struct report *r)
{
    struct str cost = {0};
    phrase_cost(r, &cost);
    str_add(out, "<footer><p>gpufeed");
    if (r->tool.version) {
        str_add(out, " ");
        html_text(out, r->tool.version);
    }
    str_add(out, " itself: ");
    html_text(out, str_text(&cost));
    str_add(out, ".</p></footer>\n</main>\n</body>\n</html>\n");
    out->failed |= cost.failed;
    str_clear(&cost);
}

void report_html(const struct report *r, struct str *out)
{
    struct sum s;
    if (!sum_of(r, &s)) {
        out->failed = true;
        return;
    }
    add_top(out, r);
    add_brand(out, r);
    add_hero(out, r, &s);
    if (s.ns)
        add_tiles(out, r, &s);
    add_alerts(out, r, &s);
    html_states(out, r, &s);
    html_waits(out, r, &s);
    if (!s.quiet)
        html_chains(out, r);
    html_findings(out, r);
    html_money(out, r, &s);
    html_communication(out, r);
    html_facts(out, r);
    add_end(out, r);
    sum_clear(&s);
}
