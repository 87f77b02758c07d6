/* SPDX-License-Identifier: MIT */
/* Findings and facts. */
#include "report/html_part.h"

#include "report/phrase.h"

static void add_value(struct str *out, const struct evidence_item *e)
{
    struct str words = {0};
    phrase_value(e, &words);
    html_text(out, str_text(&words));
    out->failed |= words.failed;
    str_clear(&words);
}

static void add_chips(struct str *out, const struct evidence_list *l)
{
    if (!l->count)
        return;
    str_add(out, "<ul class=\"chips\">");
    for (size_t i = 0; i < l->count; i++) {
        str_add(out, "<li title=\"");
        html_text(out, l->items[i].source);
        str_add(out, "\">");
        html_text(out, l->items[i].name);
        str_add(out, " <b>");
        add_value(out, &l->items[i]);
        str_add(out, "</b></li>");
    }
    str_add(out, "</ul>\n");
}

static void add_finding(struct str *out, const struct report *r, size_t index)
{
    const struct report_finding *f = &r->findings[index];
    struct str gain = {0};
    phrase_gain(r, f, &gain);
    str_addf(out,
             "<article class=\"finding\"><b aria-hidden=\"true\">%zu</b><div>"
             "<div class=\"ftop\"><span class=\"badge %s\">%s</span>",
             index + 1, severity_name(f->severity), severity_name(f->severity));
    html_element(out, "h3", NULL, f->title ? f->title : f->id);
    if (f->id && f->title)
        html_element(out, "span", "sub mono", f->id);
    if (gain.len)
        html_element(out, "span", "gain", str_text(&gain));
    str_add(out, "</div>");
    if (f->why)
        html_element(out, "p", NULL, f->why);
    if (f->fix) {
        str_add(out, "<pre>");
        html_lines(out, f->fix);
        str_add(out, "</pre>");
    }
    add_chips(out, &f->evidence);
    str_add(out, "</div></article>\n");
    out->failed |= gain.failed;
    str_clear(&gain);
}

void html_findings(struct str *out, const struct report *r)
{
    if (!r->finding_count)
        return;
    html_card(out, "What to do",
              r->finding_count > 1
                  ? "the most useful first; each gain beside those before it, or taken alone"
                  : NULL);
    for (size_t i = 0; i < r->finding_count; i++)
        add_finding(out, r, i);
    html_card_end(out);
}

static void add_table(struct str *out, const char *title, const char *what,
                      const struct evidence_list *l)
{
    if (!l->count)
        return;
    html_card(out, title, what);
    str_add(out, "<table class=\"facts\">\n");
    for (size_t i = 0; i < l->count; i++) {
        const struct evidence_item *e = &l->items[i];
        str_add(out, "<tr>");
        html_element(out, "td", NULL, e->name);
        str_add(out, "<td>");
        add_value(out, e);
        str_add(out, "</td>");
        html_element(out, "td", NULL, e->source);
        str_add(out, "</tr>\n");
    }
    str_add(out, "</table>\n");
    html_card_end(out);
}

void html_communication(struct str *out, const struct report *r)
{
    add_table(out, "Communication", "what the ranks talk over", &r->communication);
}

void html_facts(struct str *out, const struct report *r)
{
    add_table(out, "Facts", "of the machine and the job", &r->evidence);
}
