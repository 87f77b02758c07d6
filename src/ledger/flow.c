/* SPDX-License-Identifier: MIT */
#include "ledger/flow.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define KEPT 64           /* waits that may overlap; they come in order of their ends */
#define READERS 16        /* more than these count as so many */
#define CHANNELS 64       /* connections whose last request is remembered */
#define TELLING 30        /* waits that tell a rate */
#define TELLING_PART 0.02 /* of all time waited */
/*
 * Two powers of the number of readers. `slows`: of the time of a byte with the number that waited
 * already; 1 where a line serves in turn, 0 where latency limits, and 0 too where a line is shared
 * evenly (who comes later slows down who was there). `flows`: of the bytes a second with the number
 * that waits; 1 where latency limits, 0 where a line is shared evenly.
 */
#define SLOWS 0.45
#define SLOWS_NOT 0.2
#define FLOWS 0.7
#define FLOWS_NOT 0.35
/* Of the time waited, while bytes of an answer come: a line limits, or does not. */
#define TRANSFERS 0.5
#define TRANSFERS_NOT 0.2

struct kept {
    int64_t t0, t1;
    uint32_t bytes;
};

struct crowd {
    uint64_t waits, bytes;
    double ns;
};

struct channel {
    uint64_t id, tx;
};

struct flow {
    struct kept kept[KEPT]; /* a ring */
    uint64_t count;
    int64_t at;                   /* up to here `beside` is complete */
    struct crowd found[READERS];  /* waits, by how many others waited when they began */
    struct crowd beside[READERS]; /* time, by how many others waited; the waits that ended then */
    struct channel channel[CHANNELS];
    double first_ns, transfer_ns;
};

struct flow *flow_new(void)
{
    return mem_zalloc(sizeof(struct flow));
}

void flow_free(struct flow *f)
{
    free(f);
}

static struct crowd *crowd(struct crowd list[READERS], size_t others)
{
    return &list[others < READERS ? others : READERS - 1];
}

/* Others that waited at t: those that ended up to half a ring before or after w are known. */
static size_t others_at(const struct flow *f, const struct kept *w, int64_t t)
{
    size_t n = 0;
    for (size_t i = 0; i < KEPT; i++)
        n += &f->kept[i] != w && f->kept[i].t0 <= t && t < f->kept[i].t1;
    return n;
}

static void count_found(struct flow *f, const struct kept *w)
{
    struct crowd *c = crowd(f->found, others_at(f, w, w->t0));
    c->waits++;
    c->bytes += w->bytes;
    c->ns += (double)(w->t1 - w->t0);
}

/* The first moment after t, by `end`, at which a wait began. */
static int64_t next_begin(const struct flow *f, int64_t t, int64_t end)
{
    for (size_t i = 0; i < KEPT; i++)
        if (f->kept[i].t0 > t && f->kept[i].t0 < end)
            end = f->kept[i].t0;
    return end;
}

/* Nothing ended since f->at: whoever waited then still does at the end of w. */
static void count_beside(struct flow *f, const struct kept *w)
{
    while (f->at < w->t1) {
        int64_t to = next_begin(f, f->at, w->t1);
        size_t all = others_at(f, NULL, f->at);
        if (all)
            crowd(f->beside, all - 1)->ns += (double)(to - f->at);
        f->at = to;
    }
    struct crowd *c = crowd(f->beside, others_at(f, w, w->t1 - 1));
    c->waits++;
    c->bytes += w->bytes;
}

static void count_in(struct flow *f, uint64_t number)
{
    const struct kept *w = &f->kept[number % KEPT];
    if (!number)
        f->at = w->t0;
    count_found(f, w);
    count_beside(f, w);
}

/* The first wait after a request is the peer's latency, those after it are the transfer. */
static bool follows_request(struct flow *f, const struct event_wait *w)
{
    struct channel *c = &f->channel[w->channel % CHANNELS];
    bool same = c->id == w->channel, asked = !same || w->tx_bytes > c->tx;
    *c = (struct channel){w->channel, w->tx_bytes};
    return asked;
}

void flow_wait(struct flow *f, const struct event_wait *w)
{
    if (w->t_wake <= w->t_out)
        return;
    *(follows_request(f, w) ? &f->first_ns : &f->transfer_ns) += (double)(w->t_wake - w->t_out);
    f->kept[f->count % KEPT] = (struct kept){w->t_out, w->t_wake, w->rx_during};
    f->count++;
    if (f->count > KEPT / 2)
        count_in(f, f->count - 1 - KEPT / 2);
}

static bool tells(const struct crowd *c, double all_ns)
{
    return c->waits >= TELLING && c->bytes && c->ns >= TELLING_PART * all_ns;
}

/* The fewest and the most readers that tell; false: they never differ. */
static bool few_and_many(const struct crowd list[READERS], size_t *few, size_t *many)
{
    double all = 0;
    *few = READERS;
    *many = READERS;
    for (size_t i = 0; i < READERS; i++)
        all += list[i].ns;
    for (size_t i = 0; i < READERS; i++)
        if (tells(&list[i], all)) {
            *few = *few < READERS ? *few : i;
            *many = i;
        }
    return *few != *many;
}

/* The power of the number of readers with which the time of a byte grows, or of a wait; NAN: it never
 * differs. */
static double grows(const struct crowd list[READERS], bool bytes)
{
    size_t few, many;
    if (!few_and_many(list, &few, &many))
        return NAN;
    const struct crowd *a = &list[few], *b = &list[many];
    double times =
        b->ns / a->ns *
        (bytes ? (double)a->bytes / (double)b->bytes : (double)a->waits / (double)b->waits);
    return log(times) / log((double)(many + 1) / (double)(few + 1));
}

static double transfer_share(const struct flow *f)
{
    double all = f->first_ns + f->transfer_ns;
    return all > 0 ? f->transfer_ns / all : NAN;
}

/* Bytes a second say nothing of a line while readers wait for first bytes: those that ask at once get
 * their answers at once. */
static double bandwidth_bound(const struct flow *f)
{
    double slows = grows(f->found, true), waits = grows(f->found, false);
    double flows = -grows(f->beside, true);
    double transfer = transfer_share(f);
    if ((slows >= SLOWS && waits >= SLOWS) || (flows <= FLOWS_NOT && transfer >= TRANSFERS))
        return 1;
    return slows <= SLOWS_NOT && (flows >= FLOWS || transfer <= TRANSFERS_NOT) ? 0 : NAN;
}

void flow_told(const struct flow *f, struct flow_told *ret)
{
    *ret = (struct flow_told){bandwidth_bound(f), transfer_share(f)};
}
