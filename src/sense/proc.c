/* SPDX-License-Identifier: MIT */
/*
 * proc: the job's processes: how many there were, what they were told by their command
 * line and by the variables of the environment that shape training (a fixed list; nothing
 * else of the environment is kept). Secrets are taken out of all texts.
 */
#include "sense/source.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/rootfs.h"
#include "base/str.h"
#include "base/unit.h"
#include "sense/environment.h"
#include "sense/job.h"
#include "sense/out.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_MAX 4096
#define ENVIRON_MAX (256 * 1024)
#define RANKS_MAX 1024

struct setting {
    char *name, *value; /* owned; value redacted */
    bool differs;       /* another process has another value */
};

struct proc {
    struct source_opts o;
    struct job_list processes;
    struct map read;          /* hash of pid and start time -> how often its environment was read */
    struct setting *settings; /* owned, the texts too */
    size_t setting_count, setting_cap;
    uint32_t rank_pid[RANKS_MAX]; /* by RANK */
    double processes_peak, threads_peak, started;
    char command[COMMAND_MAX];
};

static void keep(struct proc *p, const char *name, const char *value)
{
    struct str text = {0};
    redact_add_value(&text, name, value);
    for (size_t i = 0; i < p->setting_count; i++) {
        if (strcmp(p->settings[i].name, name))
            continue;
        p->settings[i].differs |= strcmp(p->settings[i].value, str_text(&text)) != 0;
        str_clear(&text);
        return;
    }
    struct setting s = {mem_strdup(name), mem_strdup(str_text(&text)), false};
    str_clear(&text);
    if (!s.name || !s.value ||
        !mem_grow((void **)&p->settings, &p->setting_cap, p->setting_count + 1, sizeof(s))) {
        free(s.name);
        free(s.value);
        return;
    }
    p->settings[p->setting_count++] = s;
}

static void read_environ(struct proc *p, uint32_t pid)
{
    char path[64];
    struct str text = {0};
    snprintf(path, sizeof(path), "/proc/%u/environ", pid);
    if (!rootfs_bytes(p->o.root, path, ENVIRON_MAX, &text))
        str_reset(&text);
    for (size_t i = 0; i < text.len;) {
        char *entry = text.data + i; /* str keeps a NUL behind the last one */
        size_t n = strlen(entry);
        char *eq = strchr(entry, '=');
        if (eq && environment_wanted(entry, (size_t)(eq - entry))) {
            *eq = '\0';
            keep(p, entry, eq + 1);
            unsigned long rank = strtoul(eq + 1, NULL, 10);
            if (!strcmp(entry, "RANK") && isdigit((unsigned char)eq[1]) && rank < RANKS_MAX &&
                !p->rank_pid[rank])
                p->rank_pid[rank] = pid;
        }
        i += n + 1;
    }
    str_clear(&text);
}

static void read_command(struct proc *p)
{
    char path[64];
    struct str text = {0}, line = {0};
    snprintf(path, sizeof(path), "/proc/%u/cmdline", p->o.pid);
    if (rootfs_bytes(p->o.root, path, COMMAND_MAX, &text)) {
        redact_add_cmdline(&line, text.data, text.len);
        str_copy(p->command, sizeof(p->command), str_text(&line));
    }
    str_clear(&text);
    str_clear(&line);
}

/* The environment is read at the first look and, since exec may have come after, the next. */
static void read_new(struct proc *p, const struct job_process *s)
{
    uint64_t key = (uint64_t)s->pid << 32 ^ s->start, times = 0;
    if (map_get(&p->read, key, &times) && times >= 2)
        return;
    if (!times)
        p->started++;
    map_put(&p->read, key, times + 1);
    read_environ(p, s->pid);
}

static void proc_sample(void *self, int64_t now)
{
    struct proc *p = self;
    double processes = 0, threads = 0;
    job_look(&p->processes, &p->o);
    for (size_t i = 0; i < p->processes.count; i++) {
        const struct job_process *one = &p->processes.list[i];
        if (!one->job)
            continue;
        processes++;
        threads += (double)one->threads;
        read_new(p, one);
        if (one->pid == p->o.pid)
            read_command(p);
    }
    p->processes_peak = fmax(p->processes_peak, processes);
    p->threads_peak = fmax(p->threads_peak, threads);
}

static void proc_stop(void *self)
{
    struct proc *p = self;
    if (!p)
        return;
    for (size_t i = 0; i < p->setting_count; i++) {
        free(p->settings[i].name);
        free(p->settings[i].value);
    }
    free(p->settings);
    job_clear(&p->processes);
    map_clear(&p->read);
    free(p);
}

static int proc_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    if (!o->pid)
        return error_set(e, STATUS_MISSING, "no job was named: nothing is known of processes");
    if (!rootfs_exists(o->root, "/proc"))
        return error_set(e, STATUS_MISSING, "\"/proc\" is absent: is it mounted?");
    struct proc *p = mem_zalloc(sizeof(*p));
    if (!p)
        return error_set(e, STATUS_MEMORY, "out of memory for the job's processes");
    p->o = *o;
    proc_sample(p, now);
    *ret = p;
    return STATUS_OK;
}

static int proc_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct proc *p = self;
    struct out o = {.fn = fn, .arg = arg, .kind = "job", .source = "/proc"};
    proc_sample(p, now);
    out_text(&o, "command", p->command);
    if (p->processes_peak > 0) {
        out_number(&o, "processes_peak", p->processes_peak, "count");
        out_number(&o, "threads_peak", p->threads_peak, "count");
        out_number(&o, "processes_seen", p->started, "count");
    }
    o.source = "/proc/PID/environ";
    o.kind = "env";
    for (size_t i = 0; i < p->setting_count; i++) {
        o.subject = p->settings[i].name;
        out_text(&o, "value", p->settings[i].value);
        if (p->settings[i].differs)
            out_number(&o, "differs", 1, "1");
    }
    o.kind = "rank";
    for (unsigned i = 0; i < RANKS_MAX; i++) {
        char rank[16];
        snprintf(rank, sizeof(rank), "%u", i);
        o.subject = rank;
        if (p->rank_pid[i])
            out_number(&o, "pid", p->rank_pid[i], "");
    }
    return o.rc;
}

const struct source source_proc = {
    "proc",     "the job's processes, command line and environment",
    proc_start, proc_sample,
    proc_facts, proc_stop,
};
