/* SPDX-License-Identifier: MIT */
/*
 * resource: names for what threads wait for, as a person would say them:
 * "nfs://10.0.0.4/data", "fuse:blobfuse2 /mnt/data", "disk nvme0n1 (/data)",
 * "tmpfs /dev/shm", "acct.blob.core.windows.net:443", "10.0.0.5:8080",
 * "device nvidia0".
 *
 * Used by the BPF reader and by the sampler alike. Answers are cached, so a
 * call costs a look into a hash table; the mount table is read again when a
 * device is not in it (of the asking process: it may live in another mount
 * namespace). Names are numbers of the recording's intern table; 0 is "none".
 * One thread at a time.
 */
#ifndef GPUFEED_SENSE_RESOURCE_H
#define GPUFEED_SENSE_RESOURCE_H

#include "base/error.h"
#include "base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resources; /* opaque */

struct resource_opts {
    const char *root;           /* /proc and /sys are read below it; NULL: the live machine */
    struct intern *names;       /* borrowed, must outlive */
    const char *const *origins; /* --origin texts; copied */
    size_t origin_count;
};

/* A TCP or UDP connection as seen from the waiting thread; IPv4 as ::ffff:a.b.c.d. */
struct resource_socket {
    uint8_t addr[16], local_addr[16];
    uint16_t port, local_port; /* peer's and ours; port 0: not connected */
    uint32_t netns;
};

int resources_new(struct resources **ret, const struct resource_opts *o, struct error *e);
void resources_free(struct resources *r); /* NULL is fine */

/*
 * The file system with device number dev (MAJOR << 20 | MINOR) and magic (0 unknown), as process
 * tgid sees it (0: gpufeed's own view). *flags gains WAIT_REMOTE_FS where it is remote or FUSE.
 */
uint32_t resource_of_dev(struct resources *r, uint32_t tgid, uint32_t dev, uint32_t magic,
                         uint16_t *flags);
/* *flags gains WAIT_STORAGE_PEER, WAIT_LOOPBACK and WAIT_ACCEPTED. 0 for a socket without a peer. */
uint32_t resource_of_socket(struct resources *r, const struct resource_socket *s, uint16_t *flags);
/* A character device: *accelerator tells whether it is a GPU's node; 0 for ttys, null and such. */
uint32_t resource_of_chardev(struct resources *r, uint32_t rdev, bool *accelerator, bool *fuse);

/* getaddrinfo said that addr is one of host's addresses. */
void resource_learn_host(struct resources *r, const uint8_t addr[16], const char *host);

/* An identity that both ends of a connection compute alike; 0 without a peer. */
uint64_t resource_socket_channel(const struct resource_socket *s);
/* An identity of an inode; kind keeps pipes, files and event descriptors apart. */
uint64_t resource_inode_channel(uint32_t kind, uint32_t dev, uint64_t ino);

#endif
