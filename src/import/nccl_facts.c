/* SPDX-License-Identifier: MIT */
/* What the logs say, as facts; names in doc/facts.md. */
#include "import/nccl_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EDGE_FACTS_MAX 4096 /* more are only summed */
#define RANK_FACTS_MAX 16384

struct out {
    struct nccl_log *l;
    fact_fn fn;
    void *arg;
    int status;
    uint32_t comm; /* the main one, + 1; 0 none */
    struct str source, scratch;
};

static const char *source_of(struct out *o, struct nccl_at at)
{
    str_reset(&o->source);
    str_addf(&o->source, at.line ? "%s:%u" : "%s", intern_text(&o->l->texts, at.file), at.line);
    return str_text(&o->source);
}

static void emit(struct out *o, const struct fact *f)
{
    o->l->failed |= o->source.failed || o->scratch.failed; /* the next reset forgets it */
    if (!o->status)
        o->status = o->fn(o->arg, f);
}

static void number(struct out *o, const char *kind, const char *subject, const char *name, double v,
                   const char *unit, struct nccl_at at)
{
    struct fact f = {kind, subject, name, NULL, v, unit, source_of(o, at)};
    emit(o, &f);
}

static void text(struct out *o, const char *kind, const char *subject, const char *name,
                 const char *v, struct nccl_at at)
{
    struct fact f = {kind, subject, name, v, NAN, "", source_of(o, at)};
    if (*v)
        emit(o, &f);
}

static void counted(struct out *o, const char *kind, const char *subject, const char *name,
                    const struct nccl_count *c, const char *unit)
{
    if (c->at.line)
        number(o, kind, subject, name, (double)c->n, unit, c->at);
}

/* It was said: 1. */
static void said(struct out *o, const char *kind, const char *subject, const char *name,
                 const struct nccl_count *c)
{
    if (c->at.line)
        number(o, kind, subject, name, 1, "1", c->at);
}

static void texted(struct out *o, const char *kind, const char *subject, const char *name,
                   const struct nccl_text *t)
{
    if (t->at.line)
        text(o, kind, subject, name, intern_text(&o->l->texts, t->text), t->at);
}

static void listed(struct out *o, const char *kind, const char *subject, const char *name,
                   const struct nccl_list *list)
{
    str_reset(&o->scratch);
    for (int i = 0; i < list->count; i++)
        str_addf(&o->scratch, "%s%s", i ? ", " : "", intern_text(&o->l->texts, list->text[i]));
    text(o, kind, subject, name, str_text(&o->scratch), list->at);
}

static void add_lists(struct nccl_log *l, struct nccl_list *all, const struct nccl_list *more)
{
    l->at = more->at;
    for (int i = 0; i < more->count; i++)
        nccl_list_add(l, all, intern_text(&l->texts, more->text[i]));
}

/* ---- hosts ---- */

/* IB alone names two links: the list of devices tells which. */
static void find_kinds(struct nccl_log *l, struct nccl_host *h)
{
    for (int i = 0; i < h->networks.count; i++) {
        const char *name = intern_text(&l->texts, h->networks.text[i]);
        l->at = h->networks.at;
        if (strstr(name, "Socket"))
            nccl_list_add(l, &h->kinds, "socket");
        else if (strncmp(name, "IB", 2))
            nccl_list_add(l, &h->kinds, "plugin");
        else if (h->ib.n)
            nccl_list_add(l, &h->kinds, "ib");
        if (!strncmp(name, "IB", 2) && h->roce.n)
            nccl_list_add(l, &h->kinds, "roce");
    }
}

static void put_channels(struct out *o, const char *kind, const char *subject,
                         const struct nccl_channels *c, bool all)
{
    const struct {
        const char *name;
        const struct nccl_count *count;
        bool always;
    } rows[] = {{"channels_p2p", &c->p2p, false},      {"channels_shm", &c->shm, false},
                {"channels_net", &c->net, false},      {"channels_collnet", &c->collnet, false},
                {"channels_socket", &c->socket, true}, {"channels_gdr", &c->gdr, true},
                {"channels_staged", &c->staged, true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (all || rows[i].always)
            counted(o, kind, subject, rows[i].name, rows[i].count, "count");
}

static void put_host(struct out *o, struct nccl_host *h, double ranks)
{
    static const char kind[] = "nccl/host";
    const char *name = intern_text(&o->l->texts, h->name);
    struct nccl_count none = {0, h->no_device.at};
    listed(o, kind, name, "version", &h->versions);
    listed(o, kind, name, "network", &h->networks);
    listed(o, kind, name, "network_kind", &h->kinds);
    listed(o, kind, name, "plugin", &h->plugins);
    number(o, kind, name, "processes", h->processes, "count", h->at);
    if (ranks > 0)
        number(o, kind, name, "ranks", ranks, "count", h->at);
    texted(o, kind, name, "interface", &h->interface);
    texted(o, kind, name, "address", &h->address);
    texted(o, kind, name, "devices", &h->devices);
    texted(o, kind, name, "socket_interfaces", &h->sockets);
    counted(o, kind, name, "ib_devices", h->ib.at.line ? &h->ib : &none, "count");
    counted(o, kind, name, "roce_devices", h->roce.at.line ? &h->roce : &none, "count");
    counted(o, kind, name, "relaxed_ordering", &h->relaxed, "1");
    texted(o, kind, name, "path_gpu", &h->path_gpu);
    texted(o, kind, name, "path_net", &h->path_net);
    counted(o, kind, name, "graph_channels", &h->graph_channels, "count");
    counted(o, kind, name, "coll_channels", &h->coll_channels, "count");
    counted(o, kind, name, "p2p_channels", &h->p2p_channels, "count");
    const struct {
        const char *name;
        const struct nccl_count *count;
    } words[] = {{"no_device", &h->no_device},           {"verbs_missing", &h->verbs_missing},
                 {"open_denied", &h->open_denied},       {"no_interface", &h->no_interface},
                 {"plugin_missing", &h->plugin_missing}, {"ib_failed", &h->ib_failed},
                 {"gdr_disabled", &h->gdr_disabled},     {"dmabuf", &h->dmabuf}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        said(o, kind, name, words[i].name, words[i].count);
    put_channels(o, kind, name, &h->channels, false);
}

/* How many ranks of the main communicator each host has. */
static void put_hosts(struct out *o)
{
    struct nccl_log *l = o->l;
    for (size_t i = 0; i < l->hosts_count; i++)
        l->hosts[i].ranks = 0;
    for (size_t i = 0; i < l->members_count; i++)
        if (o->comm && l->members[i].comm == o->comm - 1)
            l->hosts[l->processes[l->members[i].process].host].ranks++;
    for (size_t i = 0; i < l->hosts_count; i++)
        put_host(o, &l->hosts[i], l->hosts[i].ranks);
}

/* ---- ranks ---- */

/* The device's name where the list tells it: "mlx5_0". */
static void add_device(struct out *o, const struct nccl_host *h, int n)
{
    bool tcp =
        h->kinds.count == 1 && !strcmp(intern_text(&o->l->texts, h->kinds.text[0]), "socket");
    const char *p =
        h->merged && !tcp ? "" : intern_text(&o->l->texts, tcp ? h->sockets.text : h->devices.text);
    for (int i = 0; i < n && *p; i++) {
        p += strcspn(p, " ");
        p += *p == ' ';
    }
    if (o->scratch.len)
        str_add(&o->scratch, " ");
    if (*p)
        str_addn(&o->scratch, p, strcspn(p, ":/ "));
    else
        str_addf(&o->scratch, "%d", n);
}

static void put_rank(struct out *o, const struct nccl_member *m)
{
    static const char kind[] = "nccl/rank";
    char subject[16];
    struct nccl_log *l = o->l;
    const struct nccl_process *p = &l->processes[m->process];
    const struct nccl_host *h = &l->hosts[p->host];
    snprintf(subject, sizeof(subject), "%d", m->rank);
    text(o, kind, subject, "host", intern_text(&l->texts, h->name), m->at);
    number(o, kind, subject, "pid", p->pid, "count", m->at);
    if (m->gpu >= 0)
        number(o, kind, subject, "gpu", m->gpu, "count", m->at);
    if (m->nvml >= 0)
        number(o, kind, subject, "nvml", m->nvml, "count", m->at);
    if (m->bus) { /* domain << 20 | bus << 12 | device << 4 | function */
        str_reset(&o->scratch);
        str_addf(&o->scratch, "%04x:%02x:%02x.%x", (unsigned)(m->bus >> 20 & 0xffff),
                 (unsigned)(m->bus >> 12 & 0xff), (unsigned)(m->bus >> 4 & 0xff),
                 (unsigned)(m->bus & 0xf));
        text(o, kind, subject, "bus", str_text(&o->scratch), m->at);
    }
    str_reset(&o->scratch);
    for (int i = 0; i < 64; i++)
        if (m->net_devs >> i & 1)
            add_device(o, h, i);
    text(o, kind, subject, "nics", str_text(&o->scratch), m->at);
    if (isfinite(m->init_seconds))
        number(o, kind, subject, "init_seconds", m->init_seconds, "s", m->at);
    if (m->started || m->complete)
        number(o, kind, subject, "complete", m->complete, "1", m->at);
}

static void put_ranks(struct out *o, const struct nccl_comm *c)
{
    for (int rank = 0, told = 0;
         rank < c->nranks && told < RANK_FACTS_MAX && told < (int)c->members; rank++) {
        const struct nccl_member *m = nccl_member_of(o->l, o->comm - 1, rank);
        if (m)
            put_rank(o, m);
        told += m != NULL;
    }
}

/* "3, 5-7": ranks of the main communicator without a line. */
static void put_absent(struct out *o, const struct nccl_comm *c)
{
    str_reset(&o->scratch);
    for (int rank = 0; rank < c->nranks && o->scratch.len < 200; rank++) {
        int last = rank;
        if (nccl_member_of(o->l, o->comm - 1, rank))
            continue;
        while (last + 1 < c->nranks && !nccl_member_of(o->l, o->comm - 1, last + 1))
            last++;
        str_addf(&o->scratch, last > rank ? "%s%d-%d" : "%s%d", o->scratch.len ? ", " : "", rank,
                 last);
        rank = last;
    }
    text(o, "nccl", "", "ranks_absent", str_text(&o->scratch), c->at);
}

static void put_comm(struct out *o)
{
    struct nccl_log *l = o->l;
    const struct nccl_comm *c = nccl_main_comm(l);
    uint64_t started = 0, unfinished = 0;
    struct nccl_at first = {0};
    if (!c)
        return;
    for (size_t i = 0; i < l->members_count; i++) {
        const struct nccl_member *m = &l->members[i];
        started += m->started;
        unfinished += m->started && !m->complete;
        if (m->started && (!first.line || !m->complete))
            first = m->at;
    }
    number(o, "nccl", "", "communicators", (double)l->comms_count, "count", c->at);
    number(o, "nccl", "", "ranks", c->nranks, "count", c->at);
    number(o, "nccl", "", "ranks_seen", c->members, "count", c->at);
    if (c->nodes > 0)
        number(o, "nccl", "", "nodes", c->nodes, "count", c->at);
    if (started)
        number(o, "nccl", "", "init_unfinished", (double)unfinished, "count", first);
    if (unfinished && (int)c->members < c->nranks)
        put_absent(o, c);
    put_ranks(o, c);
    for (size_t i = 0; i < l->comms_count && i < EDGE_FACTS_MAX; i++) {
        char subject[24];
        if (!l->comms[i].id)
            continue;
        snprintf(subject, sizeof(subject), "0x%llx", (unsigned long long)l->comms[i].id);
        number(o, "nccl/comm", subject, "ranks", l->comms[i].nranks, "count", l->comms[i].at);
        if (l->comms[i].nodes > 0)
            number(o, "nccl/comm", subject, "nodes", l->comms[i].nodes, "count", l->comms[i].at);
    }
}

/* ---- channels ---- */

static void put_edge(struct out *o, const struct nccl_edge *e)
{
    static const char kind[] = "nccl/edge";
    char subject[32];
    snprintf(subject, sizeof(subject), "%d->%d", e->from, e->to);
    text(o, kind, subject, "transport", intern_text(&o->l->texts, e->transport), e->at);
    number(o, kind, subject, "channels", e->channels, "count", e->at);
    if (e->gdr || e->staged)
        number(o, kind, subject, "gdr", !e->staged, "1", e->at);
    if (e->pxn)
        number(o, kind, subject, "pxn", 1, "1", e->at);
}

/* Within one host over the network. */
static bool is_far(const struct nccl_log *l, const struct nccl_edge *e)
{
    const struct nccl_member *a = nccl_member_of(l, e->comm - 1, e->from);
    const struct nccl_member *b = nccl_member_of(l, e->comm - 1, e->to);
    return a && b && !strncmp(intern_text(&l->texts, e->transport), "NET/", 4) &&
           l->processes[a->process].host == l->processes[b->process].host;
}

static void put_edges(struct out *o)
{
    struct nccl_log *l = o->l;
    struct nccl_count far = {0};
    int told = 0;
    for (size_t i = 0; i < l->edges_count && o->comm; i++) {
        const struct nccl_edge *e = &l->edges[i];
        if (e->comm != o->comm)
            continue;
        if (is_far(l, e))
            far.at = far.n++ ? far.at : e->at;
        if (told++ < EDGE_FACTS_MAX)
            put_edge(o, e);
    }
    if (told)
        number(o, "nccl", "", "peers_far", (double)far.n, "count",
               far.n ? far.at : nccl_main_comm(l)->at);
    for (size_t i = 0; i < l->rings_count; i++) {
        char subject[16];
        snprintf(subject, sizeof(subject), "%02d", l->rings[i].channel);
        if (l->rings[i].comm && l->rings[i].comm == o->comm)
            texted(o, "nccl/ring", subject, "order", &l->rings[i].order);
    }
}

/* ---- all of it ---- */

static void add_count(struct nccl_count *all, const struct nccl_count *c)
{
    if (!all->at.line)
        all->at = c->at;
    all->n += c->n;
}

static void put_job(struct out *o)
{
    struct nccl_log *l = o->l;
    struct nccl_list networks = {0}, kinds = {0};
    struct nccl_channels all = {0};
    struct nccl_at first = l->hosts_count ? l->hosts[0].at : l->versions.at;
    for (size_t i = 0; i < l->hosts_count; i++) {
        struct nccl_host *h = &l->hosts[i];
        find_kinds(l, h);
        add_lists(l, &networks, &h->networks);
        add_lists(l, &kinds, &h->kinds);
        struct nccl_count *sums[] = {&all.p2p,    &all.shm, &all.net,   &all.collnet,
                                     &all.socket, &all.gdr, &all.staged};
        const struct nccl_count *own[] = {
            &h->channels.p2p,    &h->channels.shm, &h->channels.net,   &h->channels.collnet,
            &h->channels.socket, &h->channels.gdr, &h->channels.staged};
        for (size_t k = 0; k < sizeof(sums) / sizeof(sums[0]); k++)
            add_count(sums[k], own[k]);
    }
    listed(o, "nccl", "", "library", &l->libraries);
    listed(o, "nccl", "", "version", &l->versions);
    if (l->versions.count)
        number(o, "nccl", "", "versions", l->versions.count, "count", l->versions.at);
    number(o, "nccl", "", "hosts", (double)l->hosts_count, "count", first);
    number(o, "nccl", "", "processes", (double)l->processes_count, "count", first);
    listed(o, "nccl", "", "network", &networks);
    if (networks.count)
        number(o, "nccl", "", "networks", networks.count, "count", networks.at);
    listed(o, "nccl", "", "network_kind", &kinds);
    put_channels(o, "nccl", "", &all, true);
    said(o, "nccl", "", "nvls", &l->nvls);
}

static void put_small(struct out *o)
{
    struct nccl_log *l = o->l;
    struct nccl_at all = {l->at.file, 0};
    static const char *const quotes[NCCL_QUOTES] = {"text", "text2", "text3"};
    for (size_t i = 0; i < l->envs_count; i++) {
        const char *name = intern_text(&l->texts, l->envs[i].name);
        text(o, "nccl/env", name, "value", intern_text(&l->texts, l->envs[i].value), l->envs[i].at);
        number(o, "nccl/env", name, "differs", l->envs[i].differs, "1", l->envs[i].at);
    }
    for (size_t i = 0; i < l->problems_count; i++) {
        const struct nccl_problem *p = &l->problems[i];
        number(o, "nccl/warning", p->word, "count", (double)p->count, "count", p->at);
        for (int k = 0; k < NCCL_QUOTES; k++)
            text(o, "nccl/warning", p->word, quotes[k], intern_text(&l->texts, p->text[k]), p->at);
        text(o, "nccl/warning", p->word, "host", intern_text(&l->texts, p->host), p->at);
    }
    for (size_t i = 0; i < l->functions_count; i++) {
        const struct nccl_function *f = &l->functions[i];
        const char *name = intern_text(&l->texts, f->name);
        if (f->count) {
            number(o, "nccl/coll", name, "count", (double)f->count, "count", f->at);
            number(o, "nccl/coll", name, "bytes", (double)f->bytes, "bytes", f->at);
        }
        text(o, "nccl/coll", name, "algo", intern_text(&l->texts, f->algorithm), f->at);
    }
    for (size_t i = 0; i < l->timeouts_count; i++) {
        char subject[16];
        const struct nccl_timeout *t = &l->timeouts[i];
        snprintf(subject, sizeof(subject), "%d", t->rank);
        if (t->sequence >= 0)
            number(o, "nccl/timeout", subject, "sequence", t->sequence, "count", t->at);
        text(o, "nccl/timeout", subject, "operation", intern_text(&l->texts, t->operation), t->at);
        if (isfinite(t->seconds))
            number(o, "nccl/timeout", subject, "seconds", t->seconds, "s", t->at);
    }
    number(o, "nccl", "", "warnings", (double)l->warnings.n, "count",
           l->warnings.n ? l->warnings.at : all);
    number(o, "nccl", "", "lines", (double)l->counts.lines, "count", all);
    number(o, "nccl", "", "lines_nccl", (double)l->counts.nccl, "count", all);
    number(o, "nccl", "", "lines_unknown", (double)l->counts.unknown, "count", all);
}

int nccl_log_facts(struct nccl_log *l, fact_fn fn, void *arg, struct error *e)
{
    struct out o = {.l = l, .fn = fn, .arg = arg};
    nccl_resolve(l);
    const struct nccl_comm *c = nccl_main_comm(l);
    o.comm = c ? (uint32_t)(c - l->comms) + 1 : 0;
    put_job(&o);
    put_comm(&o);
    put_hosts(&o);
    put_edges(&o);
    put_small(&o);
    if (!o.status && (l->failed || o.source.failed || o.scratch.failed))
        o.status = error_set(e, STATUS_MEMORY, "out of memory reading the log");
    str_clear(&o.source);
    str_clear(&o.scratch);
    return o.status;
}
