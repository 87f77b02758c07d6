/* SPDX-License-Identifier: MIT */
/* pci: the list of PCI functions that matter here, for pci.c and pci_facts.c. Internal. */
#ifndef GPUFEED_SENSE_PCI_H
#define GPUFEED_SENSE_PCI_H

#include "sense/out.h"
#include "sense/pci_path.h"
#include "sense/source.h"

#include <stdint.h>

enum pci_class {
    PCI_GPU,
    PCI_ETHERNET,
    PCI_INFINIBAND,
    PCI_NVME,
    PCI_NVSWITCH,
    PCI_BRIDGE,
    PCI_OTHER, /* not kept */
};

enum pci_aer { PCI_AER_CORRECTABLE, PCI_AER_NONFATAL, PCI_AER_FATAL, PCI_AERS };

struct pci_function {
    char address[PCI_ADDRESS];
    enum pci_class class;
    unsigned vendor;
    int numa; /* -1 unknown */
    struct pci_path path;
    unsigned generation, generation_max, lanes, lanes_max; /* now: highest seen; 0 unknown */
    double errors[PCI_AERS];                               /* at the start; NAN unknown */
    char rdma[32];                                         /* its RDMA device; "" none */
};

struct pci {
    const char *root;
    int64_t t0;
    struct pci_function *list; /* owned; by address */
    size_t count, cap;
    bool failed;
};

/* A file of the function; false if absent. */
bool pci_line(const struct pci *p, const struct pci_function *f, const char *file, char *buf,
              size_t size);
/* The three counts of errors; NAN where they are not told. */
void pci_errors(const struct pci *p, const struct pci_function *f, double ret[PCI_AERS]);
/* All facts of one function; ns since the start. */
void pci_function_facts(const struct pci *p, const struct pci_function *f, int64_t ns,
                        struct out *o);

#endif
