/* SPDX-License-Identifier: MIT */
/*
 * Sockets by inode: the peers of TCP sockets from /proc/PID/net/tcp and tcp6 (in the
 * network namespace of the process), the pairs of UNIX sockets and byte counts of TCP
 * from the kernel's socket diagnosis (netlink, sock_diag(7)), which any user may ask
 * about the network namespace he is in.
 */
#include "sense/sampler_int.h"

#include "base/mem.h"
#include "base/unit.h"
#include "bpf/wait.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define READ_AGAIN (50 * NS_PER_MS)
#define MISSING_AGE (1 * NS_PER_S)
#define READ_SHARE 50 /* a look may cost 1/50 of the time until the next one */
#define REPLY_SIZE 16384

static int64_t cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static struct sampler_socket *put(struct sampler *s, uint64_t inode)
{
    uint64_t at;
    if (map_get(&s->socket_of_inode, inode, &at))
        return &s->sockets[at];
    if (!mem_grow((void **)&s->sockets, &s->socket_cap, s->socket_count + 1,
                  sizeof(*s->sockets)) ||
        !map_put(&s->socket_of_inode, inode, s->socket_count))
        return NULL;
    struct sampler_socket *k = &s->sockets[s->socket_count++];
    memset(k, 0, sizeof(*k));
    k->inode = inode;
    return k;
}

static void read_table(struct sampler *s, const struct sampler_proc *p, const char *name)
{
    char *line = NULL;
    size_t cap = 0;
    int fd = sampler_openat(p, "net/%s", name);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while (getline(&line, &cap, f) > 0) {
        struct procfs_tcp t;
        struct sampler_socket *k;
        if (!procfs_parse_tcp(line, &t) || !t.inode || !(k = put(s, t.inode)))
            continue;
        k->kind = SOCKET_TCP;
        k->tcp = t;
        k->netns = p->netns;
        k->peer_inode = 0;
    }
    free(line);
    fclose(f);
}

/* Sockets of one namespace whose ends mirror each other: a peer on this host. */
static uint64_t tuple_hash(const uint8_t a[16], uint16_t ap, const uint8_t b[16], uint16_t bp)
{
    uint64_t h = UINT64_C(1469598103934665603); /* FNV-1a */
    for (int i = 0; i < 16; i++)
        h = (h ^ a[i]) * UINT64_C(1099511628211);
    h = (h ^ ap) * UINT64_C(1099511628211);
    for (int i = 0; i < 16; i++)
        h = (h ^ b[i]) * UINT64_C(1099511628211);
    return (h ^ bp) * UINT64_C(1099511628211);
}

static void pair_tcp(struct sampler *s, uint64_t netns)
{
    struct map by_tuple = {0};
    for (size_t i = 0; i < s->socket_count; i++) {
        const struct sampler_socket *k = &s->sockets[i];
        if (k->kind == SOCKET_TCP && k->netns == netns)
            map_put(&by_tuple, tuple_hash(k->tcp.local, k->tcp.local_port, k->tcp.peer,
                                          k->tcp.peer_port), i);
    }
    for (size_t i = 0; i < s->socket_count; i++) {
        struct sampler_socket *k = &s->sockets[i];
        uint64_t at;
        if (k->kind == SOCKET_TCP && k->netns == netns && k->tcp.peer_port &&
            map_get(&by_tuple, tuple_hash(k->tcp.peer, k->tcp.peer_port, k->tcp.local,
                                          k->tcp.local_port), &at) &&
            at != i)
            k->peer_inode = s->sockets[at].inode;
    }
    map_clear(&by_tuple);
}

static bool ask(struct sampler *s, void *request, size_t size)
{
    struct nlmsghdr *h = request;
    struct sockaddr_nl to = {.nl_family = AF_NETLINK};
    h->nlmsg_len = (uint32_t)size;
    return sendto(s->diag, request, size, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)size;
}

/* Gives each message of the answer to `each`; false when the kernel refused or it was cut. */
static bool answer(struct sampler *s, void (*each)(void *arg, const struct nlmsghdr *h), void *arg)
{
    _Alignas(struct nlmsghdr) char buf[REPLY_SIZE];
    for (;;) {
        ssize_t n = recv(s->diag, buf, sizeof(buf), 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        size_t left = (size_t)n;
        for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
            if (h->nlmsg_type == NLMSG_DONE)
                return true;
            if (h->nlmsg_type == NLMSG_ERROR)
                return false;
            each(arg, h);
            if (!(h->nlmsg_flags & NLM_F_MULTI))
                return true;
        }
    }
}

static const void *attribute(const void *first, size_t size, unsigned type, size_t *ret_size)
{
    for (const struct rtattr *a = first; RTA_OK(a, size); a = RTA_NEXT(a, size))
        if (a->rta_type == type) {
            *ret_size = RTA_PAYLOAD(a);
            return RTA_DATA(a);
        }
    return NULL;
}

static void take_unix(void *arg, const struct nlmsghdr *h)
{
    struct sampler *s = arg;
    const struct unix_diag_msg *m = NLMSG_DATA(h);
    size_t size;
    if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
        return;
    const uint32_t *peer = attribute(m + 1, h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)),
                                     UNIX_DIAG_PEER, &size);
    struct sampler_socket *k = put(s, m->udiag_ino);
    if (!k)
        return;
    k->kind = SOCKET_UNIX;
    k->netns = s->own_netns;
    k->peer_inode = peer && size >= sizeof(*peer) ? *peer : 0;
}

static void read_unix(struct sampler *s)
{
    struct {
        struct nlmsghdr head;
        struct unix_diag_req req;
    } q = {
        .head = {.nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .req = {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_PEER},
    };
    if (s->diag >= 0 && ask(s, &q, sizeof(q)))
        answer(s, take_unix, s);
}

/* Everything is listed anew, in the namespace of p; other namespaces' sockets stay. */
static void read_sockets(struct sampler *s, const struct sampler_proc *p, int64_t now)
{
    int64_t before = cpu_now();
    read_table(s, p, "tcp");
    read_table(s, p, "tcp6");
    pair_tcp(s, p->netns);
    if (p->netns == s->own_netns)
        read_unix(s);
    s->sockets_read = now;
    s->sockets_cost = cpu_now() - before;
}

/* Inodes that were closed long ago are let go when they are many. */
static void forget_old(struct sampler *s)
{
    if (s->socket_count < 65536)
        return;
    s->socket_count = 0;
    map_clear(&s->socket_of_inode);
    map_clear(&s->missing_sockets);
}

const struct sampler_socket *sampler_socket_find(struct sampler *s, struct sampler_proc *p,
                                                 uint64_t inode, int64_t now)
{
    uint64_t at, when;
    if (map_get(&s->socket_of_inode, inode, &at)) {
        const struct sampler_socket *k = &s->sockets[at];
        if (k->kind == SOCKET_UNIX || k->tcp.peer_port)
            return k; /* a socket that listened may have become another one: look again */
    }
    int64_t wait = s->sockets_cost * READ_SHARE > READ_AGAIN ? s->sockets_cost * READ_SHARE
                                                             : READ_AGAIN;
    bool missed = map_get(&s->missing_sockets, inode, &when) && now - (int64_t)when < MISSING_AGE;
    if (!missed && now - s->sockets_read >= wait) {
        forget_old(s);
        read_sockets(s, p, now);
        if (!map_get(&s->socket_of_inode, inode, &at))
            map_put(&s->missing_sockets, inode, (uint64_t)now);
    }
    return map_get(&s->socket_of_inode, inode, &at) ? &s->sockets[at] : NULL;
}

struct counts {
    uint64_t inode, rx, tx;
    uint32_t unsent;
    bool found;
};

static void take_tcp(void *arg, const struct nlmsghdr *h)
{
    struct counts *c = arg;
    const struct inet_diag_msg *m = NLMSG_DATA(h);
    size_t size;
    if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)) || m->idiag_inode != c->inode)
        return;
    const void *found = attribute(m + 1, h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)), INET_DIAG_INFO,
                                  &size);
    struct tcp_info info;
    if (!found || size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t))
        return;
    memset(&info, 0, sizeof(info));
    memcpy(&info, found, size < sizeof(info) ? size : sizeof(info));
    c->rx = info.tcpi_bytes_received;
    c->tx = info.tcpi_bytes_acked;
    c->unsent = m->idiag_wqueue;
    c->found = true;
}

static bool is_v4(const uint8_t a[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return !memcmp(a, mapped, sizeof(mapped));
}

bool sampler_socket_bytes(struct sampler *s, uint64_t inode, uint64_t *ret_rx, uint64_t *ret_tx,
                          uint32_t *ret_unsent)
{
    uint64_t at;
    struct counts c = {.inode = inode};
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 req;
    } q = {
        .head = {.nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .req = {.sdiag_protocol = IPPROTO_TCP, .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                .idiag_states = UINT32_MAX},
    };
    if (s->diag < 0 || !map_get(&s->socket_of_inode, inode, &at) ||
        s->sockets[at].kind != SOCKET_TCP || s->sockets[at].netns != s->own_netns)
        return false;
    const struct procfs_tcp *t = &s->sockets[at].tcp;
    bool v4 = is_v4(t->local) && is_v4(t->peer);
    q.req.sdiag_family = v4 ? AF_INET : AF_INET6;
    q.req.id.idiag_sport = htons(t->local_port);
    q.req.id.idiag_dport = htons(t->peer_port);
    memcpy(q.req.id.idiag_src, t->local + (v4 ? 12 : 0), v4 ? 4 : 16);
    memcpy(q.req.id.idiag_dst, t->peer + (v4 ? 12 : 0), v4 ? 4 : 16);
    memset(q.req.id.idiag_cookie, 0xff, sizeof(q.req.id.idiag_cookie)); /* any */
    if (!ask(s, &q, sizeof(q)) || !answer(s, take_tcp, &c) || !c.found)
        return false;
    *ret_rx = c.rx;
    *ret_tx = c.tx;
    *ret_unsent = c.unsent;
    return true;
}

struct resource_socket sampler_socket_ends(const struct sampler_socket *k)
{
    struct resource_socket r = {.port = k->tcp.peer_port, .local_port = k->tcp.local_port,
                                .netns = (uint32_t)k->netns};
    memcpy(r.addr, k->tcp.peer, sizeof(r.addr));
    memcpy(r.local_addr, k->tcp.local, sizeof(r.local_addr));
    return r;
}

uint64_t sampler_socket_channel(const struct sampler_socket *k)
{
    struct resource_socket ends = sampler_socket_ends(k);
    if (k->kind == SOCKET_TCP)
        return resource_socket_channel(&ends);
    uint64_t low = k->peer_inode && k->peer_inode < k->inode ? k->peer_inode : k->inode;
    return resource_inode_channel(BPF_FILE_UNIX, 0, low);
}

void sampler_socket_clear(struct sampler *s)
{
    free(s->sockets);
    map_clear(&s->socket_of_inode);
    map_clear(&s->missing_sockets);
    if (s->diag >= 0)
        close(s->diag);
}
