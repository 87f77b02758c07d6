/* SPDX-License-Identifier: MIT */
/*
 * prom_set: scrapes of Prometheus exporters, kept as series over time. Pure.
 *
 * A scrape is one file, or the samples of one time of a file whose samples carry times. What a counter lost at a restart
 * is not known: after a reset its growth is counted from zero, and the reset is counted.
 */
#ifndef GPUFEED_IMPORT_PROM_SET_H
#define GPUFEED_IMPORT_PROM_SET_H

#include "base/error.h"
#include "base/map.h"
#include "import/prom_text.h"
#include "model/fact.h"

struct prom_series {
    uint32_t name, labels; /* interned */
    enum prom_type type;
    size_t first, count; /* its samples, after prom_set_sort */
};

struct prom_sample {
    uint32_t series;
    int64_t t; /* Unix ns; PROM_NO_TIME */
    double value;
};

struct prom_set {
    struct intern texts;
    struct map series_of, type_of; /* by name << 32 | labels; by name */
    struct prom_series *series;
    size_t series_count, series_cap;
    struct prom_sample *samples;
    size_t sample_count, sample_cap;
    size_t pending; /* samples of the file that is read, from here on, may lack a time */
    uint64_t broken, dropped, scrapes, untold; /* untold: series beyond what becomes facts */
    double node_time;                          /* node_time_seconds of the file that is read; NAN */
    bool failed;
};

/* One line, which is cut up. */
void prom_set_line(struct prom_set *s, char *line);
/* The file is over. `t`: when it was written, for samples without a time where it holds no node_time_seconds;
 * PROM_NO_TIME: unknown. Returns true if that was needed. */
bool prom_set_end(struct prom_set *s, int64_t t);
/* Samples by series and time; scrapes are counted. */
void prom_set_sort(struct prom_set *s);
void prom_set_clear(struct prom_set *s);

const struct prom_sample *prom_samples(const struct prom_set *s, const struct prom_series *series);
/* How much a counter grew from its first to its last sample; NAN: fewer than two samples with a time. */
double prom_growth(const struct prom_sample *sample, size_t count, uint64_t *ret_resets);
/* The first and the last time of all samples; false: there are not two. */
bool prom_range(const struct prom_set *s, int64_t *ret_first, int64_t *ret_last);
/* From the first sample to the last; 0: unknown. */
int64_t prom_span(const struct prom_sample *sample, size_t count);

/* Facts of doc/facts.md, kinds "metric" and "metrics"; the set is sorted. */
int prom_facts(struct prom_set *s, fact_fn fn, void *arg, struct error *e);

#endif
