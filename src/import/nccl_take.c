/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "import/nccl_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX UINT64_C(1000000000) /* of looking for edges that wait: a second */

void nccl_told(struct nccl_log *l, struct nccl_count *c)
{
    if (!c->at.line)
        c->at = l->at;
    c->n++;
}

static void told_number(struct nccl_log *l, struct nccl_count *c, int v)
{
    if (v < 0)
        return;
    if (!c->at.line || (uint64_t)v > c->n)
        *c = (struct nccl_count){(uint64_t)v, l->at};
}

static void told_text(struct nccl_log *l, struct nccl_text *t, const char *text)
{
    if (!t->at.line && *text)
        *t = (struct nccl_text){nccl_text_of(l, text), l->at};
}

/* ---- communicators and their ranks ---- */

static uint32_t new_comm(struct nccl_log *l, const struct nccl_line *r)
{
    struct nccl_comm *c = NCCL_GROW(l, comms, NCCL_MEMBERS_MAX);
    if (!c)
        return 0;
    *c = (struct nccl_comm){.id = r->comm_id, .nranks = r->nranks, .at = l->at};
    if (r->comm_id)
        nccl_put(l, &l->comm_of, r->comm_id, l->comms_count - 1);
    return (uint32_t)l->comms_count;
}

/*
 * Up to 2.16 no line tells which communicator it is about but by its size: the ranks of one size are
 * one communicator as long as none of them comes twice.
 */
static uint32_t comm_of(struct nccl_log *l, const struct nccl_line *r)
{
    if (r->comm_id) {
        uint32_t known = nccl_get(&l->comm_of, r->comm_id);
        return known ? known : new_comm(l, r);
    }
    size_t looked = 0;
    for (size_t i = l->comms_count; i-- > 0 && looked < 64; looked++)
        if (!l->comms[i].id && l->comms[i].nranks == r->nranks &&
            !nccl_get(&l->member_of, nccl_key(i, (uint32_t)r->rank)))
            return (uint32_t)i + 1;
    return new_comm(l, r);
}

/* The member that this process knows by the pointer; + 1. */
static uint32_t pointed(const struct nccl_log *l, uint32_t process, const struct nccl_line *r)
{
    uint32_t m = nccl_get(&l->pointer_of, nccl_key(process, r->comm));
    return m && l->members[m - 1].rank == r->rank && !l->members[m - 1].over ? m : 0;
}

static uint32_t new_member(struct nccl_log *l, uint32_t process, uint32_t comm,
                           const struct nccl_line *r)
{
    struct nccl_member *m = NCCL_GROW(l, members, NCCL_MEMBERS_MAX);
    if (!m)
        return 0;
    *m = (struct nccl_member){.comm = comm,
                              .process = process,
                              .rank = r->rank,
                              .gpu = r->gpu,
                              .nvml = r->nvml,
                              .bus = r->bus,
                              .pointer = r->comm,
                              .init_seconds = NAN,
                              .at = l->at,
                              .previous = l->processes[process].last_member};
    l->processes[process].last_member = (uint32_t)l->members_count;
    l->comms[comm].members++;
    nccl_put(l, &l->member_of, nccl_key(comm, (uint32_t)r->rank), l->members_count - 1);
    nccl_put(l, &l->pointer_of, nccl_key(process, r->comm), l->members_count - 1);
    return (uint32_t)l->members_count;
}

/* Up to 2.17 only the end of the initialisation names its communicator: what came before is its. */
static void claim(struct nccl_log *l, uint32_t thread, uint32_t comm)
{
    struct nccl_thread *t = &l->threads[thread];
    l->steps += l->edges_count - t->pending;
    for (size_t i = l->steps < STEPS_MAX ? t->pending : l->edges_count; i < l->edges_count; i++)
        if (l->edges[i].thread == thread && !l->edges[i].comm)
            l->edges[i].comm = comm + 1;
    for (size_t i = t->rings; i < l->rings_count; i++)
        if (l->rings[i].thread == thread && !l->rings[i].comm)
            l->rings[i].comm = comm + 1;
    t->pending = (uint32_t)l->edges_count;
    t->rings = (uint32_t)l->rings_count;
    t->epoch++;
}

static void take_init(struct nccl_log *l, uint32_t process, uint32_t thread,
                      const struct nccl_line *r)
{
    struct nccl_thread *t = &l->threads[thread];
    uint32_t m = pointed(l, process, r);
    if (m && (!r->on || l->members[m - 1].complete))
        m = 0; /* the pointer is used again */
    if (!m) {
        uint32_t comm = comm_of(l, r);
        m = comm ? nccl_get(&l->member_of, nccl_key(comm - 1, (uint32_t)r->rank)) : 0;
        if (comm && !m)
            m = new_member(l, process, comm - 1, r);
    }
    if (!m)
        return;
    struct nccl_member *member = &l->members[m - 1];
    member->started |= !r->on;
    member->complete |= r->on;
    if (member->started)
        t->member = m;
    else
        claim(l, thread, member->comm);
}

static void take_sizes(struct nccl_log *l, uint32_t process, const struct nccl_line *r)
{
    uint32_t m = pointed(l, process, r);
    if (m)
        l->comms[l->members[m - 1].comm].nodes = r->count;
}

static void take_timings(struct nccl_log *l, const struct nccl_thread *t, const struct nccl_line *r)
{
    if (t && t->member && l->members[t->member - 1].rank == r->rank)
        l->members[t->member - 1].init_seconds = r->number;
}

/* ---- channels ---- */

static void count_channel(struct nccl_log *l, struct nccl_channels *c, const struct nccl_line *r)
{
    bool net = !strncmp(r->name, "NET/", 4), socket = net && strstr(r->name, "Socket");
    if (!strncmp(r->name, "P2P", 3))
        nccl_told(l, &c->p2p);
    else if (!strcmp(r->name, "SHM"))
        nccl_told(l, &c->shm);
    else if (!strncmp(r->name, "COLLNET", 7))
        nccl_told(l, &c->collnet);
    else if (net)
        nccl_told(l, &c->net);
    if (socket)
        nccl_told(l, &c->socket);
    else if (net && r->gdr)
        nccl_told(l, &c->gdr);
    else if (net && !strncmp(r->name, "NET/IB", 6))
        nccl_told(l, &c->staged);
}

static bool own_is_from(const struct nccl_line *r)
{
    return !r->receive;
}

static void take_channel(struct nccl_log *l, struct nccl_host *h, uint32_t thread,
                         const struct nccl_line *r)
{
    const struct nccl_thread *t = &l->threads[thread];
    count_channel(l, &h->channels, r);
    if (!strncmp(r->name, "NET/", 4) && !h->networks.count)
        nccl_list_add(l, &h->networks, r->name + 4);
    if (r->from < 0)
        return;
    struct nccl_edge e = {.comm = t->member ? l->members[t->member - 1].comm + 1 : 0,
                          .thread = thread,
                          .own = (uint32_t)(own_is_from(r) ? r->from : r->to),
                          .from = r->from,
                          .to = r->to,
                          .transport = nccl_text_of(l, r->name),
                          .gdr = r->gdr,
                          .pxn = r->pxn,
                          .at = l->at,
                          .staged = !r->gdr && !strncmp(r->name, "NET/IB", 6)};
    if (r->net_dev >= 0 && r->net_dev < 64 && !r->pxn)
        e.net_devs = UINT64_C(1) << r->net_dev;
    uint64_t scope = e.comm ? nccl_key(1, e.comm) : nccl_key(2 + t->epoch, thread);
    uint64_t key = nccl_key(nccl_key(scope, (uint64_t)e.from << 32 | (uint32_t)e.to),
                            (uint64_t)e.transport << 1 | r->receive);
    uint32_t known = nccl_get(&l->edge_of, key);
    if (!known) {
        struct nccl_edge *new = NCCL_GROW(l, edges, NCCL_EDGES_MAX);
        if (!new)
            return;
        *new = e;
        nccl_put(l, &l->edge_of, key, l->edges_count - 1);
        known = (uint32_t)l->edges_count;
    }
    struct nccl_edge *edge = &l->edges[known - 1];
    edge->channels++;
    edge->gdr |= e.gdr;
    edge->staged |= e.staged;
    edge->pxn |= e.pxn;
    edge->net_devs |= e.net_devs;
}

static void take_ring(struct nccl_log *l, uint32_t thread, const struct nccl_line *r)
{
    const struct nccl_thread *t = &l->threads[thread];
    struct nccl_ring *ring = NCCL_GROW(l, rings, NCCL_HOSTS_MAX);
    if (!ring)
        return;
    *ring = (struct nccl_ring){.comm = t->member ? l->members[t->member - 1].comm + 1 : 0,
                               .thread = thread,
                               .channel = r->channel};
    told_text(l, &ring->order, r->value);
}

/* ---- the rest ---- */

static void take_env(struct nccl_log *l, const struct nccl_line *r)
{
    uint32_t name = nccl_text_of(l, r->name), value = nccl_text_of(l, *r->value ? r->value : " ");
    for (size_t i = 0; i < l->envs_count; i++)
        if (l->envs[i].name == name) {
            l->envs[i].differs |= l->envs[i].value != value;
            return;
        }
    struct nccl_env *e = NCCL_GROW(l, envs, NCCL_SMALL_MAX);
    if (e)
        *e = (struct nccl_env){.name = name, .value = value, .at = l->at};
}

static void take_problem(struct nccl_log *l, const char *host, const struct nccl_line *r)
{
    struct nccl_problem *p = NULL;
    for (size_t i = 0; i < l->problems_count; i++)
        if (!strcmp(l->problems[i].word, r->word))
            p = &l->problems[i];
    if (!p && (p = NCCL_GROW(l, problems, NCCL_SMALL_MAX)))
        *p = (struct nccl_problem){
            .word = r->word, .host = *host ? nccl_text_of(l, host) : 0, .at = l->at};
    if (!p)
        return;
    p->count++;
    for (int i = 0; i < NCCL_QUOTES; i++) {
        if (!p->text[i])
            p->text[i] = nccl_text_of(l, r->text);
        if (!strcmp(intern_text(&l->texts, p->text[i]), r->text))
            return;
    }
}

static void take_function(struct nccl_log *l, const struct nccl_line *r)
{
    uint32_t name = nccl_text_of(l, *r->name ? r->name : "any");
    struct nccl_function *f = NULL;
    for (size_t i = 0; i < l->functions_count; i++)
        if (l->functions[i].name == name)
            f = &l->functions[i];
    if (!f && (f = NCCL_GROW(l, functions, NCCL_SMALL_MAX)))
        *f = (struct nccl_function){.name = name, .at = l->at};
    if (!f)
        return;
    if (r->kind == NCCL_TUNING) {
        f->algorithm = nccl_text_of(l, r->value);
        return;
    }
    f->count++;
    if (__builtin_add_overflow(f->bytes, r->bytes, &f->bytes))
        f->bytes = UINT64_MAX;
}

void nccl_take_timeout(struct nccl_log *l, const struct nccl_line *r)
{
    struct nccl_timeout *t = r->rank >= 0 ? NCCL_GROW(l, timeouts, NCCL_HOSTS_MAX) : NULL;
    if (t)
        *t = (struct nccl_timeout){.rank = r->rank,
                                   .sequence = r->count,
                                   .seconds = r->number,
                                   .operation = nccl_text_of(l, *r->name ? r->name : "unknown"),
                                   .at = l->at};
    take_problem(l, r->host, r);
}

void nccl_take_version(struct nccl_log *l, struct nccl_host *h, const struct nccl_line *r)
{
    nccl_list_add(l, &l->libraries, r->name);
    nccl_list_add(l, &l->versions, r->value);
    if (h)
        nccl_list_add(l, &h->versions, r->value);
}

static const char *worse_path(const char *a, const char *b)
{
    static const char *const order[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                        "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
    int ra = -1, rb = -1;
    for (int i = 0; i < (int)(sizeof(order) / sizeof(order[0])); i++) {
        ra = strcmp(a, order[i]) ? ra : i;
        rb = strcmp(b, order[i]) ? rb : i;
    }
    return rb > ra ? b : a;
}

static void take_path(struct nccl_log *l, struct nccl_text *t, const char *path)
{
    const char *had = intern_text(&l->texts, t->text);
    if (worse_path(had, path) == path && strcmp(had, path))
        *t = (struct nccl_text){nccl_text_of(l, path), l->at};
}

static void take_word(struct nccl_log *l, struct nccl_host *h, const struct nccl_line *r)
{
    const struct {
        const char *word;
        struct nccl_count *count;
    } words[] = {{"open-denied", &h->open_denied},
                 {"no-interface", &h->no_interface},
                 {"verbs-missing", &h->verbs_missing}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (r->word && !strcmp(words[i].word, r->word))
            nccl_told(l, words[i].count);
    if (r->word && (r->warn || r->kind == NCCL_PROBLEM))
        take_problem(l, intern_text(&l->texts, h->name), r);
}

/* Lines about the networks that the host has and the plugins for them. */
static void take_network(struct nccl_log *l, struct nccl_host *h, const struct nccl_line *r)
{
    switch (r->kind) {
    case NCCL_IB_NONE:
        nccl_told(l, &h->no_device);
        break;
    case NCCL_IB_USING:
        told_text(l, &h->devices, r->value);
        told_number(l, &h->ib, r->count);
        told_number(l, &h->roce, r->count2);
        told_number(l, &h->relaxed, r->on);
        h->merged |= r->count3 > 0;
        break;
    case NCCL_SOCKET_USING:
        told_text(l, &h->sockets, r->value);
        break;
    case NCCL_NETWORK:
        nccl_list_add(l, &h->networks, r->name);
        break;
    case NCCL_PLUGIN_LOADED:
        nccl_list_add(l, &h->plugins, r->name);
        break;
    case NCCL_PLUGIN_NONE:
        nccl_told(l, &h->plugin_missing);
        break;
    case NCCL_PLUGIN_FAILED:
        if (!strcmp(r->name, "IB"))
            nccl_told(l, &h->ib_failed);
        break;
    default:
        break;
    }
}

/* Lines about the host. */
static void take_host(struct nccl_log *l, struct nccl_host *h, const struct nccl_line *r)
{
    switch (r->kind) {
    case NCCL_BOOTSTRAP:
        told_text(l, &h->interface, r->name);
        told_text(l, &h->address, r->value);
        break;
    case NCCL_GDR_OFF:
        nccl_told(l, &h->gdr_disabled);
        break;
    case NCCL_DMABUF:
        nccl_told(l, &h->dmabuf);
        break;
    case NCCL_CHANNELS:
        told_number(l, &h->coll_channels, r->count);
        told_number(l, &h->p2p_channels, r->count2);
        break;
    case NCCL_GRAPH:
        told_number(l, &h->graph_channels, r->count);
        take_path(l, &h->path_gpu, r->name);
        take_path(l, &h->path_net, r->value);
        break;
    default:
        take_network(l, h, r);
        break;
    }
    take_word(l, h, r);
}

void nccl_take(struct nccl_log *l, const struct nccl_line *r)
{
    uint32_t process = nccl_process_of(l, r);
    uint32_t thread = process ? nccl_thread_of(l, process - 1, r->tid) : 0;
    if (!thread)
        return;
    struct nccl_host *h = &l->hosts[l->processes[process - 1].host];
    struct nccl_thread *t = &l->threads[thread - 1];
    if (r->kind == NCCL_VERSION)
        nccl_take_version(l, h, r);
    else if (r->kind == NCCL_INIT)
        take_init(l, process - 1, thread - 1, r);
    else if (r->kind == NCCL_END && pointed(l, process - 1, r))
        l->members[pointed(l, process - 1, r) - 1].over = true;
    else if (r->kind == NCCL_SIZES)
        take_sizes(l, process - 1, r);
    else if (r->kind == NCCL_TIMINGS)
        take_timings(l, t, r);
    else if (r->kind == NCCL_CHANNEL)
        take_channel(l, h, thread - 1, r);
    else if (r->kind == NCCL_RING)
        take_ring(l, thread - 1, r);
    else if (r->kind == NCCL_ENV)
        take_env(l, r);
    else if (r->kind == NCCL_NVLS)
        nccl_told(l, &l->nvls);
    else if (r->kind == NCCL_COLL || r->kind == NCCL_TUNING)
        take_function(l, r);
    else
        take_host(l, h, r);
}
