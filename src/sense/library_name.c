/* SPDX-License-Identifier: MIT */
#include "sense/library_name.h"

#include "sense/text.h"

#include <ctype.h>
#include <string.h>

/* The file's name begins so; the first that fits counts. */
static const struct {
    const char *head;
    enum library library;
} heads[] = {
    {"libnccl-net", LIBRARY_NET_PLUGIN}, {"librccl-net", LIBRARY_NET_PLUGIN},
    {"librccl-anp", LIBRARY_NET_PLUGIN}, {"libnccl.so", LIBRARY_NCCL},
    {"librccl.so", LIBRARY_RCCL},        {"libibverbs.so", LIBRARY_IBVERBS},
    {"libmlx5.so", LIBRARY_MLX5},        {"libmlx5-rdmav", LIBRARY_MLX5},
    {"libefa.so", LIBRARY_EFA},          {"libefa-rdmav", LIBRARY_EFA},
    {"libfabric.so", LIBRARY_FABRIC},    {"libucp.so", LIBRARY_UCP},
    {"libnixl", LIBRARY_NIXL},           {"libtransfer_engine", LIBRARY_MOONCAKE},
    {"libmpi.so", LIBRARY_MPI},          {"libnvshmem_host", LIBRARY_NVSHMEM},
    {"libnvshmem.so", LIBRARY_NVSHMEM},
};

static const char *const words[LIBRARIES] = {
    "nccl",   "rccl", "net-plugin", "ibverbs",  "mlx5", "efa",
    "fabric", "ucp",  "nixl",       "mooncake", "mpi",  "nvshmem",
};

/* Part of the path -> plugin: where hpcx, the EFA installer and Google's images put them. */
static const struct {
    const char *part, *plugin;
} plugins[] = {
    {"-ofi", "aws-ofi"}, {"/amazon/", "aws-ofi"}, {"tcpxo", "tcpxo"},      {"fastrak", "tcpxo"},
    {"tcpx", "tcpx"},    {"/gib/", "gib"},        {"sharp", "rdma-sharp"}, {"hpcx", "rdma-sharp"},
};

const char *library_word(enum library l)
{
    return l < LIBRARIES ? words[l] : "";
}

enum library library_of_path(const char *path)
{
    const char *name = text_last_part(path);
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        if (!strncmp(name, heads[i].head, strlen(heads[i].head)))
            return heads[i].library;
    return strstr(path, "/mooncake/") && strstr(name, ".so") ? LIBRARY_MOONCAKE : LIBRARY_NONE;
}

bool library_version(const char *path, char *buf, size_t size)
{
    const char *so = strstr(text_last_part(path), ".so.");
    size_t n = 0;
    if (!so)
        return false;
    so += strlen(".so.");
    while (n + 1 < size && (isdigit((unsigned char)so[n]) || so[n] == '.')) {
        buf[n] = so[n];
        n++;
    }
    buf[n] = '\0';
    return n && !so[n] && strchr(buf, '.') && isdigit((unsigned char)buf[n - 1]);
}

const char *library_plugin(const char *path)
{
    for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++)
        if (strstr(path, plugins[i].part))
            return plugins[i].plugin;
    return text_last_part(path);
}
