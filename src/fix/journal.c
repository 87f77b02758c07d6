/* SPDX-License-Identifier: MIT */
#include "fix/journal.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "gpufeed.fix/1\n"
#define BYTES_MAX (16 * MIB)
#define COLUMNS 8

static const char *const events[JOURNAL_EVENTS] = {"begin", "done", "failed", "undone", "left"};

static int event_of(const char *word)
{
    for (int i = 0; i < JOURNAL_EVENTS; i++)
        if (!strcmp(events[i], word))
            return i;
    return -1;
}

static struct journal_entry *entry_of(struct journal *j, unsigned number)
{
    for (size_t i = 0; i < j->count; i++)
        if (j->entries[i].number == number)
            return &j->entries[i];
    return NULL;
}

static int add(struct journal *j, const struct journal_entry *entry, struct error *e)
{
    if (!mem_grow((void **)&j->entries, &j->cap, j->count + 1, sizeof(*j->entries)))
        return error_set(e, STATUS_MEMORY, "out of memory");
    j->entries[j->count++] = *entry;
    return STATUS_OK;
}

/* A line that is not whole or not ours is an error: what it stands for could not be undone. */
static int read_line(struct journal *j, char *line, struct error *e)
{
    char *column[COLUMNS] = {0}, *p = line, *end;
    int n = 0;
    while (p && n < COLUMNS)
        column[n++] = strsep(&p, "\t");
    int event = n == COLUMNS && !p ? event_of(column[2]) : -1;
    unsigned long number = event < 0 ? 0 : strtoul(column[1], &end, 10);
    struct journal_entry *old = event < 0 ? NULL : entry_of(j, (unsigned)number);
    if (event < 0 || *end || !number || number > UINT_MAX || (event == JOURNAL_BEGIN) == !!old)
        return error_set(e, STATUS_INPUT, "\"%s\" is no journal of gpufeed, or a damaged one",
                         j->path);
    if (old) {
        old->event = (enum journal_event)event;
        return STATUS_OK;
    }
    struct journal_entry x = {.number = (unsigned)number, .event = JOURNAL_BEGIN};
    if (!str_copy(x.knob, sizeof(x.knob), column[3]) ||
        !str_copy(x.target, sizeof(x.target), column[4]) ||
        !str_copy(x.before, sizeof(x.before), column[5]) ||
        !str_copy(x.after, sizeof(x.after), column[6]))
        return error_set(e, STATUS_INPUT, "\"%s\" is no journal of gpufeed, or a damaged one",
                         j->path);
    str_copy(x.finding, sizeof(x.finding), column[7]);
    return add(j, &x, e);
}

static int read_lines(struct journal *j, char *text, struct error *e)
{
    int status = STATUS_OK;
    if (*text && strncmp(text, HEAD, strlen(HEAD)))
        return error_set(e, STATUS_INPUT, "\"%s\" is no journal of gpufeed", j->path);
    for (char *p = *text ? text + strlen(HEAD) : text, *newline;
         !status && (newline = strchr(p, '\n')); p = newline + 1) {
        *newline = '\0';
        if (*p)
            status = read_line(j, p, e);
    }
    return status;
}

static int put(struct journal *j, const char *text, size_t n, struct error *e)
{
    ssize_t done = write(j->fd, text, n);
    if (done != (ssize_t)n) {
        if (done >= 0)
            errno = ENOSPC;
        return error_errno(e, "cannot write the journal \"%s\"", j->path);
    }
    return fsync(j->fd) ? error_errno(e, "cannot write the journal \"%s\"", j->path) : STATUS_OK;
}

/* What follows a line that a crash cut off begins a line of its own: the rest is taken away. */
static int mend(struct journal *j, const struct str *text, struct error *e)
{
    size_t whole = text->len;
    while (whole && text->data[whole - 1] != '\n')
        whole--;
    if (whole < text->len && ftruncate(j->fd, (off_t)whole))
        return error_errno(e, "cannot write the journal \"%s\"", j->path);
    return whole ? STATUS_OK : put(j, HEAD, strlen(HEAD), e);
}

/* Makes the folder of the file durable too: a new name lives in it. */
static int open_file(struct journal *j, bool make, struct error *e)
{
    char copy[PATH_MAX];
    const char *folder;
    if (!str_copy(copy, sizeof(copy), j->path))
        return error_set(e, STATUS_INPUT, "the name of the journal is too long");
    folder = dirname(copy);
    if (make && mkdir(folder, 0755) && errno != EEXIST)
        return error_errno(e, "cannot make \"%s\" for the journal", folder);
    j->fd = open(j->path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0), 0600);
    if (j->fd < 0 && errno == ENOENT && !make)
        return error_set(e, STATUS_MISSING,
                         "there is no journal \"%s\": nothing was changed that it would hold",
                         j->path);
    if (j->fd < 0)
        return error_errno(e, "cannot open the journal \"%s\"", j->path);
    if (flock(j->fd, LOCK_EX | LOCK_NB))
        return error_set(e, STATUS_SYSTEM, "another gpufeed holds the journal \"%s\"", j->path);
    int dir = make ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (dir >= 0) {
        fsync(dir);
        close(dir);
    }
    return STATUS_OK;
}

static int read_file(struct journal *j, struct str *text, struct error *e)
{
    char buf[8192];
    ssize_t n;
    struct stat st;
    if (fstat(j->fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > BYTES_MAX)
        return error_set(e, STATUS_INPUT, "\"%s\" is no journal of gpufeed", j->path);
    str_add(text, "");
    while ((n = read(j->fd, buf, sizeof(buf))) > 0)
        str_addn(text, buf, (size_t)n);
    if (n < 0)
        return error_errno(e, "cannot read the journal \"%s\"", j->path);
    if (text->failed)
        return error_set(e, STATUS_MEMORY, "out of memory");
    return memchr(text->data, '\0', text->len)
               ? error_set(e, STATUS_INPUT, "\"%s\" is no journal of gpufeed", j->path)
               : STATUS_OK;
}

int journal_open(const char *path, bool make, struct journal *ret, struct error *e)
{
    struct journal j = {.fd = -1, .path = mem_strdup(path)};
    struct str text = {0};
    int status = j.path ? open_file(&j, make, e) : error_set(e, STATUS_MEMORY, "out of memory");
    if (!status)
        status = read_file(&j, &text, e);
    if (!status && text.len &&
        (text.len < strlen(HEAD) ? strncmp(HEAD, text.data, text.len)
                                 : strncmp(HEAD, text.data, strlen(HEAD))))
        status = error_set(e, STATUS_INPUT, "\"%s\" is no journal of gpufeed", path);
    if (!status)
        status = mend(&j, &text, e);
    if (!status && text.len >= strlen(HEAD))
        status = read_lines(&j, text.data, e);
    str_clear(&text);
    if (status) {
        journal_close(&j);
        return status;
    }
    *ret = j;
    return STATUS_OK;
}

static int write_line(struct journal *j, const struct journal_entry *x, enum journal_event event,
                      int64_t unix_ns, struct error *e)
{
    struct str line = {0};
    str_addf(&line, "%.3f\t%u\t%s\t%s\t%s\t%s\t%s\t%s\n", unit_seconds(unix_ns), x->number,
             events[event], x->knob, x->target, x->before, x->after, x->finding);
    int status =
        line.failed ? error_set(e, STATUS_MEMORY, "out of memory") : put(j, line.data, line.len, e);
    str_clear(&line);
    return status;
}

int journal_begin(struct journal *j, struct journal_entry *entry, int64_t unix_ns, struct error *e)
{
    entry->number = 1;
    entry->event = JOURNAL_BEGIN;
    for (size_t i = 0; i < j->count; i++)
        if (j->entries[i].number >= entry->number)
            entry->number = j->entries[i].number + 1;
    int status = write_line(j, entry, JOURNAL_BEGIN, unix_ns, e);
    return status ? status : add(j, entry, e);
}

int journal_event(struct journal *j, unsigned number, enum journal_event event, int64_t unix_ns,
                  struct error *e)
{
    struct journal_entry *x = entry_of(j, number);
    int status = write_line(j, x, event, unix_ns, e);
    if (!status)
        x->event = event;
    return status;
}

void journal_close(struct journal *j)
{
    if (j->fd >= 0)
        close(j->fd);
    free(j->path);
    free(j->entries);
    *j = (struct journal){.fd = -1};
}
