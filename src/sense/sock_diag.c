/* SPDX-License-Identifier: MIT */
#include "sense/sock_diag.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#define REPLY_SIZE 16384

int sock_diag_open(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

static bool answer(int fd, sock_diag_fn each, void *arg)
{
    _Alignas(struct nlmsghdr) char buf[REPLY_SIZE];
    for (;;) {
        ssize_t n = recv(fd, buf, sizeof(buf), 0);
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

bool sock_diag_ask(int fd, void *request, size_t size, sock_diag_fn each, void *arg)
{
    struct nlmsghdr *h = request;
    struct sockaddr_nl to = {.nl_family = AF_NETLINK};
    h->nlmsg_len = (uint32_t)size;
    return sendto(fd, request, size, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)size &&
           answer(fd, each, arg);
}

const void *sock_diag_attribute(const struct nlmsghdr *h, size_t size_head, unsigned type,
                                size_t *ret_size)
{
    if (h->nlmsg_len < NLMSG_LENGTH(size_head))
        return NULL;
    size_t left = h->nlmsg_len - NLMSG_LENGTH(size_head);
    const struct rtattr *a = (const void *)((const char *)NLMSG_DATA(h) + NLMSG_ALIGN(size_head));
    for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
        if (a->rta_type == type) {
            *ret_size = RTA_PAYLOAD(a);
            return RTA_DATA(a);
        }
    return NULL;
}

const struct inet_diag_msg *sock_diag_inet(const struct nlmsghdr *h)
{
    return h->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)) ? NULL : NLMSG_DATA(h);
}

/* tcp_info grew over the years: only what was sent is read. */
bool sock_diag_bytes(const struct nlmsghdr *h, uint64_t *ret_rx, uint64_t *ret_tx)
{
    struct tcp_info info = {0};
    size_t size;
    const void *found = sock_diag_attribute(h, sizeof(struct inet_diag_msg), INET_DIAG_INFO, &size);
    if (!found || size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t))
        return false;
    memcpy(&info, found, size < sizeof(info) ? size : sizeof(info));
    *ret_rx = info.tcpi_bytes_received;
    *ret_tx = info.tcpi_bytes_acked;
    return true;
}
