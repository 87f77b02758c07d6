/* SPDX-License-Identifier: MIT */
/*
 * pci_path: where a PCI function hangs in the tree, and how far two of them are apart. Pure.
 *
 * A path is the target of /sys/bus/pci/devices/ADDRESS:
 * "../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0/0000:19:00.0".
 */
#ifndef GPUFEED_SENSE_PCI_PATH_H
#define GPUFEED_SENSE_PCI_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define PCI_ADDRESS 16 /* "0000:19:00.0", or with a domain of five digits */
#define PCI_DEPTH 12

struct pci_path {
    char host[24];                      /* "pci0000:16"; "" unknown */
    char nodes[PCI_DEPTH][PCI_ADDRESS]; /* from the host bridge to the function itself */
    size_t count;
};

/* Is this "dddd:bb:dd.f"? */
bool pci_is_address(const char *text);
/* False where the text has no host bridge or is too deep. */
bool pci_path_parse(const char *target, struct pci_path *ret);
/* The bridge above, "" at the top. */
const char *pci_path_parent(const struct pci_path *p);

/* As NCCL and nvidia-smi name them: one switch, several switches, the host bridge, within the NUMA
 * node, beyond it. */
enum pci_distance { PCI_PIX, PCI_PXB, PCI_PHB, PCI_NODE, PCI_SYS };
/* numa: nodes of the two, negative unknown. */
enum pci_distance pci_distance(const struct pci_path *a, int numa_a, const struct pci_path *b,
                               int numa_b);
const char *pci_distance_word(enum pci_distance d);

#endif
