/* SPDX-License-Identifier: MIT */
/*
 * libraries: which communication libraries the job has loaded, what of them its root folder
 * holds, which RDMA device files it can see and has open, and on which NUMA nodes it may run.
 *
 * Environment variables explain; a mapped plugin or an open device file proves.
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/job.h"
#include "sense/library_name.h"
#include "sense/out.h"
#include "sense/plain.h"
#include "sense/procfs.h"
#include "sense/text.h"

#include <ctype.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPS_MAX (8 * MIB)
#define PROCESSES_MAX 64 /* read; a job has one kind of worker, seldom more */
#define CPU_WORDS 128
#define UVERBS "/dev/infiniband/uverbs"

/* Where the loader looks: distributions' folders, MLNX_OFED and conda images excluded. */
static const char *const folders[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/opt/conda/lib",
};
#define FOLDERS (sizeof(folders) / sizeof(folders[0]))

struct found {
    char path[PATH_MAX], version[64];
};

struct look {
    const struct source_opts *o;
    char root[64]; /* of the job */
    bool know_root, maps_read, folder_read;
    struct found found[LIBRARIES];
    bool installed[LIBRARIES];
    unsigned uverbs, open_verbs;
    bool fds_read;
    const char *fd_folder;
};

static void see_map(struct look *k, const char *line)
{
    struct procfs_map m;
    if (!procfs_parse_map(line, &m) || m.path[0] != '/')
        return;
    enum library l = library_of_path(m.path);
    if (l != LIBRARY_NONE && !k->found[l].path[0])
        str_copy(k->found[l].path, sizeof(k->found[l].path), m.path);
}

static void read_maps(struct look *k, uint32_t pid)
{
    char path[64];
    struct str text = {0}, one = {0};
    const char *line;
    size_t len;
    snprintf(path, sizeof(path), "/proc/%u/maps", pid);
    if (rootfs_bytes(k->o->root, path, MAPS_MAX, &text))
        k->maps_read = true;
    for (const char *p = str_text(&text); text_line(&p, &line, &len);) {
        if (!memmem(line, len, ".so", 3))
            continue;
        str_reset(&one);
        str_addn(&one, line, len);
        see_map(k, str_text(&one));
    }
    str_clear(&text);
    str_clear(&one);
}

static void see_fd(void *arg, const char *name)
{
    struct look *k = arg;
    char path[96], target[64];
    snprintf(path, sizeof(path), "%s/%.20s", k->fd_folder, name);
    if (rootfs_link(k->o->root, path, target, sizeof(target)))
        k->open_verbs += !strncmp(target, UVERBS, strlen(UVERBS));
}

/* A pip package says its version in the name of a folder beside it: ".../site-packages/
 * nvidia_nccl_cu12-2.21.5.dist-info" of ".../site-packages/nvidia/nccl/lib/libnccl.so.2". */
static void see_package(void *arg, const char *name)
{
    struct found *f = arg;
    const char *dash = strchr(name, '-');
    if (f->version[0] || strncmp(name, "nvidia_nccl_cu", 14) || !dash)
        return;
    size_t n = strspn(dash + 1, "0123456789.");
    if (!strcmp(dash + 1 + n, "dist-info") && n > 1 && n < sizeof(f->version))
        snprintf(f->version, sizeof(f->version), "%.*s", (int)n - 1, dash + 1);
}

static void find_version(struct look *k, enum library l)
{
    struct found *f = &k->found[l];
    char folder[PATH_MAX + 64];
    if (!f->path[0] || library_version(f->path, f->version, sizeof(f->version)))
        return;
    f->version[0] = '\0';
    const char *inner = strstr(f->path, "/nvidia/nccl/lib/");
    if (l != LIBRARY_NCCL || !inner || !k->know_root)
        return;
    snprintf(folder, sizeof(folder), "%s%.*s", k->root, (int)(inner - f->path), f->path);
    rootfs_each(k->o->root, folder, see_package, f);
}

static void see_installed(void *arg, const char *name)
{
    struct look *k = arg;
    enum library l = library_of_path(name);
    if (l != LIBRARY_NONE)
        k->installed[l] = true;
}

static void see_device(void *arg, const char *name)
{
    struct look *k = arg;
    k->uverbs += !strncmp(name, "uverbs", 6) && isdigit((unsigned char)name[6]);
}

static void root_facts(struct look *k, struct out *out)
{
    char path[160];
    for (size_t i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof(path), "%s%s", k->root, folders[i]);
        k->folder_read |= rootfs_each(k->o->root, path, see_installed, k);
    }
    /* The provider lies in a folder of its own. */
    for (size_t i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof(path), "%s%s/libibverbs", k->root, folders[i]);
        rootfs_each(k->o->root, path, see_installed, k);
    }
    out->kind = "job";
    out->subject = "";
    out->source = "/proc/PID/root/dev";
    snprintf(path, sizeof(path), "%s/dev/infiniband", k->root);
    bool there = rootfs_each(k->o->root, path, see_device, k);
    snprintf(path, sizeof(path), "%s/dev", k->root);
    if (!there && !rootfs_exists(k->o->root, path))
        return;
    out_number(out, "uverbs", k->uverbs, "count");
    snprintf(path, sizeof(path), "%s/dev/infiniband/rdma_cm", k->root);
    out_number(out, "rdma_cm", rootfs_exists(k->o->root, path), "1");
}

static void library_facts(const struct look *k, struct out *out)
{
    out->kind = "library";
    for (enum library l = 0; l < LIBRARIES; l++) {
        const struct found *f = &k->found[l];
        bool looked_for = l == LIBRARY_IBVERBS || l == LIBRARY_MLX5;
        out->subject = library_word(l);
        out->source = "/proc/PID/maps";
        out_text(out, "path", f->path);
        out_text(out, "version", f->version);
        unsigned major, minor, patch;
        if (sscanf(f->version, "%3u.%3u.%3u", &major, &minor, &patch) == 3)
            out_number(out, "version_number", major * 10000.0 + minor * 100.0 + patch, "count");
        if (f->path[0] || k->maps_read)
            out_number(out, "loaded", f->path[0] != '\0', "1");
        if (l == LIBRARY_NET_PLUGIN && f->path[0])
            out_text(out, "plugin", library_plugin(f->path));
        out->source = "/proc/PID/root";
        if (looked_for && (k->folder_read || f->path[0]))
            out_number(out, "installed", k->installed[l] || f->path[0], "1");
    }
}

struct nodes {
    const struct look *k;
    uint64_t cpus[CPU_WORDS];
    struct str text;
    unsigned list[64], count;
};

static void see_node(void *arg, const char *name)
{
    struct nodes *n = arg;
    char path[96], line[512];
    uint64_t set[CPU_WORDS] = {0}, both = 0;
    if (strncmp(name, "node", 4) || !isdigit((unsigned char)name[4]) || strlen(name) > 8)
        return;
    snprintf(path, sizeof(path), "/sys/devices/system/node/%s/cpulist", name);
    if (!rootfs_line(n->k->o->root, path, line, sizeof(line)) ||
        !text_cpu_list(line, set, CPU_WORDS))
        return;
    for (size_t i = 0; i < CPU_WORDS; i++)
        both |= set[i] & n->cpus[i];
    if (both && n->count < 64)
        n->list[n->count++] = (unsigned)strtoul(name + 4, NULL, 10);
}

static int by_number(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static void numa_facts(const struct look *k, struct out *out)
{
    static const char key[] = "Cpus_allowed_list:";
    struct nodes n = {.k = k};
    struct str text = {0};
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/status", k->o->pid);
    rootfs_bytes(k->o->root, path, 64 * KIB, &text);
    const char *list = strstr(str_text(&text), key);
    char cpus[512] = "";
    if (list) {
        list += strlen(key) + strspn(list + strlen(key), " \t");
        snprintf(cpus, sizeof(cpus), "%.*s", (int)strcspn(list, "\n"), list);
    }
    if (text_cpu_list(cpus, n.cpus, CPU_WORDS))
        rootfs_each(k->o->root, "/sys/devices/system/node", see_node, &n);
    if (n.count)
        qsort(n.list, n.count, sizeof(n.list[0]), by_number);
    for (unsigned i = 0; i < n.count; i++)
        str_addf(&n.text, i ? " %u" : "%u", n.list[i]);
    out->kind = "job";
    out->subject = "";
    out->source = "/proc/PID/status";
    out_text(out, "affinity_numa", str_text(&n.text));
    const char *caps = strstr(str_text(&text), "CapEff:");
    if (caps)
        out_number(out, "cap_sys_nice", strtoull(caps + 7, NULL, 16) >> CAP_SYS_NICE & 1, "1");
    str_clear(&n.text);
    str_clear(&text);
}

/* Interfaces of the job's network namespace: "Inter-| ...", " face |...", "  eth0: 1 2 ...". */
static void nic_facts(const struct look *k, struct out *out)
{
    char path[64];
    struct str text = {0};
    const char *line;
    size_t len;
    snprintf(path, sizeof(path), "/proc/%u/net/dev", k->o->pid);
    rootfs_bytes(k->o->root, path, MIB, &text);
    out->kind = "job_nic";
    out->source = "/proc/PID/net/dev";
    for (const char *p = str_text(&text); text_line(&p, &line, &len);) {
        char name[32];
        const char *colon = memchr(line, ':', len);
        size_t blanks = strspn(line, " "), n = colon ? (size_t)(colon - line) : 0;
        if (n <= blanks || n - blanks >= sizeof(name))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(n - blanks), line + blanks);
        out->subject = name;
        out_number(out, "present", 1, "1");
    }
    str_clear(&text);
}

static void look_at_processes(struct look *k)
{
    struct job_list l = {0};
    int read = 0;
    job_look(&l, k->o);
    for (size_t i = 0; i < l.count && read < PROCESSES_MAX; i++) {
        char folder[64];
        if (!l.list[i].job)
            continue;
        read++;
        read_maps(k, l.list[i].pid);
        snprintf(folder, sizeof(folder), "/proc/%u/fd", l.list[i].pid);
        k->fd_folder = folder;
        k->fds_read |= rootfs_each(k->o->root, folder, see_fd, k);
    }
    job_clear(&l);
}

static int libraries_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct out out = {.fn = fn, .arg = arg};
    struct look *k = mem_zalloc(sizeof(*k));
    if (!k)
        return 0;
    k->o = self;
    k->know_root = job_root(k->o, k->root, sizeof(k->root));
    look_at_processes(k);
    for (enum library l = 0; l < LIBRARIES; l++)
        find_version(k, l);
    if (k->know_root)
        root_facts(k, &out);
    library_facts(k, &out);
    numa_facts(k, &out);
    out.source = "/proc/PID/fd";
    if (k->fds_read)
        out_number(&out, "verbs_open", k->open_verbs, "count");
    nic_facts(k, &out);
    free(k);
    return out.rc;
}

static int libraries_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    if (!o->pid)
        return error_set(e, STATUS_MISSING, "no job was named: nothing is known of its libraries");
    return plain_start(ret, o, now, e);
}

const struct source source_libraries = {
    "libraries",     "communication libraries of the job",
    libraries_start, NULL,
    libraries_facts, plain_stop,
    .survey = true,
};
