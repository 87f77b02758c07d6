/* SPDX-License-Identifier: MIT */
/* Scrapes: any lines are read; each device's rows add up to the time between its first and last sample. */
#include "fuzz.h"

#include "import/prom_ledger.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sums {
    int64_t ns, want;
};

static int on_fact(void *arg, const struct fact *f)
{
    (void)arg;
    if (!f->subject || !isfinite(f->number))
        abort();
    return 0;
}

static void check(struct sums *s)
{
    if (s->ns != s->want)
        abort();
    *s = (struct sums){0};
}

static bool on_gpu(void *arg, const struct prom_gpu *g)
{
    struct sums *s = arg;
    check(s);
    s->want = g->t1 - g->t0;
    return s->want > 0 || (abort(), false);
}

static void on_row(void *arg, const struct ledger_row *row)
{
    struct sums *s = arg;
    if (row->ns <= 0)
        abort();
    s->ns += row->ns;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct prom_set s = {.node_time = NAN};
    struct sums sums = {0};
    struct prom_ledger_sink sink = {&sums, on_gpu, on_row};
    char *text = malloc(size + 1), *save = NULL;
    memcpy(text, data, size);
    text[size] = '\0';
    prom_recognise(text, size);
    for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
        prom_set_line(&s, p);
    prom_set_end(&s, 1);
    prom_set_sort(&s);
    int64_t first, last;
    if (prom_range(&s, &first, &last) && prom_ledger(&s, (last - first) / 200 + 1, &sink, NULL))
        abort();
    check(&sums);
    if (prom_facts(&s, on_fact, NULL, NULL))
        abort();
    prom_set_clear(&s);
    free(text);
    return 0;
}
