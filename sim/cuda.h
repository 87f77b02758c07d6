/* SPDX-License-Identifier: MIT */
/*
 * cuda: what the parts of the simulated libcuda share.
 *
 * One struct sim_process holds the state of the driver in this process; a real
 * driver has such a state too. `sim.lock` guards all of it but what is marked
 * atomic; functions ending in _locked want it held. Handles handed to the caller
 * are our own structures with a magic number at their head.
 *
 * The device is a graph of operations (timeline.c): an operation starts when the
 * one before it on its stream and those it waits for have ended, and its times
 * are final as soon as they can be computed, often long before they come. Only
 * operations that move data or call back wait for a thread.
 */
#ifndef GPUFEED_SIM_CUDA_H
#define GPUFEED_SIM_CUDA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "clock.h"
#include "config.h"
#include "cu_types.h"
#include "hooks.h"
#include "probe/cuda_abi.h"
#include "share.h"

/* ---- operations ---------------------------------------------------------- */

enum sim_engine_kind { SIM_HTOD, SIM_DTOH, SIM_LOCAL, SIM_HOST, SIM_ENGINES, SIM_NO_ENGINE };
enum sim_op_state { SIM_OP_WAITING, SIM_OP_QUEUED, SIM_OP_RUNNING, SIM_OP_DONE };

struct sim_op {
    struct sim_op *next; /* in its engine's queue, or free */
    struct sim_edge *dependents;
    struct sim_device *device;
    int refs, pending; /* pending: operations it still waits for */
    uint8_t state, engine;
    bool by_caller;                     /* the thread that asked does the work, not the engine's */
    int64_t ready_ns, start_ns, end_ns; /* start and end are final when state is DONE */
    int64_t duration_ns;
    bool counts_as_kernel, counts_as_copy; /* for utilisation */
    void (*work)(struct sim_op *op);       /* at start_ns, without the lock */
    void *dst;
    const void *src;
    size_t bytes;
    uint32_t value, width; /* of a memset */
    void *owned;           /* freed with the operation */
    sim_host_fn host_fn;
    sim_stream_callback callback;
    abi_cu_stream callback_stream;
    void *user_data;
    union sim_record record; /* head.kind 0: nobody wants one */
};

struct sim_engine {
    struct sim_op *head;   /* QUEUED, by ready_ns */
    struct sim_op *active; /* RUNNING */
    int64_t free_ns;
    pthread_cond_t wake;
    bool started;
};

/* ---- devices, contexts, streams, events, modules -------------------------- */

struct sim_device {
    int physical;
    struct sim_engine engines[SIM_ENGINES];
    struct share_device *shared;
    uint64_t memory_used;
    abi_cu_context primary; /* NULL: not active */
    unsigned primary_flags;
    int primary_refs;
    int64_t covered_from, covered_to; /* kernels' last united busy time */
};

#define SIM_QUEUE_DEPTH 1024 /* launches on one stream that may be outstanding */
#define SIM_STREAM_NON_BLOCKING 1u
#define SIM_EVENT_DISABLE_TIMING 2u

struct abi_cu_stream {
    uint32_t magic, id;
    abi_cu_context context;
    abi_cu_stream next;
    unsigned flags;
    int priority;
    pthread_t owner; /* of a per-thread default stream */
    bool per_thread;
    struct sim_op *tail; /* last operation, NULL: none yet */
    struct sim_op *queue[SIM_QUEUE_DEPTH];
    uint64_t queued;
};

struct abi_cu_context {
    uint32_t magic, uid;
    bool alive, primary;
    abi_cu_context next; /* in sim.contexts */
    int ordinal;
    struct sim_device *device;
    unsigned flags;
    uint32_t next_stream_id;
    abi_cu_stream legacy;  /* the default stream */
    abi_cu_stream streams; /* all others */
};

struct abi_cu_event {
    uint32_t magic, id;
    abi_cu_context context;
    unsigned flags;
    struct sim_op *op; /* last record; NULL: never recorded */
};

struct abi_cu_function {
    uint32_t magic;
    abi_cu_module module;
    const char *name; /* interned: outlives the module */
    bool takes_ns;    /* a spin kernel: its first parameter is its length */
};

struct abi_cu_module {
    uint32_t magic;
    abi_cu_context context; /* it goes with this one; NULL: a library */
    abi_cu_module next;     /* in sim.modules */
    struct abi_cu_function *functions;
    size_t count;
};

struct sim_process {
    pthread_mutex_t lock;
    pthread_cond_t done; /* some operation is DONE now, or one by_caller is next in its engine */
    atomic_bool ready;   /* cuInit succeeded */
    atomic_bool forked;  /* this process is a fork of an initialised one */
    bool failed_init;
    abi_cu_result init_result;
    struct sim_config config;
    struct share_file *share;
    char share_path[300];
    pid_t share_pid;
    struct sim_device devices[SIM_DEVICES_MAX];
    int device_count;
    struct sim_op *free_ops;
    struct sim_edge *free_edges;
    abi_cu_context contexts; /* all that were ever made, by `next` */
    abi_cu_module modules;
    uint32_t contexts_made, events_made;
    _Atomic uint32_t correlation;
    _Atomic int64_t grids;
    struct sim_hooks *_Atomic hooks;
};

extern struct sim_process sim;

/* ---- calls ---------------------------------------------------------------- */

struct sim_call_kind {
    uint32_t cbid;
    const char *name;
    const void *args;
    abi_cu_function symbol; /* the kernel of a launch */
    int thread_default;     /* the default stream is the thread's own */
    int early;              /* allowed before cuInit */
};

struct sim_call {
    struct sim_call_kind kind;
    int64_t start_ns;
    uint32_t correlation;
    uint64_t data; /* from enter to exit callback */
    abi_cu_result result;
    bool entered; /* the enter callback was called */
};

abi_cu_result sim_call_enter(struct sim_call *call, const struct sim_call_kind *kind);
abi_cu_result sim_call_leave(struct sim_call *call, abi_cu_result result);
bool sim_wants(enum abi_kind kind);
void sim_call_resource(uint32_t cbid, abi_cu_context context, abi_cu_stream stream);

struct sim_proc {
    const char *name, *base;
    int since;
    void (*function)(void), (*per_thread)(void);
};
extern const struct sim_proc sim_procs[];
extern const size_t sim_proc_count;

/* ---- finding things -------------------------------------------------------- */

abi_cu_context sim_context_current(void);
void sim_context_drop(abi_cu_context context); /* takes it off this thread's stack */
abi_cu_result sim_context_check(abi_cu_context context);
/* The stream that a handle means in this call: NULL, the two special handles or a stream's own. */
abi_cu_result sim_stream_find(const struct sim_call *call, abi_cu_stream handle,
                              abi_cu_stream *ret_stream);
abi_cu_stream sim_stream_new(abi_cu_context context, unsigned flags, int priority);
void sim_stream_free_locked(abi_cu_stream stream);
/* The current context, or CUDA_ERROR_INVALID_CONTEXT. */
abi_cu_result sim_context_need(abi_cu_context *ret_context);
enum sim_wait_mode sim_context_wait_mode(abi_cu_context context);
const char *sim_function_name(abi_cu_function function); /* NULL for a bad handle */

enum sim_memory_kind { SIM_PAGEABLE, SIM_PINNED, SIM_DEVICE, SIM_MANAGED };

struct sim_allocation {
    uintptr_t base;
    size_t bytes, mapped;
    enum sim_memory_kind kind;
    bool registered; /* the caller's memory: not ours to unmap */
    struct sim_device *device;
    abi_cu_context context;
    unsigned flags;
    uint64_t id;
};

/* Fills *ret_allocation and returns true when `address` lies in memory the driver knows. */
bool sim_memory_find(uintptr_t address, struct sim_allocation *ret_allocation);
void sim_memory_drop_context(abi_cu_context context);
void sim_module_drop_context(abi_cu_context context);

/* ---- timeline -------------------------------------------------------------- */

void sim_timeline_init_device(struct sim_device *device);
struct sim_op *sim_op_new_locked(struct sim_device *device);
void sim_op_ref_locked(struct sim_op *op);
void sim_op_unref_locked(struct sim_op *op);
/* `op` will not start before `other` has ended. Before submission only. */
void sim_op_depend_locked(struct sim_op *op, struct sim_op *other);
/* Puts the operation at the end of the stream. The caller keeps the reference it got from new. */
void sim_op_submit_locked(struct sim_op *op, abi_cu_stream stream);
/* Waits until a by_caller operation's turn in its engine, does its work and waits for its end. */
void sim_op_run_here(struct sim_op *op, enum sim_wait_mode mode);
/* Waits for the end of the operation. Takes and gives back the caller's reference. */
void sim_op_wait_and_unref(struct sim_op *op, enum sim_wait_mode mode);
bool sim_op_ended_locked(const struct sim_op *op, int64_t now);
/* Waits while SIM_QUEUE_DEPTH operations are outstanding on the stream. */
void sim_stream_make_room_locked(abi_cu_stream stream);
/* An operation without length at the end of the stream, referenced. */
struct sim_op *sim_op_mark_locked(abi_cu_stream stream);
/* The same, referenced, but nothing later in the stream waits for it: what synchronising waits for. */
struct sim_op *sim_op_fence_locked(abi_cu_stream stream);
/* Waits for all that was asked of the context so far. */
void sim_context_drain(abi_cu_context context, enum sim_wait_mode mode);
void sim_record_sync(const struct sim_call *call, enum abi_sync_type type, abi_cu_context context,
                     uint32_t stream, uint32_t event);

#include "driver_api.h"

#endif
