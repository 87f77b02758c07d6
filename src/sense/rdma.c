/* SPDX-License-Identifier: MIT */
/*
 * rdma: InfiniBand and RoCE devices and their ports, the device files that programs need for
 * them, and what went through their counters meanwhile.
 */
#include "sense/rdma.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/pci_path.h"
#include "sense/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "/sys/class/infiniband"
#define DEVICES_MAX 256

struct rdma {
    const char *root;
    int64_t t0;
    char (*devices)[RDMA_NAME]; /* owned; in order */
    size_t device_count, device_cap;
    struct rdma_port *ports; /* owned; in order */
    size_t port_count, port_cap;
    bool failed;
    const char *device; /* whose ports are being listed */
};

static void add_device(void *arg, const char *name)
{
    struct rdma *r = arg;
    if (strlen(name) >= RDMA_NAME || r->device_count >= DEVICES_MAX)
        return;
    if (!mem_grow((void **)&r->devices, &r->device_cap, r->device_count + 1, sizeof(*r->devices))) {
        r->failed = true;
        return;
    }
    str_copy(r->devices[r->device_count++], RDMA_NAME, name);
}

static void add_port(void *arg, const char *name)
{
    struct rdma *r = arg;
    struct rdma_port p = {0};
    if (!isdigit((unsigned char)name[0]) || !str_copy(p.port, sizeof(p.port), name) ||
        r->port_count >= RDMA_PORTS_MAX)
        return;
    str_copy(p.device, sizeof(p.device), r->device);
    snprintf(p.subject, sizeof(p.subject), "%s/%s", p.device, p.port);
    rdma_counters_read(r->root, &p, p.first);
    if (!mem_grow((void **)&r->ports, &r->port_cap, r->port_count + 1, sizeof(p))) {
        r->failed = true;
        return;
    }
    r->ports[r->port_count++] = p;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int by_subject(const void *a, const void *b)
{
    return strcmp(((const struct rdma_port *)a)->subject, ((const struct rdma_port *)b)->subject);
}

static void rdma_stop(void *self)
{
    struct rdma *r = self;
    if (!r)
        return;
    free(r->devices);
    free(r->ports);
    free(r);
}

/* A machine without such devices has facts too: that there are none. */
static int rdma_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    struct rdma *r = mem_zalloc(sizeof(*r));
    if (!r)
        return error_set(e, STATUS_MEMORY, "out of memory for the RDMA devices");
    r->root = o->root;
    r->t0 = now;
    rootfs_each(o->root, DEVICES, add_device, r);
    if (r->device_count)
        qsort(r->devices, r->device_count, RDMA_NAME, by_name);
    for (size_t i = 0; i < r->device_count; i++) {
        char path[128];
        r->device = r->devices[i];
        snprintf(path, sizeof(path), DEVICES "/%s/ports", r->device);
        rootfs_each(o->root, path, add_port, r);
    }
    if (r->port_count)
        qsort(r->ports, r->port_count, sizeof(*r->ports), by_subject);
    if (r->failed) {
        rdma_stop(r);
        return error_set(e, STATUS_MEMORY, "out of memory for the RDMA devices");
    }
    *ret = r;
    return STATUS_OK;
}

static void text_fact(const struct rdma *r, const char *device, const char *file, const char *name,
                      struct out *o)
{
    char path[128], line[64];
    snprintf(path, sizeof(path), DEVICES "/%s/%s", device, file);
    if (rootfs_line(r->root, path, line, sizeof(line)))
        out_text(o, name, line);
}

static void link_fact(const struct rdma *r, const char *device, const char *file, const char *name,
                      struct out *o)
{
    char path[128], target[256];
    snprintf(path, sizeof(path), DEVICES "/%s/%s", device, file);
    if (!rootfs_link(r->root, path, target, sizeof(target)))
        return;
    const char *last = text_last_part(target);
    if (strcmp(name, "pci") || pci_is_address(last)) /* a software device has none */
        out_text(o, name, last);
}

static void device_facts(const struct rdma *r, const char *device, struct out *o)
{
    char path[128];
    int64_t node;
    o->kind = "ib";
    o->subject = device;
    o->source = DEVICES;
    link_fact(r, device, "device", "pci", o);
    link_fact(r, device, "device/driver", "driver", o);
    text_fact(r, device, "fw_ver", "firmware", o);
    text_fact(r, device, "board_id", "board", o);
    text_fact(r, device, "hca_type", "hca", o);
    snprintf(path, sizeof(path), DEVICES "/%s/device/numa_node", device);
    if (rootfs_int(r->root, path, &node) && node >= 0)
        out_number(o, "numa", (double)node, "count");
    snprintf(path, sizeof(path), DEVICES "/%s/device", device);
    if (rootfs_exists(r->root, path)) {
        snprintf(path, sizeof(path), DEVICES "/%s/device/physfn", device);
        out_number(o, "virtual_function", rootfs_exists(r->root, path), "1");
    }
}

static void count_verbs(void *arg, const char *name)
{
    unsigned *count = arg;
    *count += !strncmp(name, "uverbs", 6) && isdigit((unsigned char)name[6]);
}

static void file_facts(const struct rdma *r, struct out *o)
{
    unsigned files = 0, kernel = 0;
    if (rootfs_each(r->root, "/sys/class/infiniband_verbs", count_verbs, &kernel)) {
        o->source = "/sys/class/infiniband_verbs";
        out_number(o, "uverbs_kernel", kernel, "count");
    }
    if (!rootfs_each(r->root, "/dev/infiniband", count_verbs, &files) &&
        !rootfs_exists(r->root, "/dev"))
        return;
    o->source = "/dev/infiniband";
    out_number(o, "uverbs", files, "count");
    out_number(o, "rdma_cm", rootfs_exists(r->root, "/dev/infiniband/rdma_cm"), "1");
}

/* The places that NCCL looks at (src/misc/gdrwrap.cc and transport/net_ib: ncclIbGdrSupport). */
static void peer_memory_facts(const struct rdma *r, struct out *o)
{
    static const struct {
        const char *path, *name;
    } places[] = {
        {"/sys/kernel/mm/memory_peers/nv_mem/version", "nv_mem"},
        {"/sys/kernel/mm/memory_peers/nv_mem_nc/version", "nv_mem_nc"},
        {"/sys/module/nvidia_peermem/version", "nvidia_peermem"},
        {"/sys/module/nv_peer_mem", "nv_peer_mem"},
        {"/sys/kernel/mm/memory_peers/amdkfd/version", "amdkfd"},
    };
    o->source = "/sys/module";
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (rootfs_exists(r->root, places[i].path)) {
            out_text(o, "peer_memory", places[i].name);
            return;
        }
    if (rootfs_exists(r->root, "/sys/module"))
        out_text(o, "peer_memory", "none");
}

static void sum_facts(const struct rdma *r, int64_t ns, struct out *o)
{
    unsigned active = 0, roce = 0;
    bool shared = false;
    for (size_t i = 0; i < r->port_count; i++) {
        active += r->ports[i].active;
        roce += r->ports[i].ethernet;
        for (int k = 0; k < RDMA_COUNTERS; k++)
            shared |= r->ports[i].shared[k];
    }
    o->kind = "rdma";
    o->subject = "";
    o->source = DEVICES;
    out_number(o, "devices", (double)r->device_count, "count");
    out_number(o, "ports", (double)r->port_count, "count");
    out_number(o, "ports_active", active, "count");
    out_number(o, "ports_roce", roce, "count");
    out_number(o, "ports_ib", (double)r->port_count - roce, "count");
    if (shared)
        out_number(o, "counters_equal", 1, "1");
    double bytes = rdma_counters_bytes(r->ports, r->port_count);
    if (ns > 0) {
        out_number(o, "bytes_rise", bytes, "bytes");
        out_number(o, "rate", bytes / unit_seconds(ns), "bytes/s");
    }
    file_facts(r, o);
    peer_memory_facts(r, o);
}

static int rdma_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct rdma *r = self;
    struct out o = {.fn = fn, .arg = arg};
    for (size_t i = 0; i < r->port_count; i++) {
        rdma_counters_read(r->root, &r->ports[i], r->ports[i].last);
        rdma_port_look(r->root, &r->ports[i]);
    }
    rdma_counters_compare(r->ports, r->port_count);
    /* Where /sys/class was not seen at all, nothing is known, not even that there are none. */
    if (r->device_count || rootfs_exists(r->root, "/sys/class"))
        sum_facts(r, now - r->t0, &o);
    for (size_t i = 0; i < r->device_count && !o.rc; i++)
        device_facts(r, r->devices[i], &o);
    o.kind = "ib_port";
    o.source = DEVICES;
    for (size_t i = 0; i < r->port_count && !o.rc; i++) {
        o.subject = r->ports[i].subject;
        rdma_port_facts(r->root, &r->ports[i], &o);
        rdma_counter_facts(&r->ports[i], now - r->t0, &o);
    }
    return o.rc;
}

const struct source source_rdma = {
    "rdma",         "InfiniBand and RoCE ports, their counters and device files",
    rdma_start,     NULL,
    rdma_facts,     rdma_stop,
    .survey = true,
};
