/* SPDX-License-Identifier: MIT */
#include "sense/probe_ring.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "sense/ring_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 512
#define NOTES_MAX 200
/* How long spans may wait for the name of their device. */
#define NAME_PATIENCE NS_PER_S
/* A time further ahead of now than this is nonsense. */
#define FUTURE_SLACK NS_PER_S

struct ring {
    struct ring_file file;
    char file_name[32];
    char process[24];
    int64_t complete_until;
    int64_t last_sign; /* latest time seen in it */
    uint64_t gaps;     /* lost records that a RING_UNSEEN told of */
    bool refused_record;
    int64_t number[RING_DEVICES]; /* in accelerators; -1 not yet known */
    bool held[RING_DEVICES];
};

struct probe_rings {
    char *dir;
    int dir_fd;
    struct ring **rings; /* owned */
    size_t ring_count, ring_cap;
    struct probe_accelerator *accelerators; /* owned */
    size_t accelerator_count, accelerator_cap;
    char **notes; /* owned */
    size_t note_count, note_cap;
    struct map seen; /* files that were opened or refused */
    struct probe_totals totals;
};

/* One poll's sink, and what it said. */
struct delivery {
    struct probe_rings *r;
    struct ring *ring;
    int64_t now;
    probe_event_fn sink;
    void *arg;
};

struct probe_rings *probe_rings_new(const char *dir, struct error *e)
{
    struct probe_rings *r = mem_zalloc(sizeof(*r));

    if (!r || !(r->dir = mem_strdup(dir))) {
        free(r);
        error_set(e, STATUS_MEMORY, "out of memory for the activity rings");
        return NULL;
    }
    r->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->dir_fd < 0) {
        error_errno(e, "cannot read the folder of activity rings \"%s\"", dir);
        probe_rings_free(r);
        return NULL;
    }
    r->totals.clock_error_ns = -1;
    return r;
}

/* A name and its inode together: file systems give a freed inode out again at once. */
static uint64_t file_key(ino_t ino, const char *name)
{
    uint64_t key = (uint64_t)ino;

    for (; *name; name++)
        key = key * 31 + (unsigned char)*name;
    return key;
}

static void ring_free(struct probe_rings *r, struct ring *ring)
{
    struct stat st;

    map_remove(&r->seen, file_key(ring->file.ino, ring->file_name));
    /* not the file of a later process that got the same number */
    if (fstatat(r->dir_fd, ring->file_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_ino == ring->file.ino && st.st_dev == ring->file.dev)
        unlinkat(r->dir_fd, ring->file_name, 0);
    ring_file_close(&ring->file);
    free(ring);
}

static void ring_leave(struct ring *ring)
{
    ring_file_close(&ring->file);
    free(ring);
}

void probe_rings_free(struct probe_rings *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->ring_count; i++)
        ring_leave(r->rings[i]);
    for (size_t i = 0; i < r->note_count; i++)
        free(r->notes[i]);
    free(r->rings);
    free(r->notes);
    free(r->accelerators);
    map_clear(&r->seen);
    if (r->dir_fd >= 0)
        close(r->dir_fd);
    free(r->dir);
    free(r);
}

/* Notes are kept while memory lasts: losing one loses no data. */
__attribute__((format(printf, 2, 3))) static void note(struct probe_rings *r, const char *fmt, ...)
{
    char text[512];
    va_list args;

    if (r->note_count >= NOTES_MAX ||
        !mem_grow((void **)&r->notes, &r->note_cap, r->note_count + 1, sizeof(*r->notes)))
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    r->notes[r->note_count] = mem_strdup(text);
    if (r->notes[r->note_count])
        r->note_count++;
}

int probe_rings_add_device(struct probe_rings *r, const char *uuid, const char *name,
                           bool simulated, struct error *e)
{
    for (size_t i = 0; i < r->accelerator_count; i++) {
        if (strcmp(r->accelerators[i].uuid, uuid) == 0)
            return (int)i;
    }
    if (!mem_grow((void **)&r->accelerators, &r->accelerator_cap, r->accelerator_count + 1,
                  sizeof(*r->accelerators)))
        return error_set(e, STATUS_MEMORY, "out of memory for accelerators");
    struct probe_accelerator *a = &r->accelerators[r->accelerator_count];
    memset(a, 0, sizeof(*a));
    str_copy(a->uuid, sizeof(a->uuid), uuid);
    str_copy(a->name, sizeof(a->name), name);
    a->simulated = simulated;
    snprintf(a->id, sizeof(a->id), "%s%s:%zu", simulated ? "sim-" : "", a->uuid,
             r->accelerator_count);
    return (int)r->accelerator_count++;
}

size_t probe_rings_accelerator_count(const struct probe_rings *r)
{
    return r->accelerator_count;
}

const struct probe_accelerator *probe_rings_accelerator(const struct probe_rings *r, size_t number)
{
    return number < r->accelerator_count ? &r->accelerators[number] : NULL;
}

size_t probe_rings_note_count(const struct probe_rings *r)
{
    return r->note_count;
}

const char *probe_rings_note(const struct probe_rings *r, size_t i)
{
    return i < r->note_count ? r->notes[i] : "";
}

struct probe_totals probe_rings_totals(const struct probe_rings *r)
{
    return r->totals;
}

int64_t probe_rings_complete_until(const struct probe_rings *r)
{
    int64_t until = INT64_MAX;

    for (size_t i = 0; i < r->ring_count; i++) {
        if (r->rings[i]->complete_until < until)
            until = r->rings[i]->complete_until;
    }
    return until;
}

/* --- finding rings --------------------------------------------------------------------------- */

static void name_process(struct ring *ring)
{
    char path[32], comm[16] = "";
    int fd;

    snprintf(path, sizeof(path), "/proc/%u/comm", ring->file.pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = read(fd, comm, sizeof(comm) - 1);
        close(fd);
        comm[n > 0 ? n : 0] = '\0';
        comm[strcspn(comm, "\n")] = '\0';
    }
    snprintf(ring->process, sizeof(ring->process), "%s", comm[0] ? comm : "process");
}

static int adopt(struct probe_rings *r, const char *name, struct error *e)
{
    struct error why = {0};
    struct ring *ring = mem_zalloc(sizeof(*ring));

    if (!ring ||
        !mem_grow((void **)&r->rings, &r->ring_cap, r->ring_count + 1, sizeof(*r->rings))) {
        free(ring);
        return error_set(e, STATUS_MEMORY, "out of memory for the ring of \"%s\"", name);
    }
    if (ring_file_open(&ring->file, r->dir_fd, name, &why) != STATUS_OK) {
        free(ring);
        note(r, "%s", why.text);
        return STATUS_OK;
    }
    str_copy(ring->file_name, sizeof(ring->file_name), name);
    name_process(ring);
    ring->complete_until = ring->last_sign = ring->file.start_ns;
    for (size_t i = 0; i < RING_DEVICES; i++)
        ring->number[i] = -1;
    r->rings[r->ring_count++] = ring;
    r->totals.processes++;
    return STATUS_OK;
}

static int discover(struct probe_rings *r, struct error *e)
{
    int fd = openat(r->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    int status = STATUS_OK;
    struct dirent *entry;

    if (!folder) {
        if (fd >= 0)
            close(fd);
        return error_errno(e, "cannot read the folder of activity rings \"%s\"", r->dir);
    }
    while (status == STATUS_OK && (entry = readdir(folder))) {
        size_t len = strlen(entry->d_name);
        if (len < 6 || len >= 32 || strcmp(entry->d_name + len - 5, ".ring") != 0)
            continue;
        uint64_t key = file_key(entry->d_ino, entry->d_name);
        if (map_get(&r->seen, key, NULL))
            continue;
        if (!map_put(&r->seen, key, 1))
            status = error_set(e, STATUS_MEMORY, "out of memory for the activity rings");
        else
            status = adopt(r, entry->d_name, e);
    }
    closedir(folder);
    return status;
}

/* --- records to events ----------------------------------------------------------------------- */

/* The number of the ring's device; -1: not named yet, try again; below: error. */
static int device_number(struct delivery *d, unsigned index, int64_t t, struct error *e)
{
    struct ring *ring = d->ring;
    struct ring_device device;

    if (ring->number[index] >= 0)
        return (int)ring->number[index];
    if (!ring_file_device(&ring->file, index, &device)) {
        if (d->now - t < NAME_PATIENCE && d->now - ring->file.start_ns < 5 * NAME_PATIENCE)
            return -1;
        snprintf(device.uuid, sizeof(device.uuid), "unknown-%u-%u", ring->file.pid, index);
        str_copy(device.name, sizeof(device.name), "unknown accelerator");
        device.simulated = 0;
    }
    int number =
        probe_rings_add_device(d->r, device.uuid, device.name, device.simulated != 0, e);
    if (number < 0)
        return number - 1; /* keeps clear of -1 */
    ring->number[index] = number;
    return number;
}

static int emit(struct delivery *d, const struct event *event)
{
    return d->sink(d->arg, event);
}

static int emit_span(struct delivery *d, const struct ring_record *rec, uint32_t device)
{
    bool launched = rec->launch_t0 > 0;
    struct event event = {
        .kind = EVENT_SPAN,
        .span = {.t0 = rec->t0,
                 .t1 = rec->t1,
                 .launch_t0 = launched ? rec->launch_t0 : 0,
                 .launch_t1 = launched ? rec->launch_t0 + rec->launch_ns : 0,
                 .device = device,
                 .stream = rec->stream,
                 .pid = d->ring->file.pid,
                 .tid = rec->tid,
                 .kind = rec->span_kind, /* enum span_kind has the same order */
                 .host_copy = rec->flags & RING_HOST_COPY,
                 .pageable = rec->flags & RING_PAGEABLE,
                 .sync_copy = rec->flags & RING_SYNC_COPY,
                 .bytes = rec->bytes}};

    d->r->totals.spans++;
    return emit(d, &event);
}

static int emit_call(struct delivery *d, const struct ring_record *rec, uint32_t device)
{
    struct event event = {.kind = EVENT_CALL,
                          .call = {.t0 = rec->t0,
                                   .t1 = rec->t1,
                                   .device = device,
                                   .pid = d->ring->file.pid,
                                   .tid = rec->tid,
                                   .kind = rec->span_kind}};

    d->r->totals.calls++;
    return emit(d, &event);
}

static int emit_device(struct delivery *d, int64_t t, unsigned index, uint32_t device, bool taken)
{
    struct event event = {
        .kind = EVENT_DEVICE,
        .device = {.t = t, .device = device, .pid = d->ring->file.pid, .taken = taken}};

    d->ring->held[index] = taken;
    if (taken)
        d->r->accelerators[device].used = true;
    return emit(d, &event);
}

/* Lost activity is unseen time on each device that this process holds. */
static int emit_lost(struct delivery *d, int64_t t0, int64_t t1, uint64_t count)
{
    d->r->totals.lost += count;
    for (unsigned i = 0; i < RING_DEVICES; i++) {
        if (!d->ring->held[i] || d->ring->number[i] < 0)
            continue;
        struct event event = {.kind = EVENT_LOST,
                              .lost = {.t0 = t0,
                                       .t1 = t1,
                                       .device = (uint32_t)d->ring->number[i],
                                       .count = count,
                                       .spans = true}};
        int status = emit(d, &event);
        if (status < 0)
            return status;
    }
    return 0;
}

static void note_blind(struct delivery *d, const struct ring_record *rec)
{
    struct ring *ring = d->ring;

    d->r->totals.blind++;
    ring->complete_until = INT64_MAX; /* nothing will come: it holds nobody back */
    switch (rec->span_kind) {
    case RING_BLIND_NO_CUPTI:
        note(d->r,
             "GPU activity of %s (%u) was not seen: it has no CUPTI library; install the "
             "nvidia-cuda-cupti package of its CUDA version",
             ring->process, ring->file.pid);
        break;
    case RING_BLIND_TAKEN:
        note(d->r,
             "GPU activity of %s (%u) was not seen: another profiler holds CUPTI; run without it",
             ring->process, ring->file.pid);
        break;
    default:
        note(d->r,
             "GPU activity of %s (%u) was not seen: CUPTI answered with error %" PRIu64
             "; 35 means that profiling is kept for administrators (NVreg_RestrictProfilingToAdminUsers)",
             ring->process, ring->file.pid, rec->bytes);
    }
}

static int take_unseen(struct delivery *d, const struct ring_record *rec)
{
    if (rec->span_kind == RING_UNSEEN_FULL)
        d->ring->gaps += rec->bytes;
    if (rec->span_kind == RING_UNSEEN_TAKEN && rec->flags)
        note(d->r,
             "GPU activity of %s (%u) was not seen from the moment when its own profiler took "
             "CUPTI over",
             d->ring->process, d->ring->file.pid);
    return emit_lost(d, rec->t0, rec->t1, rec->bytes);
}

/* False for numbers that no probe of ours writes. */
static bool plausible(const struct delivery *d, const struct ring_record *rec)
{
    int64_t late = d->now + FUTURE_SLACK;

    if (rec->kind < RING_SPAN || rec->kind > RING_BLIND || rec->t0 < 0 || rec->t0 > late)
        return false;
    if (rec->kind == RING_CLOCK)
        return rec->bytes < (uint64_t)NS_PER_S;
    if ((rec->kind == RING_SPAN || rec->kind == RING_CALL || rec->kind == RING_UNSEEN) &&
        (rec->t1 < rec->t0 || rec->t1 > late || rec->launch_t0 < 0 || rec->launch_t0 > late))
        return false;
    if (rec->kind == RING_SPAN && (rec->span_kind > RING_MEMSET || rec->device >= RING_DEVICES))
        return false;
    if (rec->kind == RING_CALL && rec->span_kind > RING_CALL_OTHER)
        return false;
    if ((rec->kind == RING_TAKEN || rec->kind == RING_RELEASED) && rec->device >= RING_DEVICES)
        return false;
    return rec->bytes < (UINT64_C(1) << 50);
}

static int take_known(struct delivery *d, const struct ring_record *rec, uint32_t device)
{
    switch (rec->kind) {
    case RING_SPAN:
        return emit_span(d, rec, device);
    case RING_CALL:
        return emit_call(d, rec, device);
    case RING_TAKEN:
    case RING_RELEASED:
        return emit_device(d, rec->t0, rec->device, device, rec->kind == RING_TAKEN);
    case RING_UNSEEN:
        return take_unseen(d, rec);
    case RING_CLOCK:
        if ((int64_t)rec->bytes > d->r->totals.clock_error_ns)
            d->r->totals.clock_error_ns = (int64_t)rec->bytes;
        return 0;
    default:
        note_blind(d, rec);
        return 0;
    }
}

enum taken { TAKEN, TAKEN_LATER };

/* One record; TAKEN_LATER leaves it in the ring; negative stops the poll. */
static int take(struct delivery *d, const struct ring_record *rec, struct error *e)
{
    uint32_t device = UINT32_MAX;

    if (!plausible(d, rec)) {
        d->r->totals.lost++;
        if (!d->ring->refused_record)
            note(d->r, "the ring of %s (%u) holds impossible records; they were left out",
                 d->ring->process, d->ring->file.pid);
        d->ring->refused_record = true;
        return TAKEN;
    }
    if (rec->kind != RING_CLOCK && rec->device < RING_DEVICES) {
        int number = device_number(d, rec->device, rec->t0, e);
        if (number == -1)
            return TAKEN_LATER;
        if (number < -1)
            return number + 1;
        device = (uint32_t)number;
    }
    int64_t sign = rec->kind == RING_CLOCK || rec->t1 < rec->t0 ? rec->t0 : rec->t1;
    if (sign > d->ring->last_sign && sign <= d->now)
        d->ring->last_sign = sign;
    int status = take_known(d, rec, device);
    return status < 0 ? status : TAKEN;
}

/* --- one ring, one poll ---------------------------------------------------------------------- */

/* Up to `head`. *ret_all tells whether nothing was left for later. */
static int drain(struct delivery *d, uint64_t head, bool *ret_all, struct error *e)
{
    struct ring_record batch[BATCH];

    *ret_all = true;
    while (d->ring->file.tail != head && *ret_all) {
        ssize_t n = ring_file_peek(&d->ring->file, head, batch, BATCH);
        if (n <= 0)
            return error_set(e, STATUS_INPUT, "the ring of process %u was cut short",
                             d->ring->file.pid);
        ssize_t done = 0;
        for (; done < n; done++) {
            int status = take(d, &batch[done], e);
            if (status < 0)
                return status;
            if (status == TAKEN_LATER) {
                *ret_all = false;
                break;
            }
        }
        if (done > 0)
            ring_file_taken(&d->ring->file, (size_t)done);
    }
    return STATUS_OK;
}

/* The process is gone and its ring is read to the end. */
static int finish(struct delivery *d, const struct ring_state *state)
{
    struct ring *ring = d->ring;
    bool later = state->alive_ns > ring->last_sign && state->alive_ns <= d->now;
    int64_t end = later ? state->alive_ns : ring->last_sign;
    int status = 0;

    if (state->lost > ring->gaps && state->lost - ring->gaps < (UINT64_C(1) << 50))
        status = emit_lost(d, ring->last_sign, end, state->lost - ring->gaps);
    for (unsigned i = 0; i < RING_DEVICES && status >= 0; i++) {
        if (ring->held[i])
            status = emit_device(d, end, i, (uint32_t)ring->number[i], false);
    }
    return status;
}

/* Sets *ret_gone when the ring needs no further poll. */
static int poll_ring(struct delivery *d, bool *ret_gone, struct error *e)
{
    struct ring *ring = d->ring;
    struct ring_state state = {0};
    bool all;

    *ret_gone = false;
    int status = ring_file_state(&ring->file, &state, e);
    if (status != STATUS_OK)
        return status;
    bool alive = ring_file_alive(&ring->file, state.alive_ns, d->now);
    if (!alive) /* what it wrote just before it went */
        status = ring_file_state(&ring->file, &state, e);
    if (status == STATUS_OK)
        status = drain(d, state.head, &all, e);
    if (status < 0)
        return status;
    if (ring->file.cuda_version)
        d->r->totals.cuda_version = ring->file.cuda_version;
    if (ring->file.cupti_version)
        d->r->totals.cupti_version = ring->file.cupti_version;
    if (all && state.beat_ns > ring->complete_until && state.beat_ns <= d->now)
        ring->complete_until = state.beat_ns;
    if (alive || !all)
        return STATUS_OK;
    *ret_gone = true;
    return finish(d, &state);
}

int probe_rings_poll(struct probe_rings *r, int64_t now, probe_event_fn sink, void *arg,
                     struct error *e)
{
    int status = discover(r, e);

    for (size_t i = 0; i < r->ring_count && status >= 0;) {
        struct delivery d = {.r = r, .ring = r->rings[i], .now = now, .sink = sink, .arg = arg};
        struct error why = {0};
        bool gone;

        status = poll_ring(&d, &gone, &why);
        if (status == STATUS_INPUT && why.status == STATUS_INPUT) {
            note(r, "%s; its GPU activity is unseen from there on", why.text);
            struct ring_state none = {.beat_ns = 0};
            status = finish(&d, &none);
            gone = true;
        } else if (status < 0 && why.status != STATUS_OK && e) {
            *e = why;
        }
        if (gone) {
            ring_free(r, r->rings[i]);
            r->rings[i] = r->rings[--r->ring_count];
        } else {
            i++;
        }
    }
    return status < 0 ? status : STATUS_OK;
}
