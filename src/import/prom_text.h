/* SPDX-License-Identifier: MIT */
/*
 * prom_text: the text exposition format of Prometheus (0.0.4, and OpenMetrics 1.0) line by line. Pure.
 */
#ifndef GPUFEED_IMPORT_PROM_TEXT_H
#define GPUFEED_IMPORT_PROM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum prom_type { PROM_UNTYPED, PROM_GAUGE, PROM_COUNTER, PROM_HISTOGRAM, PROM_SUMMARY };

enum prom_line_kind {
    PROM_BLANK,  /* empty, or a comment that says nothing used here */
    PROM_TYPE,   /* name, type */
    PROM_SAMPLE, /* name, labels, value, t_ms */
    PROM_BROKEN,
};

#define PROM_NO_TIME INT64_MIN

struct prom_line {
    enum prom_line_kind kind;
    enum prom_type type;
    const char *name;   /* in the line, which is cut up for it */
    const char *labels; /* "a=\"x\",b=\"y\"" as written; "" none */
    double value;       /* may be NAN or infinite */
    int64_t t_ms;       /* Unix time; PROM_NO_TIME: not told */
};

/* Cuts up the line, which stays the owner of the texts. */
void prom_line_read(char *line, struct prom_line *ret);
/* The value of a label, escapes resolved; false: absent, or longer than size - 1. */
bool prom_label(const char *labels, const char *name, char *buf, size_t size);
/* Does a text of this format begin like this? */
bool prom_recognise(const char *head, size_t size);

#endif
