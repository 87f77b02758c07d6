/* SPDX-License-Identifier: MIT */
#include "measure/measure.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/rootfs.h"
#include "base/str.h"
#include "ledger/ledger.h"
#include "measure/driver.h"
#include "measure/ringdir.h"
#include "measure/watcher.h"
#include "plan/replay_log.h"
#include "record/record.h"
#include "sense/probe_ring.h"
#include "sense/sources.h"
#include "sense/wait_bpf.h"

#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define COMMIT_NS (500 * NS_PER_MS)
/* Chunks of the replay log: large ones pack better. */
#define DELIVERIES_NS (2 * NS_PER_S)
#define FACTS_NS (2 * NS_PER_S) /* then so many times as long each time, up to: */
#define FACTS_TIMES 5
#define FACTS_NS_MAX (60 * NS_PER_S)
#define SAMPLE_NS (1 * NS_PER_S)
/* A thread's switch reaches us within this time. */
#define WAITS_LAG_NS (100 * NS_PER_MS)
/* One driver call costs the job at most this (bench/probe_cost). */
#define PROBE_CALL_NS 1000

struct measure {
    struct measure_options o;
    struct intern names;
    struct ledger *ledger;
    struct replay_log *log;
    struct record *record;
    struct probe_rings *rings;
    struct watcher watcher;
    struct sources sources;
    bool sources_started;
    char ring_dir[64];
    int ring_lock; /* descriptor; 0: none */
    char nvml[PATH_MAX]; /* the simulated library */
    char *env[8];
    int64_t start, committed, delivered, sampled, next;
    bool gives_way;
    int64_t told, tell_every; /* when the sources last told their facts, and until they do again */
    size_t accelerators; /* written to the recording */
    uint32_t resources;  /* likewise */
    size_t notes;
    struct map workloads; /* pids whose names are written */
    struct replay_cursor cursor[REPLAY_CONSUMERS_MAX];
    struct map holders;  /* (device, pid) that hold */
    uint32_t root;       /* the job's first process */
    bool attached;       /* calls are seen from outside: one made-up device */
    struct driver_looks looks;
    const char *blind;   /* why devices are not seen at all; NULL: they are */
    int status;          /* of the recording: the first failure */
    struct error error;
};

int64_t measure_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static int64_t unix_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* Remembers the recording's first failure. */
static void check(struct measure *m, int rc)
{
    if (rc && !m->status)
        m->status = rc;
}

static void note(struct measure *m, const char *line)
{
    check(m, record_note(m->record, line, &m->error));
}

/* ---- from the ledger into the recording ---- */

static void name_workload(struct measure *m, uint32_t pid)
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
        check(m, record_workload(m->record, pid, text, &m->error));
    }
    str_clear(&line);
}

static void on_row(void *arg, const struct ledger_row *row)
{
    struct measure *m = arg;
    check(m, record_row(m->record, row, &m->error));
}

static void on_chain(void *arg, const struct chain_example *chain)
{
    struct measure *m = arg;
    check(m, record_chain(m->record, chain,
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
        check(m, record_accelerator(m->record, (uint32_t)i, id, a->name, a->simulated, &m->error));
    }
}

static int on_fact(void *arg, const struct fact *fact)
{
    struct measure *m = arg;
    if (!strcmp(fact->kind, "gpu") && !strcmp(fact->name, "index"))
        number_accelerator(m, fact);
    check(m, record_fact(m->record, fact, &m->error));
    return 0;
}

static int on_event(void *arg, const struct event *e)
{
    struct measure *m = arg;
    struct event copy = *e;
    if (e->kind == EVENT_DEVICE) {
        uint64_t key = (uint64_t)e->device.device << 32 | e->device.pid;
        if (e->device.taken) {
            map_put(&m->holders, key, 1);
            name_workload(m, e->device.pid);
        } else {
            map_remove(&m->holders, key);
        }
    } else if (e->kind == EVENT_CALL && m->attached) {
        copy.call.device = 0; /* seen from outside, the device's number is not known */
    }
    ledger_push(m->ledger, &copy);
    return 0;
}

static void write_names(struct measure *m)
{
    for (; m->resources < m->names.count; m->resources++)
        check(m, record_resource(m->record, m->resources + 1,
                                 intern_text(&m->names, m->resources + 1), &m->error));
    for (size_t n = probe_rings_accelerator_count(m->rings); m->accelerators < n;
         m->accelerators++) {
        const struct probe_accelerator *a = probe_rings_accelerator(m->rings, m->accelerators);
        check(m, record_accelerator(m->record, (uint32_t)m->accelerators, a->id, a->name,
                                    a->simulated, &m->error));
    }
    for (size_t n = probe_rings_note_count(m->rings); m->notes < n; m->notes++)
        note(m, probe_rings_note(m->rings, m->notes));
}

static void write_deliveries(struct measure *m)
{
    if (m->watcher.sampler) /* samples do not tell who delivered: gains are bounded by the rows */
        return;
    struct str chunk = {0};
    for (int c = 0; c < replay_log_consumers(m->log); c++) {
        str_reset(&chunk);
        if (replay_encode(m->log, c, &m->cursor[c], &chunk) && chunk.len)
            check(m, record_deliveries(m->record, chunk.data, chunk.len, &m->error));
    }
    str_clear(&chunk);
}

/* What has been learnt so far: a killed gpufeed has said it already. */
static void write_learnt(struct measure *m)
{
    check(m, record_forget_facts(m->record, FACT_LEARNT, &m->error));
    ledger_facts(m->ledger, on_fact, m);
}

/* Facts of the machine change little, and reading them costs: the longer it goes, the rarer. */
static void write_sources(struct measure *m, int64_t now)
{
    if (!m->sources_started || now - m->told < m->tell_every)
        return;
    sources_facts(&m->sources, now, on_fact, m);
    m->told = now;
    m->tell_every = m->tell_every * FACTS_TIMES < FACTS_NS_MAX ? m->tell_every * FACTS_TIMES : FACTS_NS_MAX;
}

static void commit(struct measure *m)
{
    int64_t t0, t1;
    ledger_flush(m->ledger); /* a killed gpufeed has lost what it did not commit */
    write_names(m);
    if (measure_now() - m->delivered >= DELIVERIES_NS) {
        write_deliveries(m);
        write_learnt(m);
        write_sources(m, measure_now());
        m->delivered = measure_now();
    }
    if (ledger_span(m->ledger, &t0, &t1))
        check(m, record_span(m->record, t0, 0, &m->error));
    check(m, record_commit(m->record, &m->error));
}

/* ---- opening ---- */

static int open_recording(struct measure *m, struct error *e)
{
    struct record_meta meta = {.title = m->o.title, .version = m->o.version,
                               .mode = "wait chain", .start_ns = m->start,
                               .start_unix_ns = unix_now(), .window_ns = NS_PER_S};
    return record_create(m->o.path, &meta, &m->record, e);
}

/* Empty counts as not set, as for the driver. The probe of a gpufeed around us gives way: the
 * nearest one measures. */
static bool injected_already(void)
{
    const char *set = getenv("CUDA_INJECTION64_PATH");
    return set && *set && !ringdir_is_probe(set);
}

static int make_environment(struct measure *m, struct error *e)
{
    int n = 0;
    m->env[n++] = ringdir_env(m->ring_dir);
    if (m->o.sim_dir) {
        m->env[n++] = ringdir_sim_env("GPUFEED_SIM_LIBDIR=", m->o.sim_dir, false);
        m->env[n++] = ringdir_sim_env("LD_LIBRARY_PATH=", m->o.sim_dir, true);
        m->env[n++] = mem_strdup("GPUFEED_SIMULATE=1");
    }
    if (!m->o.attach && !injected_already())
        m->env[n++] = ringdir_probe_env();
    for (int i = 0; i < n; i++)
        if (!m->env[i])
            return error_set(e, STATUS_MEMORY, "out of memory");
    return STATUS_OK;
}

static int open_parts(struct measure *m, struct error *e)
{
    int rc = ringdir_make(m->ring_dir, sizeof(m->ring_dir), &m->ring_lock, e);
    if (!rc)
        rc = make_environment(m, e);
    if (!rc)
        rc = open_recording(m, e);
    if (rc)
        return rc;
    m->rings = probe_rings_new(m->ring_dir, e);
    if (!m->rings)
        return e ? (int)e->status : STATUS_SYSTEM;
    m->log = replay_log_new(0);
    struct ledger_options lo = {.names = &m->names, .log = m->log, .arg = m, .row = on_row,
                                .chain = on_chain};
    m->ledger = ledger_new(&lo);
    if (!m->ledger || !m->log)
        return error_set(e, STATUS_MEMORY, "out of memory");
    return STATUS_OK;
}

int measure_open(const struct measure_options *options, struct measure **ret, struct error *e)
{
    struct measure *m = mem_zalloc(sizeof(*m));
    if (!m)
        return error_set(e, STATUS_MEMORY, "out of memory");
    m->o = *options;
    m->start = m->told = measure_now();
    m->tell_every = FACTS_NS;
    int rc = open_parts(m, e);
    if (rc) {
        measure_close(m);
        return rc;
    }
    if (injected_already() && !options->attach) {
        m->blind = "CUDA_INJECTION64_PATH was set already";
        note(m, "CUDA_INJECTION64_PATH was set already and is left as it is: the device is not "
                "observed; unset it to see what runs there");
    }
    *ret = m;
    return STATUS_OK;
}

const char *const *measure_environment(const struct measure *m)
{
    return (const char *const *)m->env;
}

/* ---- watching ---- */

/* A device whose driver calls alone are seen: their numbers are not known, so it is one. */
static void attach_calls(struct measure *m)
{
    char path[PATH_MAX];
    struct error e = {0};
    struct event taken = {.kind = EVENT_DEVICE, .device = {.pid = m->root, .taken = true}};
    uint32_t user = driver_find(m->root, true, path, sizeof(path));
    if (!user)
        return;
    if (wait_bpf_attach_cuda(m->watcher.bpf, path, user, &e)) {
        m->blind = "its driver calls could not be watched";
        note(m, e.text);
        return;
    }
    m->attached = true;
    taken.device.t = measure_now();
    check(m, record_accelerator(m->record, 0, "attached:0", "accelerator (driver calls only)",
                                driver_is_simulated(user, path), &m->error));
    on_event(m, &taken);
}

/* A job that runs already is seen by its driver calls, once it has loaded the driver. */
static void begin_attached(struct measure *m)
{
    char line[400];
    if (m->watcher.bpf) {
        ledger_calls_only(m->ledger);
        attach_calls(m);
        return;
    }
    m->blind = driver_calls_unseen(m->o.no_bpf, line, sizeof(line));
    note(m, line);
}

/* While no process of the job has a ring: is one of them out of the probe's reach? */
static void look_for_users(struct measure *m, int64_t now)
{
    char line[400];
    bool seen = m->o.attach ? m->attached : probe_rings_totals(m->rings).processes > 0;
    if (m->blind || seen || !driver_look_is_due(&m->looks, now))
        return;
    if (m->o.attach)
        attach_calls(m);
    else if ((m->blind = driver_unseen(m->ring_dir, line, sizeof(line))))
        note(m, line);
}

void measure_watch(struct measure *m, pid_t pid)
{
    struct source_opts so = {.pid = (uint32_t)pid, .reaper = (uint32_t)getpid()};
    struct str line = {0};
    if (m->o.sim_dir) {
        snprintf(m->nvml, sizeof(m->nvml), "%s/libnvidia-ml.so.1", m->o.sim_dir);
        so.nvml = m->nvml;
    }
    m->watcher.sink = on_event;
    m->watcher.arg = m;
    watcher_open(&m->watcher, (uint32_t)pid, m->o.origin, m->o.no_bpf, &m->names, &line);
    if (line.len)
        note(m, str_text(&line));
    str_clear(&line);
    if (m->watcher.sampler)
        check(m, record_mode(m->record, "sampler", &m->error));
    if (watcher_sees(&m->watcher))
        ledger_watch_waits(m->ledger);
    m->root = (uint32_t)pid;
    if (m->o.attach)
        begin_attached(m);
    sources_start(&m->sources, &so, measure_now());
    m->sources_started = true;
}

int measure_poll_ms(const struct measure *m)
{
    int64_t ms = (m->next - measure_now()) / NS_PER_MS;
    return ms < 1 ? 1 : (int)ms;
}

bool measure_holds_device(const struct measure *m)
{
    return m->holders.count > 0;
}

static void drain(struct measure *m, int64_t now)
{
    struct error e = {0};
    m->next = watcher_tick(&m->watcher, now);
    if (m->next > now + MEASURE_TICK_NS)
        m->next = now + MEASURE_TICK_NS;
    if (probe_rings_poll(m->rings, now, on_event, m, &e))
        note(m, e.text);
}

static int64_t complete_until(const struct measure *m, int64_t now)
{
    int64_t spans = probe_rings_complete_until(m->rings), waits = now - WAITS_LAG_NS;
    return spans < waits ? spans : waits;
}

/* Whenever it wakes up the job goes on where it is: the rings hold for seconds. Not before the job has
 * begun, which would inherit it. */
static void give_way(struct measure *m)
{
    static const struct sched_param any = {0};
    if (!m->gives_way && sched_getscheduler(0) == SCHED_OTHER)
        sched_setscheduler(0, SCHED_BATCH, &any);
    m->gives_way = true;
}

int measure_tick(struct measure *m, struct error *e)
{
    int64_t now = measure_now();
    give_way(m);
    int before = m->status;
    drain(m, now);
    ledger_advance(m->ledger, complete_until(m, now));
    if (m->sources_started && now - m->sampled >= SAMPLE_NS) {
        sources_sample(&m->sources, now);
        m->sampled = now;
    }
    look_for_users(m, now);
    if (now - m->committed >= COMMIT_NS) {
        commit(m);
        m->committed = now;
    }
    if (m->status && !before && e)
        *e = m->error;
    return before ? STATUS_OK : m->status;
}

/* ---- the end ---- */

static void write_facts(struct measure *m, int64_t now)
{
    if (m->sources_started)
        sources_facts(&m->sources, now, on_fact, m);
    write_learnt(m);
}

static struct record_end costs(struct measure *m, int exit_code, int64_t now)
{
    struct rusage self;
    struct probe_totals probe = probe_rings_totals(m->rings);
    int64_t kernel = watcher_kernel_ns(&m->watcher);
    double bpf = kernel > 0 ? unit_seconds(kernel) : 0;
    getrusage(RUSAGE_SELF, &self);
    double own = (double)self.ru_utime.tv_sec + (double)self.ru_stime.tv_sec +
                 (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec) * (double)NS_PER_US /
                     (double)NS_PER_S;
    double calls = (double)(probe.spans + probe.calls) * unit_seconds(PROBE_CALL_NS);
    double wall = unit_seconds(now - m->start);
    return (struct record_end){
        .exit_code = exit_code,
        .cpu_seconds = own + bpf,
        .peak_rss_bytes = mem_peak_bytes(),
        .events_lost = ledger_lost(m->ledger) + probe.lost + watcher_lost(&m->watcher),
        .slowdown_bound = wall > 0 && kernel >= 0 ? (bpf + calls) / wall : NAN,
    };
}

/* A job that never touched a device leaves one line saying so; where we could not look, nobody
 * knows whether it did. */
static void note_no_device(struct measure *m)
{
    int64_t t0, t1;
    if (ledger_span(m->ledger, &t0, &t1))
        return;
    if (!m->blind && probe_rings_totals(m->rings).blind)
        m->blind = "the probe could not watch them";
    struct fact unseen = {"job", "", "device_unseen", m->blind, NAN, "", "gpufeed"};
    if (m->blind)
        on_fact(m, &unseen);
    else if (m->o.attach)
        note(m, "neither the process nor one below it has loaded libcuda.so: nothing to account "
                "for (does -p name the job's first process?)");
    else
        note(m, m->o.sim_dir ? "the job never took an accelerator: nothing to account for (is it a "
                               "CUDA program?)"
                             : "the job never took an accelerator: nothing to account for (is it a "
                               "CUDA program? without a GPU, --simulate gives it a simulated one)");
}

int measure_finish(struct measure *m, int exit_code, struct error *e)
{
    int64_t t0, t1, now = measure_now();
    int before = m->status;
    drain(m, now);
    watcher_finish(&m->watcher, now);
    ledger_finish(m->ledger, now);
    write_names(m);
    write_facts(m, now);
    note_no_device(m);
    write_deliveries(m);
    if (ledger_span(m->ledger, &t0, &t1))
        check(m, record_span(m->record, t0, t1, &m->error));
    struct record_end end = costs(m, exit_code, now);
    check(m, record_finish(m->record, &end, &m->error));
    if (m->status && !before && e)
        *e = m->error;
    return before ? STATUS_OK : m->status;
}

void measure_close(struct measure *m)
{
    if (!m)
        return;
    if (m->sources_started)
        sources_stop(&m->sources);
    watcher_close(&m->watcher);
    probe_rings_free(m->rings);
    record_close(m->record);
    ledger_free(m->ledger);
    replay_log_free(m->log);
    ringdir_remove(m->ring_dir);
    if (m->ring_lock > 0)
        close(m->ring_lock);
    for (size_t i = 0; i < sizeof(m->env) / sizeof(m->env[0]); i++)
        free(m->env[i]);
    map_clear(&m->workloads);
    map_clear(&m->holders);
    intern_clear(&m->names);
    free(m);
}
