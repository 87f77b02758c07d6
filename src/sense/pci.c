/* SPDX-License-Identifier: MIT */
/*
 * pci: accelerators, network and NVMe functions on PCIe and the bridges above them: their
 * links, errors, access control, NUMA node, and how far each GPU is from an RDMA device.
 */
#include "sense/pci.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "sense/pci_config.h"
#include "sense/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "/sys/bus/pci/devices"
#define FUNCTIONS_MAX 4096
#define LANES_MAX 32

#define VENDOR_NVIDIA 0x10de
#define VENDOR_AMD 0x1002
#define VENDOR_HABANA 0x1da3

bool pci_line(const struct pci *p, const struct pci_function *f, const char *file, char *buf,
              size_t size)
{
    char path[128];
    snprintf(path, sizeof(path), DEVICES "/%s/%s", f->address, file);
    return rootfs_line(p->root, path, buf, size);
}

static unsigned pci_hex(const struct pci *p, const struct pci_function *f, const char *file)
{
    char line[32];
    return pci_line(p, f, file, line, sizeof(line)) ? (unsigned)strtoul(line, NULL, 16) : 0;
}

/* A board's own screen is a display controller too: only those that compute are meant. */
static enum pci_class class_of(unsigned code, unsigned vendor)
{
    bool computes = vendor == VENDOR_NVIDIA || vendor == VENDOR_AMD || vendor == VENDOR_HABANA;
    switch (code >> 8) {
    case 0x0300:
        return computes ? PCI_GPU : PCI_OTHER;
    case 0x0302:
    case 0x1200:
        return PCI_GPU;
    case 0x0380:
        return computes ? PCI_GPU : PCI_OTHER;
    case 0x0200:
        return PCI_ETHERNET;
    case 0x0207:
        return PCI_INFINIBAND;
    case 0x0108:
        return (code & 0xff) == 2 ? PCI_NVME : PCI_OTHER;
    case 0x0604:
        return PCI_BRIDGE;
    case 0x0680:
        return vendor == VENDOR_NVIDIA ? PCI_NVSWITCH : PCI_OTHER;
    default:
        return PCI_OTHER;
    }
}

static unsigned link_gen(const struct pci *p, const struct pci_function *f, const char *file)
{
    char line[64];
    return pci_line(p, f, file, line, sizeof(line)) ? pci_generation(line) : 0;
}

/* 0 and 255 are what a link says that is down or emulated. */
static unsigned link_lanes(const struct pci *p, const struct pci_function *f, const char *file)
{
    char line[64];
    unsigned long v = pci_line(p, f, file, line, sizeof(line)) ? strtoul(line, NULL, 10) : 0;
    return v <= LANES_MAX ? (unsigned)v : 0;
}

static void look_at_link(const struct pci *p, struct pci_function *f)
{
    unsigned generation = link_gen(p, f, "current_link_speed");
    unsigned lanes = link_lanes(p, f, "current_link_width");
    f->generation = generation > f->generation ? generation : f->generation;
    f->lanes = lanes > f->lanes ? lanes : f->lanes;
}

void pci_errors(const struct pci *p, const struct pci_function *f, double ret[PCI_AERS])
{
    static const char *const files[PCI_AERS] = {"aer_dev_correctable", "aer_dev_nonfatal",
                                                "aer_dev_fatal"};
    for (int i = 0; i < PCI_AERS; i++) {
        char path[128];
        struct str text = {0};
        snprintf(path, sizeof(path), DEVICES "/%s/%s", f->address, files[i]);
        rootfs_bytes(p->root, path, 4096, &text);
        const char *total = strstr(str_text(&text), "TOTAL_ERR_");
        total = total ? strchr(total, ' ') : NULL;
        ret[i] = total && isdigit((unsigned char)total[1]) ? strtod(total + 1, NULL) : NAN;
        str_clear(&text);
    }
}

static void add_function(void *arg, const char *name)
{
    struct pci *p = arg;
    struct pci_function f = {.numa = -1};
    char path[128], target[512], line[32];
    if (!pci_is_address(name) || p->count >= FUNCTIONS_MAX ||
        !str_copy(f.address, PCI_ADDRESS, name))
        return;
    f.vendor = pci_hex(p, &f, "vendor");
    f.class = class_of(pci_hex(p, &f, "class"), f.vendor);
    if (f.class == PCI_OTHER)
        return;
    if (pci_line(p, &f, "numa_node", line, sizeof(line)) && isdigit((unsigned char)line[0]))
        f.numa = (int)strtol(line, NULL, 10);
    snprintf(path, sizeof(path), DEVICES "/%s", name);
    if (rootfs_link(p->root, path, target, sizeof(target)))
        pci_path_parse(target, &f.path);
    f.generation_max = link_gen(p, &f, "max_link_speed");
    f.lanes_max = link_lanes(p, &f, "max_link_width");
    look_at_link(p, &f);
    pci_errors(p, &f, f.errors);
    if (!mem_grow((void **)&p->list, &p->cap, p->count + 1, sizeof(f))) {
        p->failed = true;
        return;
    }
    p->list[p->count++] = f;
}

static void add_rdma(void *arg, const char *name)
{
    struct pci *p = arg;
    char path[128], target[512];
    snprintf(path, sizeof(path), "/sys/class/infiniband/%.40s/device", name);
    if (!rootfs_link(p->root, path, target, sizeof(target)))
        return;
    const char *address = text_last_part(target);
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->list[i].address, address) &&
            (!p->list[i].rdma[0] || strcmp(name, p->list[i].rdma) < 0))
            str_copy(p->list[i].rdma, sizeof(p->list[i].rdma), name);
}

static int by_address(const void *a, const void *b)
{
    return strcmp(((const struct pci_function *)a)->address,
                  ((const struct pci_function *)b)->address);
}

static void pci_stop(void *self)
{
    struct pci *p = self;
    if (p)
        free(p->list);
    free(p);
}

static int pci_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    struct pci *p = mem_zalloc(sizeof(*p));
    if (!p)
        return error_set(e, STATUS_MEMORY, "out of memory for the PCI devices");
    p->root = o->root;
    p->t0 = now;
    bool there = rootfs_each(o->root, DEVICES, add_function, p);
    if (!there || p->failed) {
        bool failed = p->failed;
        pci_stop(p);
        return failed ? error_set(e, STATUS_MEMORY, "out of memory for the PCI devices")
                      : error_set(e, STATUS_MISSING, "\"" DEVICES "\" is absent: is /sys mounted?");
    }
    if (p->count)
        qsort(p->list, p->count, sizeof(*p->list), by_address);
    rootfs_each(o->root, "/sys/class/infiniband", add_rdma, p);
    *ret = p;
    return STATUS_OK;
}

/* Links of idle devices slow down; what was seen once they can do. */
static void pci_sample(void *self, int64_t now)
{
    struct pci *p = self;
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i].class != PCI_BRIDGE && p->list[i].generation < p->list[i].generation_max)
            look_at_link(p, &p->list[i]);
}

static void count_unit(void *arg, const char *name)
{
    ++*(unsigned *)arg;
}

static void iommu_facts(const struct pci *p, struct out *o)
{
    char line[4096];
    unsigned units = 0;
    o->kind = "iommu";
    o->subject = "";
    o->source = "/sys/class/iommu";
    if (rootfs_each(p->root, "/sys/class/iommu", count_unit, &units))
        out_number(o, "units", units, "count");
    o->source = "/proc/cmdline";
    if (!rootfs_line(p->root, "/proc/cmdline", line, sizeof(line)))
        return;
    bool pass = strstr(line, "iommu=pt") || strstr(line, "iommu.passthrough=1");
    bool off = strstr(line, "iommu=off"); /* intel_, amd_ and plain */
    out_number(o, "passthrough", pass || off, "1");
}

static int pci_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct pci *p = self;
    struct out o = {.fn = fn, .arg = arg};
    pci_sample(p, now);
    iommu_facts(p, &o);
    for (size_t i = 0; i < p->count && !o.rc; i++)
        pci_function_facts(p, &p->list[i], now - p->t0, &o);
    return o.rc;
}

const struct source source_pci = {
    "pci",          "PCIe: links, access control, NUMA nodes",
    pci_start,      pci_sample,
    pci_facts,      pci_stop,
    .survey = true,
};
