/* SPDX-License-Identifier: MIT */
/* What stands in for wait_bpf.c where gpufeed was built without clang, bpftool or libbpf. */
#include "sense/wait_bpf.h"

static int none(struct error *e)
{
    return error_set(e, STATUS_MISSING,
                     "gpufeed was built without BPF: no wait chain "
                     "(install clang, bpftool and libbpf and build again)");
}

int wait_bpf_open(struct wait_bpf **ret, const struct wait_bpf_opts *o, struct error *e)
{
    return none(e);
}

void wait_bpf_close(struct wait_bpf *w)
{
}

int wait_bpf_watch(struct wait_bpf *w, uint32_t pid, struct error *e)
{
    return none(e);
}

int wait_bpf_poll(struct wait_bpf *w, int timeout_ms, wait_bpf_fn fn, void *arg)
{
    return STATUS_MISSING;
}

int wait_bpf_open_waits(struct wait_bpf *w, wait_bpf_fn fn, void *arg)
{
    return STATUS_MISSING;
}

int wait_bpf_attach_cuda(struct wait_bpf *w, const char *path, uint32_t pid, struct error *e)
{
    return none(e);
}

void wait_bpf_lost(const struct wait_bpf *w, uint64_t *counts)
{
    for (int i = 0; i < BPF_LOST_COUNT; i++)
        counts[i] = 0;
}

int64_t wait_bpf_run_time_ns(const struct wait_bpf *w, uint64_t *runs)
{
    return -1;
}

int64_t wait_bpf_program_ns(const struct wait_bpf *w, const char *name, uint64_t *runs)
{
    return -1;
}

bool wait_bpf_irq_by_stack(const struct wait_bpf *w)
{
    return false;
}
