/* SPDX-License-Identifier: MIT */
#include "sense/sources.h"

#include "base/str.h"

#include <string.h>

static const struct source *const table[] = {
    &source_cpu,       &source_memory,    &source_psi,     &source_disks,    &source_nics,
    &source_mounts,    &source_proc,      &source_nvml,    &source_given,    &source_self,
    &source_limits,    &source_vm,        &source_data,    &source_loader,   &source_pci,
    &source_rdma,      &source_gpu_files, &source_modules, &source_services, &source_nccl_files,
    &source_libraries, &source_job_tcp,
};

#define COUNT (sizeof(table) / sizeof(table[0]))
_Static_assert(COUNT <= SOURCES_MAX, "SOURCES_MAX is too small");

void sources_start(struct sources *s, const struct source_opts *o, int64_t now)
{
    memset(s, 0, sizeof(*s));
    for (size_t i = 0; i < COUNT; i++) {
        struct error e = {0};
        if (table[i]->survey && !o->survey) {
            str_copy(s->missing[i], sizeof(s->missing[i]), "only gpufeed check looks at it");
            continue;
        }
        if (table[i]->start(&s->state[i], o, now, &e)) {
            s->state[i] = NULL;
            str_copy(s->missing[i], sizeof(s->missing[i]), e.text);
        }
    }
}

void sources_sample(struct sources *s, int64_t now)
{
    for (size_t i = 0; i < COUNT; i++)
        if (s->state[i] && table[i]->sample)
            table[i]->sample(s->state[i], now);
}

int sources_facts_of(struct sources *s, size_t i, int64_t now, fact_fn fn, void *arg)
{
    return i < COUNT && s->state[i] ? table[i]->facts(s->state[i], now, fn, arg) : STATUS_OK;
}

int sources_facts(struct sources *s, int64_t now, fact_fn fn, void *arg)
{
    int rc = 0;
    for (size_t i = 0; i < COUNT && !rc; i++)
        rc = sources_facts_of(s, i, now, fn, arg);
    return rc;
}

void sources_stop(struct sources *s)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (s->state[i])
            table[i]->stop(s->state[i]);
        s->state[i] = NULL;
    }
}

size_t sources_count(void)
{
    return COUNT;
}

const struct source *sources_at(size_t i)
{
    return i < COUNT ? table[i] : NULL;
}

const char *sources_missing(const struct sources *s, size_t i)
{
    return i >= COUNT || s->state[i] ? NULL : s->missing[i];
}
