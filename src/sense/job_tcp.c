/* SPDX-License-Identifier: MIT */
/*
 * job_tcp: how many bytes the job's TCP connections to other hosts carried meanwhile, asked of the
 * kernel's socket diagnosis (sock_diag(7)), but for those to web servers, object stores and file servers, which are
 * told by their port: ranks listen on ports that the kernel draws. Beside the counters of RDMA ports this proves, or
 * rules out, that a job's collectives go over TCP.
 *
 * Only of a live machine, and of jobs in our own network namespace.
 */
#include "sense/source.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/job.h"
#include "sense/out.h"
#include "sense/peers.h"
#include "sense/procfs.h"
#include "sense/sock_diag.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ESTABLISHED (1u << 1) /* TCP_ESTABLISHED */
#define ANSWER_MS 500
#define PORT_HTTP 80
#define PORT_HTTPS 443

struct job_tcp {
    struct source_opts o;
    int64_t t0;
    struct map first; /* inode -> bytes both ways; all sockets of the namespace */
};

/* One look at all connections. */
struct look {
    struct map *bytes;     /* inode -> bytes both ways */
    const struct map *own; /* inodes of the job; NULL: of no interest */
    struct map peers;      /* hash of the peer's address */
};

static bool is_far(const struct inet_diag_msg *m)
{
    static const uint32_t mapped[3] = {0, 0, 0};
    const uint32_t *src = m->id.idiag_src, *dst = m->id.idiag_dst;
    size_t size = m->idiag_family == AF_INET ? 4 : 16;
    uint32_t four = m->idiag_family == AF_INET ? dst[0] : dst[3];
    bool is_four =
        m->idiag_family == AF_INET || (!memcmp(dst, mapped, 8) && dst[2] == htonl(0xffff));
    if (!memcmp(src, dst, size))
        return false;
    if (is_four)
        return ntohl(four) >> 24 != 127;
    return memcmp(dst, &in6addr_loopback, 16) != 0;
}

static bool is_served(const struct inet_diag_msg *m)
{
    uint16_t port = ntohs(m->id.idiag_dport);
    return port == PORT_HTTP || port == PORT_HTTPS || peer_storage_port(port);
}

static uint64_t hash_of(const void *bytes, size_t n)
{
    uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
    return h;
}

static void take(void *arg, const struct nlmsghdr *h)
{
    struct look *k = arg;
    const struct inet_diag_msg *m = sock_diag_inet(h);
    uint64_t rx, tx, mine;
    if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || !m || !m->idiag_inode || !is_far(m) ||
        is_served(m) || !sock_diag_bytes(h, &rx, &tx))
        return;
    map_put(k->bytes, m->idiag_inode, rx + tx);
    if (k->own && map_get(k->own, m->idiag_inode, &mine))
        map_put(&k->peers, hash_of(m->id.idiag_dst, m->idiag_family == AF_INET ? 4 : 16), 1);
}

static bool ask(int fd, uint8_t family, struct look *k)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 req;
    } q = {
        .head = {.nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .req = {.sdiag_family = family,
                .sdiag_protocol = IPPROTO_TCP,
                .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                .idiag_states = ESTABLISHED},
    };
    return sock_diag_ask(fd, &q, sizeof(q), take, k);
}

/* All or nothing: a connection that the first look missed would count whole at the next. */
static bool look_at_sockets(struct look *k)
{
    struct timeval wait = {0, ANSWER_MS * 1000};
    int fd = sock_diag_open();
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    bool all = ask(fd, AF_INET, k) && ask(fd, AF_INET6, k);
    close(fd);
    return all;
}

struct descriptors {
    struct map *inodes;
    const char *folder;
};

static void see_fd(void *arg, const char *name)
{
    struct descriptors *d = arg;
    char path[96], target[64];
    uint64_t inode;
    snprintf(path, sizeof(path), "%s/%.20s", d->folder, name);
    if (rootfs_link(NULL, path, target, sizeof(target)) &&
        procfs_parse_link(target, &inode) == PROCFS_LINK_SOCKET)
        map_put(d->inodes, inode, 1);
}

static void find_own(const struct source_opts *o, struct map *ret)
{
    struct job_list l = {0};
    job_look(&l, o);
    for (size_t i = 0; i < l.count; i++) {
        char folder[64];
        struct descriptors d = {ret, folder};
        if (!l.list[i].job)
            continue;
        snprintf(folder, sizeof(folder), "/proc/%u/fd", l.list[i].pid);
        rootfs_each(NULL, folder, see_fd, &d);
    }
    job_clear(&l);
}

static void job_tcp_stop(void *self)
{
    struct job_tcp *t = self;
    if (t)
        map_clear(&t->first);
    free(t);
}

static int job_tcp_start(void **ret, const struct source_opts *o, int64_t now, struct error *e)
{
    char path[64], own[64], its[64];
    if (!o->pid)
        return error_set(e, STATUS_MISSING,
                         "no job was named: nothing is known of its connections");
    if (o->root && o->root[0])
        return error_set(e, STATUS_MISSING, "connections are those of a live machine");
    snprintf(path, sizeof(path), "/proc/%u/ns/net", o->pid);
    if (!rootfs_link(NULL, path, its, sizeof(its)) ||
        !rootfs_link(NULL, "/proc/self/ns/net", own, sizeof(own)) || strcmp(own, its))
        return error_set(e, STATUS_MISSING,
                         "the job has a network of its own, or is not ours to see");
    struct job_tcp *t = mem_zalloc(sizeof(*t));
    if (!t)
        return error_set(e, STATUS_MEMORY, "out of memory for the job's connections");
    t->o = *o;
    t->t0 = now;
    struct look k = {.bytes = &t->first};
    if (!look_at_sockets(&k)) {
        job_tcp_stop(t);
        return error_set(e, STATUS_MISSING, "the kernel tells nothing of sockets (sock_diag)");
    }
    *ret = t;
    return STATUS_OK;
}

/* What the job's connections carried since the start; those made since count whole. */
static double carried(const struct job_tcp *t, const struct map *own, const struct map *bytes)
{
    double sum = 0;
    for (size_t i = 0; i < own->cap; i++) {
        uint64_t now, before = 0;
        if (own->slots[i].used != 1 || !map_get(bytes, own->slots[i].key, &now))
            continue;
        map_get(&t->first, own->slots[i].key, &before);
        sum += now >= before ? (double)(now - before) : 0;
    }
    return sum;
}

static int job_tcp_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct job_tcp *t = self;
    struct out o = {.fn = fn, .arg = arg, .kind = "job", .source = "sock_diag"};
    struct map own = {0}, bytes = {0};
    struct look k = {.bytes = &bytes, .own = &own};
    int64_t ns = now - t->t0;
    find_own(&t->o, &own);
    if (ns > 0 && look_at_sockets(&k)) {
        double sum = carried(t, &own, &bytes);
        out_number(&o, "tcp_bytes_rise", sum, "bytes");
        out_number(&o, "tcp_rate", sum / unit_seconds(ns), "bytes/s");
        out_number(&o, "tcp_peers", (double)k.peers.count, "count");
    }
    map_clear(&own);
    map_clear(&bytes);
    map_clear(&k.peers);
    return o.rc;
}

const struct source source_job_tcp = {
    "job_tcp",     "bytes of the job's TCP connections",
    job_tcp_start, NULL,
    job_tcp_facts, job_tcp_stop,
    true,          .survey = true,
};
