/* SPDX-License-Identifier: MIT */
/*
 * report/html_part: the pieces of the page. Private to report/html*.c.
 *
 * SVG is drawn in percent of its width, or stretched from a box of bins x 100, and
 * holds no text: labels are HTML beside it, so they neither shrink nor overlap.
 */
#ifndef GPUFEED_REPORT_HTML_PART_H
#define GPUFEED_REPORT_HTML_PART_H

#include "base/str.h"
#include "model/report.h"
#include "report/sum.h"

/* Text escaped for content and quoted attributes; unsafe characters become U+FFFD. */
void html_text(struct str *out, const char *text);
/* The same with line breaks kept, for <pre>. */
void html_lines(struct str *out, const char *text);
/* <tag class="class">text</tag>; class NULL: none. Both names are ours, not escaped. */
void html_element(struct str *out, const char *tag, const char *class, const char *text);

/* A card with its heading and a remark (NULL none); close it with html_card_end. */
void html_card(struct str *out, const char *heading, const char *remark);
void html_card_end(struct str *out);

struct html_part {
    const char *class; /* fill: "s-wait", "c-storage" */
    const char *label;
    double value;
    char text[64]; /* the value as it is read */
};
/* A stacked bar of the parts in proportion, each with a title. `label` is for screen readers. */
void html_bar(struct str *out, const char *class, const char *label, const struct html_part *parts,
              size_t count);
/* The parts that are not zero with their colours and values. */
void html_legend(struct str *out, const struct html_part *parts, size_t count);

/* "c-storage" into buf. */
const char *html_cause_class(char *buf, size_t size, enum cause c);

/* Sections; each leaves itself out when it has nothing to show. */
void html_states(struct str *out, const struct report *r,
                 const struct sum *s); /* with the time line */
void html_timeline(struct str *out, const struct report *r, const struct sum *s);
void html_waits(struct str *out, const struct report *r, const struct sum *s);
void html_chains(struct str *out, const struct report *r);
void html_findings(struct str *out, const struct report *r);
void html_money(struct str *out, const struct report *r, const struct sum *s);
void html_facts(struct str *out, const struct report *r);
void html_communication(struct str *out, const struct report *r);

#endif
