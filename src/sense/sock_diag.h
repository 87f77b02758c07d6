/* SPDX-License-Identifier: MIT */
/*
 * sock_diag: the kernel's socket diagnosis (sock_diag(7)): asking it, and reading its answers. It
 * tells of the sockets of our own network namespace, to every user.
 */
#ifndef GPUFEED_SENSE_SOCK_DIAG_H
#define GPUFEED_SENSE_SOCK_DIAG_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inet_diag_msg;

typedef void (*sock_diag_fn)(void *arg, const struct nlmsghdr *h);

/* A connection to the kernel; -1 and errno where there is none. Closed with close(2). */
int sock_diag_open(void);
/* Sends a request, which begins with a struct nlmsghdr (its length is filled in), and gives each
 * message of the answer to `each`; false when the kernel refused, was silent or was cut short. */
bool sock_diag_ask(int fd, void *request, size_t size, sock_diag_fn each, void *arg);
/* An attribute behind the first `size_head` bytes of a message's body; NULL: it is not there. */
const void *sock_diag_attribute(const struct nlmsghdr *h, size_t size_head, unsigned type,
                                size_t *ret_size);
/* The body of a message about an IPv4 or IPv6 socket; NULL: it is too short. */
const struct inet_diag_msg *sock_diag_inet(const struct nlmsghdr *h);
/* Bytes that a TCP connection got, and those it sent that were acknowledged; false: not told. */
bool sock_diag_bytes(const struct nlmsghdr *h, uint64_t *ret_rx, uint64_t *ret_tx);

#endif
