/* SPDX-License-Identifier: MIT */
/*
 * What stands fast about an RDMA port: state, rate, lid, GIDs with their types, partition keys.
 *
 * Source: Documentation/ABI/stable/sysfs-class-infiniband; InfiniBand Architecture 1.4, 10.9
 * (partition keys: bit 15 is full membership, 0x7fff and 0xffff are the default partition).
 */
#include "sense/rdma.h"

#include "base/rootfs.h"
#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT "/sys/class/infiniband/%s/ports/%s"
#define TABLE_MAX 256 /* entries of GID and key tables that are read */
#define KEY_FULL 0x8000
#define KEY_BASE 0x7fff
#define BITS_PER_GBIT 1e9
#define GID_TEXT 40

bool rdma_line(const char *root, const struct rdma_port *p, const char *file, char *buf,
               size_t size)
{
    char path[256];
    snprintf(path, sizeof(path), PORT "/%s", p->device, p->port, file);
    return rootfs_line(root, path, buf, size);
}

/* "4: ACTIVE" -> "ACTIVE" */
static const char *after_colon(const char *line)
{
    const char *colon = strchr(line, ':');
    return colon ? colon + 1 + strspn(colon + 1, " ") : line;
}

void rdma_port_look(const char *root, struct rdma_port *p)
{
    char line[64];
    p->active =
        rdma_line(root, p, "state", line, sizeof(line)) && !strncmp(after_colon(line), "ACTIVE", 6);
    p->ethernet = rdma_line(root, p, "link_layer", line, sizeof(line)) && !strcmp(line, "Ethernet");
}

/* "400 Gb/sec (4X NDR)"; older kernels write "56 Gb/sec (4X FDR)", "2.5 Gb/sec (1X SDR)". */
static void rate_facts(const char *line, struct out *o)
{
    char *end, word[16] = "";
    double gbit = strtod(line, &end);
    const char *bracket = strchr(line, '(');
    unsigned lanes = 0;
    if (end == line || strncmp(end, " Gb/sec", 7) || gbit <= 0)
        return;
    out_number(o, "rate", gbit * BITS_PER_GBIT, "bit/s");
    if (!bracket || sscanf(bracket, "(%3uX %15[A-Z0-9]", &lanes, word) < 1 || !lanes)
        return;
    out_number(o, "width", lanes, "count");
    out_text(o, "speed", word);
}

struct table {
    const char *root;
    const struct rdma_port *port;
    unsigned list[TABLE_MAX], count;
};

static void see_number(void *arg, const char *name)
{
    struct table *t = arg;
    char *end;
    unsigned long n = strtoul(name, &end, 10);
    if (isdigit((unsigned char)name[0]) && !*end && n < TABLE_MAX && t->count < TABLE_MAX)
        t->list[t->count++] = (unsigned)n;
}

static int by_number(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

/* The numbers that a folder of the port has entries for, in order. */
static bool read_table(struct table *t, const char *folder)
{
    char path[192];
    t->count = 0;
    snprintf(path, sizeof(path), PORT "/%s", t->port->device, t->port->port, folder);
    bool there = rootfs_each(t->root, path, see_number, t);
    if (t->count)
        qsort(t->list, t->count, sizeof(t->list[0]), by_number);
    return there;
}

static void pkey_facts(const char *root, const struct rdma_port *p, struct out *o)
{
    struct table t = {.root = root, .port = p};
    struct str keys = {0};
    unsigned full = 0, read = 0, partitions = 0;
    read_table(&t, "pkeys");
    for (unsigned i = 0; i < t.count; i++) {
        char file[32], line[32];
        snprintf(file, sizeof(file), "pkeys/%u", t.list[i]);
        if (!rdma_line(root, p, file, line, sizeof(line)))
            continue;
        unsigned long key = strtoul(line, NULL, 16);
        read++;
        if (!key || key > UINT16_MAX)
            continue;
        full += (key & KEY_FULL) != 0;
        partitions += (key & KEY_BASE) != KEY_BASE && (key & KEY_FULL);
        str_addf(&keys, keys.len ? " 0x%04lx" : "0x%04lx", key);
    }
    if (read) {
        out_number(o, "pkeys_full", full, "count");
        out_number(o, "pkeys_own", partitions, "count");
        out_text(o, "pkeys", keys.len ? str_text(&keys) : "none");
    }
    str_clear(&keys);
}

/* "0000:0000:0000:0000:0000:ffff:0a00:0004": an IPv4 address in a GID. */
static bool is_ipv4(const char *gid)
{
    return !strncmp(gid, "0000:0000:0000:0000:0000:ffff:", 30);
}

static void gid_facts(const char *root, const struct rdma_port *p, struct out *o)
{
    struct table t = {.root = root, .port = p};
    struct str types = {0};
    unsigned set = 0, good = 0, read = 0, first = 0;
    read_table(&t, "gids");
    for (unsigned i = 0; i < t.count; i++) {
        char file[48], gid[64], type[32] = "";
        snprintf(file, sizeof(file), "gids/%u", t.list[i]);
        if (!rdma_line(root, p, file, gid, sizeof(gid)))
            continue;
        read++;
        if (strlen(gid) >= GID_TEXT || !gid[strspn(gid, "0:")])
            continue;
        set++;
        snprintf(file, sizeof(file), "gid_attrs/types/%u", t.list[i]);
        rdma_line(root, p, file, type, sizeof(type));
        bool v2 = !strcmp(type, "RoCE v2");
        if (v2 && is_ipv4(gid) && !good++)
            first = t.list[i];
        if (p->ethernet && types.len < 400)
            str_addf(&types, "%s%u=%s%s", types.len ? " " : "", t.list[i], v2 ? "v2" : "v1",
                     is_ipv4(gid) ? "/ipv4" : "");
    }
    if (read)
        out_number(o, "gids", set, "count");
    if (read && p->ethernet)
        out_number(o, "gids_v2_ipv4", good, "count");
    if (good)
        out_number(o, "gid_v2_index", first, "count");
    out_text(o, "gid_types", str_text(&types));
    str_clear(&types);
}

static void netdev_facts(const char *root, const struct rdma_port *p, struct out *o)
{
    char name[64], path[128];
    int64_t mtu;
    if (!rdma_line(root, p, "gid_attrs/ndevs/0", name, sizeof(name)) || strchr(name, '/'))
        return;
    out_text(o, "netdev", name);
    snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", name);
    if (rootfs_int(root, path, &mtu) && mtu > 0)
        out_number(o, "mtu", (double)mtu, "bytes");
}

static void hex_fact(const char *root, const struct rdma_port *p, const char *file, struct out *o)
{
    char line[32], *end;
    if (!rdma_line(root, p, file, line, sizeof(line)))
        return;
    unsigned long v = strtoul(line, &end, 16);
    if (end != line && v <= UINT32_MAX)
        out_number(o, file, (double)v, "count");
}

void rdma_port_facts(const char *root, const struct rdma_port *p, struct out *o)
{
    char line[64];
    if (rdma_line(root, p, "link_layer", line, sizeof(line)))
        out_text(o, "link_layer", line);
    if (rdma_line(root, p, "state", line, sizeof(line))) {
        out_text(o, "state", after_colon(line));
        out_number(o, "active", p->active, "1");
    }
    if (rdma_line(root, p, "phys_state", line, sizeof(line)))
        out_text(o, "phys_state", after_colon(line));
    if (rdma_line(root, p, "rate", line, sizeof(line)))
        rate_facts(line, o);
    if (!p->ethernet) { /* RoCE has no subnet manager */
        hex_fact(root, p, "lid", o);
        hex_fact(root, p, "sm_lid", o);
    }
    pkey_facts(root, p, o);
    gid_facts(root, p, o);
    netdev_facts(root, p, o);
}
