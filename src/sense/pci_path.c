/* SPDX-License-Identifier: MIT */
#include "sense/pci_path.h"

#include <ctype.h>
#include <string.h>

static size_t hex(const char *p)
{
    size_t n = 0;
    while (isxdigit((unsigned char)p[n]))
        n++;
    return n;
}

bool pci_is_address(const char *t)
{
    size_t domain = hex(t);
    if (domain < 4 || domain > 6 || t[domain] != ':')
        return false;
    t += domain + 1;
    return hex(t) == 2 && t[2] == ':' && hex(t + 3) == 2 && t[5] == '.' && t[6] >= '0' &&
           t[6] <= '7' && !t[7];
}

bool pci_path_parse(const char *target, struct pci_path *ret)
{
    struct pci_path p = {0};
    while (*target) {
        char part[24];
        size_t n = strcspn(target, "/");
        if (n && n < sizeof(part)) {
            memcpy(part, target, n);
            part[n] = '\0';
            if (pci_is_address(part) && n < PCI_ADDRESS) {
                if (p.count == PCI_DEPTH)
                    return false;
                memcpy(p.nodes[p.count++], part, n + 1);
            } else if (!strncmp(part, "pci", 3) && hex(part + 3) >= 4) {
                memcpy(p.host, part, n + 1);
                p.count = 0; /* a host bridge behind a function (Hyper-V, VMD) begins a tree */
            }
        }
        target += n + (target[n] == '/');
    }
    if (!p.host[0] || !p.count)
        return false;
    *ret = p;
    return true;
}

const char *pci_path_parent(const struct pci_path *p)
{
    return p->count >= 2 ? p->nodes[p->count - 2] : "";
}

enum pci_distance pci_distance(const struct pci_path *a, int numa_a, const struct pci_path *b,
                               int numa_b)
{
    size_t same = 0;
    if (strcmp(a->host, b->host))
        return numa_a >= 0 && numa_a == numa_b ? PCI_NODE : PCI_SYS;
    while (same < a->count && same < b->count && !strcmp(a->nodes[same], b->nodes[same]))
        same++;
    if (!same)
        return PCI_PHB;
    /* One downstream port of the switch lies between the shared bridge and each of them. */
    size_t up = a->count - same + b->count - same;
    return up <= 4 ? PCI_PIX : PCI_PXB;
}

const char *pci_distance_word(enum pci_distance d)
{
    static const char *const words[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
    return words[d];
}
