/* SPDX-License-Identifier: MIT */
/*
 * uprobe_multi: one link for many entry points of a library (kernel 6.6 and later).
 *
 * Each uprobe of its own costs the kernel a grace period when it goes, some 0.15 s: with eighty
 * of them a recorder took twelve seconds to end. Older kernels have no other way.
 */
#ifndef GPUFEED_SENSE_UPROBE_MULTI_H
#define GPUFEED_SENSE_UPROBE_MULTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_program;
struct btf;

/* Does the kernel with these types have it? */
bool uprobe_multi_there(const struct btf *btf);
/* Before the program is loaded: it will be attached in this way and no other. */
void uprobe_multi_mark(struct bpf_program *p);
/* The link's descriptor, to be closed; or a negative errno. cookies may be NULL. */
int uprobe_multi_attach(const struct bpf_program *p, const char *path, const uint64_t *offsets,
                        const uint64_t *cookies, size_t count, bool at_return);

#endif
