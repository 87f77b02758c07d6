/* SPDX-License-Identifier: MIT */
#include "sense/probe_ring.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "sense/process.h"
#include "sense/ring_events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 512
#define NOTES_MAX 200

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

/* Both sides have it open: without a name its memory goes with them, however they end. */
static void remove_name(struct probe_rings *r, const struct ring *ring)
{
    struct stat st;

    /* not the file of a later process that got the same number */
    if (fstatat(r->dir_fd, ring->file_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_ino == ring->file.ino && st.st_dev == ring->file.dev)
        unlinkat(r->dir_fd, ring->file_name, 0);
}

static void ring_leave(struct ring *ring)
{
    ring_file_close(&ring->file);
    free(ring);
}

static void ring_free(struct probe_rings *r, struct ring *ring)
{
    map_remove(&r->seen, file_key(ring->file.ino, ring->file_name));
    ring_leave(ring);
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

void probe_rings_add_note(struct probe_rings *r, const char *fmt, ...)
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

/*
 * Another user's file is read only if that user's process is one of the job: where root measures,
 * everybody may put files into the folder (measure/ringdir.h).
 */
static bool is_of_job(uid_t owner, uint32_t pid)
{
    uid_t user;

    return owner == geteuid() ||
           (process_user(pid, &user) && user == owner && process_descends(pid, (uint32_t)getpid()));
}

static void refuse_stranger(struct probe_rings *r, const char *name)
{
    if (!r->strangers++)
        probe_rings_add_note(r,
                             "ring file \"%s\" was left alone: it is another user's, and no "
                             "running process of the job wrote it",
                             name);
}

static void note_unreadable(struct probe_rings *r, const char *name, const struct error *why)
{
    struct stat st;

    if (fstatat(r->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        (why->status != STATUS_DENIED &&
         !is_of_job(st.st_uid, (uint32_t)strtoul(name, NULL, 10)))) {
        refuse_stranger(r, name);
        return;
    }
    if (why->status == STATUS_DENIED)
        probe_rings_add_note(r,
                             "GPU activity of process %ld was not seen: it runs as another user; "
                             "run gpufeed itself as root (sudo gpufeed run ...)",
                             strtol(name, NULL, 10));
    else
        probe_rings_add_note(r, "%s", why->text);
    r->totals.blind++;
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
        note_unreadable(r, name, &why);
        return STATUS_OK;
    }
    if (!is_of_job(ring->file.owner, ring_file_writer(&ring->file))) {
        ring_leave(ring);
        refuse_stranger(r, name);
        return STATUS_OK;
    }
    str_copy(ring->file_name, sizeof(ring->file_name), name);
    remove_name(r, ring);
    name_process(ring);
    ring->complete_until = ring->last_sign = ring->file.start_ns;
    for (size_t i = 0; i < RING_DEVICES; i++)
        ring->number[i] = -1;
    r->rings[r->ring_count++] = ring;
    r->totals.processes++;
    return STATUS_OK;
}

/* The probe found no room for its ring. */
static void adopt_none(struct probe_rings *r, const char *name)
{
    struct ring ring = {.file.pid = (uint32_t)strtoul(name, NULL, 10)};
    struct stat st;

    if (fstatat(r->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (!is_of_job(st.st_uid, ring.file.pid)) {
        refuse_stranger(r, name);
        return;
    }
    name_process(&ring);
    r->totals.blind++;
    probe_rings_add_note(r,
                         "GPU activity of %s (%u) was not seen: no room for its ring of 4 MiB in "
                         "\"%s\"",
                         ring.process, ring.file.pid, r->dir);
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
        bool none = len > 5 && !strcmp(entry->d_name + len - 5, "." RING_NONE);
        if (len < 6 || len >= 32 || (!none && strcmp(entry->d_name + len - 5, ".ring") != 0))
            continue;
        uint64_t key = file_key(entry->d_ino, entry->d_name);
        if (map_get(&r->seen, key, NULL))
            continue;
        if (!map_put(&r->seen, key, 1))
            status = error_set(e, STATUS_MEMORY, "out of memory for the activity rings");
        else if (none)
            adopt_none(r, entry->d_name);
        else
            status = adopt(r, entry->d_name, e);
    }
    closedir(folder);
    return status;
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
            int status = ring_events_take(d, &batch[done], e);
            if (status < 0)
                return status;
            if (status == RING_RECORD_LATER) {
                *ret_all = false;
                break;
            }
        }
        if (done > 0)
            ring_file_taken(&d->ring->file, (size_t)done);
    }
    return STATUS_OK;
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
    return ring_events_finish(d, &state);
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
            probe_rings_add_note(r, "%s; its GPU activity is unseen from there on", why.text);
            struct ring_state none = {.beat_ns = 0};
            status = ring_events_finish(&d, &none);
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
