/* SPDX-License-Identifier: MIT */
/*
 * nics: network interfaces with their speed, and what went through them during the run.
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/out.h"
#include "sense/pci_path.h"
#include "sense/text.h"

#include <net/if.h>
#include <net/if_arp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NIC_NAME 32
#define BITS_PER_MBIT 1e6
#define BITS_PER_BYTE 8.0
#define ROUTES_MAX MIB

enum counter { RX, TX, RX_DROPPED, TX_DROPPED, RX_ERRORS, TX_ERRORS, CARRIER, COUNTERS };
static const char *const counter_files[COUNTERS] = {
    "statistics/rx_bytes",   "statistics/tx_bytes",  "statistics/rx_dropped",
    "statistics/tx_dropped", "statistics/rx_errors", "statistics/tx_errors",
    "carrier_changes",
};

struct nic {
    char name[NIC_NAME];
    double first[COUNTERS];
};

struct nics {
    const char *root;
    int64_t t0;
    struct nic *nics; /* owned */
    size_t count, cap;
    struct str routes; /* /proc/net/route */
    bool failed;
};

static double read_number(const struct nics *n, const char *nic, const char *file)
{
    char path[160];
    int64_t v;
    snprintf(path, sizeof(path), "/sys/class/net/%s/%s", nic, file);
    return rootfs_int(n->root, path, &v) ? (double)v : NAN;
}

static void read_counters(const struct nics *n, const char *nic, double v[COUNTERS])
{
    for (int i = 0; i < COUNTERS; i++)
        v[i] = read_number(n, nic, counter_files[i]);
}

static void add_nic(void *arg, const char *name)
{
    struct nics *n = arg;
    if (strlen(name) >= NIC_NAME || !strcmp(name, "lo") ||
        isnan(read_number(n, name, "statistics/rx_bytes")))
        return;
    if (!mem_grow((void **)&n->nics, &n->cap, n->count + 1, sizeof(*n->nics))) {
        n->failed = true;
        return;
    }
    struct nic *nic = &n->nics[n->count++];
    memset(nic, 0, sizeof(*nic));
    str_copy(nic->name, sizeof(nic->name), name);
    read_counters(n, name, nic->first);
}

static void nics_stop(void *self)
{
    struct nics *n = self;
    if (!n)
        return;
    free(n->nics);
    str_clear(&n->routes);
    free(n);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct nic *)a)->name, ((const struct nic *)b)->name);
}

static int nics_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    struct nics *n = mem_zalloc(sizeof(*n));
    if (!n)
        return error_set(e, STATUS_MEMORY, "out of memory for the network interfaces");
    n->root = o->root;
    n->t0 = now;
    bool there = rootfs_each(o->root, "/sys/class/net", add_nic, n);
    if (!there || n->failed) {
        bool failed = n->failed;
        nics_stop(n);
        return failed
                   ? error_set(e, STATUS_MEMORY, "out of memory for the network interfaces")
                   : error_set(e, STATUS_MISSING, "\"/sys/class/net\" is absent: is /sys mounted?");
    }
    if (n->count)
        qsort(n->nics, n->count, sizeof(*n->nics), by_name);
    *ret = n;
    return STATUS_OK;
}

/* The last part of a link of the interface. */
static void link_fact(const struct nics *n, const struct nic *nic, const char *link,
                      const char *name, struct out *o)
{
    char path[160], target[256];
    snprintf(path, sizeof(path), "/sys/class/net/%s/%s", nic->name, link);
    if (!rootfs_link(n->root, path, target, sizeof(target)))
        return;
    const char *last = text_last_part(target);
    if (strcmp(name, "pci") || pci_is_address(last)) /* a virtio device is no address */
        out_text(o, name, last);
}

static void first_name(void *arg, const char *name)
{
    char *first = arg;
    if (!first[0] || strcmp(name, first) < 0)
        str_copy(first, NIC_NAME, name);
}

/* Has it a route for IPv4 in the main table? An interface with an address has one. */
static bool has_route(const struct nics *n, const struct nic *nic)
{
    size_t len = strlen(nic->name), size;
    const char *line;
    for (const char *p = str_text(&n->routes); text_line(&p, &line, &size);)
        if (size > len && !memcmp(line, nic->name, len) && line[len] == '\t')
            return true;
    return false;
}

/* Who it is and how it is set up. */
static void identity_facts(const struct nics *n, const struct nic *nic, struct out *o)
{
    char path[160], rdma[NIC_NAME] = "";
    double type = read_number(n, nic->name, "type"), flags = read_number(n, nic->name, "flags");
    snprintf(path, sizeof(path), "/sys/class/net/%s/device", nic->name);
    bool device = rootfs_exists(n->root, path);
    link_fact(n, nic, "device/driver", "driver", o);
    out_number(o, "virtual", device ? 0 : 1, "1");
    snprintf(path, sizeof(path), "/sys/class/net/%s/device/infiniband", nic->name);
    rootfs_each(n->root, path, first_name, rdma);
    out_text(o, "rdma", rdma);
    link_fact(n, nic, "device", "pci", o);
    link_fact(n, nic, "master", "master", o);
    if (isfinite(type))
        out_text(o, "type",
                 type == ARPHRD_ETHER        ? "ethernet"
                 : type == ARPHRD_INFINIBAND ? "infiniband"
                                             : "other");
    if (flags >= 0 && flags <= UINT32_MAX)
        out_number(o, "up", ((unsigned)flags & IFF_UP) != 0, "1");
    if (n->routes.len)
        out_number(o, "ipv4", has_route(n, nic), "1");
}

static void nic_facts(const struct nics *n, const struct nic *nic, int64_t ns, struct out *o)
{
    char line[64], path[160];
    double v[COUNTERS];
    double mbit = read_number(n, nic->name, "speed");
    double bits = mbit > 0 && mbit < UINT32_MAX ? mbit * BITS_PER_MBIT : NAN;
    o->subject = nic->name;
    o->source = "/sys/class/net";
    out_number(o, "speed", bits, "bit/s");
    out_number(o, "mtu", read_number(n, nic->name, "mtu"), "bytes");
    snprintf(path, sizeof(path), "/sys/class/net/%s/operstate", nic->name);
    if (rootfs_line(n->root, path, line, sizeof(line)))
        out_text(o, "state", line);
    identity_facts(n, nic, o);
    read_counters(n, nic->name, v);
    const double *a = nic->first;
    out_rate(o, "rx_rate", a[RX], v[RX], ns, "bytes/s");
    out_rate(o, "tx_rate", a[TX], v[TX], ns, "bytes/s");
    if (ns > 0 && isfinite(bits)) {
        double most = fmax(v[RX] - a[RX], v[TX] - a[TX]);
        out_number(o, "busy_share", most * BITS_PER_BYTE / unit_seconds(ns) / bits, "1");
    }
    double drops = v[RX_DROPPED] - a[RX_DROPPED] + v[TX_DROPPED] - a[TX_DROPPED];
    double errors = v[RX_ERRORS] - a[RX_ERRORS] + v[TX_ERRORS] - a[TX_ERRORS];
    out_number(o, "drops", drops >= 0 ? drops : NAN, "count");
    out_rate(o, "drops_rate", a[RX_DROPPED] + a[TX_DROPPED], v[RX_DROPPED] + v[TX_DROPPED], ns,
             "1/s");
    out_number(o, "errors", errors >= 0 ? errors : NAN, "count");
    if (ns > 0 && v[CARRIER] >= a[CARRIER])
        out_number(o, "carrier_changes_rise", v[CARRIER] - a[CARRIER], "count");
}

static int nics_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct nics *n = self;
    struct out o = {.fn = fn, .arg = arg, .kind = "nic"};
    rootfs_bytes(n->root, "/proc/net/route", ROUTES_MAX, &n->routes);
    for (size_t i = 0; i < n->count && !o.rc; i++)
        nic_facts(n, &n->nics[i], now - n->t0, &o);
    return o.rc;
}

const struct source source_nics = {
    "nics",    "network interfaces: speed, state, rates, drops", nics_start, NULL, nics_facts,
    nics_stop,
};
