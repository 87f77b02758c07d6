/* SPDX-License-Identifier: MIT */
#include "sense/job.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/process.h"
#include "sense/procfs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_MAX 4096
#define ENVIRON_MAX (256 * KIB)

struct look {
    struct job_list *l;
    const struct source_opts *o;
};

static void see(void *arg, const char *name)
{
    struct look *k = arg;
    struct job_list *l = k->l;
    char path[64], *end;
    struct str text = {0};
    struct procfs_stat s;
    unsigned long pid = strtoul(name, &end, 10);
    if (!isdigit((unsigned char)name[0]) || *end || pid > UINT32_MAX)
        return;
    snprintf(path, sizeof(path), "/proc/%lu/stat", pid);
    if (rootfs_bytes(k->o->root, path, STAT_MAX, &text) && procfs_parse_stat(str_text(&text), &s) &&
        mem_grow((void **)&l->list, &l->cap, l->count + 1, sizeof(*l->list)))
        l->list[l->count++] =
            (struct job_process){(uint32_t)pid, s.ppid, s.start_ticks, s.threads, false};
    str_clear(&text);
}

/* Repeats until no more are found (children may come before their parents). */
static void mark(struct job_list *l, const struct source_opts *o)
{
    struct map job = {0};
    uint64_t v;
    bool more = map_put(&job, o->pid, 1);
    while (more) {
        more = false;
        for (size_t i = 0; i < l->count; i++) {
            struct job_process *s = &l->list[i];
            bool orphan = o->reaper && s->ppid == o->reaper;
            if (s->job || !(s->pid == o->pid || orphan || map_get(&job, s->ppid, &v)))
                continue;
            s->job = map_put(&job, s->pid, 1);
            more |= s->job;
        }
    }
    map_clear(&job);
}

void job_look(struct job_list *l, const struct source_opts *o)
{
    struct look k = {l, o};
    l->count = 0;
    rootfs_each(o->root, "/proc", see, &k);
    if (o->pid)
        mark(l, o);
}

void job_clear(struct job_list *l)
{
    free(l->list);
    *l = (struct job_list){0};
}

bool job_root(const struct source_opts *o, char *buf, size_t size)
{
    bool dump = o->root && o->root[0];
    buf[0] = '\0';
    if (!o->pid)
        return true;
    if (snprintf(buf, size, "/proc/%u/root", o->pid) >= (int)size)
        return false;
    if (rootfs_exists(o->root, buf))
        return true;
    buf[0] = '\0';
    return dump;
}

void job_words(const struct source_opts *o, uint32_t pid, size_t max, struct str *ret)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    if (!rootfs_bytes(o->root, path, max, ret))
        str_reset(ret);
    for (size_t i = 0; i < ret->len; i++)
        if (ret->data[i] == ' ')
            ret->data[i] = '\0';
}

bool job_env(const struct source_opts *o, const char *name, char *buf, size_t size)
{
    char path[64];
    struct str text = {0};
    snprintf(path, sizeof(path), "/proc/%u/environ", o->pid);
    const char *value = o->pid && rootfs_bytes(o->root, path, ENVIRON_MAX, &text)
                            ? process_variable(&text, name)
                            : NULL;
    bool found = value && str_copy(buf, size, value);
    str_clear(&text);
    return found;
}
