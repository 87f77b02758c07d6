/* SPDX-License-Identifier: MIT */
#include "measure/measure_int.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "measure/ringdir.h"
#include "sense/peers.h"
#include "sense/wait_bpf.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* The sources tell their facts for the first time after this. */
#define FACTS_NS (2 * NS_PER_S)
#define SAMPLE_NS (1 * NS_PER_S)
/* A thread's switch reaches us within this time. */
#define WAITS_LAG_NS (100 * NS_PER_MS)
/* One driver call costs the job at most this (bench/probe_cost). */
#define PROBE_CALL_NS 1000

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

/* ---- opening ---- */

static int open_recording(struct measure *m, struct error *e)
{
    struct record_meta meta = {.title = m->o.title,
                               .version = m->o.version,
                               .mode = "wait chain",
                               .start_ns = m->start,
                               .start_unix_ns = unix_now(),
                               .window_ns = NS_PER_S,
                               .price_per_hour = m->o.price_per_hour,
                               .currency = m->o.currency};
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
    struct ledger_options lo = {.names = &m->names,
                                .log = m->log,
                                .arg = m,
                                .row = measure_on_row,
                                .chain = measure_on_chain};
    m->ledger = ledger_new(&lo);
    if (!m->ledger || !m->log)
        return error_set(e, STATUS_MEMORY, "out of memory");
    return STATUS_OK;
}

bool measure_origin_valid(const char *origin)
{
    struct peer_origin parsed;
    return peer_origin_parse(&parsed, origin);
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
        measure_note(m, "CUDA_INJECTION64_PATH was set already and is left as it is: the device is "
                        "not observed; unset it to see what runs there");
    }
    *ret = m;
    return STATUS_OK;
}

const char *const *measure_environment(const struct measure *m)
{
    return (const char *const *)m->env;
}

/* ---- watching ---- */

static int on_event(void *arg, const struct event *e)
{
    struct measure *m = arg;
    struct event copy = *e;
    if (e->kind == EVENT_DEVICE) {
        uint64_t key = (uint64_t)e->device.device << 32 | e->device.pid;
        if (e->device.taken) {
            map_put(&m->holders, key, 1);
            measure_name_workload(m, e->device.pid);
            own_reads_add(&m->own_reads, e->device.pid, measure_now());
        } else {
            map_remove(&m->holders, key);
        }
    } else if (e->kind == EVENT_CALL && m->attached) {
        copy.call.device = 0; /* seen from outside, the device's number is not known */
    } else if (e->kind == EVENT_LOST) {
        copy.lost.count = 0; /* the source that lost them tells how many in its totals */
    }
    ledger_push(m->ledger, &copy);
    return 0;
}

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
        measure_note(m, e.text);
        return;
    }
    m->attached = true;
    taken.device.t = measure_now();
    measure_check(m,
                  record_accelerator(m->record, 0, "attached:0", "accelerator (driver calls only)",
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
    measure_note(m, line);
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
        measure_note(m, line);
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
        measure_note(m, str_text(&line));
    str_clear(&line);
    if (m->watcher.sampler)
        measure_check(m, record_mode(m->record, "sampler", &m->error));
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
    /* many waits take long to read, and the job goes on meanwhile */
    if (probe_rings_poll(m->rings, measure_now(), on_event, m, &e))
        measure_note(m, e.text);
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
        own_reads_look(&m->own_reads, now);
        m->sampled = now;
    }
    look_for_users(m, now);
    if (now - m->committed >= COMMIT_NS) {
        measure_commit(m);
        m->committed = now;
    }
    if (m->status && !before && e)
        *e = m->error;
    return before ? STATUS_OK : m->status;
}

/* ---- the end ---- */

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
        measure_on_fact(m, &unseen);
    else if (m->o.attach)
        measure_note(m, "neither the process nor one below it has loaded libcuda.so: nothing to "
                        "account for (does -p name the job's first process?)");
    else if (m->o.sim_dir)
        measure_note(m, "the job never took an accelerator: nothing to account for (is it a CUDA "
                        "program?)");
    else
        measure_note(m, "the job never took an accelerator: nothing to account for (is it a CUDA "
                        "program? without a GPU, --simulate gives it a simulated one)");
}

int measure_finish(struct measure *m, int exit_code, struct error *e)
{
    int64_t t0, t1, now = measure_now();
    int before = m->status;
    drain(m, now);
    watcher_finish(&m->watcher, now);
    ledger_finish(m->ledger, now);
    measure_write_names(m);
    measure_write_facts(m, now);
    note_no_device(m);
    measure_write_deliveries(m);
    if (ledger_span(m->ledger, &t0, &t1))
        measure_check(m, record_span(m->record, t0, t1, &m->error));
    struct record_end end = costs(m, exit_code, now);
    measure_check(m, record_finish(m->record, &end, &m->error));
    if (m->status && !before && e)
        *e = m->error;
    return before ? STATUS_OK : m->status;
}

bool measure_moved(const struct measure *m)
{
    return record_moved(m->record);
}

int measure_save(struct measure *m, const char *path, struct error *e)
{
    return record_save(m->record, path, e);
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
