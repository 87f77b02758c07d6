/* SPDX-License-Identifier: MIT */
/* library_name: what a shared library's path tells: which one, which version. Pure. */
#ifndef GPUFEED_SENSE_LIBRARY_NAME_H
#define GPUFEED_SENSE_LIBRARY_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum library {
    LIBRARY_NCCL,
    LIBRARY_RCCL,
    LIBRARY_NET_PLUGIN, /* of NCCL or RCCL */
    LIBRARY_IBVERBS,
    LIBRARY_MLX5,
    LIBRARY_EFA,
    LIBRARY_FABRIC,
    LIBRARY_UCP,
    LIBRARY_NIXL,
    LIBRARY_MOONCAKE,
    LIBRARY_MPI,
    LIBRARY_NVSHMEM,
    LIBRARIES,
    LIBRARY_NONE = LIBRARIES,
};

/* The word of doc/facts.md: "nccl", "net-plugin", ... */
const char *library_word(enum library l);
/* LIBRARY_NONE for any other file. */
enum library library_of_path(const char *path);
/* "2.21.5" of "libnccl.so.2.21.5" into buf; false for a soname only ("libnccl.so.2"). */
bool library_version(const char *path, char *buf, size_t size);
/* Which plugin: "rdma-sharp", "aws-ofi", "tcpx", "gib"; else the file's own name. */
const char *library_plugin(const char *path);

#endif
