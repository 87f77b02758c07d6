/* SPDX-License-Identifier: MIT */
#include "sense/wait_load.h"

#include "base/rootfs.h"
#include "base/unit.h"
#include "bpf/wait.h"
#include "sense/syscalls.h"
#include "sense/uprobe_multi.h"
#include "sense/wait_bpf.h"

#include "wait.skel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu /* PROC_PID_INIT_INO of the kernel */
#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
#define RING_BYTES (4 * MIB)
#define SHORT_RUNNABLE_NS (50 * NS_PER_US)
#define CALIBRATE_ROUNDS 16
#define SWITCH_STATE_PARAMS 5 /* of btf_trace_sched_switch, the context included */

enum group {
    GROUP_CORE,      /* always there */
    GROUP_OPTIONAL,  /* where the kernel has the tracepoint */
    GROUP_COUNT,     /* only where interrupts must be counted */
    GROUP_CALIBRATE, /* for a moment */
    GROUP_OTHER,     /* attached elsewhere: iterators, uprobes */
};

struct row {
    const char *program, *tracepoint;
    enum group group;
};

static const struct row rows[] = {
    {"on_switch", "sched_switch", GROUP_CORE},
    {"on_waking", "sched_waking", GROUP_CORE},
    {"on_fork", "sched_process_fork", GROUP_CORE},
    {"on_exec", "sched_process_exec", GROUP_CORE},
    {"on_exit", "sched_process_exit", GROUP_CORE},
    {"on_page_added", "mm_filemap_add_to_page_cache", GROUP_OPTIONAL},
    {"on_file_fault", "mm_filemap_fault", GROUP_OPTIONAL},
    {"on_tick", "hrtimer_expire_entry", GROUP_OPTIONAL},
    {"on_reclaim_in", "mm_vmscan_direct_reclaim_begin", GROUP_OPTIONAL},
    {"on_reclaim_out", "mm_vmscan_direct_reclaim_end", GROUP_OPTIONAL},
    {"on_memcg_in", "mm_vmscan_memcg_reclaim_begin", GROUP_OPTIONAL},
    {"on_memcg_out", "mm_vmscan_memcg_reclaim_end", GROUP_OPTIONAL},
    {"on_irq_in", "irq_handler_entry", GROUP_COUNT},
    {"on_irq_out", "irq_handler_exit", GROUP_COUNT},
    {"on_softirq_in", "softirq_entry", GROUP_COUNT},
    {"on_softirq_out", "softirq_exit", GROUP_COUNT},
    {"on_timer_in", "hrtimer_expire_entry", GROUP_COUNT},
    {"on_timer_out", "hrtimer_expire_exit", GROUP_COUNT},
    {"calibrate_task", "sched_switch", GROUP_CALIBRATE},
    {"calibrate_irq", "softirq_entry", GROUP_CALIBRATE},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
    return 0;
}

static bool has_tracepoint(const struct btf *btf, const char *tracepoint)
{
    char name[64];
    snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
    return btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) > 0;
}

/* Kernels from 5.18 on hand the state of the leaving thread to the tracepoint. */
static bool has_switch_state(const struct btf *btf)
{
    int id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
    const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
    for (int step = 0; type && step < 2; step++) /* typedef, pointer, prototype */
        type = btf__type_by_id(btf, type->type);
    return type && btf_is_func_proto(type) && btf_vlen(type) >= SWITCH_STATE_PARAMS;
}

static void choose(struct wait_chain *skel, const struct btf *btf, bool as_old)
{
    for (size_t i = 0; i < ROWS; i++) {
        struct bpf_program *p = bpf_object__find_program_by_name(skel->obj, rows[i].program);
        if (p && !has_tracepoint(btf, rows[i].tracepoint))
            bpf_program__set_autoload(p, false);
    }
    /* One of the two tells the file of a fault; the newer one costs nothing for reads. */
    bool newer = has_tracepoint(btf, "mm_filemap_fault") && !as_old;
    bpf_program__set_autoload(newer ? skel->progs.on_page_added : skel->progs.on_file_fault, false);
}

/* "" when nothing is missing that CAP_BPF and CAP_PERFMON would bring. */
static void missing_capability(char *buf, size_t size)
{
    static const struct {
        int bit;
        const char *name;
    } needed[] = {{39, "CAP_BPF"}, {38, "CAP_PERFMON"}};
    struct str text = {0};
    unsigned long long effective = 0;
    buf[0] = '\0';
    if (rootfs_read(NULL, "/proc/self/status", &text, NULL) == STATUS_OK) {
        const char *at = strstr(str_text(&text), "CapEff:");
        if (at)
            effective = strtoull(at + strlen("CapEff:"), NULL, 16);
    }
    str_clear(&text);
    for (size_t i = 0; i < 2; i++)
        if (!(effective >> needed[i].bit & 1))
            snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", *buf ? " and " : "",
                     needed[i].name);
}

static int load_error(struct error *e, int code)
{
    char missing[64];
    missing_capability(missing, sizeof(missing));
    if ((code == EPERM || code == EACCES) && *missing)
        return error_set(e, STATUS_DENIED,
                         "the wait chain is not permitted: %s %s missing (or run as root)", missing,
                         strstr(missing, " and ") ? "are" : "is");
    if (code == EPERM)
        return error_set(e, STATUS_DENIED,
                         "the kernel refuses BPF programs (lockdown, or a "
                         "container's seccomp filter)");
    return error_set(e, STATUS_MISSING, "this kernel cannot load the wait chain: %s",
                     strerror(code));
}

static uint8_t class_of(long number)
{
    enum syscall_kind kind = syscall_kind(number);
    bool writes = kind == SYSCALL_WRITE || kind == SYSCALL_CHANGE;
    return (uint8_t)(syscall_class(number) | (writes ? BPF_SYSCALL_WRITES : 0));
}

/* The namespace whose numbers we and the probe know threads by; 0: the initial one. */
static uint32_t reader_namespace(void)
{
    struct stat st;
    bool known = stat("/proc/self/ns/pid", &st) == 0;
    return known && st.st_ino != INITIAL_PID_NAMESPACE ? (uint32_t)st.st_ino : 0;
}

/* One attempt; returns 0 or the errno. */
static int load_once(struct wait_load *l, const struct btf *btf, const struct wait_bpf_opts *o,
                     bool cast)
{
    struct wait_chain *skel = wait_chain__open();
    if (!skel)
        return errno;
    for (long i = 0; i < BPF_SYSCALLS; i++)
        skel->rodata->syscall_class[i] = class_of(i);
    for (unsigned i = 0; i < BPF_URING_CALLS; i++)
        skel->rodata->uring_call[i] = syscall_of_uring(i);
    skel->rodata->have_prev_state = has_switch_state(btf) && !o->as_old;
    skel->rodata->have_cast = cast;
    skel->rodata->short_runnable_ns = SHORT_RUNNABLE_NS;
    skel->rodata->reader_ns = reader_namespace();
    choose(skel, btf, o->as_old);
    l->multi = uprobe_multi_there(btf) && !o->as_old;
    if (l->multi) {
        uprobe_multi_mark(skel->progs.on_call);
        uprobe_multi_mark(skel->progs.on_call_return);
    }
    size_t ring_bytes = o->ring_bytes ? o->ring_bytes : RING_BYTES;
    bpf_map__set_max_entries(skel->maps.ring, (uint32_t)ring_bytes);
    int rc = wait_chain__load(skel);
    if (rc) {
        wait_chain__destroy(skel);
        return -rc;
    }
    l->skel = skel;
    return 0;
}

static int load(struct wait_load *l, const struct wait_bpf_opts *o, struct error *e)
{
    libbpf_set_print(quiet);
    struct btf *btf = btf__load_vmlinux_btf();
    if (!btf || libbpf_get_error(btf)) {
        char missing[64];
        missing_capability(missing, sizeof(missing));
        if (*missing)
            return load_error(e, EPERM);
        return access(KERNEL_BTF, R_OK)
                   ? error_set(e, STATUS_MISSING, "this kernel has no type information (%s: %s)",
                               KERNEL_BTF, strerror(errno))
                   : error_set(e, STATUS_MISSING,
                               "the libbpf of this build is too old to read "
                               "this kernel's type information (%s)",
                               KERNEL_BTF);
    }
    bool cast = btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0 && !o->as_old;
    int code = load_once(l, btf, o, cast);
    if (code && cast && code != EPERM)
        code = load_once(l, btf, o, false);
    btf__free(btf);
    return code ? load_error(e, code) : STATUS_OK;
}

static struct bpf_link *attach_one(struct bpf_program *p)
{
    struct bpf_link *link = p && bpf_program__fd(p) >= 0 ? bpf_program__attach(p) : NULL;
    return libbpf_get_error(link) ? NULL : link;
}

static int attach_group(struct wait_load *l, enum group group, struct error *e)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].group != group)
            continue;
        struct bpf_program *p = bpf_object__find_program_by_name(l->skel->obj, rows[i].program);
        struct bpf_link *link = attach_one(p);
        if (link)
            l->links[l->link_count++] = link;
        else if (group == GROUP_CORE)
            return error_errno(e, "cannot attach to \"%s\"", rows[i].tracepoint);
    }
    return STATUS_OK;
}

/* Makes soft interrupts (packets over the loopback interface) and sleeps. */
static void exercise(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(to);
    struct timespec pause = {0, 100 * NS_PER_US};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&to, size) == 0 &&
                 getsockname(fd, (struct sockaddr *)&to, &size) == 0;
    for (int i = 0; i < CALIBRATE_ROUNDS; i++) {
        if (bound)
            sendto(fd, "", 1, MSG_DONTWAIT, (struct sockaddr *)&to, size);
        nanosleep(&pause, NULL);
    }
    if (fd >= 0)
        close(fd);
}

static uint64_t count_of(const struct wait_load *l, uint32_t slot)
{
    uint64_t n = 0;
    bpf_map_lookup_elem(bpf_map__fd(l->skel->maps.counts), &slot, &n);
    return n;
}

/* true: every thread and every soft interrupt that was seen was told right by its stack. */
static bool calibrate(const struct wait_load *l)
{
    struct bpf_link *task = attach_one(l->skel->progs.calibrate_task);
    struct bpf_link *irq = attach_one(l->skel->progs.calibrate_irq);
    if (task && irq)
        exercise();
    bpf_link__destroy(task);
    bpf_link__destroy(irq);
    return count_of(l, WAIT_COUNT_TASK_OK) && count_of(l, WAIT_COUNT_IRQ_OK) &&
           !count_of(l, WAIT_COUNT_TASK_BAD) && !count_of(l, WAIT_COUNT_IRQ_BAD);
}

int wait_load_open(struct wait_load *l, const struct wait_bpf_opts *o, struct error *e)
{
    int rc = load(l, o, e);
    if (rc)
        return rc;
    l->skel->bss->irq_by_stack = !o->count_interrupts && calibrate(l);
    if (!l->skel->bss->irq_by_stack)
        rc = attach_group(l, GROUP_COUNT, e);
    if (!rc)
        rc = attach_group(l, GROUP_OPTIONAL, e);
    if (!rc)
        rc = attach_group(l, GROUP_CORE, e);
    if (rc)
        return rc;
    l->find = attach_one(l->skel->progs.find_threads);
    l->open = attach_one(l->skel->progs.report_open);
    if (!l->find || !l->open)
        return error_errno(e, "cannot walk the threads of this machine by BPF");
    return STATUS_OK;
}

void wait_load_close(struct wait_load *l)
{
    for (size_t i = 0; i < l->link_count; i++)
        bpf_link__destroy(l->links[i]);
    bpf_link__destroy(l->find);
    bpf_link__destroy(l->open);
    wait_chain__destroy(l->skel);
    *l = (struct wait_load){0};
}

void wait_load_lost(const struct wait_load *l, uint64_t *counts)
{
    int cpus = libbpf_num_possible_cpus();
    uint64_t *each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
    for (uint32_t i = 0; i < BPF_LOST_COUNT; i++) {
        counts[i] = 0;
        if (each && bpf_map_lookup_elem(bpf_map__fd(l->skel->maps.lost), &i, each) == 0)
            for (int cpu = 0; cpu < cpus; cpu++)
                counts[i] += each[cpu];
    }
    free(each);
}

int64_t wait_load_run_time(const struct wait_load *l, const char *name, uint64_t *runs)
{
    uint64_t time = 0, count = 0;
    struct bpf_program *p;
    bpf_object__for_each_program(p, l->skel->obj)
    {
        struct bpf_prog_info info = {0};
        uint32_t size = sizeof(info);
        int fd = bpf_program__fd(p);
        if (fd < 0 || (name && strcmp(name, bpf_program__name(p)) != 0) ||
            bpf_obj_get_info_by_fd(fd, &info, &size))
            continue;
        time += info.run_time_ns;
        count += info.run_cnt;
    }
    if (runs)
        *runs = count;
    return count ? (int64_t)time : -1;
}
