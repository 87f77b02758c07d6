/* SPDX-License-Identifier: MIT */
/* rdma: ports of RDMA devices, for rdma.c, rdma_port.c and rdma_counters.c. Internal. */
#ifndef GPUFEED_SENSE_RDMA_H
#define GPUFEED_SENSE_RDMA_H

#include "sense/out.h"
#include "sense/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RDMA_NAME 64
#define RDMA_COUNTERS 20 /* rdma_counters.c lists them */
#define RDMA_PORTS_MAX 512

struct rdma_port {
    char device[RDMA_NAME], port[8];
    char subject[RDMA_NAME + 8]; /* "mlx5_0/1" */
    bool active, ethernet;
    double first[RDMA_COUNTERS], last[RDMA_COUNTERS]; /* NAN unknown */
    bool shared[RDMA_COUNTERS];
};

/* Line of /sys/class/infiniband/DEVICE/ports/PORT/FILE; false if absent. */
bool rdma_line(const char *root, const struct rdma_port *p, const char *file, char *buf,
               size_t size);
/* Reads whether the port is active and what it is. */
void rdma_port_look(const char *root, struct rdma_port *p);
/* State, rate, addresses, partition keys. */
void rdma_port_facts(const char *root, const struct rdma_port *p, struct out *o);

void rdma_counters_read(const char *root, const struct rdma_port *p, double v[RDMA_COUNTERS]);
/* Marks counters that other ports show with the same total: they are no port's own. */
void rdma_counters_compare(struct rdma_port *ports, size_t count);
/* The rises of one port over ns. */
void rdma_counter_facts(const struct rdma_port *p, int64_t ns, struct out *o);
/* Bytes that all ports sent and received meanwhile; NAN unknown. */
double rdma_counters_bytes(const struct rdma_port *ports, size_t count);

#endif
