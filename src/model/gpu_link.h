/* SPDX-License-Identifier: MIT */
/*
 * gpu_link: what links a GPU to its host and what large copies over it reach, by the GPU's name. Data:
 * data/gpu_links.tsv, with a source for each.
 */
#ifndef GPUFEED_MODEL_GPU_LINK_H
#define GPUFEED_MODEL_GPU_LINK_H

struct gpu_link {
    const char *word; /* in the names of its GPUs */
    const char *link; /* "PCIe 5.0 x16" */
    double bytes_s;   /* one way, from or to pinned memory; 0 unknown */
};

/* NULL: a GPU that is not known, or name is NULL. */
const struct gpu_link *gpu_link_of(const char *name);

#endif
