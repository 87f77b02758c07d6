/* SPDX-License-Identifier: MIT */
/*
 * Connections that end between two looks take their byte counts with them. The kernel tells
 * every user what a TCP connection had carried when it is destroyed (sock_diag(7), the groups
 * that `ss --events` reads), for our own network namespace. It is asked once a connection is
 * missed for the first time. Only of connections that a wait was seen on is anything kept.
 */
#include "sense/sampler_int.h"

#include "base/unit.h"
#include "sense/sock_diag.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXPECTED_MAX 16384   /* connections whose end is awaited */
#define MESSAGES_MAX 4096    /* read at one look */
#define MESSAGE_SIZE 4096    /* one takes about 500 bytes */
#define BACKLOG_BYTES 524288 /* what may wait to be read; the kernel's own limit may be lower */

static int subscribe(void)
{
    int size = BACKLOG_BYTES;
    struct sockaddr_nl me = {.nl_family = AF_NETLINK,
                             .nl_groups = 1u << (SKNLGRP_INET_TCP_DESTROY - 1) |
                                          1u << (SKNLGRP_INET6_TCP_DESTROY - 1)};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    if (bind(fd, (struct sockaddr *)&me, sizeof(me))) {
        close(fd);
        return -1;
    }
    return fd;
}

void sampler_closed_missed(struct sampler *s)
{
    if (s->closed_asked)
        return;
    s->closed_asked = true;
    s->closed = subscribe();
}

void sampler_closed_expect(struct sampler *s, const struct sampler_proc *p,
                           const struct sampler_what *w, uint16_t local_port)
{
    if (s->closed < 0 || p->netns != s->own_netns || !w->channel || !w->resource)
        return;
    if (s->expected.count >= EXPECTED_MAX)
        map_clear(&s->expected);
    map_put(&s->expected, w->channel, (uint64_t)w->resource << 16 | local_port);
}

static void take_end(uint8_t to[16], const __be32 from[4], uint8_t family)
{
    memset(to, 0, 16);
    if (family == AF_INET6) {
        memcpy(to, from, 16);
    } else {
        to[10] = to[11] = 0xff;
        memcpy(to + 12, from, 4);
    }
}

static void take(struct sampler *s, const struct nlmsghdr *h, const struct sampler_sink *k)
{
    const struct inet_diag_msg *m = sock_diag_inet(h);
    uint64_t known, rx, tx;
    if (!m)
        return;
    struct resource_socket ends = {.port = ntohs(m->id.idiag_dport),
                                   .local_port = ntohs(m->id.idiag_sport),
                                   .netns = (uint32_t)s->own_netns};
    take_end(ends.addr, m->id.idiag_dst, m->idiag_family);
    take_end(ends.local_addr, m->id.idiag_src, m->idiag_family);
    uint64_t channel = resource_socket_channel(&ends);
    if (!sock_diag_bytes(h, &rx, &tx) || !map_get(&s->expected, channel, &known) ||
        (uint16_t)known != ends.local_port)
        return; /* the channel of a loopback connection is also that of its other end */
    map_remove(&s->expected, channel);
    struct event e = {.kind = EVENT_CLOSED};
    e.closed = (struct event_closed){k->now, channel, (uint32_t)(known >> 16), rx, tx};
    k->fn(k->arg, &e);
}

void sampler_closed_look(struct sampler *s, const struct sampler_sink *k)
{
    _Alignas(struct nlmsghdr) char buf[MESSAGE_SIZE];
    for (int i = 0; s->closed >= 0 && i < MESSAGES_MAX; i++) {
        ssize_t n = recv(s->closed, buf, sizeof(buf), 0);
        if (n < 0 && (errno == EINTR || errno == ENOBUFS))
            continue; /* some were lost: others will tell of the same peer */
        if (n <= 0)
            return;
        size_t left = (size_t)n;
        for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left))
            if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY)
                take(s, h, k);
    }
}

void sampler_closed_clear(struct sampler *s)
{
    map_clear(&s->expected);
    if (s->closed >= 0)
        close(s->closed);
}
