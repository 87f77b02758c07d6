/* SPDX-License-Identifier: MIT */
#include "ledger/direct.h"

#include "base/unit.h"

/* A TCP peer that brought this many times what it took is a store (the rule). */
#define STORE_RATIO 10
#define STORE_MIN_BYTES 4096
/* Slower than a byte a us no line between ranks is, and none pauses longer: a wait that ended with fewer
 * bytes was for the sender. */
#define LINE_NS_PER_BYTE NS_PER_US
#define LINE_PAUSE_NS (20 * NS_PER_MS)
/* Between processes of one machine there is no line: what is sent is copied. */
#define COPY_NS_PER_BYTE 1

/* Did bytes keep this connection busy for the wait? Its first bytes end a wait for the one who sends
 * them; what was unsent when it began tells that the line was full. A client asks when it likes. */
static bool in_flight(const struct event_wait *w, bool client)
{
    bool copied = client && w->flags & WAIT_LOOPBACK;
    int64_t byte_ns = copied ? COPY_NS_PER_BYTE : LINE_NS_PER_BYTE;
    int64_t least = w->rx_during * byte_ns + (client ? 0 : LINE_PAUSE_NS);
    return w->tx_unsent || (w->rx_during && least >= w->t_wake - w->t_out);
}

static enum cause socket_cause(const struct threads *threads, const struct event_wait *w)
{
    uint64_t rx, tx;
    if (w->flags & WAIT_STORAGE_PEER)
        return CAUSE_STORAGE;
    threads_socket(threads, w, &rx, &tx);
    bool rank = threads_rank(threads, w->channel, w->tgid);
    bool client = (w->flags & WAIT_ACCEPTED) && !rank;
    /* th launches or is awaited: its connection feeds the device, or joins ranks, which take as they
     * give; who comes to our port, or launches itself, is no store */
    if (rx >= STORE_MIN_BYTES && rx >= STORE_RATIO * tx && !rank && !client)
        return CAUSE_STORAGE;
    if ((w->flags & WAIT_SAMPLED) && rx + tx < STORE_MIN_BYTES)
        return CAUSE_UNKNOWN; /* connections too short for a sample to see what they carry */
    return in_flight(w, client) ? CAUSE_NETWORK : CAUSE_LATE_PEER;
}

static bool woken_by_child(const struct threads *threads, const struct thread *th,
                           const struct event_wait *w)
{
    const struct thread *y = w->flags & WAIT_WAKER_IRQ ? NULL : threads_find(threads, w->waker_tid);
    return y && y->job && y->tgid != th->tgid && y->parent_tgid == th->tgid;
}

enum cause direct_cause(const struct threads *threads, const struct thread *th,
                        const struct event_wait *w)
{
    switch ((enum target)w->target) {
    case TARGET_CORE:
        return CAUSE_CPU_STARVED;
    case TARGET_FILE:
    case TARGET_FAULT:
        return CAUSE_STORAGE;
    case TARGET_WRITE:
        return CAUSE_CHECKPOINT;
    case TARGET_SOCKET:
        return socket_cause(threads, w);
    case TARGET_SLEEP:
        return CAUSE_SLEEP;
    case TARGET_DEVICE:
        return CAUSE_LAUNCH;
    case TARGET_MEMORY:
        return CAUSE_MEMORY;
    case TARGET_CHILD: /* what the child did, where it is known */
        return woken_by_child(threads, th, w) ? CAUSE_NONE : CAUSE_STARTUP;
    case TARGET_FUTEX: /* a file's lock: who lets go of it has worked for itself */
        return w->resource ? CAUSE_LOCK : CAUSE_NONE;
    default:
        return w->flags & WAIT_IOWAIT ? CAUSE_STORAGE : CAUSE_NONE;
    }
}
