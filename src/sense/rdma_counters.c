/* SPDX-License-Identifier: MIT */
/*
 * Counters of RDMA ports. They are read twice and only differences are told. A counter that
 * stands at its highest value counts no more, and one that other ports have with the same total is
 * not the port's own (a virtual machine's host may give one set of counters to all).
 *
 * Source: Documentation/ABI/stable/sysfs-class-infiniband (data in 4-byte words), and
 * drivers/infiniband/hw/mlx5/counters.c.
 */
#include "sense/rdma.h"

#include "base/rootfs.h"
#include "base/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WORD_BYTES 4

/* bits: as the counter was first laid down; newer devices count further. */
static const struct {
    const char *file, *fact;
    unsigned bits;
} counters[RDMA_COUNTERS] = {
    {"counters/port_rcv_data", NULL, 32}, /* RCV and XMIT below */
    {"counters/port_xmit_data", NULL, 32},
    {"counters/link_downed", "link_downed_rise", 8},
    {"counters/link_error_recovery", "link_error_recovery_rise", 8},
    {"counters/symbol_error", "symbol_error_rise", 16},
    {"counters/port_rcv_errors", "port_rcv_errors_rise", 16},
    {"counters/port_xmit_discards", "port_xmit_discards_rise", 16},
    {"counters/local_link_integrity_errors", "local_link_integrity_errors_rise", 4},
    {"counters/port_rcv_remote_physical_errors", "port_rcv_remote_physical_errors_rise", 16},
    {"counters/port_xmit_wait", "port_xmit_wait_rise", 32},
    {"hw_counters/out_of_sequence", "out_of_sequence_rise", 32},
    {"hw_counters/packet_seq_err", "packet_seq_err_rise", 32},
    {"hw_counters/local_ack_timeout_err", "local_ack_timeout_err_rise", 32},
    {"hw_counters/rnr_nak_retry_err", "rnr_nak_retry_err_rise", 32},
    {"hw_counters/out_of_buffer", "out_of_buffer_rise", 32},
    {"hw_counters/roce_adp_retrans", "roce_adp_retrans_rise", 32},
    {"hw_counters/req_transport_retries_exceeded", "req_transport_retries_exceeded_rise", 32},
    {"hw_counters/np_cnp_sent", "np_cnp_sent_rise", 32},
    {"hw_counters/rp_cnp_handled", "rp_cnp_handled_rise", 32},
    {"hw_counters/np_ecn_marked_roce_packets", "np_ecn_marked_roce_packets_rise", 32},
};
enum { RCV, XMIT, LINK_DOWNED };

static bool is_ceiling(int i, double v)
{
    return v == ldexp(1, (int)counters[i].bits) - 1 || v == UINT32_MAX || v >= (double)UINT64_MAX;
}

void rdma_counters_read(const char *root, const struct rdma_port *p, double v[RDMA_COUNTERS])
{
    for (int i = 0; i < RDMA_COUNTERS; i++) {
        char line[64], *end;
        v[i] = NAN;
        if (!rdma_line(root, p, counters[i].file, line, sizeof(line)) || line[0] < '0' ||
            line[0] > '9')
            continue;
        double read = (double)strtoull(line, &end, 10);
        if (!*end)
            v[i] = read;
    }
}

/* A total of some size that two ports share is no coincidence; a small one only if all have it. */
#define TOTAL_LARGE 1000

static bool is_shared(const struct rdma_port *ports, size_t count, size_t self, int i)
{
    double own = ports[self].last[i];
    size_t told = 0, same = 0;
    for (size_t k = 0; k < count; k++) {
        told += isfinite(ports[k].last[i]);
        same += ports[k].last[i] == own;
    }
    return own > 0 && same >= 2 && (same == told || own >= TOTAL_LARGE);
}

void rdma_counters_compare(struct rdma_port *ports, size_t count)
{
    for (size_t k = 0; k < count; k++)
        for (int i = 0; i < RDMA_COUNTERS; i++)
            ports[k].shared[i] = is_shared(ports, count, k, i);
}

static double rise(const struct rdma_port *p, int i)
{
    double d = p->last[i] - p->first[i];
    return p->shared[i] || is_ceiling(i, p->last[i]) || !(d >= 0) ? NAN : d;
}

void rdma_counter_facts(const struct rdma_port *p, int64_t ns, struct out *o)
{
    double rcv = rise(p, RCV) * WORD_BYTES, xmit = rise(p, XMIT) * WORD_BYTES;
    if (!p->shared[LINK_DOWNED] && !is_ceiling(LINK_DOWNED, p->last[LINK_DOWNED]))
        out_number(o, "link_downed", p->last[LINK_DOWNED], "count");
    if (ns <= 0)
        return;
    out_number(o, "rcv_bytes_rise", rcv, "bytes");
    out_number(o, "xmit_bytes_rise", xmit, "bytes");
    out_number(o, "rcv_rate", rcv / unit_seconds(ns), "bytes/s");
    out_number(o, "xmit_rate", xmit / unit_seconds(ns), "bytes/s");
    for (int i = XMIT + 1; i < RDMA_COUNTERS; i++)
        out_number(o, counters[i].fact, rise(p, i), "count");
}

double rdma_counters_bytes(const struct rdma_port *ports, size_t count)
{
    double sum = NAN;
    for (size_t k = 0; k < count; k++) {
        double both = (rise(&ports[k], RCV) + rise(&ports[k], XMIT)) * WORD_BYTES;
        if (isnan(both) && ports[k].active)
            return NAN; /* what one active port hides may be all */
        if (isfinite(both))
            sum = isfinite(sum) ? sum + both : both;
    }
    return sum;
}
