/* SPDX-License-Identifier: MIT */
/*
 * anonymous: texts of a machine without what tells whose it is, beside its secrets (base/redact.h):
 * IP and MAC addresses, GUIDs, UUIDs of GPUs, names of users in home folders, the host's name.
 *
 * Each becomes a made-up one of the same form, the same each time, so that what was equal
 * stays equal. Special addresses (loopback, unspecified, link-local prefixes) keep their meaning.
 */
#ifndef GPUFEED_BASE_ANONYMOUS_H
#define GPUFEED_BASE_ANONYMOUS_H

#include "base/map.h"
#include "base/str.h"

struct anonymous {
    struct intern ip4, hex, users, uuids; /* the numbers stand for the originals */
    const char *host;                     /* its name, borrowed; NULL or "" none */
};

/* Appends text with all of it replaced. */
void anonymous_add(struct anonymous *a, struct str *out, const char *text);
void anonymous_clear(struct anonymous *a);

#endif
