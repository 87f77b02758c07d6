/* SPDX-License-Identifier: MIT */
#include "sense/pci.h"

#include "base/rootfs.h"
#include "sense/pci_config.h"
#include "sense/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_MAX 4096

static double known(unsigned v)
{
    return v ? v : NAN;
}

static const struct pci_function *find(const struct pci *p, const char *address)
{
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->list[i].address, address))
            return &p->list[i];
    return NULL;
}

static unsigned lower(unsigned a, unsigned b)
{
    return !a || (b && b < a) ? b : a;
}

/* What the slot can do bounds what the device can: a Gen5 device in a Gen4 slot is no fault. */
static void link_facts(const struct pci *p, const struct pci_function *f, struct out *o)
{
    const struct pci_function *slot = find(p, pci_path_parent(&f->path));
    out_number(o, "link_gen", known(f->generation), "count");
    out_number(o, "link_gen_max", known(f->generation_max), "count");
    out_number(o, "link_width", known(f->lanes), "count");
    out_number(o, "link_width_max", known(f->lanes_max), "count");
    out_number(o, "link_rate", pci_rate(f->generation, f->lanes), "bytes/s");
    out_number(o, "link_rate_max", pci_rate(f->generation_max, f->lanes_max), "bytes/s");
    if (!slot)
        return;
    out_number(o, "slot_gen_max", known(slot->generation_max), "count");
    out_number(o, "slot_width_max", known(slot->lanes_max), "count");
    out_number(o, "link_rate_slot",
               pci_rate(lower(f->generation_max, slot->generation_max),
                        lower(f->lanes_max, slot->lanes_max)),
               "bytes/s");
}

static void config_facts(const struct pci *p, const struct pci_function *f, struct out *o)
{
    char path[128];
    struct str bytes = {0};
    struct pci_config c;
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", f->address);
    rootfs_bytes(p->root, path, CONFIG_MAX, &bytes);
    pci_config_parse(str_text(&bytes), bytes.len, &c);
    str_clear(&bytes);
    if (f->class == PCI_BRIDGE && c.acs >= 0) {
        char on[48];
        snprintf(on, sizeof(on), "%s%s%s", c.acs & PCI_ACS_SRC_VALID ? "SrcValid " : "",
                 c.acs & PCI_ACS_REQ_REDIRECT ? "ReqRedir " : "",
                 c.acs & PCI_ACS_CMPLT_REDIRECT ? "CmpltRedir " : "");
        on[strlen(on) ? strlen(on) - 1 : 0] = '\0';
        out_number(o, "acs", (c.acs & (PCI_ACS_REQ_REDIRECT | PCI_ACS_CMPLT_REDIRECT)) != 0, "1");
        out_text(o, "acs_controls", on);
    }
    if (c.ats >= 0)
        out_number(o, "ats", c.ats, "1");
    if (f->class != PCI_BRIDGE && c.relaxed_ordering >= 0)
        out_number(o, "relaxed_ordering", c.relaxed_ordering, "1");
}

static void error_facts(const struct pci *p, const struct pci_function *f, int64_t ns,
                        struct out *o)
{
    static const char *const names[PCI_AERS] = {"aer_correctable_rise", "aer_nonfatal_rise",
                                                "aer_fatal_rise"};
    double now[PCI_AERS];
    if (ns <= 0)
        return;
    pci_errors(p, f, now);
    for (int i = 0; i < PCI_AERS; i++)
        if (now[i] >= f->errors[i])
            out_number(o, names[i], now[i] - f->errors[i], "count");
}

/* The nearest RDMA device of a GPU, and how many of them are on its node. */
static void neighbour_facts(const struct pci *p, const struct pci_function *gpu, struct out *o)
{
    const struct pci_function *best = NULL;
    enum pci_distance least = PCI_SYS;
    unsigned local = 0, located = 0;
    for (size_t i = 0; i < p->count; i++) {
        const struct pci_function *f = &p->list[i];
        if (!f->rdma[0] || !f->path.count)
            continue;
        enum pci_distance d = pci_distance(&gpu->path, gpu->numa, &f->path, f->numa);
        located += f->numa >= 0;
        local += f->numa >= 0 && f->numa == gpu->numa;
        if (!best || d < least) {
            best = f;
            least = d;
        }
    }
    if (!best || !gpu->path.count)
        return;
    out_text(o, "nic", best->rdma);
    out_text(o, "nic_path", pci_distance_word(least));
    if (gpu->numa >= 0 && located)
        out_number(o, "nics_local", local, "count");
}

void pci_function_facts(const struct pci *p, const struct pci_function *f, int64_t ns,
                        struct out *o)
{
    static const char *const words[] = {"gpu",  "ethernet", "infiniband",
                                        "nvme", "nvswitch", "bridge"};
    char path[128], text[256];
    o->kind = "pci";
    o->subject = f->address;
    o->source = "/sys/bus/pci/devices";
    out_text(o, "class", words[f->class]);
    snprintf(text, sizeof(text), "0x%04x", f->vendor & 0xffff);
    out_text(o, "vendor", text);
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", f->address);
    if (rootfs_link(p->root, path, text, sizeof(text)))
        out_text(o, "driver", text_last_part(text));
    out_text(o, "parent", pci_path_parent(&f->path));
    out_number(o, "numa", f->numa >= 0 ? f->numa : NAN, "count");
    out_text(o, "rdma", f->rdma);
    link_facts(p, f, o);
    config_facts(p, f, o);
    if (pci_line(p, f, "iommu_group/type", text, 32))
        out_text(o, "iommu", text);
    error_facts(p, f, ns, o);
    if (f->class == PCI_GPU)
        neighbour_facts(p, f, o);
}
