/* SPDX-License-Identifier: MIT */
#include "record/image.h"

#include "base/mem.h"
#include "base/str.h"
#include "record/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* https://www.sqlite.org/fileformat2.html, sections 1.3 and 4 */
#define HEADER_BYTES 100
#define AT_PAGE_SIZE 16
#define AT_WRITE_VERSION 18
#define AT_PAGE_COUNT 28
#define AT_USER_VERSION 60
#define AT_APPLICATION_ID 68
#define WAL_MAGIC 0x377f0682u /* | 1: checksums of big-endian words */
#define WAL_VERSION 3007000u
#define WAL_HEADER_BYTES 32
#define WAL_FRAME_BYTES 24
#define PAGE_MIN 512
#define PAGE_MAX 65536
#define TRIES 5 /* a live writer may empty its log while it is read */

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t get32_little(const unsigned char *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* Reads until the end of the buffer or of the file. */
static ssize_t read_all(int fd, unsigned char *to, size_t n, off_t at)
{
    size_t got = 0;
    while (got < n) {
        ssize_t k = pread(fd, to + got, n - got, at + (off_t)got);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return -1;
        if (k == 0)
            break;
        got += (size_t)k;
    }
    return (ssize_t)got;
}

static size_t page_size_of(const unsigned char *header)
{
    size_t n = (size_t)header[AT_PAGE_SIZE] << 8 | header[AT_PAGE_SIZE + 1];
    n = n == 1 ? PAGE_MAX : n;
    return n >= PAGE_MIN && n <= PAGE_MAX && !(n & (n - 1)) ? n : 0;
}

static int check_header(const char *path, const unsigned char *h, size_t n, struct error *e)
{
    if (n == 0)
        return error_set(e, STATUS_INPUT, "\"%s\" is empty, not a recording", path);
    if (n < HEADER_BYTES || memcmp(h, "SQLite format 3", 16) || !page_size_of(h))
        return error_set(e, STATUS_INPUT,
                         "\"%s\" is not a gpufeed recording (no SQLite header at offset 0)", path);
    if (get32(h + AT_APPLICATION_ID) != RECORD_APPLICATION_ID)
        return error_set(e, STATUS_INPUT,
                         "\"%s\" is an SQLite database but not a gpufeed recording (application id "
                         "0x%08x at offset %d)",
                         path, get32(h + AT_APPLICATION_ID), AT_APPLICATION_ID);
    uint32_t version = get32(h + AT_USER_VERSION);
    if (version < RECORD_OLDEST || version > RECORD_VERSION)
        return error_set(e, STATUS_INPUT,
                         "\"%s\" is a recording of format %u (offset %d); this gpufeed reads "
                         "formats %d to %d",
                         path, version, AT_USER_VERSION, RECORD_OLDEST, RECORD_VERSION);
    return STATUS_OK;
}

static int check_size(const char *path, const unsigned char *h, uint64_t size, struct error *e)
{
    uint64_t want = (uint64_t)get32(h + AT_PAGE_COUNT) * page_size_of(h);
    if (size < want)
        return error_set(e, STATUS_INPUT, "\"%s\" is truncated: it ends at offset %llu of %llu",
                         path, (unsigned long long)size, (unsigned long long)want);
    return STATUS_OK;
}

/* The log's running checksum over n bytes (a multiple of 8). */
static void checksum(bool big, const unsigned char *p, size_t n, uint32_t sum[2])
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        sum[0] += (big ? get32(p + i) : get32_little(p + i)) + sum[1];
        sum[1] += (big ? get32(p + i + 4) : get32_little(p + i + 4)) + sum[0];
    }
}

struct wal {
    const unsigned char *bytes;
    size_t size, page;
    size_t frames;       /* whole frames up to the last commit */
    uint32_t page_count; /* of the database after that commit */
};

/* Counts the frames that belong to a finished transaction; 0 for a log that holds none. */
static void wal_scan(struct wal *w)
{
    const unsigned char *h = w->bytes;
    uint32_t sum[2] = {0, 0};
    w->frames = 0;
    if (w->size < WAL_HEADER_BYTES || (get32(h) & ~1u) != WAL_MAGIC ||
        get32(h + 4) != WAL_VERSION || get32(h + 8) != w->page)
        return;
    bool big = get32(h) & 1;
    checksum(big, h, 24, sum);
    if (sum[0] != get32(h + 24) || sum[1] != get32(h + 28))
        return;
    size_t step = WAL_FRAME_BYTES + w->page;
    for (size_t i = 0; WAL_HEADER_BYTES + (i + 1) * step <= w->size; i++) {
        const unsigned char *f = h + WAL_HEADER_BYTES + i * step;
        if (memcmp(f + 8, h + 16, 8) || !get32(f))
            return; /* another round of the log: what follows is old */
        checksum(big, f, 8, sum);
        checksum(big, f + WAL_FRAME_BYTES, w->page, sum);
        if (sum[0] != get32(f + 16) || sum[1] != get32(f + 20))
            return;
        if (get32(f + 4)) {
            w->frames = i + 1;
            w->page_count = get32(f + 4);
        }
    }
}

static int merge(const char *path, struct image *image, const struct wal *w, struct error *e)
{
    uint64_t size = (uint64_t)w->page_count * w->page;
    if (size > IMAGE_BYTES_MAX || size > image->size + w->size)
        return error_set(e, STATUS_INPUT, "\"%s-wal\" claims %llu bytes that are not there", path,
                         (unsigned long long)size);
    if (size > image->size) {
        unsigned char *grown = realloc(image->bytes, size);
        if (!grown)
            return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", path);
        memset(grown + image->size, 0, size - image->size);
        image->bytes = grown;
    }
    image->size = size;
    for (size_t i = 0; i < w->frames; i++) {
        const unsigned char *f = w->bytes + WAL_HEADER_BYTES + i * (WAL_FRAME_BYTES + w->page);
        uint64_t at = (uint64_t)(get32(f) - 1) * w->page;
        if (at + w->page <= size)
            memcpy(image->bytes + at, f + WAL_FRAME_BYTES, w->page);
    }
    return STATUS_OK;
}

/* A whole file into memory; absent: size 0. */
static int slurp(const char *path, struct image *ret, struct error *e)
{
    struct stat st;
    int status = STATUS_OK;
    *ret = (struct image){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? STATUS_OK : error_errno(e, "cannot read \"%s\"", path);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > IMAGE_BYTES_MAX) {
        status = error_set(e, STATUS_INPUT, "\"%s\" is too large or no plain file", path);
    } else if (st.st_size) {
        ssize_t n = -1;
        ret->bytes = mem_zalloc((size_t)st.st_size);
        if (!ret->bytes)
            status = error_set(e, STATUS_MEMORY, "\"%s\": out of memory", path);
        else if ((n = read_all(fd, ret->bytes, (size_t)st.st_size, 0)) < 0)
            status = error_errno(e, "cannot read \"%s\"", path);
        ret->size = n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return status;
}

/* True if the log still starts with the header that was read from it. */
static bool same_log(const char *wal_path, const struct image *wal)
{
    unsigned char head[WAL_HEADER_BYTES];
    int fd = open(wal_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t n = read_all(fd, head, sizeof(head), 0);
    close(fd);
    return n == sizeof(head) && wal->size >= sizeof(head) &&
           !memcmp(head, wal->bytes, sizeof(head));
}

static int load_merged(const char *path, const char *wal_path, struct image *ret, struct error *e)
{
    struct image wal = {0};
    int status = STATUS_OK;
    for (int i = 0; i < TRIES; i++) {
        image_clear(ret);
        image_clear(&wal);
        if ((status = slurp(wal_path, &wal, e)) || (status = slurp(path, ret, e)))
            break;
        if (!wal.size || same_log(wal_path, &wal))
            break;
    }
    if (!status)
        status = check_header(path, ret->bytes, ret->size, e);
    if (!status) {
        struct wal w = {.bytes = wal.bytes, .size = wal.size, .page = page_size_of(ret->bytes)};
        wal_scan(&w);
        status = w.frames ? merge(path, ret, &w, e) : STATUS_OK;
    }
    if (!status) {
        ret->bytes[AT_WRITE_VERSION] = ret->bytes[AT_WRITE_VERSION + 1] = 1; /* no log any more */
        status = check_header(path, ret->bytes, ret->size, e);
    }
    if (!status)
        status = check_size(path, ret->bytes, ret->size, e);
    image_clear(&wal);
    return status;
}

/* A writer holds its recording under SQLite's exclusive lock until it ends, however it ends. */
static bool is_written(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

static int check_file(const char *path, bool has_log, bool *written, struct error *e)
{
    unsigned char head[HEADER_BYTES];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        int status = error_errno(e, "cannot read \"%s\"", path);
        return status;
    }
    int status = STATUS_OK;
    ssize_t n = 0;
    if (fstat(fd, &st))
        status = error_errno(e, "cannot read \"%s\"", path);
    else if (!S_ISREG(st.st_mode))
        status = error_set(e, STATUS_INPUT, "\"%s\" is no file that can hold a recording", path);
    else if ((n = read_all(fd, head, sizeof(head), 0)) < 0)
        status = error_errno(e, "cannot read \"%s\"", path);
    *written = is_written(fd);
    close(fd);
    if (!status)
        status = check_header(path, head, (size_t)n, e);
    return status || has_log ? status : check_size(path, head, (uint64_t)st.st_size, e);
}

int image_load(const char *path, struct image *ret, struct error *e)
{
    struct str wal_path = {0};
    struct image image = {0};
    struct stat st;
    str_addf(&wal_path, "%s-wal", path);
    if (wal_path.failed) {
        str_clear(&wal_path);
        return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", path);
    }
    bool has_log = stat(str_text(&wal_path), &st) == 0 && S_ISREG(st.st_mode) && st.st_size;
    bool written = false;
    int status = check_file(path, has_log, &written, e);
    if (!status && has_log)
        status = load_merged(path, str_text(&wal_path), &image, e);
    image.written = written;
    str_clear(&wal_path);
    if (status) {
        image_clear(&image);
        return status;
    }
    *ret = image;
    return STATUS_OK;
}

void image_clear(struct image *image)
{
    free(image->bytes);
    *image = (struct image){0};
}
