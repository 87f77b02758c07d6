/* SPDX-License-Identifier: MIT */
/* What scrapes tell, as facts: gauges, rates of counters, means of histograms. */
#include "base/str.h"
#include "base/unit.h"
#include "import/prom_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FACTS_MAX 4096

/* Of the exporter itself: no one asked for them. */
static const char *const left_out[] = {"go_",     "python_", "promhttp_",      "process_",
                                       "scrape_", "nodejs_", "net_conntrack_", "node_scrape_"};

struct out {
    struct prom_set *s;
    fact_fn fn;
    void *arg;
    int status, told;
    uint64_t resets;
    struct str subject;
};

static void emit(struct out *o, const char *kind, const char *name, double v, const char *unit)
{
    struct fact f = {kind, str_text(&o->subject), name, NULL, v, unit, "metrics"};
    o->s->failed |= o->subject.failed;
    if (!o->status && isfinite(v))
        o->status = o->fn(o->arg, &f);
}

static bool told(const char *name)
{
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
        if (!strncmp(name, left_out[i], strlen(left_out[i])))
            return false;
    return true;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n > k && !strcmp(text + n - k, end);
}

static double mean_of(const struct prom_sample *p, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += p[i].value;
    return sum / (double)count;
}

static void tell_counter(struct out *o, const struct prom_series *series, const char *name)
{
    const struct prom_sample *p = prom_samples(o->s, series);
    double growth = prom_growth(p, series->count, &o->resets);
    double seconds = unit_seconds(prom_span(p, series->count));
    emit(o, "metric", "total", p[series->count - 1].value, "count");
    if (isfinite(growth) && seconds > 0)
        emit(o, "metric", "rate", growth / seconds, strstr(name, "bytes") ? "bytes/s" : "1/s");
}

/* The mean of a histogram: its sum over its count, of what came between the scrapes, or ever. */
static void tell_mean(struct out *o, const struct prom_series *sum, const char *name)
{
    struct str text = {0};
    uint64_t at, unused = 0;
    str_addn(&text, name, strlen(name) - strlen("_sum"));
    str_add(&text, "_count");
    uint32_t count_name = text.failed ? 0 : intern_put(&o->s->texts, str_text(&text));
    o->s->failed |= !count_name;
    str_clear(&text);
    if (!map_get(&o->s->series_of, (uint64_t)count_name << 32 | sum->labels, &at))
        return;
    const struct prom_series *count = &o->s->series[at];
    const struct prom_sample *a = prom_samples(o->s, sum), *b = prom_samples(o->s, count);
    if (!sum->count || !count->count)
        return;
    double total = prom_growth(a, sum->count, &unused), n = prom_growth(b, count->count, &unused);
    if (!isfinite(total) || !isfinite(n)) {
        total = a[sum->count - 1].value;
        n = b[count->count - 1].value;
    }
    if (n > 0)
        emit(o, "metric", "mean", total / n, strstr(name, "seconds") ? "s" : "1");
}

static void tell_series(struct out *o, const struct prom_series *series)
{
    const char *name = intern_text(&o->s->texts, series->name);
    if (!series->count || !told(name))
        return;
    if (o->told >= FACTS_MAX) {
        o->s->untold++;
        return;
    }
    o->told++;
    str_reset(&o->subject);
    str_add(&o->subject, name);
    if (series->labels)
        str_addf(&o->subject, "{%s}", intern_text(&o->s->texts, series->labels));
    if (series->type == PROM_COUNTER)
        tell_counter(o, series, name);
    else if (series->type != PROM_HISTOGRAM && series->type != PROM_SUMMARY)
        emit(o, "metric", "value", mean_of(prom_samples(o->s, series), series->count), "");
    else if (ends_in(name, "_sum"))
        tell_mean(o, series, name);
}

int prom_facts(struct prom_set *s, fact_fn fn, void *arg, struct error *e)
{
    struct out o = {.s = s, .fn = fn, .arg = arg};
    int64_t first, last;
    for (size_t i = 0; i < s->series_count && !s->failed; i++)
        tell_series(&o, &s->series[i]);
    str_reset(&o.subject);
    str_add(&o.subject, "");
    emit(&o, "metrics", "scrapes", (double)s->scrapes, "count");
    emit(&o, "metrics", "series", (double)s->series_count, "count");
    emit(&o, "metrics", "resets", (double)o.resets, "count");
    if (prom_range(s, &first, &last))
        emit(&o, "metrics", "seconds", unit_seconds(last - first), "s");
    if (!o.status && s->failed)
        o.status = error_set(e, STATUS_MEMORY, "out of memory reading metrics");
    str_clear(&o.subject);
    return o.status;
}
