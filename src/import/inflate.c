/* SPDX-License-Identifier: MIT */
#include "import/inflate.h"

#include "base/mem.h"
#include "import/source.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* One is read, the others are filled ahead: enough that neither thread waits for the scheduler. A thread that
 * found them all full goes on when half of them are free. */
#define BLOCKS 16
#define INPUT ((size_t)64 << 10)

struct inflate {
    int fd;
    const char *path;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock: */
    size_t filled, taken; /* blocks so far; the reader holds block taken - 1 */
    bool ended, stop;
    struct error error; /* why it ended; STATUS_OK: the file did */
    /* a block belongs to the thread until it is counted in `filled`, then to the reader: */
    size_t size[BLOCKS];
    /* of the thread alone: */
    z_stream z;
    uint64_t out; /* bytes inflated so far */
    unsigned char input[INPUT];
    char block[BLOCKS][SOURCE_BLOCK];
};

bool inflate_recognise(const unsigned char *head, size_t size)
{
    return size >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8;
}

/* More input; false: the file ends or cannot be read. */
static bool refill(struct inflate *f)
{
    ssize_t n;
    do
        n = read(f->fd, f->input, sizeof(f->input));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        error_errno(&f->error, "\"%s\": cannot read it", f->path);
    f->z.next_in = f->input;
    f->z.avail_in = n > 0 ? (uInt)n : 0;
    return n > 0;
}

/* After the end of a member: another one, padding of zeros or the file's end. */
static bool next_member(struct inflate *f)
{
    do {
        while (f->z.avail_in && !*f->z.next_in) {
            f->z.next_in++;
            f->z.avail_in--;
        }
    } while (!f->z.avail_in && refill(f));
    if (!f->z.avail_in)
        return false;
    if (*f->z.next_in == 0x1f)
        return inflateReset(&f->z) == Z_OK;
    error_set(&f->error, STATUS_INPUT,
              "\"%s\": rubbish after the end of the gzip data, at byte %llu", f->path,
              (unsigned long long)f->out);
    return false;
}

static bool bad_data(struct inflate *f, const char *what)
{
    error_set(&f->error, STATUS_INPUT, "\"%s\": the gzip data %s, at byte %llu of what it holds",
              f->path, what, (unsigned long long)f->out);
    return false;
}

/* Inflates until the block is full; false: this was the last one. */
static bool fill(struct inflate *f, char *block, size_t *size)
{
    bool more = true;
    f->z.next_out = (Bytef *)block;
    f->z.avail_out = SOURCE_BLOCK;
    while (more && f->z.avail_out) {
        if (!f->z.avail_in && !refill(f)) {
            more = f->error.status ? false : bad_data(f, "end too early");
            break;
        }
        uInt before = f->z.avail_out;
        int rc = inflate(&f->z, Z_NO_FLUSH);
        f->out += before - f->z.avail_out;
        if (rc == Z_STREAM_END)
            more = next_member(f);
        else if (rc == Z_MEM_ERROR)
            more =
                error_set(&f->error, STATUS_MEMORY, "\"%s\": out of memory", f->path) == STATUS_OK;
        else if (rc != Z_OK && rc != Z_BUF_ERROR)
            more = bad_data(f, "are damaged");
    }
    *size = SOURCE_BLOCK - f->z.avail_out;
    return more;
}

static void *run(void *arg)
{
    struct inflate *f = arg;
    bool more = true;
    while (more) {
        pthread_mutex_lock(&f->lock);
        if (f->filled - f->taken >= BLOCKS - 1)
            while (!f->stop && f->filled - f->taken > BLOCKS / 2)
                pthread_cond_wait(&f->changed, &f->lock);
        size_t at = f->filled % BLOCKS;
        bool stop = f->stop;
        pthread_mutex_unlock(&f->lock);
        if (stop)
            break;
        size_t size;
        more = fill(f, f->block[at], &size);
        pthread_mutex_lock(&f->lock);
        f->size[at] = size;
        f->filled += size > 0;
        f->ended = !more;
        pthread_cond_signal(&f->changed);
        pthread_mutex_unlock(&f->lock);
    }
    return NULL;
}

int inflate_start(int fd, const char *path, struct inflate **ret, struct error *e)
{
    struct inflate *f = mem_zalloc(sizeof(*f));
    if (!f || inflateInit2(&f->z, 15 + 16) != Z_OK) {
        free(f);
        return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", path);
    }
    f->fd = fd;
    f->path = path;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    int rc = pthread_create(&f->thread, NULL, run, f);
    if (!rc) {
        *ret = f;
        return STATUS_OK;
    }
    inflateEnd(&f->z);
    free(f);
    errno = rc;
    return error_errno(e, "\"%s\": cannot start a thread to inflate it", path);
}

int inflate_next(struct inflate *f, const char **bytes, size_t *size, struct error *e)
{
    *size = 0;
    pthread_mutex_lock(&f->lock);
    while (f->filled == f->taken && !f->ended)
        pthread_cond_wait(&f->changed, &f->lock);
    if (f->filled > f->taken) {
        size_t at = f->taken++ % BLOCKS;
        *bytes = f->block[at];
        *size = f->size[at];
        if (f->filled - f->taken == BLOCKS / 2)
            pthread_cond_signal(&f->changed);
    }
    pthread_mutex_unlock(&f->lock);
    if (*size || !f->error.status)
        return STATUS_OK;
    return error_set(e, f->error.status, "%s", f->error.text);
}

void inflate_stop(struct inflate *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    inflateEnd(&f->z);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    close(f->fd);
    free(f);
}
