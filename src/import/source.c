/* SPDX-License-Identifier: MIT */
#include "import/source.h"

#include "base/mem.h"
#include "base/str.h"
#include "import/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct source {
    char *path;
    int fd; /* -1: `inflate` has it */
    struct inflate *inflate;
    char *block;      /* owned; of a plain file */
    const char *head; /* read ahead, not yet taken; NULL none */
    size_t head_size;
    uint64_t offset, next; /* of what was handed out last, and of what comes after it */
    bool ended;
    /* lines: */
    const char *rest; /* of the block at hand */
    size_t rest_size;
    struct str line;
    uint64_t line_number;
};

/* Fills the block as far as the file goes. */
static int read_block(struct source *s, const char **bytes, size_t *size, struct error *e)
{
    *size = 0;
    *bytes = s->block;
    while (*size < SOURCE_BLOCK) {
        ssize_t n = read(s->fd, s->block + *size, SOURCE_BLOCK - *size);
        if (n == 0)
            break;
        if (n > 0)
            *size += (size_t)n;
        else if (errno != EINTR)
            return error_errno(e, "\"%s\": cannot read it", s->path);
    }
    return STATUS_OK;
}

static int more(struct source *s, const char **bytes, size_t *size, struct error *e)
{
    return s->inflate ? inflate_next(s->inflate, bytes, size, e) : read_block(s, bytes, size, e);
}

static int look(struct source *s, struct error *e)
{
    struct stat st;
    unsigned char head[3];
    s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO does not hold us up */
    if (s->fd < 0 || fstat(s->fd, &st))
        return error_errno(e, "cannot read \"%s\"", s->path);
    if (S_ISDIR(st.st_mode))
        return error_set(e, STATUS_INPUT,
                         "\"%s\" is a folder, not a file: give the files in it, as in %s/*",
                         s->path, s->path);
    if (!S_ISREG(st.st_mode))
        return error_set(e, STATUS_INPUT, "\"%s\" is no regular file", s->path);
    ssize_t n = pread(s->fd, head, sizeof(head), 0);
    if (n > 0 && inflate_recognise(head, (size_t)n)) {
        int status = inflate_start(s->fd, s->path, &s->inflate, e);
        if (!status)
            s->fd = -1;
        return status;
    }
    if (!(s->block = malloc(SOURCE_BLOCK)))
        return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", s->path);
    return STATUS_OK;
}

static struct source *new_source(const char *path, struct error *e)
{
    struct source *s = mem_zalloc(sizeof(*s));
    if (!s || !(s->path = mem_strdup(path))) {
        free(s);
        error_set(e, STATUS_MEMORY, "\"%s\": out of memory", path);
        return NULL;
    }
    s->fd = -1;
    return s;
}

int source_open(const char *path, struct source **ret, struct error *e)
{
    struct source *s = new_source(path, e);
    if (!s)
        return STATUS_MEMORY;
    int status = look(s, e);
    if (status)
        source_close(s);
    else
        *ret = s;
    return status;
}

int source_of_bytes(const char *name, const char *bytes, size_t size, struct source **ret,
                    struct error *e)
{
    struct source *s = new_source(name, e);
    if (!s)
        return STATUS_MEMORY;
    s->head = bytes;
    s->head_size = size;
    s->ended = true; /* nothing comes after the head */
    *ret = s;
    return STATUS_OK;
}

void source_close(struct source *s)
{
    if (!s)
        return;
    inflate_stop(s->inflate);
    if (s->fd >= 0)
        close(s->fd);
    str_clear(&s->line);
    free(s->block);
    free(s->path);
    free(s);
}

const char *source_path(const struct source *s)
{
    return s->path;
}

bool source_packed(const struct source *s)
{
    return s->inflate != NULL;
}

int source_head(struct source *s, const char **bytes, size_t *size, struct error *e)
{
    if (!s->head) {
        int status = more(s, &s->head, &s->head_size, e);
        if (status)
            return status;
    }
    *bytes = s->head_size ? s->head : "";
    *size = s->head_size;
    return STATUS_OK;
}

int source_next(struct source *s, const char **bytes, size_t *size, struct error *e)
{
    int status = STATUS_OK;
    if (s->head) {
        *bytes = s->head;
        *size = s->head_size;
        s->head = NULL;
    } else if (s->ended) {
        *size = 0;
    } else {
        status = more(s, bytes, size, e);
    }
    if (status)
        return status;
    s->ended |= !*size;
    s->offset = s->next;
    s->next += *size;
    return STATUS_OK;
}

/* Takes what of the line lies in the block at hand; true: its end was there. */
static bool take_line(struct source *s)
{
    const char *end = memchr(s->rest, '\n', s->rest_size);
    size_t n = end ? (size_t)(end - s->rest) : s->rest_size;
    str_addn(&s->line, s->rest, n);
    n += end != NULL;
    s->rest += n;
    s->rest_size -= n;
    return end != NULL;
}

int source_line(struct source *s, char **line, size_t *len, struct error *e)
{
    bool whole = false, any = false;
    uint64_t begin = s->next - s->rest_size;
    *line = NULL;
    *len = 0;
    str_reset(&s->line);
    while (!whole && !s->line.failed) {
        if (!s->rest_size) {
            int status = source_next(s, &s->rest, &s->rest_size, e);
            if (status)
                return status;
            if (!s->rest_size)
                break;
        }
        any = true;
        whole = take_line(s);
        if (s->line.len > SOURCE_LINE_MAX)
            return error_set(e, STATUS_INPUT, "\"%s\": a line of more than %zu MiB at byte %llu",
                             s->path, SOURCE_LINE_MAX >> 20, (unsigned long long)begin);
    }
    if (s->line.failed)
        return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", s->path);
    s->offset = begin;
    if (!any)
        return STATUS_OK;
    s->line_number++;
    if (s->line.len && s->line.data[s->line.len - 1] == '\r')
        s->line.data[--s->line.len] = '\0';
    *line = s->line.data;
    *len = s->line.len;
    return STATUS_OK;
}

uint64_t source_offset(const struct source *s)
{
    return s->offset;
}

uint64_t source_line_number(const struct source *s)
{
    return s->line_number;
}
