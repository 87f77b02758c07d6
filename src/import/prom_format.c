/* SPDX-License-Identifier: MIT */
/* Scrapes of Prometheus exporters: DCGM, node exporter, vLLM, NCCL Inspector's text files ... */
#include "base/mem.h"
#include "base/unit.h"
#include "import/formats.h"
#include "import/formats_list.h"
#include "import/prom_ledger.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#define WINDOWS 200 /* of the chart */

struct set {
    struct prom_set prom;
    bool file_times; /* the times of files stand for the times of scrapes */
};

static void *set_open(void)
{
    struct set *s = mem_zalloc(sizeof(*s));
    if (s)
        s->prom.node_time = NAN;
    return s;
}

static void set_close(void *p)
{
    struct set *s = p;
    prom_set_clear(&s->prom);
    free(s);
}

/* curl writes a scrape when it takes it. */
static int64_t written(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return PROM_NO_TIME;
    return (int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
}

static int set_read(void *p, struct source *source, struct sink *sink, struct error *e)
{
    struct set *s = p;
    char *line;
    size_t len, before = s->prom.sample_count;
    uint64_t broken = s->prom.broken, dropped = s->prom.dropped;
    int status;
    sink_tool(sink, "metrics");
    while (!(status = source_line(source, &line, &len, e)) && line)
        prom_set_line(&s->prom, line);
    s->file_times |= prom_set_end(&s->prom, written(source_path(source)));
    sink_skip(sink, "lines that are no sample", s->prom.broken - broken);
    sink_skip(sink, "series or samples beyond what is kept", s->prom.dropped - dropped);
    if (!status && s->prom.sample_count == before && !s->prom.failed)
        status = error_set(e, STATUS_INPUT, "\"%s\": not one line is a sample of a metric",
                           source_path(source));
    return status;
}

struct giving {
    struct sink *sink;
    /* base: Unix time of the first sample; t0, t1: what devices cover */
    int64_t base, shift, t0, t1;
    const char *metric;
};

static bool on_gpu(void *arg, const struct prom_gpu *gpu)
{
    struct giving *g = arg;
    if (gpu->number >= SINK_DEVICES) {
        sink_skip(g->sink, "devices beyond the 64th", 1);
        return false;
    }
    sink_accelerator(g->sink, gpu->number, *gpu->name ? gpu->name : gpu->id);
    sink_text(g->sink, "gpu", gpu->id, "name", *gpu->name ? gpu->name : gpu->id);
    g->shift = gpu->t0 - g->base;
    g->t0 = g->shift < g->t0 ? g->shift : g->t0;
    g->t1 = gpu->t1 - g->base > g->t1 ? gpu->t1 - g->base : g->t1;
    g->metric = gpu->metric;
    return true;
}

static void on_row(void *arg, const struct ledger_row *row)
{
    struct giving *g = arg;
    struct ledger_row mine = *row;
    mine.t0 += g->shift;
    sink_row(g->sink, &mine);
}

static void note(const struct set *s, const struct giving *g, struct sink *sink)
{
    if (g->metric)
        sink_unknown(sink, "counters tell that something ran, not what the rest waited for");
    if (g->metric)
        sink_note(sink,
                  "the ledger is made from counters: %s tells that something ran, a waiting "
                  "communication kernel included, not what the rest waited for",
                  g->metric);
    else if (s->prom.scrapes > 1)
        sink_note(
            sink,
            "no counter tells how busy an accelerator is, or two scrapes of it are not there");
    else
        sink_note(sink,
                  "one scrape has gauges, but no time: a second one, some seconds later, gives a "
                  "ledger and rates");
    if (s->file_times && s->prom.scrapes > 1)
        sink_note(sink, "the scrapes do not tell their time: that of the files stands for it");
}

static int set_finish(void *p, struct sink *sink, struct error *e)
{
    struct set *s = p;
    struct giving g = {.sink = sink, .t0 = INT64_MAX, .t1 = INT64_MIN};
    struct prom_ledger_sink rows = {&g, on_gpu, on_row};
    int64_t last;
    prom_set_sort(&s->prom);
    int status = prom_facts(&s->prom, sink_take_fact, sink, e);
    sink_skip(sink, "series beyond those that become facts", s->prom.untold);
    if (!status && prom_range(&s->prom, &g.base, &last)) {
        int64_t each = (last - g.base) / WINDOWS + 1;
        sink_start(sink, 0, g.base);
        sink_windows(sink, each);
        status = prom_ledger(&s->prom, each, &rows, e);
    }
    if (!status && g.t1 > g.t0)
        sink_span(sink, g.t0, g.t1);
    note(s, &g, sink);
    return status;
}

static const struct format_set prom_format_set = {set_open, set_read, set_finish, set_close};

const struct format format_prom = {.name = "a scrape of a Prometheus exporter",
                                   .recognise = prom_recognise,
                                   .set = &prom_format_set};
