/* SPDX-License-Identifier: MIT */
#include "report/html_part.h"

#include "report/plain.h"

#include <stdio.h>
#include <string.h>

/* lines: for <pre>, where a text may be copied, so that it stays as it is. */
static void add_escaped(struct str *out, const char *text, bool lines)
{
    uint32_t before = 0, code = 0;
    for (; text && *text; before = code) {
        const char *from = text;
        code = plain_next(&text);
        if (code == '\n' && lines)
            str_add(out, "\n");
        else if (code == '\n' || code == '\t' || code == '\r')
            str_add(out, " ");
        else if (code == ' ' && !lines && plain_is_glue(before, text))
            str_add(out, "&nbsp;");
        else if (code == '&')
            str_add(out, "&amp;");
        else if (code == '<')
            str_add(out, "&lt;");
        else if (code == '>')
            str_add(out, "&gt;");
        else if (code == '"')
            str_add(out, "&quot;");
        else if (code == '\'')
            str_add(out, "&#39;");
        else if (plain_is_unsafe(code))
            str_add(out, "\xef\xbf\xbd");
        else
            str_addn(out, from, (size_t)(text - from));
    }
}

void html_text(struct str *out, const char *text)
{
    add_escaped(out, text, false);
}

void html_lines(struct str *out, const char *text)
{
    add_escaped(out, text, true);
}

void html_element(struct str *out, const char *tag, const char *class, const char *text)
{
    if (class)
        str_addf(out, "<%s class=\"%s\">", tag, class);
    else
        str_addf(out, "<%s>", tag);
    html_text(out, text);
    str_addf(out, "</%s>", tag);
}

void html_card(struct str *out, const char *heading, const char *remark)
{
    str_add(out, "<section class=\"card\"><header>");
    html_element(out, "h2", NULL, heading);
    if (remark)
        html_element(out, "span", "sub", remark);
    str_add(out, "</header>\n");
}

void html_card_end(struct str *out)
{
    str_add(out, "</section>\n");
}

const char *html_cause_class(char *buf, size_t size, enum cause c)
{
    snprintf(buf, size, "c-%s", cause_name(c == CAUSE_NONE ? CAUSE_UNKNOWN : c));
    return buf;
}

void html_bar(struct str *out, const char *class, const char *label, const struct html_part *parts,
              size_t count)
{
    double total = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        total += parts[i].value;
    str_addf(out, "<svg%s%s%s role=\"img\" aria-label=\"", class ? " class=\"" : "",
             class ? class : "", class ? "\"" : "");
    html_text(out, label);
    str_add(out, "\">");
    for (size_t i = 0; i < count && total > 0; i++) {
        double width = parts[i].value / total * 100.0;
        if (width <= 0)
            continue;
        str_addf(out, "<rect class=\"%s\" x=\"%.3f%%\" width=\"%.3f%%\" height=\"100%%\"><title>",
                 parts[i].class, at, width);
        html_text(out, parts[i].label);
        str_add(out, " ");
        html_text(out, parts[i].text);
        str_add(out, "</title></rect>");
        at += width;
    }
    str_add(out, "</svg>");
}

void html_legend(struct str *out, const struct html_part *parts, size_t count)
{
    str_add(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < count; i++) {
        if (parts[i].value <= 0)
            continue;
        str_addf(out,
                 "<li><svg aria-hidden=\"true\"><rect class=\"%s\" width=\"100%%\" "
                 "height=\"100%%\" rx=\"3\"/></svg><span>",
                 parts[i].class);
        html_text(out, parts[i].label);
        str_add(out, " ");
        html_element(out, "b", NULL, parts[i].text);
        str_add(out, "</span></li>");
    }
    str_add(out, "</ul>\n");
}
