/* SPDX-License-Identifier: MIT */
#include "measure/measure_int.h"

#include "base/rootfs.h"
#include "base/str.h"
#include "base/unit.h"
#include "sense/process.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Chunks of the replay log: large ones pack better. */
#define DELIVERIES_NS (2 * NS_PER_S)
#define FACTS_TIMES 5 /* so many times as long until the next facts of the sources, up to: */
#define FACTS_NS_MAX (60 * NS_PER_S)

void measure_check(struct measure *m, int rc)
{
    if (rc && !m->status)
        m->status = rc;
}

void measure_note(struct measure *m, const char *line)
{
    measure_check(m, record_note(m->record, line, &m->error));
}

static bool is_python(const char *file)
{
    return !strncmp(file, "python", 6) || !strncmp(file, "libpython", 9);
}

static bool is_torch(const char *file)
{
    return !strncmp(file, "libtorch", 8);
}

/* What kind of program takes a device, so that advice is in its words. Where its maps cannot be read they
 * do not show the driver either, and nothing is known. */
static void tell_program(struct measure *m, uint32_t pid)
{
    char path[PATH_MAX];
    if (!process_maps(pid, process_is_libcuda, path, sizeof(path)))
        return;
    m->python = m->python || process_maps(pid, is_python, path, sizeof(path));
    m->torch = m->torch || process_maps(pid, is_torch, path, sizeof(path));
    const struct fact facts[] = {
        {"job", "", "python", NULL, m->python, "1", "/proc/PID/maps"},
        {"job", "", "torch", NULL, m->torch, "1", "/proc/PID/maps"},
    };
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        measure_check(m, record_fact(m->record, &facts[i], &m->error));
}

void measure_name_workload(struct measure *m, uint32_t pid)
{
    char path[64], text[400];
    struct str line = {0};
    if (!pid || map_get(&m->workloads, pid, NULL))
        return;
    snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    if (rootfs_read(NULL, path, &line, NULL) == STATUS_OK && line.len) {
        for (size_t i = 0; i + 1 < line.len; i++)
            if (!line.data[i])
                line.data[i] = ' ';
        snprintf(text, sizeof(text), "%.360s (%u)", str_text(&line), pid);
        map_put(&m->workloads, pid, 1);
        tell_program(m, pid);
        measure_check(m, record_workload(m->record, pid, text, &m->error));
    }
    str_clear(&line);
}

void measure_on_row(void *arg, const struct ledger_row *row)
{
    struct measure *m = arg;
    measure_check(m, record_row(m->record, row, &m->error));
}

void measure_on_chain(void *arg, const struct chain_example *chain)
{
    struct measure *m = arg;
    measure_check(m, record_chain(m->record, chain,
                                  chain->resource ? intern_text(&m->names, chain->resource) : NULL,
                                  &m->error));
}

/* Numbered as they were first seen; once NVML's numbers are known, those are told. */
static void number_accelerator(struct measure *m, const struct fact *fact)
{
    char id[96];
    for (size_t i = 0; i < m->accelerators; i++) {
        const struct probe_accelerator *a = probe_rings_accelerator(m->rings, i);
        if (strcmp(a->uuid, fact->subject))
            continue;
        snprintf(id, sizeof(id), "%.*s:%.0f", (int)strcspn(a->id, ":"), a->id, fact->number);
        measure_check(
            m, record_accelerator(m->record, (uint32_t)i, id, a->name, a->simulated, &m->error));
    }
}

int measure_on_fact(void *arg, const struct fact *fact)
{
    struct measure *m = arg;
    if (!strcmp(fact->kind, "gpu") && !strcmp(fact->name, "index"))
        number_accelerator(m, fact);
    measure_check(m, record_fact(m->record, fact, &m->error));
    return 0;
}

void measure_write_names(struct measure *m)
{
    for (; m->resources < m->names.count; m->resources++)
        measure_check(m, record_resource(m->record, m->resources + 1,
                                         intern_text(&m->names, m->resources + 1), &m->error));
    for (size_t n = probe_rings_accelerator_count(m->rings); m->accelerators < n;
         m->accelerators++) {
        const struct probe_accelerator *a = probe_rings_accelerator(m->rings, m->accelerators);
        measure_check(m, record_accelerator(m->record, (uint32_t)m->accelerators, a->id, a->name,
                                            a->simulated, &m->error));
    }
    for (size_t n = probe_rings_note_count(m->rings); m->notes < n; m->notes++)
        measure_note(m, probe_rings_note(m->rings, m->notes));
}

void measure_write_deliveries(struct measure *m)
{
    if (m->watcher.sampler) /* samples do not tell who delivered: gains are bounded by the rows */
        return;
    struct str chunk = {0};
    for (int c = 0; c < replay_log_consumers(m->log); c++) {
        str_reset(&chunk);
        if (replay_encode(m->log, c, &m->cursor[c], &chunk) && chunk.len)
            measure_check(m, record_deliveries(m->record, chunk.data, chunk.len, &m->error));
    }
    str_clear(&chunk);
}

/* What has been learnt so far: a killed gpufeed has said it already. */
static void write_learnt(struct measure *m)
{
    measure_check(m, record_forget_facts(m->record, FACT_LEARNT, &m->error));
    ledger_facts(m->ledger, measure_on_fact, m);
    struct fact own = {"job",
                       "",
                       "own_read_rate",
                       NULL,
                       own_reads_rate(&m->own_reads),
                       "bytes/s",
                       "/proc/PID/task/PID/io"};
    if (isfinite(own.number))
        measure_on_fact(m, &own);
}

/* Facts of the machine change little, and reading them costs: the longer it goes, the rarer. */
static void write_sources(struct measure *m, int64_t now)
{
    if (!m->sources_started || now - m->told < m->tell_every)
        return;
    sources_facts(&m->sources, now, measure_on_fact, m);
    m->told = now;
    m->tell_every =
        m->tell_every * FACTS_TIMES < FACTS_NS_MAX ? m->tell_every * FACTS_TIMES : FACTS_NS_MAX;
}

/* What a kill from now on may cost: what is not booked yet, and what comes until the next commit. */
static void write_behind(struct measure *m)
{
    int64_t booked = ledger_booked(m->ledger);
    if (booked != INT64_MAX)
        measure_check(m,
                      record_behind(m->record, measure_now() - booked + COMMIT_NS + MEASURE_TICK_NS,
                                    &m->error));
}

void measure_commit(struct measure *m)
{
    int64_t t0, t1;
    ledger_flush(m->ledger); /* a killed gpufeed has lost what it did not commit */
    measure_write_names(m);
    if (measure_now() - m->delivered >= DELIVERIES_NS) {
        measure_write_deliveries(m);
        write_learnt(m);
        write_sources(m, measure_now());
        m->delivered = measure_now();
    }
    if (ledger_span(m->ledger, &t0, &t1))
        measure_check(m, record_span(m->record, t0, 0, &m->error));
    write_behind(m);
    measure_check(m, record_commit(m->record, &m->error));
}

void measure_write_facts(struct measure *m, int64_t now)
{
    if (m->sources_started)
        sources_facts(&m->sources, now, measure_on_fact, m);
    write_learnt(m);
}
