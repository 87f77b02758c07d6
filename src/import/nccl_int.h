/* SPDX-License-Identifier: MIT */
/* nccl_int: what nccl_log.c (reading) and nccl_facts.c (telling) share. Internal to the room. */
#ifndef GPUFEED_IMPORT_NCCL_INT_H
#define GPUFEED_IMPORT_NCCL_INT_H

#include "base/map.h"
#include "base/str.h"
#include "import/nccl_line.h"
#include "import/nccl_log.h"

/* Where something was read first; line 0: nowhere. */
struct nccl_at {
    uint32_t file; /* interned */
    uint32_t line;
};

/* A number with where it was first told; at.line 0: not told. */
struct nccl_count {
    uint64_t n;
    struct nccl_at at;
};

/* A text or list with where it was first told. */
struct nccl_text {
    uint32_t text; /* interned */
    struct nccl_at at;
};

#define NCCL_LIST_MAX 8 /* different versions or networks that are told */
struct nccl_list {
    uint32_t text[NCCL_LIST_MAX];
    int count;
    struct nccl_at at;
};

/* Channels by transport. */
struct nccl_channels {
    struct nccl_count p2p, shm, net, collnet, socket, gdr, staged;
};

struct nccl_host {
    uint32_t name;
    uint32_t processes, ranks;
    struct nccl_at at;
    struct nccl_list versions, networks, kinds, plugins;
    struct nccl_text interface, address, devices, sockets, path_gpu, path_net;
    struct nccl_count ib, roce; /* devices in the list */
    bool merged;                /* devices of the list are several ports each */
    struct nccl_count relaxed, no_device, verbs_missing, open_denied, no_interface, plugin_missing,
        ib_failed, gdr_disabled, dmabuf;
    struct nccl_count graph_channels, coll_channels, p2p_channels;
    struct nccl_channels channels;
};

struct nccl_process {
    uint32_t host, pid;
    uint32_t last_member; /* + 1; 0 none */
};

/* A thread that initialises: lines between its Init lines belong to that communicator. */
struct nccl_thread {
    uint32_t process;
    uint32_t member;  /* + 1; 0: not known yet */
    uint32_t pending; /* first edge that may wait for its communicator ... */
    uint32_t rings;   /* ... and first ring */
    uint32_t epoch;   /* communicators that were known by their end only */
};

/* A rank of a communicator. */
struct nccl_member {
    uint32_t comm, process;
    uint32_t previous; /* of the same process, + 1 */
    int rank, gpu, nvml;
    uint64_t bus, pointer;
    double init_seconds; /* NAN unknown */
    uint64_t net_devs;   /* bits */
    bool started, complete, over;
    struct nccl_at at;
};

struct nccl_comm {
    uint64_t id; /* 0: the version does not tell */
    int nranks, nodes;
    uint32_t members;
    struct nccl_at at;
};

struct nccl_edge {
    uint32_t comm; /* + 1; 0: of a thread whose communicator is not known yet */
    uint32_t thread;
    uint32_t own; /* the rank that wrote the line */
    int from, to;
    uint32_t transport; /* interned */
    uint32_t channels;
    uint64_t net_devs; /* bits: devices that `own` uses */
    bool gdr, staged, pxn;
    struct nccl_at at;
};

struct nccl_ring {
    uint32_t comm, thread; /* as nccl_edge */
    int channel;
    struct nccl_text order;
};

struct nccl_env {
    uint32_t name, value;
    bool differs;
    struct nccl_at at;
};

#define NCCL_QUOTES 3 /* different texts of one word that are kept */
struct nccl_problem {
    const char *word;
    uint64_t count;
    uint32_t text[NCCL_QUOTES], host;
    struct nccl_at at;
};

struct nccl_function {
    uint32_t name, algorithm;
    uint64_t count, bytes;
    struct nccl_at at;
};

struct nccl_timeout {
    int rank, sequence;
    uint32_t operation;
    double seconds;
    struct nccl_at at;
};

#define NCCL_TABLE(type, name)                                                                     \
    struct type *name;                                                                             \
    size_t name##_count, name##_cap

struct nccl_log {
    struct intern texts;
    struct map host_of, process_of, thread_of, comm_of, member_of, pointer_of, edge_of, pid_of;
    NCCL_TABLE(nccl_host, hosts);
    NCCL_TABLE(nccl_process, processes);
    NCCL_TABLE(nccl_thread, threads);
    NCCL_TABLE(nccl_member, members);
    NCCL_TABLE(nccl_comm, comms);
    NCCL_TABLE(nccl_edge, edges);
    NCCL_TABLE(nccl_ring, rings);
    NCCL_TABLE(nccl_env, envs);
    NCCL_TABLE(nccl_problem, problems);
    NCCL_TABLE(nccl_function, functions);
    NCCL_TABLE(nccl_timeout, timeouts);
    struct nccl_list libraries, versions;
    struct nccl_count warnings, nvls;
    struct nccl_counts counts;
    struct nccl_at at; /* of the line that is being read */
    char line[NCCL_LINE_MAX + 1], clean[NCCL_LINE_MAX + 1];
    size_t line_len;
    bool line_cut, failed;
    uint64_t steps; /* of looking back over edges: bounded */
};

/* What a log may make us keep: some 100 MB in all. A larger job is told in part, and so it says. */
enum {
    NCCL_HOSTS_MAX = 1 << 16,
    NCCL_PROCESSES_MAX = 1 << 18,
    NCCL_MEMBERS_MAX = 1 << 19,
    NCCL_EDGES_MAX = 1 << 19,
    NCCL_SMALL_MAX = 1 << 10,
    NCCL_TEXTS_MAX = 1 << 20,
};

/* A new zeroed element; NULL: the table is full (counted) or out of memory. */
void *nccl_grow(struct nccl_log *l, void **array, size_t *count, size_t *cap, size_t elem,
                size_t most);
#define NCCL_GROW(l, table, most)                                                                  \
    nccl_grow(l, (void **)&(l)->table, &(l)->table##_count, &(l)->table##_cap,                     \
              sizeof(*(l)->table), most)
void nccl_put(struct nccl_log *l, struct map *m, uint64_t key, uint64_t value);
uint32_t nccl_text_of(struct nccl_log *l, const char *text); /* 0: not kept */
/* + 1; 0: not kept. */
uint32_t nccl_process_of(struct nccl_log *l, const struct nccl_line *r);
uint32_t nccl_thread_of(struct nccl_log *l, uint32_t process, uint32_t tid);

/* What a line says goes into the tables (nccl_take.c). */
void nccl_take(struct nccl_log *l, const struct nccl_line *r);
void nccl_take_timeout(struct nccl_log *l, const struct nccl_line *r);
void nccl_take_version(struct nccl_log *l, struct nccl_host *h, const struct nccl_line *r);
void nccl_told(struct nccl_log *l, struct nccl_count *c);

/* ret + 1 of what the key is mapped to; 0: nothing. */
uint32_t nccl_get(const struct map *m, uint64_t key);
uint64_t nccl_key(uint64_t a, uint64_t b);
/* Appends unless it is there; told once more keeps the first place. */
void nccl_list_add(struct nccl_log *l, struct nccl_list *list, const char *text);
/* Gives edges and rings their communicators (nccl_resolve.c). */
void nccl_resolve(struct nccl_log *l);
/* The largest communicator; NULL none. */
const struct nccl_comm *nccl_main_comm(const struct nccl_log *l);
/* The member with that rank; NULL: it wrote no line. */
const struct nccl_member *nccl_member_of(const struct nccl_log *l, uint32_t comm, int rank);

#endif
