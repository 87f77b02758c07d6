/* SPDX-License-Identifier: MIT */
/*
 * nccl_line: one line of an NCCL or RCCL debug log becomes typed records.
 *
 * A record is found by "HOST:PID:TID [DEVICE] [FILE:LINE [(FUNCTION)]] NCCL INFO|WARN TEXT" anywhere
 * in the line, so prefixes of launchers and loggers do not matter; two writers whose lines ran into
 * one give two records. Lines without that prefix count where they are a version line or PyTorch's
 * watchdog. Shapes are rows of data/nccl_lines.tsv (NCCL 2.8 to 2.32, RCCL). Pure: no state.
 */
#ifndef GPUFEED_IMPORT_NCCL_LINE_H
#define GPUFEED_IMPORT_NCCL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nccl_kind {
    NCCL_UNKNOWN,   /* of no known shape */
    NCCL_KNOWN,     /* a known shape that says nothing used here */
    NCCL_VERSION,   /* name "NCCL" or "RCCL", value "2.21.5+cuda12.4" */
    NCCL_INIT,      /* comm rank nranks gpu nvml bus comm_id; on: COMPLETE, else START */
    NCCL_END,       /* comm rank: destroyed or aborted */
    NCCL_SIZES,     /* comm rank nranks count = nNodes */
    NCCL_TIMINGS,   /* rank nranks number = s in all */
    NCCL_ENV,       /* name, value */
    NCCL_BOOTSTRAP, /* name interface, value address */
    NCCL_IB_NONE,   /* no usable InfiniBand or RoCE device */
    NCCL_IB_USING, /* value "mlx5_0:1/IB ..."; count IB devices, count2 RoCE, count3 1: merged; on: [RO] */
    NCCL_SOCKET_USING,    /* value "eth0:10.0.0.4 ..."; count */
    NCCL_NETWORK,         /* name: what is used */
    NCCL_PLUGIN_FAILED,   /* name */
    NCCL_PLUGIN_READY,    /* name */
    NCCL_PLUGIN_ASSIGNED, /* name */
    NCCL_PLUGIN_LOADED,   /* name: an external net plugin */
    NCCL_PLUGIN_NONE,     /* no external net plugin */
    NCCL_VERBS_MISSING,   /* libibverbs could not be loaded */
    NCCL_CHANNEL,         /* channel from to name = transport, net_dev gdr pxn send receive */
    NCCL_RING,            /* channel, value "0 1 2": ranks in order */
    NCCL_TREES,
    NCCL_CHANNELS, /* count collective channels, count2 p2p channels, count3 NVLS channels */
    NCCL_GRAPH,    /* name type within the host, value between hosts, count channels */
    NCCL_GDR_ON,
    NCCL_GDR_OFF, /* value: the text */
    NCCL_DMABUF,
    NCCL_NVLS,
    NCCL_TUNING,   /* name function, bytes, value "RING/SIMPLE" */
    NCCL_COLL,     /* name function, bytes */
    NCCL_PROBLEM,  /* word */
    NCCL_WATCHDOG, /* rank, name operation, count sequence number, number s */
};

#define NCCL_NONE (-1) /* an int that the line does not hold */

struct nccl_line {
    enum nccl_kind kind;
    bool warn;     /* NCCL WARN */
    bool prefixed; /* host, pid, tid and device were there */
    bool glued;    /* other text runs into the host's name */
    char host[64]; /* up to its first dot; "" unknown */
    uint32_t pid, tid;
    int device;       /* as CUDA counts for that process */
    const char *word; /* of a problem (data/nccl_lines.tsv); NULL none */
    char text[400];   /* what was said, cut */

    uint64_t comm, comm_id, bus, bytes; /* 0 absent */
    int rank, nranks, gpu, nvml;
    int channel, from, to, net_dev;
    int count, count2, count3;
    bool on, gdr, pxn, send, receive;
    double number; /* NAN absent */
    char name[96], value[400];
};

/* Longest line that is looked at; what is beyond is cut. */
#define NCCL_LINE_MAX 8192

/* Copies a line without colours and control characters; out has room for NCCL_LINE_MAX + 1. */
size_t nccl_line_clean(char *out, const char *line, size_t len);
/* The next record at *at, which moves on; false: none left. `*at` is a cleaned line. */
bool nccl_line_next(const char **at, struct nccl_line *ret);
/* * is any text, ? one character. */
bool nccl_line_like(const char *text, const char *shape);

#endif
