/* SPDX-License-Identifier: MIT */
#include "ledger/chain.h"

#include "base/unit.h"

#include <stdarg.h>
#include <stdio.h>

/* What a thread did that was waited for, how its resource follows, and what another waited for that
 * knows no more of it; waited_of: how the resource follows there, NULL: after a colon. */
struct telling {
    const char *did, *of, *waited, *waited_of;
};
static const struct telling tellings[CAUSE_COUNT] = {
    [CAUSE_NONE] = {"waited for something unknown", ": ", "waited for something unknown"},
    [CAUSE_UNKNOWN] = {"waited for something unknown", ": ", "waited for something unknown"},
    [CAUSE_STORAGE] = {"read", " from ", "waited for storage"},
    [CAUSE_PREPARE] = {"worked on the data on a core", ": ", "waited for data preparation"},
    [CAUSE_CPU_STARVED] = {"was ready to run, without a core", ": ", "waited for a free core"},
    [CAUSE_NETWORK] = {"sent and received", " over ", "waited for the network"},
    [CAUSE_COLLECTIVE] = {"took part in a collective operation", ": ",
                          "waited for a collective operation"},
    [CAUSE_LATE_PEER] = {"waited for a peer that had not sent", ": ", "waited for a late peer"},
    [CAUSE_KV_TRANSFER] = {"moved KV cache", ": ", "waited for KV cache"},
    [CAUSE_PAGEABLE_COPY] = {"copied from memory that is not pinned", ": ",
                             "waited for a copy from memory that is not pinned"},
    [CAUSE_LINK] = {"copied over PCIe or NVLink", ": ", "waited for a copy over PCIe or NVLink"},
    [CAUSE_LAUNCH] = {"launched work", ": ", "launched work"},
    [CAUSE_HOST] = {"ran other code on a core", ": ", "ran other code"},
    [CAUSE_CHECKPOINT] = {"wrote or synced files", ": ", "waited for a checkpoint"},
    [CAUSE_STARTUP] = {"was starting", ", reading from ", "waited for processes to start or end",
                       ", which read from "},
    [CAUSE_MEMORY] = {"waited for memory", ": ", "waited for memory"},
    [CAUSE_LOCK] = {"waited for a lock", ": ", "waited for a lock"},
    [CAUSE_SLEEP] = {"slept", ": ", "waited for a sleep to end"},
};

static const char *role(const struct threads *t, const struct thread *th)
{
    const struct thread *maker, *hop;
    if (t && th->launches)
        return "launching thread ";
    if (t && th->relays)
        return "relay ";
    if (!t || !threads_maker(t, th->tgid, &maker, &hop))
        return "";
    return th == maker ? "worker " : th == hop ? "feeder " : "worker's thread ";
}

void chain_who(const struct chain_links *links, const struct thread *th, char *buf, size_t size)
{
    const char *name = th->name[0] ? th->name : "thread";
    snprintf(buf, size, "%s%s %u", role(links->threads, th), name, th->tid);
}

void chain_tell(struct chain_links *links, const struct thread *th, int64_t ns, const char *format,
                ...)
{
    char did[sizeof(((struct chain_link *)NULL)->did) - 24], time[20]; /* the time is never cut */
    va_list ap;
    if (links->count == CHAIN_LINKS_MAX)
        return;
    struct chain_link *link = &links->link[links->count++];
    va_start(ap, format);
    vsnprintf(did, sizeof(did), format, ap);
    va_end(ap);
    chain_who(links, th, link->who, sizeof(link->who));
    snprintf(link->did, sizeof(link->did), "%s for %s", did,
             unit_format_ns(time, sizeof(time), ns));
}

void chain_tell_did(struct chain_links *links, const struct thread *th, const char *lead,
                    const struct share *s, const struct intern *names)
{
    const struct telling *t = &tellings[s->cause];
    const char *what = intern_text(names, s->resource);
    chain_tell(links, th, s->ns, "%s%s%s%s", lead, t->did, *what ? t->of : "", what);
}

void chain_tell_largest(struct chain_links *links, const struct thread *th, const struct shares *s,
                        const struct intern *names)
{
    int i = shares_largest(s);
    if (i < 0)
        return;
    const struct telling *t = &tellings[s->part[i].cause];
    const char *what = intern_text(names, s->part[i].resource);
    const char *of = t->waited_of ? t->waited_of : ": ";
    chain_tell(links, th, s->part[i].ns, "%s%s%s", t->waited, *what ? of : "", what);
}

void chain_append(struct chain_links *links, const struct chain_links *more)
{
    for (int i = 0; i < more->count && links->count < CHAIN_LINKS_MAX; i++)
        links->link[links->count++] = more->link[i];
}
