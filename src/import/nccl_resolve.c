/* SPDX-License-Identifier: MIT */
/* What needs the whole log: which communicator a channel belongs to, and which is the main one. */
#include "import/nccl_int.h"

#include <stdlib.h>

const struct nccl_comm *nccl_main_comm(const struct nccl_log *l)
{
    const struct nccl_comm *best = NULL;
    for (size_t i = 0; i < l->comms_count; i++) {
        const struct nccl_comm *c = &l->comms[i];
        if (!best || c->nranks > best->nranks ||
            (c->nranks == best->nranks && c->members > best->members))
            best = c;
    }
    return best;
}

const struct nccl_member *nccl_member_of(const struct nccl_log *l, uint32_t comm, int rank)
{
    uint32_t m = nccl_get(&l->member_of, nccl_key(comm, (uint32_t)rank));
    return m ? &l->members[m - 1] : NULL;
}

#define MEMBERS_LOOKED 64 /* communicators of one process that are looked through */

/*
 * Channels that another thread opens (lazily, from 2.22 on, or for sends and receives): the
 * largest communicator of the process in which it has the rank that the line gives it.
 */
static uint32_t comm_by_rank(const struct nccl_log *l, const struct nccl_edge *e)
{
    uint32_t process = l->threads[e->thread].process, best = 0;
    int looked = 0;
    for (uint32_t m = l->processes[process].last_member; m && looked < MEMBERS_LOOKED; looked++) {
        const struct nccl_member *member = &l->members[m - 1];
        const struct nccl_comm *c = &l->comms[member->comm];
        if (member->rank == (int)e->own && e->from < c->nranks && e->to < c->nranks &&
            (!best || c->nranks > l->comms[best - 1].nranks))
            best = member->comm + 1;
        m = member->previous;
    }
    return best;
}

static int by_ends(const void *pa, const void *pb)
{
    const struct nccl_edge *a = pa, *b = pb;
    if (a->comm != b->comm)
        return a->comm < b->comm ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->transport != b->transport)
        return a->transport < b->transport ? -1 : 1;
    return a->own < b->own ? -1 : a->own > b->own;
}

static bool same(const struct nccl_edge *a, const struct nccl_edge *b)
{
    return a->comm == b->comm && a->from == b->from && a->to == b->to &&
           a->transport == b->transport;
}

/* Both ends write a channel of the network: what one of them tells is enough. */
static void merge(struct nccl_edge *into, const struct nccl_edge *e)
{
    if (into->own == e->own)
        into->channels += e->channels;
    else if (e->channels > into->channels)
        into->channels = e->channels;
    into->gdr |= e->gdr;
    into->staged |= e->staged;
    into->pxn |= e->pxn;
    if (e->at.file < into->at.file || (e->at.file == into->at.file && e->at.line < into->at.line))
        into->at = e->at;
}

void nccl_resolve(struct nccl_log *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->edges_count; i++) {
        struct nccl_edge *e = &l->edges[i];
        if (!e->comm)
            e->comm = comm_by_rank(l, e);
        uint32_t m = e->comm ? nccl_get(&l->member_of, nccl_key(e->comm - 1, e->own)) : 0;
        if (m)
            l->members[m - 1].net_devs |= e->net_devs;
    }
    if (l->edges_count)
        qsort(l->edges, l->edges_count, sizeof(*l->edges), by_ends);
    for (size_t i = 0; i < l->edges_count; i++)
        if (n && same(&l->edges[n - 1], &l->edges[i]))
            merge(&l->edges[n - 1], &l->edges[i]);
        else
            l->edges[n++] = l->edges[i];
    l->edges_count = n;
    for (size_t i = 0; i < l->rings_count; i++)
        if (!l->rings[i].comm && l->threads[l->rings[i].thread].member)
            l->rings[i].comm = l->members[l->threads[l->rings[i].thread].member - 1].comm + 1;
}
