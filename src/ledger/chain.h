/* SPDX-License-Identifier: MIT */
/*
 * chain: a wait chain in words, link by link, as reports show it.
 */
#ifndef GPUFEED_LEDGER_CHAIN_H
#define GPUFEED_LEDGER_CHAIN_H

#include "ledger/shares.h"
#include "ledger/thread.h"

struct chain_links {
    const struct threads *threads; /* by which roles are told; NULL: none is */
    int count;
    struct chain_link link[CHAIN_LINKS_MAX];
};

/* "python3 4711"; where its role is known, "launching thread python3 4711", "relay python3 4712" (a thread of
 * its process that hands on what others made, such as PyTorch's that pins memory), "worker python3 4713" (it makes
 * what its process delivers), "feeder python3 4714" (to which the worker hands it), "worker's thread
 * python3 4715" (others of its process). */
void chain_who(const struct chain_links *links, const struct thread *th, char *buf, size_t size);

/* Adds that th did what `format` says, for ns. Each of these adds nothing to a full chain. */
void chain_tell(struct chain_links *links, const struct thread *th, int64_t ns, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* Adds what th did, by one share of it: `lead` ("" or what stands before), "read from nfs://...", for how
 * long. */
void chain_tell_did(struct chain_links *links, const struct thread *th, const char *lead,
                    const struct share *s, const struct intern *names);

/* Adds what th itself did or waited for most, by its shares; nothing where there are none. */
void chain_tell_largest(struct chain_links *links, const struct thread *th, const struct shares *s,
                        const struct intern *names);

/* Adds the links of another chain, as far as there is room. */
void chain_append(struct chain_links *links, const struct chain_links *more);

#endif
