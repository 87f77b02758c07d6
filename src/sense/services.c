/* SPDX-License-Identifier: MIT */
/*
 * services: daemons that accelerators and fabrics need, by the names of their processes.
 *
 * "Not running" is said only where the processes of the whole host are seen: a container with
 * a pid namespace of its own does not see them.
 */
#include "sense/services.h"
#include "sense/source.h"

#include "base/rootfs.h"
#include "sense/out.h"
#include "sense/plain.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define KTHREADD "/proc/2/comm" /* the kernel's own; seen in the first pid namespace only */

/* comm holds 15 bytes of a name. */
static const struct {
    const char *service, *comm;
} services[] = {
    {"nvidia-fabricmanager", "nv-fabricmanage"},
    {"nvidia-imex", "nvidia-imex"},
    {"nvidia-persistenced", "nvidia-persiste"},
    {"nv-hostengine", "nv-hostengine"},
    {"opensm", "opensm"},
    {"sharp_am", "sharp_am"},
    {"irqbalance", "irqbalance"},
};
#define SERVICES (sizeof(services) / sizeof(services[0]))

bool service_is_known(const char *comm)
{
    for (size_t i = 0; i < SERVICES; i++)
        if (!strcmp(comm, services[i].comm))
            return true;
    return false;
}

struct seen {
    const char *root;
    bool running[SERVICES];
};

static void see(void *arg, const char *name)
{
    struct seen *s = arg;
    char path[64], comm[32];
    if (!isdigit((unsigned char)name[0]) || strlen(name) > 10)
        return;
    snprintf(path, sizeof(path), "/proc/%s/comm", name);
    if (!rootfs_line(s->root, path, comm, sizeof(comm)))
        return;
    for (size_t i = 0; i < SERVICES; i++)
        s->running[i] |= !strcmp(comm, services[i].comm);
}

static int services_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    const struct source_opts *o = self;
    struct out out = {.fn = fn, .arg = arg, .kind = "service", .source = "/proc"};
    struct seen s = {.root = o->root};
    char comm[32];
    rootfs_each(o->root, "/proc", see, &s);
    bool all = rootfs_line(o->root, KTHREADD, comm, sizeof(comm)) && !strcmp(comm, "kthreadd");
    for (size_t i = 0; i < SERVICES; i++) {
        out.subject = services[i].service;
        if (all || s.running[i])
            out_number(&out, "running", s.running[i], "1");
    }
    return out.rc;
}

const struct source source_services = {
    "services",     "daemons of accelerators and fabrics",
    plain_start,    NULL,
    services_facts, plain_stop,
    .survey = true,
};
