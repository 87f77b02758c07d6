/* SPDX-License-Identifier: MIT */
/*
 * loader: the workers of the job's data loaders that are alive, how many it was told to use, and how
 * much its training processes read by themselves.
 *
 * A worker is a process without children that PyTorch has named so ("pt_data_worker"), that was forked
 * and still has its parent's command line, or that Python's multiprocessing has spawned and
 * that has not taken the driver (a rank would have).
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/job.h"
#include "sense/out.h"
#include "sense/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_MAX (64 * KIB)
#define MAPS_MAX (16 * MIB)
#define TRAINERS_MAX 64

/* Options that tell the number of workers, in the forms NAME N, NAME=N. */
static const char *const worker_options[] = {
    "--workers",
    "--num-workers",
    "--num_workers",
    "--dataloader_num_workers",
    "--dataloader-num-workers",
    "num_workers",
    "data.num_workers",
    "--nworkers",
    "--n-workers",
    "--loader-workers",
    "dataloader.num_workers",
    "--num-data-workers",
};

struct trainer {
    uint32_t pid;
    double read_first, read_last;
};

struct loader {
    struct source_opts o;
    int64_t t0;
    struct job_list list;
    double workers, parents, asked; /* NAN: not seen */
    bool torch;
    struct trainer trainers[TRAINERS_MAX]; /* processes that hold the driver and are no workers */
    size_t count;
};

static void read_text(const struct loader *l, uint32_t pid, const char *file, size_t max,
                      struct str *out)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
    if (!rootfs_bytes(l->o.root, path, max, out))
        str_reset(out);
}

static bool has(const struct str *text, const char *what)
{
    return text->len && memmem(text->data, text->len, what, strlen(what));
}

static bool same(const struct str *a, const struct str *b)
{
    return a->len && a->len == b->len && !memcmp(a->data, b->data, a->len);
}

static bool has_children(const struct loader *l, uint32_t pid)
{
    for (size_t i = 0; i < l->list.count; i++)
        if (l->list.list[i].ppid == pid)
            return true;
    return false;
}

static bool is_worker(const struct loader *l, const struct job_process *p)
{
    struct str own = {0}, parent = {0}, maps = {0};
    char path[64], comm[32] = "";
    bool yes = false;
    if (p->pid == l->o.pid || has_children(l, p->pid))
        return false;
    snprintf(path, sizeof(path), "/proc/%u/comm", p->pid);
    rootfs_line(l->o.root, path, comm, sizeof(comm));
    read_text(l, p->pid, "cmdline", COMMAND_MAX, &own);
    read_text(l, p->ppid, "cmdline", COMMAND_MAX, &parent);
    if (!strcmp(comm, "pt_data_worker"))
        yes = true;
    else if (has(&own, "resource_tracker") || has(&own, "forkserver import main"))
        yes = false;
    else if (same(&own, &parent))
        yes = has(&own, "python");
    else if (has(&own, "spawn_main(") || has(&own, "--multiprocessing-fork")) {
        read_text(l, p->pid, "maps", MAPS_MAX, &maps);
        yes = maps.len && !has(&maps, "/libcuda.so");
    }
    str_clear(&own);
    str_clear(&parent);
    str_clear(&maps);
    return yes;
}

static void see_option(struct loader *l, const char *word, const char *next)
{
    const char *equal = strchr(word, '='), *value = equal ? equal + 1 : next;
    size_t n = equal ? (size_t)(equal - word) : strlen(word);
    char *end;
    for (size_t i = 0; i < sizeof(worker_options) / sizeof(worker_options[0]); i++) {
        if (strlen(worker_options[i]) != n || memcmp(worker_options[i], word, n) ||
            !isdigit((unsigned char)*value))
            continue;
        double v = strtod(value, &end);
        if (!*end)
            l->asked = v;
    }
}

static void see_command(struct loader *l, uint32_t pid)
{
    struct str text = {0};
    job_words(&l->o, pid, COMMAND_MAX, &text);
    for (size_t i = 0; i < text.len;) {
        const char *word = text.data + i;
        i += strlen(word) + 1;
        see_option(l, word, i < text.len ? text.data + i : "");
    }
    str_clear(&text);
}

/* Bytes that all reads of a process returned, from the page cache too. */
static double bytes_read(const struct loader *l, uint32_t pid)
{
    struct str text = {0};
    read_text(l, pid, "io", 4 * KIB, &text);
    double v = text_number(str_text(&text), "rchar");
    str_clear(&text);
    return v;
}

static void see_trainer(struct loader *l, uint32_t pid)
{
    struct str maps = {0};
    for (size_t i = 0; i < l->count; i++)
        if (l->trainers[i].pid == pid)
            return;
    read_text(l, pid, "maps", MAPS_MAX, &maps);
    l->torch |= has(&maps, "/libtorch");
    if (has(&maps, "/libcuda.so") && l->count < TRAINERS_MAX)
        l->trainers[l->count++] = (struct trainer){pid, bytes_read(l, pid), NAN};
    str_clear(&maps);
}

static void look(void *self, int64_t now)
{
    struct loader *l = self;
    double workers = 0, parents = 0;
    uint32_t last = 0;
    job_look(&l->list, &l->o);
    for (size_t i = 0; i < l->list.count; i++) {
        const struct job_process *p = &l->list.list[i];
        if (!p->job)
            continue;
        if (is_worker(l, p)) {
            workers++;
            parents += p->ppid != last;
            last = p->ppid;
            continue;
        }
        if (isnan(l->workers))
            see_command(l, p->pid);
        see_trainer(l, p->pid);
    }
    for (size_t i = 0; i < l->count; i++) {
        double v = bytes_read(l, l->trainers[i].pid);
        if (isfinite(v))
            l->trainers[i].read_last = v;
    }
    l->workers = fmax(l->workers, workers);
    l->parents = fmax(l->parents, parents);
}

/* Bytes since the start; NAN: of no trainer is it known (another user's). */
static double trainers_read(const struct loader *l)
{
    double sum = NAN;
    for (size_t i = 0; i < l->count; i++) {
        double read = l->trainers[i].read_last - l->trainers[i].read_first;
        if (isfinite(read))
            sum = (isnan(sum) ? 0 : sum) + fmax(read, 0);
    }
    return sum;
}

static void stop(void *self)
{
    struct loader *l = self;
    if (l)
        job_clear(&l->list);
    free(l);
}

static int start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    if (!o->pid)
        return error_set(e, STATUS_MISSING, "no job was named: nothing is known of its workers");
    struct loader *l = mem_zalloc(sizeof(*l));
    if (!l)
        return error_set(e, STATUS_MEMORY, "out of memory for the job's workers");
    l->o = *o;
    l->t0 = now;
    l->workers = l->parents = l->asked = NAN;
    look(l, now);
    *ret = l;
    return STATUS_OK;
}

static int facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct loader *l = self;
    struct out o = {.fn = fn, .arg = arg, .kind = "job", .source = "/proc/PID"};
    look(l, now);
    if (!l->list.count)
        return STATUS_OK;
    out_number(&o, "loader_workers", l->workers, "count");
    out_number(&o, "loader_parents", l->parents, "count");
    o.source = "command line";
    out_number(&o, "workers_asked", l->asked, "count");
    o.source = "/proc/PID/maps";
    out_number(&o, "torch", l->torch, "1");
    out_number(&o, "trainers", (double)l->count, "count");
    o.source = "/proc/PID/io";
    if (now > l->t0)
        out_number(&o, "trainer_read_rate", trainers_read(l) / unit_seconds(now - l->t0),
                   "bytes/s");
    return o.rc;
}

const struct source source_loader = {
    "loader", "loader workers alive and asked for", start, look, facts, stop, .survey = true,
};
