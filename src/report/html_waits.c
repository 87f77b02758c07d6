/* SPDX-License-Identifier: MIT */
/* What was waited for, in time, words and money. */
#include "report/html_part.h"

#include "base/unit.h"
#include "report/phrase.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAITS_MAX = 12, CHAINS_MAX = 10 };

static void add_wait(struct str *out, const struct report *r, const struct sum *s,
                     const struct sum_wait *w, const char *label, const char *class)
{
    char buf[48];
    double part = (double)w->ns / (double)s->waited_ns * 100.0;
    str_add(out, "<tr><td><div class=\"who\"><span><b>");
    html_text(out, label);
    str_add(out, "</b>");
    if (w->resource)
        html_element(out, "span", "sub mono", w->resource);
    str_addf(out,
             "</span><svg aria-hidden=\"true\"><rect class=\"%s\" width=\"%.2f%%\" "
             "height=\"100%%\" rx=\"3\"/></svg></div></td>",
             class, part < 0.4 ? 0.4 : part);
    str_addf(out, "<td class=\"n\">%s%s</td>", evidence_mark(w->evidence),
             unit_format_ns(buf, sizeof(buf), w->ns));
    str_addf(out, "<td class=\"n\">%s</td>", phrase_share(buf, sizeof(buf), w->share));
    if (r->money.currency) {
        str_add(out, "<td class=\"n\">");
        if (isfinite(w->money))
            html_text(out, unit_format_money(buf, sizeof(buf), w->money, r->money.currency));
        else
            str_add(out, "unknown");
        str_add(out, "</td>");
    }
    str_add(out, "</tr>\n");
}

void html_waits(struct str *out, const struct report *r, const struct sum *s)
{
    size_t shown = s->wait_count > WAITS_MAX + 1 ? WAITS_MAX : s->wait_count;
    char class[40], label[32];
    if (!s->wait_count)
        return;
    html_card(out, "What it waited for",
              r->accelerator_count > 1 ? "all accelerators together" : NULL);
    str_addf(out,
             "<table class=\"waits\"><tr><th scope=\"col\">cause and resource</th><th "
             "scope=\"col\" class=\"n\">"
             "time</th><th scope=\"col\" class=\"n\">share</th>%s</tr>\n",
             r->money.currency ? "<th scope=\"col\" class=\"n\">cost</th>" : "");
    for (size_t i = 0; i < shown; i++)
        add_wait(out, r, s, &s->waits[i], cause_title(s->waits[i].cause),
                 html_cause_class(class, sizeof(class), s->waits[i].cause));
    struct sum_wait other = {0};
    for (size_t i = shown; i < s->wait_count; i++) {
        const struct sum_wait *w = &s->waits[i];
        other.ns += w->ns;
        other.share += w->share;
        other.money += w->money;
        other.evidence = w->evidence > other.evidence ? w->evidence : other.evidence;
    }
    snprintf(label, sizeof(label), "%zu more", s->wait_count - shown);
    if (shown < s->wait_count)
        add_wait(out, r, s, &other, label, "c-other");
    str_add(out, "</table>\n");
    html_card_end(out);
}

static void add_chain(struct str *out, const struct chain_example *c)
{
    char class[40];
    str_add(out, "<ol class=\"chain\">");
    for (int i = 0; i < c->count && i < CHAIN_LINKS_MAX; i++) {
        bool last = i + 1 == c->count || i + 1 == CHAIN_LINKS_MAX;
        str_add(out, "<li><span class=\"arrow\"><svg viewBox=\"0 0 22 14\" role=\"img\" "
                     "aria-label=\"waited for\"><path d=\"M2 7h17M14 2l5 5-5 5\"/></svg></span>");
        str_addf(out, "<div class=\"box %s\">",
                 last ? html_cause_class(class, sizeof(class), (enum cause)c->cause) : "");
        html_element(out, "b", NULL, c->links[i].who);
        html_element(out, "span", NULL, c->links[i].did);
        str_add(out, "</div></li>");
    }
    str_add(out, "</ol>\n");
}

static void add_chain_head(struct str *out, const struct report *r, size_t index)
{
    struct str words = {0};
    phrase_chain_head(r, index, &words);
    html_text(out, str_text(&words));
    out->failed |= words.failed;
    str_clear(&words);
}

void html_chains(struct str *out, const struct report *r)
{
    size_t shown = r->chain_count > CHAINS_MAX ? CHAINS_MAX : r->chain_count;
    if (!shown)
        return;
    str_add(out, "<section class=\"card\"><header><h2>The longest wait</h2><span class=\"sub\">");
    add_chain_head(out, r, 0);
    str_add(out, "</span></header>\n");
    add_chain(out, &r->chains[0]);
    if (shown > 1)
        str_addf(out, "<details><summary>%zu more wait%s</summary>\n", shown - 1,
                 shown > 2 ? "s" : "");
    for (size_t i = 1; i < shown; i++) {
        str_add(out, "<h3>");
        add_chain_head(out, r, i);
        str_add(out, "</h3>");
        add_chain(out, &r->chains[i]);
    }
    if (shown > 1)
        str_add(out, "</details>\n");
    html_card_end(out);
}

static void add_amount(struct html_part *part, const char *class, const char *label, double amount,
                       const char *currency)
{
    *part = (struct html_part){.class = class, .label = label, .value = amount};
    unit_format_money(part->text, sizeof(part->text), amount, currency);
}

static int by_amount(const void *a, const void *b)
{
    double x = ((const struct html_part *)a)->value, y = ((const struct html_part *)b)->value;
    return x > y ? -1 : x < y;
}

/* What was spent, by what the accelerators did: compute, each cause, and the rest (unused or
 * not seen). Compute has its share of what was spent, the causes what the view says. */
void html_money(struct str *out, const struct report *r, const struct sum *s)
{
    const struct report_money *m = &r->money;
    struct html_part parts[CAUSE_COUNT + 2];
    char classes[CAUSE_COUNT][40];
    double waited = 0, busy = 0;
    size_t n = 1;
    if (!m->currency || !isfinite(m->spent) || m->spent <= 0 || !s->ns)
        return;
    for (int c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++) {
        if (!isfinite(m->by_cause[c]) || m->by_cause[c] <= 0)
            continue;
        add_amount(&parts[n++], html_cause_class(classes[c], sizeof(classes[c]), c), cause_title(c),
                   m->by_cause[c], m->currency);
        waited += m->by_cause[c];
    }
    qsort(parts + 1, n - 1, sizeof(*parts), by_amount);
    busy = m->spent * (double)s->state_ns[STATE_COMPUTE] / (double)s->ns;
    add_amount(&parts[0], "s-compute", "compute", busy, m->currency);
    if (m->spent - busy - waited > m->spent / 1024)
        add_amount(&parts[n++], "s-unused", "unused or not seen", m->spent - busy - waited,
                   m->currency);
    struct str words = {0};
    phrase_money(m, &words);
    html_card(out, "What it cost", str_text(&words));
    html_bar(out, "stack", "What was spent, by what the accelerators did", parts, n);
    html_legend(out, parts, n);
    html_card_end(out);
    out->failed |= words.failed;
    str_clear(&words);
}
