/* SPDX-License-Identifier: MIT */
/*
 * A path says on which mount a file lies; unlike stat(2) that asks no file server, which
 * may hang, and it works for paths that the thread is still looking up.
 */
#include "sense/sampler_int.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_AGE (2 * NS_PER_S)

/* The table of the process's namespace, not older than TABLE_AGE; NULL when out of memory. */
static struct sampler_mounts *table_of(struct sampler *s, const struct sampler_proc *p, int64_t now)
{
    struct sampler_mounts *t = NULL;
    for (size_t i = 0; i < s->mounts_count && !t; i++)
        if (s->mounts[i].mntns == p->mntns)
            t = &s->mounts[i];
    if (!t) {
        if (!mem_grow((void **)&s->mounts, &s->mounts_cap, s->mounts_count + 1, sizeof(*s->mounts)))
            return NULL;
        t = &s->mounts[s->mounts_count++];
        memset(t, 0, sizeof(*t));
        t->mntns = p->mntns;
    }
    if (!t->read || now - t->read > TABLE_AGE) {
        mounts_read(&t->mounts, NULL, p->tgid, NULL);
        t->read = now;
    }
    return t;
}

uint32_t sampler_names_path(struct sampler *s, struct sampler_proc *p, const char *path,
                            uint16_t *flags, int64_t now)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    bool same = p->folder_read && now - p->folder_read < TABLE_AGE && n < sizeof(p->folder) &&
                strlen(p->folder) == n && !memcmp(p->folder, path, n);
    if (!s->o.resources)
        return 0;
    if (!same) {
        struct sampler_mounts *t = table_of(s, p, now);
        const struct mount *m = t ? mounts_by_path(&t->mounts, path) : NULL;
        uint16_t found = 0;
        uint32_t r = m ? resource_of_dev(s->o.resources, p->tgid, m->dev, 0, &found) : 0;
        if (n >= sizeof(p->folder)) {
            *flags |= found;
            return r;
        }
        memcpy(p->folder, path, n);
        p->folder[n] = '\0';
        p->folder_resource = r;
        p->folder_flags = found;
        p->folder_read = now;
    }
    *flags |= p->folder_flags;
    return p->folder_resource;
}

void sampler_names_clear(struct sampler *s)
{
    for (size_t i = 0; i < s->mounts_count; i++)
        mounts_clear(&s->mounts[i].mounts);
    free(s->mounts);
}
