/* SPDX-License-Identifier: MIT */
#include "sense/wait_probes.h"

#include "base/mem.h"
#include "bpf/wait.h"
#include "model/event.h"
#include "sense/elf_symbol.h"
#include "sense/process.h"
#include "sense/uprobe_multi.h"

#include "wait.skel.h"

#include <bpf/libbpf.h>

#ifndef LIBBPF_OPTS /* libbpf before 0.6 */
#define LIBBPF_OPTS DECLARE_LIBBPF_OPTS
#endif

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process is looked at after as many waits, then no more until it runs another program. */
#define LOOK_FIRST 2
#define LOOK_SECOND 16
#define LOOK_LAST 256

struct entry {
    const char *name;
    enum call_kind kind;
};

/* Entry points of the CUDA driver interface; _ptsz and _ptds are the per-thread stream forms. */
static const struct entry entries[] = {
    {"cuLaunchKernel", CALL_LAUNCH},
    {"cuLaunchKernel_ptsz", CALL_LAUNCH},
    {"cuLaunchKernelEx", CALL_LAUNCH},
    {"cuLaunchKernelEx_ptsz", CALL_LAUNCH},
    {"cuLaunchCooperativeKernel", CALL_LAUNCH},
    {"cuLaunchCooperativeKernel_ptsz", CALL_LAUNCH},
    {"cuGraphLaunch", CALL_LAUNCH},
    {"cuGraphLaunch_ptsz", CALL_LAUNCH},
    {"cuMemcpy", CALL_COPY},
    {"cuMemcpy_ptds", CALL_COPY},
    {"cuMemcpyAsync", CALL_COPY},
    {"cuMemcpyAsync_ptsz", CALL_COPY},
    {"cuMemcpyHtoD_v2", CALL_COPY},
    {"cuMemcpyHtoD_v2_ptds", CALL_COPY},
    {"cuMemcpyDtoH_v2", CALL_COPY},
    {"cuMemcpyDtoH_v2_ptds", CALL_COPY},
    {"cuMemcpyDtoD_v2", CALL_COPY},
    {"cuMemcpyHtoDAsync_v2", CALL_COPY},
    {"cuMemcpyHtoDAsync_v2_ptsz", CALL_COPY},
    {"cuMemcpyDtoHAsync_v2", CALL_COPY},
    {"cuMemcpyDtoHAsync_v2_ptsz", CALL_COPY},
    {"cuMemcpyDtoDAsync_v2", CALL_COPY},
    {"cuMemcpyDtoDAsync_v2_ptsz", CALL_COPY},
    {"cuMemcpy2D_v2", CALL_COPY},
    {"cuMemcpy2DAsync_v2", CALL_COPY},
    {"cuMemcpy3D_v2", CALL_COPY},
    {"cuMemcpy3DAsync_v2", CALL_COPY},
    {"cuMemcpyPeer", CALL_COPY},
    {"cuMemcpyPeerAsync", CALL_COPY},
    {"cuMemsetD8_v2", CALL_LAUNCH},
    {"cuMemsetD8Async", CALL_LAUNCH},
    {"cuMemsetD32_v2", CALL_LAUNCH},
    {"cuMemsetD32Async", CALL_LAUNCH},
    {"cuCtxSynchronize", CALL_SYNC},
    {"cuStreamSynchronize", CALL_SYNC},
    {"cuStreamSynchronize_ptsz", CALL_SYNC},
    {"cuEventSynchronize", CALL_SYNC},
    {"cuMemAlloc_v2", CALL_MEMORY},
    {"cuMemFree_v2", CALL_MEMORY},
    {"cuMemHostAlloc", CALL_MEMORY},
    {"cuMemFreeHost", CALL_MEMORY},
    {"cuDevicePrimaryCtxRetain", CALL_CONTEXT},
    {"cuCtxCreate_v2", CALL_CONTEXT},
    {"cuCtxDestroy_v2", CALL_CONTEXT},
};

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

static bool attach(struct wait_probes *p, struct bpf_program *program, const char *path,
                   uint64_t offset, bool at_return, uint64_t cookie)
{
    LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = at_return, .bpf_cookie = cookie);
    if (!mem_grow((void **)&p->links, &p->link_cap, p->link_count + 1, sizeof(*p->links)))
        return false;
    struct bpf_link *link = bpf_program__attach_uprobe_opts(program, -1, path, offset, &opts);
    if (!link || libbpf_get_error(link))
        return false;
    p->links[p->link_count++] = link;
    return true;
}

static void attach_library(struct wait_probes *p, const struct wait_load *l, const char *path)
{
    static const char *const name[] = {"getaddrinfo"};
    uint64_t offset;
    struct stat st;
    if (p->library_count == WAIT_LIBRARIES_MAX || stat(path, &st))
        return;
    for (size_t i = 0; i < p->library_count; i++)
        if (p->libraries[i].dev == st.st_dev && p->libraries[i].ino == st.st_ino)
            return;
    p->libraries[p->library_count++] = (struct wait_library){st.st_dev, st.st_ino};
    if (elf_symbol_offsets(path, name, &offset, 1, NULL) == 1 &&
        attach(p, l->skel->progs.on_host_return, path, offset, true, 0))
        attach(p, l->skel->progs.on_host, path, offset, false, 0);
}

static bool is_libc(const char *file)
{
    return strncmp(file, "libc.so", 7) == 0 || strncmp(file, "libc-2.", 7) == 0 ||
           strncmp(file, "ld-musl-", 8) == 0;
}

void wait_probes_init(struct wait_probes *p, const struct wait_load *l)
{
    char path[PATH_MAX];
    if (process_maps((uint32_t)getpid(), is_libc, path, sizeof(path)))
        attach_library(p, l, path);
}

void wait_probes_clear(struct wait_probes *p)
{
    for (size_t i = 0; i < p->link_count; i++)
        bpf_link__destroy(p->links[i]);
    for (int i = 0; i < 2; i++)
        if (p->multi[i] > 0)
            close(p->multi[i]);
    free(p->links);
    map_clear(&p->seen);
    *p = (struct wait_probes){0};
}

void wait_probes_seen(struct wait_probes *p, const struct wait_load *l, uint32_t tgid)
{
    uint64_t waits = 0;
    char path[PATH_MAX];
    if (map_get(&p->seen, tgid, &waits) && waits >= LOOK_LAST)
        return;
    waits++;
    map_put(&p->seen, tgid, waits);
    if ((waits == LOOK_FIRST || waits == LOOK_SECOND || waits == LOOK_LAST) &&
        process_maps(tgid, is_libc, path, sizeof(path)))
        attach_library(p, l, path);
}

void wait_probes_exec(struct wait_probes *p, uint32_t tgid)
{
    map_remove(&p->seen, tgid);
}

void wait_probes_exit(struct wait_probes *p, uint32_t tgid)
{
    map_remove(&p->seen, tgid);
}

/* Those entry points that this library has, in one go; how many, or a negative errno. */
static int attach_at_once(struct wait_probes *p, const struct wait_load *l, const char *path,
                          const uint64_t offsets[ENTRIES])
{
    uint64_t at[ENTRIES], kind[ENTRIES];
    size_t n = 0;
    for (size_t i = 0; i < ENTRIES; i++) {
        if (!offsets[i])
            continue;
        at[n] = offsets[i];
        kind[n++] = (uint64_t)entries[i].kind;
    }
    if (!n || p->multi[0] > 0)
        return 0;
    p->multi[0] = uprobe_multi_attach(l->skel->progs.on_call_return, path, at, NULL, n, true);
    if (p->multi[0] > 0)
        p->multi[1] = uprobe_multi_attach(l->skel->progs.on_call, path, at, kind, n, false);
    return p->multi[0] < 0 ? p->multi[0] : p->multi[1] < 0 ? p->multi[1] : (int)n;
}

static int attach_one_by_one(struct wait_probes *p, const struct wait_load *l, const char *path,
                             const uint64_t offsets[ENTRIES])
{
    int attached = 0;
    for (size_t i = 0; i < ENTRIES; i++)
        if (offsets[i] && attach(p, l->skel->progs.on_call_return, path, offsets[i], true, 0))
            attached += attach(p, l->skel->progs.on_call, path, offsets[i], false,
                               (uint64_t)entries[i].kind);
    return attached;
}

static int attach_entries(struct wait_probes *p, const struct wait_load *l, const char *path,
                          struct error *e)
{
    const char *names[ENTRIES];
    uint64_t offsets[ENTRIES];
    for (size_t i = 0; i < ENTRIES; i++)
        names[i] = entries[i].name;
    int rc = elf_symbol_offsets(path, names, offsets, ENTRIES, e);
    if (rc < 0)
        return rc;
    int attached =
        l->multi ? attach_at_once(p, l, path, offsets) : attach_one_by_one(p, l, path, offsets);
    if (attached < 0)
        return error_set(e, STATUS_SYSTEM, "cannot watch the driver calls of \"%s\": %s", path,
                         strerror(-attached));
    if (!attached)
        return error_set(e, STATUS_MISSING, "\"%s\" has none of the driver's entry points", path);
    return STATUS_OK;
}

int wait_probes_cuda(struct wait_probes *p, const struct wait_load *l, const char *path,
                     uint32_t pid, struct error *e)
{
    char found[PATH_MAX];
    if (!path && !process_maps(pid, process_is_libcuda, found, sizeof(found)))
        return error_set(e, STATUS_MISSING, "process %u has no libcuda.so loaded", pid);
    return attach_entries(p, l, path ? path : found, e);
}
