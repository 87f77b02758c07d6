/* SPDX-License-Identifier: MIT */
/*
 * pci_config: what a PCI function's configuration space and link files say. Pure.
 *
 * Source: PCI Express Base Specification 6.0, 7.5.3.4 (device control), 7.7.11 (access control
 * services), 10.5.1 (address translation services); names and numbers as in the kernel's
 * include/uapi/linux/pci_regs.h. Nothing is trusted: a list of capabilities may loop.
 */
#ifndef GPUFEED_SENSE_PCI_CONFIG_H
#define GPUFEED_SENSE_PCI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -1: no such capability, or it was not to be seen (without privileges only 64 bytes are). */
struct pci_config {
    int acs;              /* access control register: bits of PCI_ACS_* */
    int ats;              /* 0 or 1 */
    int relaxed_ordering; /* 0 or 1 */
};

#define PCI_ACS_SRC_VALID 0x01
#define PCI_ACS_REQ_REDIRECT 0x04
#define PCI_ACS_CMPLT_REDIRECT 0x08

void pci_config_parse(const void *bytes, size_t len, struct pci_config *ret);

/* "16.0 GT/s PCIe" -> generation 4; 0 unknown. */
unsigned pci_generation(const char *speed);
/* Bytes/s each way of so many lanes of a generation after line coding; NAN unknown. */
double pci_rate(unsigned generation, unsigned lanes);

#endif
