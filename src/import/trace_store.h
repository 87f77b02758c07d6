/* SPDX-License-Identifier: MIT */
/*
 * trace_store: the records of a trace. Internal to trace.c and trace_push.c.
 */
#ifndef GPUFEED_IMPORT_TRACE_STORE_H
#define GPUFEED_IMPORT_TRACE_STORE_H

#include "base/map.h"
#include "import/asked.h"
#include "import/trace.h"

#define TRACE_PROCESSES_MAX 1023u /* far more than devices */

/* Device activity: 24 bytes. */
struct span_record {
    int64_t t0;
    uint64_t ns : 44, device : 6, kind : 2, host_copy : 1, pageable : 1, process : 10;
    uint32_t correlation;
    /* of a copy: index + 1 in trace.bytes; 0 none. Of communication: its resource */
    uint32_t bytes;
};

/* A call of the runtime: 24 bytes. */
struct call_record {
    int64_t t0;
    uint64_t ns : 44, thread : 12;
    uint32_t correlation;
    uint16_t name; /* in trace.call_name */
};

/* An operator or range of one thread: 24 bytes. */
struct op_record {
    int64_t t0, ns;
    uint32_t resource, cause;
};

struct op_records {
    struct op_record *item;  /* owned */
    size_t count, cap, next; /* next: the first that was not pushed yet */
    bool unsorted;
};

struct trace_thread {
    uint32_t pid, tid;
    struct op_records code, range;
};

/* The beginning or end of a flow: 24 bytes. */
struct flow_record {
    int64_t t0;
    uint64_t id;
    uint32_t at; /* thread, or device */
};

/* The streams that were seen. Those beyond the last place are not told apart from ones that ran before. */
#define TRACE_STREAMS_MAX 4096u
struct trace_stream {
    int64_t t0; /* of its first activity */
    uint32_t device;
};

struct trace {
    struct sink *sink;           /* borrowed */
    bool failed;                 /* out of memory */
    struct trace_thread *thread; /* owned */
    size_t thread_count, thread_cap;
    uint32_t last_thread;
    struct map thread_of; /* pid << 32 | tid -> number */
    struct intern call_names;
    struct trace_call *call_name; /* owned; same index, from 0 */
    size_t call_name_count, call_name_cap;
    struct span_record *spans; /* owned */
    size_t span_count, span_cap;
    struct call_record *calls; /* owned */
    size_t call_count, call_cap;
    uint64_t *bytes; /* owned; of copies */
    size_t bytes_count, bytes_cap;
    uint64_t devices;             /* bit 1 << number: it has spans */
    struct map stream_of;         /* process, device and stream -> index */
    struct trace_stream *streams; /* owned */
    size_t stream_count, stream_cap;
    uint64_t last_stream_key;
    size_t last_stream;
    uint32_t workers_resource; /* of ranges that wait for loader workers; 0: none yet */
    /* owned; of flows; none once a call, or span, told its correlation */
    struct flow_record *begins, *ends;
    size_t begin_count, begin_cap, end_count, end_cap;
    bool calls_correlated, spans_correlated;
    bool spans_unsorted, calls_unsorted;
    struct asked asked;
    /* pids that spans name; span_record.process is index + 1 */
    uint32_t process[TRACE_PROCESSES_MAX];
    unsigned processes;
    bool by_process;  /* correlations count per process */
    size_t spans_all; /* ever added */
};

#endif
