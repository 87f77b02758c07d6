/* SPDX-License-Identifier: MIT */
/*
 * peers: which TCP peers are object stores or file servers, by name or by port
 * (data/peers.tsv), or because the user named one as the job's origin.
 */
#ifndef GPUFEED_SENSE_PEERS_H
#define GPUFEED_SENSE_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "Azure Blob" for "acct.blob.core.windows.net"; NULL: not known as storage. Case does not matter.
 */
const char *peer_storage_name(const char *host);
const char *peer_storage_port(uint16_t port);

/* Where a data set lives, as a peer that can be recognised. */
struct peer_origin {
    char host[256]; /* name or address */
    uint16_t port;  /* 0: any */
};

/* Accepts "host", "host:port", "[::1]:9000", "https://host:port/path",
 * "azblob://account/container", "s3://bucket/x", "gs://bucket/x". false: no host in it. */
bool peer_origin_parse(struct peer_origin *ret, const char *text);
/* host and address: NULL where not known. */
bool peer_origin_matches(const struct peer_origin *o, const char *host, const char *address,
                         uint16_t port);

#endif
