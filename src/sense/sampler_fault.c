/* SPDX-License-Identifier: MIT */
/*
 * A page fault shows neither a descriptor nor an address. Its file is named only where all
 * mapped files that it can have been lie on one resource.
 */
#include "sense/sampler_int.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINK_MAX 512
#define MAPPED_MAX 256 /* files looked at in one process */
#define CODE_MAX 64    /* programs and libraries among them */
#define MAPS_AGE (1 * NS_PER_S)

struct fault {
    struct sampler *s;
    struct sampler_proc *p;
    int64_t now;
    struct sampler_what *w;
};

static bool starts(const char *text, const char *head)
{
    return !strncmp(text, head, strlen(head));
}

/* One file that a process has mapped. */
struct mapped {
    uint64_t inode;
    bool code; /* a program or library */
    char path[LINK_MAX];
};

/* Programs bring tables of theirs as well: where they are installed is no data set. */
static bool code_by_name(const char *path)
{
    static const char *const roots[] = {"/usr/", "/lib",  "/etc/", "/opt/",
                                        "/bin/", "/nix/", "/snap/"};
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
        if (starts(path, roots[i]))
            return true;
    return strstr(path, ".so") || strstr(path, "/site-packages/") || strstr(path, "/lib/python");
}

/* Adds the mapping to the list of files. */
static void note_map(struct mapped *list, size_t *count, size_t *code, const struct procfs_map *m)
{
    if (!m->inode || m->path[0] != '/' || starts(m->path, "/dev/") || starts(m->path, "/memfd:") ||
        starts(m->path, "/SYSV"))
        return;
    struct mapped *f = *count && list[*count - 1].inode == m->inode ? &list[*count - 1] : NULL;
    if (!f) {
        bool is_code = code_by_name(m->path);
        if (*count == MAPPED_MAX || (is_code && *code == CODE_MAX))
            return;
        *code += is_code;
        f = &list[(*count)++];
        f->inode = m->inode;
        f->code = is_code;
        str_copy(f->path, sizeof(f->path), m->path);
    }
    f->code |= m->executable;
}

/* The resource on which all mapped files of a kind lie; 0 when there are several or none. */
static struct sampler_what common_resource(const struct fault *l, const struct mapped *list,
                                           size_t count, bool code)
{
    struct sampler_what w = {.target = TARGET_FAULT};
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        uint16_t flags = 0;
        if (list[i].code != code)
            continue;
        uint32_t r = sampler_names_path(l->s, l->p, list[i].path, &flags, l->now);
        if (!first && (r != w.resource || flags != w.flags))
            return (struct sampler_what){.target = TARGET_FAULT};
        w.resource = r;
        w.flags = flags;
        first = false;
    }
    return w;
}

/* A fault shows no address: its file is known only when all mapped files that are no
 * program code lie on one resource; where there are none, the program's own. */
static struct sampler_what read_maps(const struct fault *l)
{
    struct sampler_what w = {.target = TARGET_FAULT};
    struct mapped *list = mem_zalloc(MAPPED_MAX * sizeof(*list));
    char *line = NULL;
    size_t cap = 0, count = 0, code = 0, data = 0;
    int fd = sampler_openat(l->p, "maps");
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    while (f && list && getline(&line, &cap, f) > 0) {
        struct procfs_map m;
        line[strcspn(line, "\n")] = '\0';
        if (procfs_parse_map(line, &m))
            note_map(list, &count, &code, &m);
    }
    for (size_t i = 0; i < count; i++)
        data += !list[i].code;
    if (list)
        w = common_resource(l, list, count, data == 0);
    free(line);
    free(list);
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
    return w;
}

static bool names_any(const char *wchan, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(wchan, parts[i]))
            return true;
    return false;
}

void sampler_fault_find(struct sampler *s, struct sampler_proc *p, const struct sampler_thread *t,
                        int64_t now, struct sampler_what *w)
{
    struct fault fault = {s, p, now, w}, *l = &fault;
    static const char *const memory[] = {"reclaim", "swap", "shrink_",    "throttle", "rwsem",
                                         "compact", "oom",  "mem_cgroup", "mmap_lock"};
    char text[SAMPLER_TEXT];
    struct procfs_stat st;
    int fd = sampler_openat(l->p, "task/%u/stat", t->tid);
    long n = fd < 0 ? -1 : sampler_pread(fd, text);
    if (fd >= 0)
        close(fd);
    if (n <= 0 || !procfs_parse_stat(text, &st) || st.state != 'D')
        return;
    fd = sampler_openat(l->p, "task/%u/wchan", t->tid);
    n = fd < 0 ? -1 : sampler_pread(fd, text);
    if (fd >= 0)
        close(fd);
    if (n > 0 && names_any(text, memory, sizeof(memory) / sizeof(memory[0]))) {
        l->w->target = TARGET_MEMORY;
        return;
    }
    if (l->p->fault.target != TARGET_FAULT || l->now - l->p->maps_read > MAPS_AGE) {
        l->p->maps_read = l->now;
        l->p->fault = read_maps(l);
    }
    *l->w = l->p->fault;
    l->w->target = TARGET_FAULT;
}
