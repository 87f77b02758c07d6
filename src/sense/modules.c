/* SPDX-License-Identifier: MIT */
/*
 * modules: the kernel's release, and which modules of a fixed list are loaded, built in or
 * could be loaded: those by which accelerators, RDMA devices and remote stores work.
 */
#include "sense/source.h"

#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/out.h"
#include "sense/plain.h"
#include "sense/text.h"

#include <stdio.h>
#include <string.h>

#define LIST_MAX (8 * MIB) /* modules.dep of a distribution's kernel: about 1 MiB */

static const char *const names[] = {
    "nvidia",   "nvidia_uvm", "nvidia_peermem", "nv_peer_mem", "nvidia_fs", "gdrdrv",
    "amdgpu",   "mlx5_core",  "mlx5_ib",        "ib_core",     "ib_uverbs", "ib_umad",
    "ib_ipoib", "rdma_cm",    "rdma_ucm",       "irdma",       "bnxt_re",   "efa",
    "mana_ib",  "nvme",       "nvme_rdma",      "nfs",         "lustre",    "fuse",
};

/* modules.dep and modules.builtin name files, with '-' and '_' as they please. */
static bool lists_file(const char *text, const char *module)
{
    size_t n = strlen(module);
    const char *line;
    size_t len;
    while (text_line(&text, &line, &len)) {
        const char *end = memchr(line, ':', len);
        const char *stop = end ? end : line + len, *base = stop;
        while (base > line && base[-1] != '/')
            base--;
        if ((size_t)(stop - base) < n + 3 || strncmp(base + n, ".ko", 3))
            continue;
        size_t i = 0;
        while (i < n && (base[i] == module[i] || (base[i] == '-' && module[i] == '_')))
            i++;
        if (i == n)
            return true;
    }
    return false;
}

static bool is_loaded(const char *text, const char *module)
{
    size_t n = strlen(module), len;
    const char *line;
    while (text_line(&text, &line, &len))
        if (len > n && !memcmp(line, module, n) && line[n] == ' ')
            return true;
    return false;
}

struct lists {
    struct str loaded, builtin, installed;
    bool know_loaded, know_installed;
};

static void read_lists(const struct source_opts *o, const char *release, struct lists *l)
{
    char path[256];
    l->know_loaded = rootfs_bytes(o->root, "/proc/modules", LIST_MAX, &l->loaded);
    if (!release[0] || strchr(release, '/'))
        return;
    snprintf(path, sizeof(path), "/lib/modules/%s/modules.builtin", release);
    rootfs_bytes(o->root, path, LIST_MAX, &l->builtin);
    snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", release);
    l->know_installed = rootfs_bytes(o->root, path, LIST_MAX, &l->installed);
}

static void module_facts(const struct source_opts *o, const struct lists *l, const char *name,
                         struct out *out)
{
    char path[96], version[64];
    snprintf(path, sizeof(path), "/sys/module/%s", name);
    bool builtin = lists_file(str_text(&l->builtin), name);
    bool loaded = builtin || rootfs_exists(o->root, path) || is_loaded(str_text(&l->loaded), name);
    out->subject = name;
    if (loaded || l->know_loaded)
        out_number(out, "loaded", loaded, "1");
    if (loaded || l->know_installed)
        out_number(out, "installed", loaded || lists_file(str_text(&l->installed), name), "1");
    snprintf(path, sizeof(path), "/sys/module/%s/version", name);
    if (loaded && rootfs_line(o->root, path, version, sizeof(version)))
        out_text(out, "version", version);
}

/* x86 says in the flags of its CPUs whether a hypervisor is below. */
static void hypervisor_fact(const struct source_opts *o, struct out *out)
{
    struct str text = {0};
    const char *line;
    size_t len;
    rootfs_bytes(o->root, "/proc/cpuinfo", 64 * KIB, &text);
    for (const char *p = str_text(&text); text_line(&p, &line, &len);) {
        if (len < 6 || memcmp(line, "flags\t", 6))
            continue;
        out->source = "/proc/cpuinfo";
        out_number(out, "hypervisor", memmem(line, len, " hypervisor", 11) != NULL, "1");
        break;
    }
    str_clear(&text);
}

static int modules_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    const struct source_opts *o = self;
    struct out out = {.fn = fn, .arg = arg, .kind = "kernel", .source = "/proc/sys/kernel"};
    struct lists l = {0};
    char release[128] = "";
    unsigned major, minor;
    if (rootfs_line(o->root, "/proc/sys/kernel/osrelease", release, sizeof(release))) {
        out_text(&out, "release", release);
        if (sscanf(release, "%4u.%3u", &major, &minor) == 2)
            out_number(&out, "version", major * 1000.0 + minor, "count");
    }
    hypervisor_fact(o, &out);
    read_lists(o, release, &l);
    out.kind = "module";
    out.source = "/proc/modules";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !out.rc; i++)
        module_facts(o, &l, names[i], &out);
    str_clear(&l.loaded);
    str_clear(&l.builtin);
    str_clear(&l.installed);
    return out.rc;
}

const struct source source_modules = {
    "modules",      "kernel release and modules", plain_start, NULL, modules_facts, plain_stop,
    .survey = true,
};
