/* SPDX-License-Identifier: MIT */
/*
 * Sockets: peers and byte counts of TCP are asked of the socket itself, through a copy of
 * the descriptor that is closed at once (pidfd_getfd(2), which asks for the same right as
 * looking at what a thread waits on). Where that is forbidden, by some containers, or too new,
 * /proc/PID/net/tcp lists the peers, and the kernel's socket diagnosis (sock_diag(7)) tells
 * the byte counts of our own network namespace: the lists walk a large table of the
 * kernel, so they are read rarely. Pairs of UNIX sockets come from the diagnosis too.
 */
#include "sense/sampler_int.h"

#include "base/mem.h"
#include "base/unit.h"
#include "bpf/wait.h"
#include "sense/sock_diag.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define READ_AGAIN (50 * NS_PER_MS)
#define MISSING_AGE (1 * NS_PER_S)
#define READ_SHARE 20     /* a look may cost 1/20 of the time until the next one */
#define SOCKETS_MAX 65536 /* remembered */

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438 /* the same on all architectures */
#endif

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
    if (!mem_grow((void **)&s->sockets, &s->socket_cap, s->socket_count + 1, sizeof(*s->sockets)) ||
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
    }
    free(line);
    fclose(f);
}

static void take_unix(void *arg, const struct nlmsghdr *h)
{
    struct sampler *s = arg;
    const struct unix_diag_msg *m = NLMSG_DATA(h);
    size_t size;
    if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
        return;
    const uint32_t *peer = sock_diag_attribute(h, sizeof(*m), UNIX_DIAG_PEER, &size);
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
    if (s->diag >= 0)
        sock_diag_ask(s->diag, &q, sizeof(q), take_unix, s);
}

/* A copy of the job's descriptor, if it is still the same socket; -1: none. */
static int copy_fd(struct sampler *s, const struct sampler_proc *p, int fd, uint64_t inode)
{
    struct stat st;
    if (s->no_getfd || p->pidfd < 0)
        return -1;
    int copy = (int)syscall(SYS_pidfd_getfd, p->pidfd, fd, 0);
    if (copy < 0 && (errno == ENOSYS || errno == EPERM))
        s->no_getfd = !p->denied;
    if (copy >= 0 && (fstat(copy, &st) || st.st_ino != inode)) {
        close(copy);
        return -1;
    }
    return copy;
}

static void take_end(const struct sockaddr_storage *from, uint8_t addr[16], uint16_t *ret_port)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const void *)from;
        memcpy(addr, &six->sin6_addr, 16);
        *ret_port = ntohs(six->sin6_port);
    } else {
        const struct sockaddr_in *four = (const void *)from;
        memcpy(addr, mapped, sizeof(mapped));
        memcpy(addr + sizeof(mapped), &four->sin_addr, 4);
        *ret_port = ntohs(four->sin_port);
    }
}

static int option(int fd, int name)
{
    int v = -1;
    socklen_t size = sizeof(v);
    return getsockopt(fd, SOL_SOCKET, name, &v, &size) ? -1 : v;
}

/* Asks the socket who it is. NULL: it cannot be asked. */
static struct sampler_socket *ask_socket(struct sampler *s, const struct sampler_proc *p, int fd,
                                         uint64_t inode)
{
    struct sockaddr_storage local, peer;
    socklen_t local_size = sizeof(local), peer_size = sizeof(peer);
    int copy = copy_fd(s, p, fd, inode);
    if (copy < 0)
        return NULL;
    int domain = option(copy, SO_DOMAIN);
    bool inet = domain == AF_INET || domain == AF_INET6;
    bool tcp = inet && option(copy, SO_PROTOCOL) == IPPROTO_TCP;
    struct sampler_socket *k = put(s, inode);
    if (k) {
        k->kind = tcp ? SOCKET_TCP : domain == AF_UNIX ? SOCKET_UNIX : SOCKET_OTHER;
        k->netns = p->netns;
        memset(&k->tcp, 0, sizeof(k->tcp));
        if (tcp && !getsockname(copy, (struct sockaddr *)&local, &local_size))
            take_end(&local, k->tcp.local, &k->tcp.local_port);
        if (tcp && !getpeername(copy, (struct sockaddr *)&peer, &peer_size))
            take_end(&peer, k->tcp.peer, &k->tcp.peer_port);
    }
    close(copy);
    return k;
}

static bool due(int64_t now, int64_t last, int64_t cost)
{
    int64_t wait = cost * READ_SHARE > READ_AGAIN ? cost * READ_SHARE : READ_AGAIN;
    return !last || now - last >= wait;
}

/* Pairs are listed for our own network namespace only. */
static void pair_unix(struct sampler *s, const struct sampler_proc *p, int64_t now)
{
    if (p->netns != s->own_netns || !due(now, s->unix_read, s->unix_cost))
        return;
    int64_t before = cpu_now();
    read_unix(s);
    s->unix_read = now;
    s->unix_cost = cpu_now() - before;
}

static void list_tcp(struct sampler *s, const struct sampler_proc *p, int64_t now)
{
    if (!due(now, s->sockets_read, s->sockets_cost))
        return;
    int64_t before = cpu_now();
    read_table(s, p, "tcp");
    read_table(s, p, "tcp6");
    s->sockets_read = now;
    s->sockets_cost = cpu_now() - before;
}

/* Inodes that were closed long ago are let go when they are many. */
static void forget_old(struct sampler *s)
{
    if (s->socket_count < SOCKETS_MAX)
        return;
    s->socket_count = 0;
    map_clear(&s->socket_of_inode);
    map_clear(&s->missing_sockets);
}

static const struct sampler_socket *known(const struct sampler *s, uint64_t inode)
{
    uint64_t at;
    return map_get(&s->socket_of_inode, inode, &at) ? &s->sockets[at] : NULL;
}

/* Neither a connection that is not made yet, nor a pair whose other end is not known. */
static bool settled(const struct sampler_socket *k)
{
    if (k->kind == SOCKET_TCP)
        return k->tcp.peer_port != 0;
    return k->kind == SOCKET_OTHER || k->peer_inode;
}

const struct sampler_socket *sampler_socket_find(struct sampler *s, struct sampler_proc *p, int fd,
                                                 uint64_t inode, int64_t now)
{
    uint64_t when;
    const struct sampler_socket *k = known(s, inode);
    if (k && settled(k))
        return k->kind == SOCKET_OTHER ? NULL : k;
    bool missed = map_get(&s->missing_sockets, inode, &when) && now - (int64_t)when < MISSING_AGE;
    forget_old(s);
    k = ask_socket(s, p, fd, inode);
    if (!missed && (!k || k->kind == SOCKET_UNIX)) {
        if (!k && s->no_getfd)
            list_tcp(s, p, now);
        pair_unix(s, p, now);
        k = known(s, inode);
        if (!k || !settled(k))
            map_put(&s->missing_sockets, inode, (uint64_t)now);
    }
    return k && k->kind == SOCKET_OTHER ? NULL : k;
}

struct counts {
    uint64_t inode, rx, tx;
    uint32_t unsent;
    bool found;
};

static void take_tcp(void *arg, const struct nlmsghdr *h)
{
    struct counts *c = arg;
    const struct inet_diag_msg *m = sock_diag_inet(h);
    if (!m || m->idiag_inode != c->inode || !sock_diag_bytes(h, &c->rx, &c->tx))
        return;
    c->unsent = m->idiag_wqueue;
    c->found = true;
}

static bool is_v4(const uint8_t a[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return !memcmp(a, mapped, sizeof(mapped));
}

/* Byte counts by socket diagnosis. */
static bool diagnose_bytes(struct sampler *s, uint64_t inode, uint64_t *ret_rx, uint64_t *ret_tx,
                           uint32_t *ret_unsent)
{
    uint64_t at;
    struct counts c = {.inode = inode};
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 req;
    } q = {
        .head = {.nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .req = {.sdiag_protocol = IPPROTO_TCP,
                .idiag_ext = 1 << (INET_DIAG_INFO - 1),
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
    if (!sock_diag_ask(s->diag, &q, sizeof(q), take_tcp, &c) || !c.found)
        return false;
    *ret_rx = c.rx;
    *ret_tx = c.tx;
    *ret_unsent = c.unsent;
    return true;
}

bool sampler_socket_bytes(struct sampler *s, const struct sampler_proc *p, int fd, uint64_t inode,
                          uint64_t *ret_rx, uint64_t *ret_tx, uint32_t *ret_unsent)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    int unsent = 0;
    int copy = copy_fd(s, p, fd, inode);
    if (copy < 0)
        return s->no_getfd && diagnose_bytes(s, inode, ret_rx, ret_tx, ret_unsent);
    bool ok = !getsockopt(copy, IPPROTO_TCP, TCP_INFO, &info, &size) &&
              size >= offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t) &&
              !ioctl(copy, SIOCOUTQ, &unsent);
    close(copy);
    if (!ok)
        return false;
    *ret_rx = info.tcpi_bytes_received;
    *ret_tx = info.tcpi_bytes_acked;
    *ret_unsent = unsent > 0 ? (uint32_t)unsent : 0;
    return true;
}

struct resource_socket sampler_socket_ends(const struct sampler_socket *k)
{
    struct resource_socket r = {
        .port = k->tcp.peer_port, .local_port = k->tcp.local_port, .netns = (uint32_t)k->netns};
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
