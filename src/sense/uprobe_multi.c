/* SPDX-License-Identifier: MIT */
#include "sense/uprobe_multi.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/bpf.h of 6.6; older headers lack these. */
#define LINK_CREATE 28
#define TRACE_UPROBE_MULTI 48
#define AT_RETURN 1u

struct link_create {
    uint32_t prog_fd, target_fd, attach_type, flags;
    uint64_t path, offsets, ref_ctr_offsets, cookies;
    uint32_t count, multi_flags, pid, pad;
};

bool uprobe_multi_there(const struct btf *btf)
{
    return btf__find_by_name_kind(btf, "bpf_uprobe_multi_link", BTF_KIND_STRUCT) > 0;
}

void uprobe_multi_mark(struct bpf_program *p)
{
    bpf_program__set_expected_attach_type(p, (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

int uprobe_multi_attach(const struct bpf_program *p, const char *path, const uint64_t *offsets,
                        const uint64_t *cookies, size_t count, bool at_return)
{
    struct link_create attr = {.prog_fd = (uint32_t)bpf_program__fd(p),
                               .attach_type = TRACE_UPROBE_MULTI,
                               .path = (uintptr_t)path,
                               .offsets = (uintptr_t)offsets,
                               .cookies = (uintptr_t)cookies,
                               .count = (uint32_t)count,
                               .multi_flags = at_return ? AT_RETURN : 0};
    int fd = (int)syscall(SYS_bpf, LINK_CREATE, &attr, sizeof(attr));
    return fd < 0 ? -errno : fd;
}
