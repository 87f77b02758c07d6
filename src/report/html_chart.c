/* SPDX-License-Identifier: MIT */
/* The ledger as bars of states and over time. */
#include "report/html_part.h"

#include "base/mem.h"
#include "base/unit.h"
#include "report/phrase.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES_APART = 4, BINS_MAX = 180, CAUSE_LAYERS = 5, TABLE_ROWS = 12 };
enum { LAYERS = 1 + CAUSE_LAYERS + 1 + 2 }; /* compute, causes, other causes, unused, unseen */

static const struct {
    const char *class, *label;
} states[STATE_COUNT] = {
    [STATE_COMPUTE] = {"s-compute", "compute"}, [STATE_COMM] = {"s-comm", "communication"},
    [STATE_COPY] = {"s-copy", "copy"},          [STATE_WAIT] = {"s-wait", "wait"},
    [STATE_UNUSED] = {"s-unused", "unused"},    [STATE_UNSEEN] = {"s-unseen", "not seen"},
};

static void fill_parts(struct html_part parts[STATE_COUNT], const struct report *r,
                       const int64_t ns[STATE_COUNT], int64_t total)
{
    char share[32], time[32];
    for (int s = 0; s < STATE_COUNT; s++) {
        parts[s] = (struct html_part){
            .class = states[s].class, .label = states[s].label, .value = (double)ns[s]};
        snprintf(parts[s].text, sizeof(parts[s].text), "%s%s (%s)", phrase_state_mark(r, s),
                 unit_format_share(share, sizeof(share), total ? (double)ns[s] / (double)total : 0),
                 unit_format_ns(time, sizeof(time), ns[s]));
    }
}

static void add_share(struct str *out, const struct report *r, const struct sum_group *g,
                      enum state s)
{
    char buf[32];
    str_add(out, "<b>");
    if (g->ns > 0)
        str_addf(out, "%s%s", phrase_state_mark(r, s),
                 unit_format_share(buf, sizeof(buf), (double)g->state_ns[s] / (double)g->ns));
    else
        str_add(out, "unknown");
    str_addf(out, "</b> %s", state_name(s));
}

static void add_lane(struct str *out, const struct report *r, const struct sum_group *g)
{
    struct html_part parts[STATE_COUNT];
    fill_parts(parts, r, g->state_ns, g->ns);
    str_add(out, "<div class=\"lane\">");
    html_element(out, "b", NULL, g->label);
    str_add(out, "<span>");
    add_share(out, r, g, STATE_COMPUTE);
    str_add(out, ", ");
    add_share(out, r, g, STATE_WAIT);
    str_add(out, "</span>");
    html_bar(out, NULL, g->label, parts, STATE_COUNT);
    str_add(out, "</div>\n");
}

void html_states(struct str *out, const struct report *r, const struct sum *s)
{
    struct sum_group *groups = NULL;
    struct html_part parts[STATE_COUNT];
    size_t count = 0;
    if (!s->ns)
        return;
    if (!sum_groups(r, LANES_APART, &groups, &count)) {
        out->failed = true;
        return;
    }
    html_card(out, "Where the time went",
              count < r->accelerator_count ? "accelerators alike are shown together" : NULL);
    str_add(out, "<div class=\"lanes\">");
    for (size_t i = 0; i < count; i++)
        add_lane(out, r, &groups[i]);
    str_add(out, "</div>\n");
    fill_parts(parts, r, s->state_ns, s->ns);
    html_legend(out, parts, STATE_COUNT);
    html_timeline(out, r, s);
    html_card_end(out);
    free(groups);
}

/* The time line: `count` bins over the span, each with the time of every layer in it. */
struct line {
    size_t count;
    double (*bins)[LAYERS];
    double bin_ns;
    enum cause causes[CAUSE_LAYERS]; /* the largest; CAUSE_NONE: no more */
    int layer_of[CAUSE_COUNT];
};

static void pick_causes(struct line *l, const struct sum *s)
{
    bool taken[CAUSE_COUNT] = {0};
    for (int c = 0; c < CAUSE_COUNT; c++)
        l->layer_of[c] = 1 + CAUSE_LAYERS;
    for (int i = 0; i < CAUSE_LAYERS; i++) {
        enum cause best = CAUSE_NONE;
        for (int c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++)
            if (!taken[c] && s->cause_ns[c] > 0 &&
                (best == CAUSE_NONE || s->cause_ns[c] > s->cause_ns[best]))
                best = c;
        l->causes[i] = best;
        taken[best] = true;
        if (best != CAUSE_NONE)
            l->layer_of[best] = 1 + i;
    }
}

static void add_to_bin(struct line *l, size_t bin, const struct report_window *w, double part)
{
    double *layers = l->bins[bin];
    layers[0] += part * (double)w->state_ns[STATE_COMPUTE];
    for (int c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++)
        layers[l->layer_of[c]] += part * (double)w->cause_ns[c];
    layers[LAYERS - 2] += part * (double)w->state_ns[STATE_UNUSED];
    layers[LAYERS - 1] += part * (double)w->state_ns[STATE_UNSEEN];
}

/* A window that lies across bins is shared out by the time it has in each. */
static void add_window(struct line *l, const struct report_window *w)
{
    double t0 = (double)w->t0, t1 = t0 + (double)w->ns;
    double last = (double)l->count * l->bin_ns;
    if (w->ns <= 0 || t1 <= 0 || t0 >= last)
        return;
    size_t bin = t0 > 0 ? (size_t)(t0 / l->bin_ns) : 0;
    for (; bin < l->count && (double)bin * l->bin_ns < t1; bin++) {
        double from = fmax(t0, (double)bin * l->bin_ns);
        double to = fmin(t1, (double)(bin + 1) * l->bin_ns);
        if (to > from)
            add_to_bin(l, bin, w, (to - from) / (double)w->ns);
    }
}

static bool in_line(const struct report_window *w, size_t accelerator)
{
    return accelerator == SIZE_MAX || w->accelerator == accelerator;
}

/* accelerator SIZE_MAX: all together. False: out of memory; count 0: there is nothing to show. */
static bool line_of(const struct report *r, const struct sum *s, size_t accelerator,
                    struct line *ret)
{
    *ret = (struct line){0};
    int64_t shortest = 0;
    for (size_t i = 0; i < r->window_count; i++) {
        const struct report_window *w = &r->windows[i];
        if (in_line(w, accelerator) && w->ns > shortest)
            shortest = w->ns;
    }
    if (!shortest || r->span_ns <= 0)
        return true;
    double fit = ceil((double)r->span_ns / (double)shortest);
    ret->count = fit > BINS_MAX ? BINS_MAX : fit < 1 ? 1 : (size_t)fit;
    ret->bin_ns = (double)r->span_ns / (double)ret->count;
    ret->bins = mem_zalloc(ret->count * sizeof(*ret->bins));
    if (!ret->bins)
        return false;
    pick_causes(ret, s);
    for (size_t i = 0; i < r->window_count; i++)
        if (in_line(&r->windows[i], accelerator))
            add_window(ret, &r->windows[i]);
    return true;
}

static const char *layer_class(const struct line *l, int layer, char *buf, size_t size)
{
    if (layer == 0)
        return "s-compute";
    if (layer >= LAYERS - 2)
        return layer == LAYERS - 2 ? "s-unused" : "s-unseen";
    return layer > CAUSE_LAYERS ? "c-other" : html_cause_class(buf, size, l->causes[layer - 1]);
}

static const char *layer_label(const struct line *l, int layer)
{
    if (layer == 0)
        return "compute";
    if (layer >= LAYERS - 2)
        return layer == LAYERS - 2 ? "unused" : "not seen";
    return layer > CAUSE_LAYERS ? "other waits" : cause_title(l->causes[layer - 1]);
}

static double bin_total(const double *layers)
{
    double total = 0;
    for (int k = 0; k < LAYERS; k++)
        total += layers[k];
    return total;
}

static void add_layer(struct str *out, const struct line *l, int layer)
{
    char class[40];
    bool any = false;
    for (size_t b = 0; b < l->count; b++) {
        double total = bin_total(l->bins[b]), below = 0;
        if (l->bins[b][layer] <= 0)
            continue;
        for (int k = 0; k < layer; k++)
            below += l->bins[b][k];
        if (!any)
            str_addf(out, "<path class=\"%s\" d=\"", layer_class(l, layer, class, sizeof(class)));
        any = true;
        double height = l->bins[b][layer] / total * 100.0;
        str_addf(out, "M%zu %.2fh1v%.2fh-1z", b, 100.0 - below / total * 100.0 - height, height);
    }
    if (any)
        str_add(out, "\"/>");
}

/* "3.1 s: compute 55 %, storage 40 %" */
static void add_bin_words(struct str *out, const struct line *l, size_t bin)
{
    char buf[32];
    double total = bin_total(l->bins[bin]);
    str_addf(out, "%s:", unit_format_ns(buf, sizeof(buf), (int64_t)((double)bin * l->bin_ns)));
    if (total <= 0)
        str_add(out, " nothing recorded");
    for (int k = 0; k < LAYERS && total > 0; k++)
        if (l->bins[bin][k] / total >= 0.005)
            str_addf(out, " %s %s", layer_label(l, k),
                     unit_format_share(buf, sizeof(buf), l->bins[bin][k] / total));
}

static void add_plot(struct str *out, const struct line *l, const char *label)
{
    str_add(out, "<div class=\"plot\"><i style=\"top:0\">100 %</i><i style=\"top:calc(50% - 6px)\">"
                 "50 %</i><i style=\"bottom:0\">0 %</i>");
    str_addf(out,
             "<svg role=\"img\" viewBox=\"0 0 %zu 100\" preserveAspectRatio=\"none\" "
             "aria-label=\"",
             l->count);
    html_text(out, label);
    str_add(out, " over time; the same figures are in the table below\">"
                 "<g shape-rendering=\"crispEdges\">");
    for (int k = 0; k < LAYERS; k++)
        add_layer(out, l, k);
    str_addf(out, "</g><path class=\"grid\" d=\"M0 25h%zuM0 50h%zuM0 75h%zu\"/>", l->count,
             l->count, l->count);
    for (size_t b = 0; b < l->count; b++) {
        str_addf(out, "<rect class=\"hit\" x=\"%zu\" width=\"1\" height=\"100\"><title>", b);
        add_bin_words(out, l, b);
        str_add(out, "</title></rect>");
    }
    str_add(out, "</svg></div>\n");
}

/* A round step that gives three to seven marks: 1, 2, 5 x 10^n below a minute, then clock steps. */
static int64_t axis_step(int64_t span)
{
    static const int64_t clock_seconds[] = {60,   120,  300,   600,   900,   1800,
                                            3600, 7200, 10800, 21600, 43200, 86400};
    int64_t want = span / (unit_seconds(span) < S_PER_HOUR ? 6 : 4), step = 1;
    for (int i = 0; step < want && step < 50 * NS_PER_S; i++)
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    for (size_t i = 0; step < want && i < sizeof(clock_seconds) / sizeof(clock_seconds[0]); i++)
        step = clock_seconds[i] * NS_PER_S;
    while (step < want)
        step *= 2;
    return step;
}

/* "20 s", from a minute on "4 min" and, on lines of an hour or more, "1:30 h". */
static const char *axis_label(char *buf, size_t size, int64_t t, int64_t step, int64_t span)
{
    int64_t minutes = t / (60 * NS_PER_S);
    if (!t)
        snprintf(buf, size, "0");
    else if (step < 60 * NS_PER_S)
        unit_format_ns(buf, size, t);
    else if (unit_seconds(span) < S_PER_HOUR)
        snprintf(buf, size, "%lld min", (long long)minutes);
    else
        snprintf(buf, size, "%lld:%02lld h", (long long)(minutes / 60), (long long)(minutes % 60));
    return buf;
}

static void add_axis(struct str *out, int64_t span)
{
    char buf[32];
    int64_t step = axis_step(span);
    str_add(out, "<div class=\"axis\" aria-hidden=\"true\">");
    for (int64_t t = 0; t <= span; t += step) {
        double at = (double)t / (double)span * 100.0;
        str_addf(out, "<span%s style=\"left:%.2f%%\">%s</span>", at > 92 ? " class=\"end\"" : "",
                 at, axis_label(buf, sizeof(buf), t, step, span));
    }
    str_add(out, "</div>\n");
}

static void add_table(struct str *out, const struct line *l)
{
    size_t step = (l->count + TABLE_ROWS - 1) / TABLE_ROWS;
    char buf[32], from[32];
    str_add(out, "<details><summary>The time line as a table</summary><div class=\"rows\"><table>"
                 "<tr><th scope=\"col\">from</th>");
    for (int k = 0; k < LAYERS; k++)
        if (k == 0 || k > CAUSE_LAYERS || l->causes[k - 1] != CAUSE_NONE)
            html_element(out, "th", NULL, layer_label(l, k));
    str_add(out, "</tr>\n");
    for (size_t b = 0; b < l->count; b += step) {
        double sum[LAYERS] = {0};
        for (size_t i = b; i < b + step && i < l->count; i++)
            for (int k = 0; k < LAYERS; k++)
                sum[k] += l->bins[i][k];
        double total = bin_total(sum);
        str_addf(out, "<tr><td>%s</td>",
                 unit_format_ns(from, sizeof(from), (int64_t)((double)b * l->bin_ns)));
        for (int k = 0; k < LAYERS; k++)
            if (k == 0 || k > CAUSE_LAYERS || l->causes[k - 1] != CAUSE_NONE)
                str_addf(out, "<td>%s</td>",
                         total > 0 ? unit_format_share(buf, sizeof(buf), sum[k] / total) : "");
        str_add(out, "</tr>\n");
    }
    str_add(out, "</table></div></details>\n");
}

static void add_line_legend(struct str *out, const struct line *l)
{
    struct html_part parts[LAYERS] = {0};
    char classes[LAYERS][40], buf[32];
    double sum[LAYERS] = {0};
    for (size_t b = 0; b < l->count; b++)
        for (int k = 0; k < LAYERS; k++)
            sum[k] += l->bins[b][k];
    double total = bin_total(sum);
    for (int k = 0; k < LAYERS; k++) {
        parts[k].class = layer_class(l, k, classes[k], sizeof(classes[k]));
        parts[k].label = layer_label(l, k);
        parts[k].value = sum[k];
        str_copy(parts[k].text, sizeof(parts[k].text),
                 total > 0 ? unit_format_share(buf, sizeof(buf), sum[k] / total) : "");
    }
    html_legend(out, parts, LAYERS);
}

static void add_line(struct str *out, const struct report *r, const struct sum *s,
                     size_t accelerator)
{
    struct line l;
    char label[SUM_LABEL];
    if (accelerator == SIZE_MAX)
        snprintf(label, sizeof(label), "%zu accelerators together", r->accelerator_count);
    else
        sum_device_label(r, accelerator, label);
    if (!line_of(r, s, accelerator, &l)) {
        out->failed = true;
        return;
    }
    if (l.count > 1) {
        str_add(out, "<figure class=\"time\"><figcaption>");
        html_element(out, "b", NULL, label);
        str_add(out, " over time: compute, and what it waited for</figcaption>\n");
        add_plot(out, &l, label);
        add_axis(out, r->span_ns);
        add_line_legend(out, &l);
        add_table(out, &l);
        str_add(out, "</figure>\n");
    }
    free(l.bins);
}

void html_timeline(struct str *out, const struct report *r, const struct sum *s)
{
    if (r->accelerator_count > LANES_APART) {
        add_line(out, r, s, SIZE_MAX);
        return;
    }
    for (size_t a = 0; a < r->accelerator_count; a++)
        add_line(out, r, s, a);
}
