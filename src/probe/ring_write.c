/* SPDX-License-Identifier: MIT */
#include "probe/ring_write.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u

static size_t header_bytes(void)
{
    return (sizeof(struct ring_header) + PAGE - 1) / PAGE * PAGE;
}

/* fallocate, or zeros by hand where the file system has none of it. */
static bool allocate(int fd, size_t bytes)
{
    static const char zeros[PAGE];

    if (fallocate(fd, 0, 0, (off_t)bytes) == 0)
        return true;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return false;
    for (size_t at = 0; at < bytes; at += PAGE) {
        if (pwrite(fd, zeros, PAGE, (off_t)at) != (ssize_t)PAGE)
            return false;
    }
    return true;
}

static void fill_header(struct ring_header *h, int64_t now)
{
    h->version = RING_VERSION;
    h->pid = (uint32_t)getpid();
    h->header_bytes = (uint32_t)header_bytes();
    h->capacity = RING_CAPACITY;
    h->record_bytes = sizeof(struct ring_record);
    h->start_ns = now;
    h->beat_ns = (uint64_t)now;
    h->alive_ns = (uint64_t)now;
    h->magic = RING_MAGIC;
}

/* Where the job's files may not grow that large, the kernel sends the thread a signal that would
 * end the job. */
static bool allocate_quietly(int fd, size_t bytes)
{
    sigset_t one, before, waiting;
    struct timespec at_once = {0};

    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    bool done = allocate(fd, bytes);
    if (!done && !sigismember(&waiting, SIGXFSZ))
        sigtimedwait(&one, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done;
}

static bool map_file(struct ring_writer *w, int64_t now)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    size_t bytes = header_bytes() + (size_t)RING_CAPACITY * sizeof(struct ring_record);

    if (!allocate_quietly(w->fd, bytes))
        return false;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
    if (at == MAP_FAILED)
        return false;
    madvise(at, bytes, MADV_DONTFORK);
    madvise(at, bytes, MADV_DONTDUMP);
    w->mapped_bytes = bytes;
    w->header = at;
    w->records = (struct ring_record *)((char *)at + header_bytes());
    fill_header(w->header, now);
    fcntl(w->fd, F_SETLK, &whole); /* no locks on this file system: /proc must do */
    return true;
}

/* A reader that was killed leaves its lock file, and nobody would ever remove our ring. */
static bool is_deserted(const char *dir)
{
    char path[4096 + 8];

    snprintf(path, sizeof(path), "%s/" RING_LOCK, dir);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool deserted = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return deserted;
}

bool ring_writer_open(struct ring_writer *w, const char *dir, int64_t now)
{
    char name[4096], temporary[4096 + 8];

    memset(w, 0, sizeof(*w));
    w->fd = -1;
    pthread_mutex_init(&w->lock, NULL);
    int n = snprintf(name, sizeof(name), "%s/%d.ring", dir, (int)getpid());
    if (n < 0 || (size_t)n >= sizeof(name)) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (is_deserted(dir)) {
        errno = EPIPE;
        return false;
    }
    snprintf(temporary, sizeof(temporary), "%s.new", name);
    unlink(temporary);
    w->fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (w->fd < 0)
        return false;
    if (map_file(w, now) && rename(temporary, name) == 0)
        return true;
    int saved = errno;
    snprintf(name + n - strlen("ring"), strlen("ring") + 1, RING_NONE); /* says that it has none */
    if (ftruncate(w->fd, 0) != 0 || rename(temporary, name) != 0)
        unlink(temporary);
    if (w->header)
        munmap(w->header, w->mapped_bytes);
    w->header = NULL;
    close(w->fd);
    w->fd = -1;
    errno = saved;
    return false;
}

static void append(struct ring_writer *w, uint64_t head, const struct ring_record *record)
{
    w->records[head & (RING_CAPACITY - 1)] = *record;
}

/* Once there is room again: says from when to when the ring was full. */
static uint64_t append_gap(struct ring_writer *w, uint64_t head, int64_t now)
{
    struct ring_record gap = {.t0 = w->lost_t0,
                              .t1 = now,
                              .bytes = w->lost_count,
                              .device = UINT16_MAX,
                              .kind = RING_UNSEEN,
                              .span_kind = RING_UNSEEN_FULL};

    append(w, head, &gap);
    w->lost_t0 = 0;
    w->lost_count = 0;
    return head + 1;
}

static void count_lost(struct ring_writer *w, const struct ring_record *record, int64_t now)
{
    int64_t from = record->t0 > 0 && record->t0 < now ? record->t0 : now;

    if (w->lost_count == 0 || from < w->lost_t0)
        w->lost_t0 = from;
    w->lost_count++;
    __atomic_fetch_add(&w->header->lost, 1, __ATOMIC_RELAXED);
}

void ring_writer_push(struct ring_writer *w, const struct ring_record *records, size_t n,
                      int64_t now)
{
    if (!w->header)
        return;
    pthread_mutex_lock(&w->lock);
    uint64_t tail = __atomic_load_n(&w->header->tail, __ATOMIC_ACQUIRE);
    uint64_t head = w->header->head;
    uint64_t used = head - tail;

    if (used > RING_CAPACITY) /* nonsense from outside: take the ring as full */
        used = RING_CAPACITY;
    uint64_t room = RING_CAPACITY - used;
    if (w->lost_count > 0 && room >= n + 1) {
        head = append_gap(w, head, now);
        room--;
    }
    for (size_t i = 0; i < n; i++) {
        if (w->lost_count > 0 || room == 0) {
            count_lost(w, &records[i], now);
            continue;
        }
        append(w, head++, &records[i]);
        room--;
    }
    __atomic_store_n(&w->header->head, head, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&w->lock);
}

void ring_writer_beat(struct ring_writer *w, int64_t until, int64_t now)
{
    if (!w->header)
        return;
    __atomic_store_n(&w->header->alive_ns, (uint64_t)now, __ATOMIC_RELAXED);
    if (until < (int64_t)w->header->beat_ns)
        return;
    __atomic_store_n(&w->header->beat_ns, (uint64_t)until, __ATOMIC_RELEASE);
}

void ring_writer_abandon(struct ring_writer *w)
{
    if (w->fd >= 0)
        close(w->fd); /* a child holds no POSIX lock: the parent's stays */
    w->fd = -1;
    w->header = NULL;
    w->records = NULL;
    pthread_mutex_init(&w->lock, NULL);
}
