/* SPDX-License-Identifier: MIT */
#include "sense/ring_file.h"

#include "base/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAPACITY_MAX (1u << 20)
#define HEADER_MAX (1u << 20)
/* A job that closes all descriptors loses the lock but goes on giving signs of life ten times a
 * second; one that calls exec loses both. */
#define STALE_NS (3 * NS_PER_S)

static int refuse(struct error *e, const char *name, const char *why)
{
    return error_set(e, STATUS_INPUT, "ring file \"%s\" refused: %s", name, why);
}

static bool read_at(int fd, void *out, size_t bytes, size_t at)
{
    return pread(fd, out, bytes, (off_t)at) == (ssize_t)bytes;
}

static int check_header(struct ring_file *f, const char *name, const struct ring_header *h,
                        off_t size, struct error *e)
{
    char *end;
    long pid = strtol(name, &end, 10);

    if (h->magic != RING_MAGIC)
        return refuse(e, name, "wrong magic at offset 0: it is no gpufeed ring");
    if (h->version != RING_VERSION)
        return error_set(e, STATUS_INPUT,
                         "ring file \"%s\" refused: version %u at offset 4, this gpufeed reads %d",
                         name, h->version, RING_VERSION);
    if (h->record_bytes != sizeof(struct ring_record))
        return refuse(e, name, "records of another size");
    if (h->capacity == 0 || h->capacity > CAPACITY_MAX || (h->capacity & (h->capacity - 1)))
        return refuse(e, name, "impossible capacity");
    if (h->header_bytes < sizeof(*h) || h->header_bytes > HEADER_MAX)
        return refuse(e, name, "impossible header size");
    if ((uint64_t)size < h->header_bytes + (uint64_t)h->capacity * h->record_bytes)
        return refuse(e, name, "shorter than its header says (truncated)");
    if (strcmp(end, ".ring") != 0 || pid <= 0 || (uint32_t)pid != h->pid)
        return refuse(e, name, "it names another process than its header");
    f->pid = h->pid;
    f->capacity = h->capacity;
    f->header_bytes = h->header_bytes;
    f->start_ns = h->start_ns;
    f->cuda_version = h->cuda_version;
    f->cupti_version = h->cupti_version;
    f->tail = h->tail;
    if (h->head - h->tail > h->capacity)
        return refuse(e, name, "counters contradict each other");
    return STATUS_OK;
}

static int open_checked(struct ring_file *f, const char *name, struct error *e)
{
    struct ring_header header;
    struct stat st;

    if (fstat(f->fd, &st) != 0)
        return error_errno(e, "cannot look at ring file \"%s\"", name);
    if (!S_ISREG(st.st_mode))
        return refuse(e, name, "not a regular file");
    if (st.st_nlink > 1)
        return refuse(e, name, "it has a second name");
    f->owner = st.st_uid;
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    if (!read_at(f->fd, &header, sizeof(header), 0))
        return refuse(e, name, "shorter than a header (truncated)");
    return check_header(f, name, &header, st.st_size, e);
}

int ring_file_open(struct ring_file *f, int dir_fd, const char *name, struct error *e)
{
    memset(f, 0, sizeof(*f));
    f->fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (f->fd < 0) {
        if (errno == ELOOP)
            return refuse(e, name, "it is a symbolic link");
        return error_errno(e, "cannot open ring file \"%s\"", name);
    }
    int status = open_checked(f, name, e);
    if (status != STATUS_OK)
        ring_file_close(f);
    return status;
}

void ring_file_close(struct ring_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

/* A counter that another process moves: read until two reads agree, so that none is torn. */
static bool read_counter(int fd, uint64_t *ret, size_t at)
{
    uint64_t a, b;

    for (int tries = 0; tries < 100; tries++) {
        if (!read_at(fd, &a, sizeof(a), at) || !read_at(fd, &b, sizeof(b), at))
            return false;
        if (a == b) {
            *ret = a;
            return true;
        }
    }
    return false;
}

int ring_file_state(struct ring_file *f, struct ring_state *ret, struct error *e)
{
    uint64_t beat, alive, head, lost;

    /* the beat first: what it promises was written before it */
    if (!read_counter(f->fd, &beat, offsetof(struct ring_header, beat_ns)) ||
        !read_counter(f->fd, &alive, offsetof(struct ring_header, alive_ns)) ||
        !read_counter(f->fd, &lost, offsetof(struct ring_header, lost)))
        return error_set(e, STATUS_INPUT, "the ring of process %u was cut short", f->pid);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (!read_counter(f->fd, &head, offsetof(struct ring_header, head)))
        return error_set(e, STATUS_INPUT, "the ring of process %u was cut short", f->pid);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (head - f->tail > f->capacity)
        return error_set(e, STATUS_INPUT,
                         "the ring of process %u is damaged: its head jumped to %" PRIu64
                         " with %" PRIu64 " read",
                         f->pid, head, f->tail);
    if (f->cupti_version == 0) { /* written some time after the file appears */
        uint32_t versions[2];
        if (read_at(f->fd, versions, sizeof(versions),
                    offsetof(struct ring_header, cuda_version))) {
            f->cuda_version = versions[0];
            f->cupti_version = versions[1];
        }
    }
    ret->beat_ns = beat > INT64_MAX ? 0 : (int64_t)beat;
    ret->alive_ns = alive > INT64_MAX ? 0 : (int64_t)alive;
    ret->head = head;
    ret->lost = lost;
    return STATUS_OK;
}

ssize_t ring_file_peek(struct ring_file *f, uint64_t head, struct ring_record *out, size_t max)
{
    uint64_t left = head - f->tail;
    uint64_t slot = f->tail & (f->capacity - 1);
    size_t n = left < max ? (size_t)left : max;

    if (n > f->capacity - slot)
        n = (size_t)(f->capacity - slot);
    if (!read_at(f->fd, out, n * sizeof(*out), f->header_bytes + slot * sizeof(*out)))
        return -1;
    return (ssize_t)n;
}

void ring_file_taken(struct ring_file *f, size_t records)
{
    f->tail += records;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    /* if this fails the writer sees a full ring and counts what it loses */
    if (pwrite(f->fd, &f->tail, sizeof(f->tail), offsetof(struct ring_header, tail)) < 0)
        return;
}

static void make_text(char *s, size_t size)
{
    s[size - 1] = '\0';
    for (; *s; s++) {
        if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
            *s = '?';
    }
}

bool ring_file_device(struct ring_file *f, unsigned index, struct ring_device *ret)
{
    size_t at = offsetof(struct ring_header, devices) + index * sizeof(*ret);

    if (index >= RING_DEVICES || !read_at(f->fd, ret, sizeof(*ret), at))
        return false;
    make_text(ret->uuid, sizeof(ret->uuid));
    make_text(ret->name, sizeof(ret->name));
    ret->simulated = ret->simulated != 0;
    return ret->uuid[0] != '\0';
}

/* Runs and is no zombie. */
static bool process_runs(uint32_t pid)
{
    char path[32], text[256];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *after_name = strrchr(text, ')');
    return after_name && after_name[1] == ' ' && !strchr("ZX", after_name[2]);
}

uint32_t ring_file_writer(const struct ring_file *f)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    if (fcntl(f->fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0)
        return (uint32_t)lock.l_pid;
    return f->pid;
}

bool ring_file_alive(const struct ring_file *f, int64_t alive_ns, int64_t now)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    /* the lock also tells of a process in another pid namespace */
    if (fcntl(f->fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        return true;
    return now - alive_ns < STALE_NS && process_runs(f->pid);
}
