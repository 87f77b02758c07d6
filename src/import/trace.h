/* SPDX-License-Identifier: MIT */
/*
 * trace: what profilers' traces have in common: device activity, calls of the runtime, operators and
 * ranges of threads. Kept in compact records (16 to 24 bytes each), in any order; trace_finish
 * sorts them, joins activity to the call that asked for it, and pushes all into the sink by time. Where a
 * file is in order, trace_advance does so piece by piece and memory stays small.
 *
 * Times are int64 ns of the trace's clock; durations up to 2^44 ns (4.9 hours). Out of memory sets
 * `failed`, later additions do nothing, and trace_finish says so.
 */
#ifndef GPUFEED_IMPORT_TRACE_H
#define GPUFEED_IMPORT_TRACE_H

#include "base/error.h"
#include "import/sink.h"

#define TRACE_NS_MAX ((INT64_C(1) << 44) - 1)
/* How far from the trace's zero times may lie: nobody profiles for 30 days, and a clock that jumped would
 * make millions of empty windows. */
#define TRACE_TIME_MAX (INT64_C(30) * 86400 * 1000 * 1000 * 1000)
#define TRACE_THREADS_MAX 4096u

struct trace;

struct trace *trace_new(struct sink *sink); /* NULL: out of memory */
void trace_free(struct trace *t);           /* NULL is fine */

/* A thread's number in the trace; TRACE_THREADS_MAX when there are too many. */
uint32_t trace_thread(struct trace *t, uint32_t pid, uint32_t tid);

struct trace_span {
    int64_t t0, ns;
    uint32_t correlation; /* of the call that asked for it; 0 unknown */
    uint32_t pid;         /* that asked for it; 0 unknown */
    uint32_t device;      /* below SINK_DEVICES */
    uint32_t stream;      /* any number, the same for one queue of one process */
    uint8_t kind;         /* enum span_kind */
    bool host_copy, pageable;
    uint64_t bytes;    /* of copies */
    uint32_t resource; /* of communication: who takes part, in the sink; 0 unknown */
};
void trace_span(struct trace *t, const struct trace_span *s);

/* What a call of the runtime is, by its name. */
struct trace_call {
    uint32_t resource; /* its name, in the sink */
    uint8_t kind;      /* enum call_kind */
    uint8_t cause;     /* enum cause: what a device waits for meanwhile */
};
/* Number of a call's name, for trace_call. Names are few and kept. */
uint32_t trace_call_name(struct trace *t, const char *name, size_t len);
/* The same for a call of the system, whose cause is known. */
uint32_t trace_system_call(struct trace *t, const char *name, enum cause cause);
void trace_call(struct trace *t, uint32_t thread, uint32_t name, int64_t t0, int64_t ns,
                uint32_t correlation);

/* An operator of the framework; resource: its name. Those inside another one are dropped. */
void trace_code(struct trace *t, uint32_t thread, uint32_t resource, int64_t t0, int64_t ns);
/* A range whose cause is known. In one of CAUSE_PREPARE that is not of loader workers, calls of the system that read
 * are told as such. */
void trace_range(struct trace *t, uint32_t thread, enum cause cause, uint32_t resource, int64_t t0,
                 int64_t ns);

/* torch.utils.data names the range around its iterator: enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ */
#define TRACE_LOADER "enumerate(Data" /* DataLoader, DataPipe */
/* The resource of such a range, in the sink. */
uint32_t trace_loader(struct trace *t, bool workers);

/*
 * Where neither spans nor calls tell a correlation: what a flow joins, both ends by where they are and when they
 * begin. Beginnings are forgotten at the first call, ends at the first span that tells one.
 */
bool trace_wants_flows(const struct trace *t);
void trace_flow_begin(struct trace *t, uint64_t id, uint32_t thread, int64_t t0);
void trace_flow_end(struct trace *t, uint64_t id, uint32_t device, int64_t t0);

/* Correlations count per process, and spans tell theirs. Before the first call or span. */
void trace_by_process(struct trace *t);

/* Number of spans so far. */
size_t trace_spans(const struct trace *t);
/* Is there one of this device? */
bool trace_uses(const struct trace *t, uint32_t device);
/* All that begins before `until` was added: pushes and forgets it. sink_extent must have been called. */
void trace_advance(struct trace *t, int64_t until);
/* Pushes all. */
int trace_finish(struct trace *t, struct error *e);

#endif
