/* SPDX-License-Identifier: MIT */
#include "import/prom_set.h"

#include "base/mem.h"
#include "base/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SERIES_MAX ((size_t)1 << 20)
#define SAMPLES_MAX ((size_t)1 << 24)

static uint32_t text_of(struct prom_set *s, const char *text)
{
    uint32_t n = intern_put(&s->texts, text);
    s->failed |= !n;
    return n;
}

/* The type that stands at the name, or at the name without the suffix of a histogram's parts. */
static enum prom_type type_of(struct prom_set *s, const char *name, uint32_t name_text)
{
    static const char *const suffixes[] = {"_bucket", "_sum", "_count", "_total"};
    uint64_t type;
    size_t len = strlen(name);
    char base[256];
    if (map_get(&s->type_of, name_text, &type))
        return (enum prom_type)type;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        size_t n = strlen(suffixes[i]);
        if (len <= n || len - n >= sizeof(base) || strcmp(name + len - n, suffixes[i]))
            continue;
        memcpy(base, name, len - n);
        base[len - n] = '\0';
        if (map_get(&s->type_of, text_of(s, base), &type))
            return (enum prom_type)type;
        return i == 3 ? PROM_COUNTER : PROM_UNTYPED;
    }
    return PROM_UNTYPED;
}

/* + 1; 0: not kept. */
static uint32_t series_of(struct prom_set *s, const struct prom_line *l)
{
    uint64_t known;
    uint32_t name = text_of(s, l->name), labels = *l->labels ? text_of(s, l->labels) : 0;
    uint64_t key = (uint64_t)name << 32 | labels;
    if (map_get(&s->series_of, key, &known))
        return (uint32_t)known + 1;
    if (s->series_count >= SERIES_MAX) {
        s->dropped++;
        return 0;
    }
    if (!mem_grow((void **)&s->series, &s->series_cap, s->series_count + 1, sizeof(*s->series)) ||
        !map_put(&s->series_of, key, s->series_count)) {
        s->failed = true;
        return 0;
    }
    s->series[s->series_count] =
        (struct prom_series){.name = name, .labels = labels, .type = type_of(s, l->name, name)};
    return (uint32_t)++s->series_count;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && !strcmp(text + n - k, end);
}

void prom_set_line(struct prom_set *s, char *line)
{
    struct prom_line l;
    prom_line_read(line, &l);
    s->broken += l.kind == PROM_BROKEN;
    if (l.kind == PROM_TYPE)
        s->failed |= !map_put(&s->type_of, text_of(s, l.name), l.type);
    if (l.kind != PROM_SAMPLE || !isfinite(l.value) || ends_in(l.name, "_bucket"))
        return;
    if (!strcmp(l.name, "node_time_seconds"))
        s->node_time = l.value;
    uint32_t series = series_of(s, &l);
    if (!series)
        return;
    if (s->sample_count >= SAMPLES_MAX) {
        s->dropped++;
        return;
    }
    if (!mem_grow((void **)&s->samples, &s->sample_cap, s->sample_count + 1, sizeof(*s->samples))) {
        s->failed = true;
        return;
    }
    int64_t t = l.t_ms;
    if (t != PROM_NO_TIME && __builtin_mul_overflow(t, NS_PER_MS, &t))
        t = PROM_NO_TIME;
    s->samples[s->sample_count++] = (struct prom_sample){series - 1, t, l.value};
}

bool prom_set_end(struct prom_set *s, int64_t t)
{
    bool needed = false;
    if (s->node_time > 0 && s->node_time < 9e9)
        t = unit_ns(s->node_time);
    for (size_t i = s->pending; i < s->sample_count; i++)
        if (s->samples[i].t == PROM_NO_TIME) {
            s->samples[i].t = t;
            needed = true;
        }
    needed = needed && !(s->node_time > 0);
    s->pending = s->sample_count;
    s->node_time = NAN;
    return needed;
}

static int by_series(const void *pa, const void *pb)
{
    const struct prom_sample *a = pa, *b = pb;
    if (a->series != b->series)
        return a->series < b->series ? -1 : 1;
    return a->t < b->t ? -1 : a->t > b->t;
}

static int by_time(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return a < b ? -1 : a > b;
}

/* How many different times there are; exporters stamp the samples of one scrape alike. */
static uint64_t count_scrapes(struct prom_set *s)
{
    uint64_t n = 0;
    int64_t *times = mem_zalloc((s->sample_count + 1) * sizeof(*times));
    if (!times) {
        s->failed = true;
        return 0;
    }
    for (size_t i = 0; i < s->sample_count; i++)
        times[i] = s->samples[i].t;
    if (s->sample_count)
        qsort(times, s->sample_count, sizeof(*times), by_time);
    for (size_t i = 0; i < s->sample_count; i++)
        n += !i || times[i] != times[i - 1];
    free(times);
    return n;
}

void prom_set_sort(struct prom_set *s)
{
    if (s->sample_count)
        qsort(s->samples, s->sample_count, sizeof(*s->samples), by_series);
    for (size_t i = 0, n; i < s->sample_count; i += n) {
        struct prom_series *series = &s->series[s->samples[i].series];
        for (n = 1; i + n < s->sample_count && s->samples[i + n].series == s->samples[i].series;
             n++)
            ;
        series->first = i;
        series->count = n;
    }
    s->scrapes = count_scrapes(s);
}

void prom_set_clear(struct prom_set *s)
{
    intern_clear(&s->texts);
    map_clear(&s->series_of);
    map_clear(&s->type_of);
    free(s->series);
    free(s->samples);
    *s = (struct prom_set){.node_time = NAN};
}

const struct prom_sample *prom_samples(const struct prom_set *s, const struct prom_series *series)
{
    return s->samples + series->first;
}

bool prom_range(const struct prom_set *s, int64_t *ret_first, int64_t *ret_last)
{
    int64_t first = INT64_MAX, last = INT64_MIN, span;
    for (size_t i = 0; i < s->sample_count; i++) {
        int64_t t = s->samples[i].t;
        if (t == PROM_NO_TIME)
            continue;
        first = t < first ? t : first;
        last = t > last ? t : last;
    }
    *ret_first = first;
    *ret_last = last;
    return first < last && !__builtin_sub_overflow(last, first, &span);
}

int64_t prom_span(const struct prom_sample *sample, size_t count)
{
    int64_t span;
    if (count < 2 || sample[0].t == PROM_NO_TIME || sample[count - 1].t == PROM_NO_TIME ||
        __builtin_sub_overflow(sample[count - 1].t, sample[0].t, &span))
        return 0;
    return span;
}

double prom_growth(const struct prom_sample *sample, size_t count, uint64_t *ret_resets)
{
    double growth = 0;
    if (!prom_span(sample, count))
        return NAN;
    for (size_t i = 1; i < count; i++) {
        bool reset = sample[i].value < sample[i - 1].value;
        growth += reset ? sample[i].value : sample[i].value - sample[i - 1].value;
        *ret_resets += reset;
    }
    return growth;
}
