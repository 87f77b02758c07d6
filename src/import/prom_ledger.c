/* SPDX-License-Identifier: MIT */
#include "import/prom_ledger.h"

#include "base/str.h"
#include "base/unit.h"
#include "ledger/account.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What tells how busy a device is, best first, and the value of a whole device. NVIDIA's DCGM fields; AMD's
 * device metrics exporter; nvidia_smi exporters; Google's GKE. */
static const struct {
    const char *name;
    double whole;
} busy[] = {
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", 1},
    {"DCGM_FI_DEV_GPU_UTIL", 100},
    {"gpu_gfx_activity", 100},
    {"amd_gpu_gfx_activity", 100},
    {"nvidia_smi_utilization_gpu_ratio", 1},
    {"nvidia_gpu_duty_cycle", 100},
};
#define BUSY (sizeof(busy) / sizeof(busy[0]))

#define HELD_MIB 1024.0 /* DCGM_FI_DEV_FB_USED beyond it: a job holds the device */

/* The labels that name a device: by what it is called everywhere, or by its number on its host. */
static void name_device(const char *labels, struct prom_gpu *g)
{
    static const char *const ids[] = {"UUID", "uuid", "gpu_uuid"};
    static const char *const numbers[] = {"gpu", "gpu_id", "minor_number", "card"};
    static const char *const hosts[] = {"Hostname", "hostname", "instance", "node"};
    static const char *const models[] = {"modelName", "model", "card_model", "name"};
    char part[64], number[32] = "0", host[64] = "";
    g->id[0] = g->name[0] = '\0';
    for (size_t i = 0; i < 4 && !g->name[0]; i++)
        prom_label(labels, models[i], g->name, sizeof(g->name));
    for (size_t i = 0; i < 3 && !g->id[0]; i++)
        prom_label(labels, ids[i], g->id, sizeof(g->id) - 16);
    for (size_t i = 0; i < 4; i++)
        if (prom_label(labels, numbers[i], number, sizeof(number)))
            break;
    for (size_t i = 0; i < 4; i++)
        if (prom_label(labels, hosts[i], host, sizeof(host)))
            break;
    if (!g->id[0])
        snprintf(g->id, sizeof(g->id), *host ? "gpu %.20s on %.60s" : "gpu %.20s", number, host);
    if (prom_label(labels, "GPU_I_ID", part, sizeof(part)) && *part) { /* a part of it (MIG) */
        size_t n = strlen(g->id);
        snprintf(g->id + n, sizeof(g->id) - n, "/%.12s", part);
    }
}

/* Does anything say that a job holds it: a pod's name, or memory in use? */
static bool is_held(const struct prom_set *s, const struct prom_series *series, const char *id)
{
    static const char *const owners[] = {
        "pod", "exported_pod", "container", "exported_container", "hpc_job", "job_id"};
    char text[64];
    const char *labels = intern_text(&s->texts, series->labels);
    for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
        if (prom_label(labels, owners[i], text, sizeof(text)) && *text)
            return true;
    for (size_t i = 0; i < s->series_count; i++) {
        const struct prom_series *other = &s->series[i];
        struct prom_gpu g;
        if (strcmp(intern_text(&s->texts, other->name), "DCGM_FI_DEV_FB_USED"))
            continue;
        name_device(intern_text(&s->texts, other->labels), &g);
        for (size_t k = 0; k < other->count && !strcmp(g.id, id); k++)
            if (prom_samples(s, other)[k].value > HELD_MIB)
                return true;
    }
    return false;
}

static double share_of(double value, double whole)
{
    double share = value / whole;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* [t0, t1) with one share of compute, mixed evenly over the windows. */
static void book(struct account *a, int64_t t0, int64_t t1, double share, bool held)
{
    static const struct shares none;
    for (int64_t t = t0; t < t1;) {
        int64_t end = t - t % a->window_ns + a->window_ns;
        end = end < t1 && end > t ? end : t1;
        int64_t busy_ns = (int64_t)((double)(end - t) * share);
        struct shares unknown = {0};
        if (busy_ns > 0)
            account_add(a, t + busy_ns, STATE_COMPUTE, &none, 0, EVIDENCE_COUNTERS);
        shares_add(&unknown, CAUSE_UNKNOWN, 0, end - t - busy_ns);
        if (end - t > busy_ns)
            account_add(a, end, held ? STATE_WAIT : STATE_UNUSED, held ? &unknown : &none, 0,
                        EVIDENCE_COUNTERS);
        t = end;
    }
}

static void book_series(const struct prom_set *s, const struct prom_series *series, double whole,
                        const struct prom_gpu *g, int64_t window_ns,
                        const struct prom_ledger_sink *sink)
{
    struct account a;
    const struct prom_sample *p = prom_samples(s, series);
    double most = 0;
    account_init(&a, g->number, window_ns,
                 (struct account_sink){.arg = sink->arg, .row = sink->row});
    account_begin(&a, 0);
    for (size_t i = 0; i < series->count; i++)
        most = p[i].value > most ? p[i].value : most;
    bool held = most > 0 || is_held(s, series, g->id);
    for (size_t i = 1; i < series->count; i++)
        book(&a, p[i - 1].t - g->t0, p[i].t - g->t0,
             (share_of(p[i - 1].value, whole) + share_of(p[i].value, whole)) / 2, held);
    account_close(&a);
}

/* Devices whose better metric was booked are not booked again. */
struct seen {
    struct map of; /* interned id -> 1 */
    struct intern ids;
    bool failed; /* out of memory */
};

static bool is_new(struct seen *seen, const char *id)
{
    uint32_t n = intern_put(&seen->ids, id);
    if (n && map_get(&seen->of, n, NULL))
        return false;
    seen->failed |= !n || !map_put(&seen->of, n, 1);
    return !seen->failed;
}

int prom_ledger(const struct prom_set *s, int64_t window_ns, const struct prom_ledger_sink *sink,
                struct error *e)
{
    struct seen seen = {0};
    uint32_t number = 0;
    if (s->failed)
        return error_set(e, STATUS_MEMORY, "out of memory reading metrics");
    for (size_t b = 0; b < BUSY; b++)
        for (size_t i = 0; i < s->series_count; i++) {
            const struct prom_series *series = &s->series[i];
            struct prom_gpu g = {.number = number, .metric = busy[b].name};
            if (strcmp(intern_text(&s->texts, series->name), busy[b].name) ||
                prom_span(prom_samples(s, series), series->count) <= 0)
                continue;
            name_device(intern_text(&s->texts, series->labels), &g);
            g.t0 = prom_samples(s, series)[0].t;
            g.t1 = prom_samples(s, series)[series->count - 1].t;
            if (!is_new(&seen, g.id) || !sink->gpu(sink->arg, &g))
                continue;
            number++;
            book_series(s, series, busy[b].whole, &g, window_ns, sink);
        }
    map_clear(&seen.of);
    intern_clear(&seen.ids);
    return seen.failed ? error_set(e, STATUS_MEMORY, "out of memory reading metrics") : STATUS_OK;
}
