/* SPDX-License-Identifier: MIT */
/*
 * nvml_links: how a device is linked to the others: NVLinks, the NVLink fabric, and which
 * devices it can reach directly.
 */
#ifndef GPUFEED_SENSE_NVML_LINKS_H
#define GPUFEED_SENSE_NVML_LINKS_H

#include "sense/nvml_lib.h"
#include "sense/out.h"

struct nvml_links {
    double nvlinks, nvlinks_active; /* counts; NAN unknown, as all below */
    double fabric_state, fabric_status, fabric_cluster;
    unsigned fabric_health; /* mask; 0 says nothing */
    double peers, peers_ok, peers_nvlink;
    double persistence;
};

/* Asks about device `self` among `count` of them; takes milliseconds. */
void nvml_links_ask(const struct nvml_lib *l, const nvml_device *devices, unsigned count,
                    unsigned self, struct nvml_links *ret);
void nvml_links_facts(const struct nvml_links *k, struct out *o);

#endif
