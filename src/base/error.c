/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *e, enum status status, const char *fmt, ...)
{
    if (e) {
        va_list ap;
        va_start(ap, fmt);
        e->status = status;
        vsnprintf(e->text, sizeof(e->text), fmt, ap);
        va_end(ap);
    }
    return status;
}

static enum status status_of_errno(int err)
{
    switch (err) {
    case EACCES:
    case EPERM:
        return STATUS_DENIED;
    case ENOENT:
        return STATUS_MISSING;
    case ENOSPC:
    case EDQUOT:
        return STATUS_FULL;
    case ENOMEM:
        return STATUS_MEMORY;
    default:
        return STATUS_SYSTEM;
    }
}

int error_errno(struct error *e, const char *fmt, ...)
{
    int saved = errno;
    enum status status = status_of_errno(saved);
    if (e) {
        va_list ap;
        va_start(ap, fmt);
        e->status = status;
        vsnprintf(e->text, sizeof(e->text), fmt, ap);
        va_end(ap);
        size_t n = strlen(e->text);
        snprintf(e->text + n, sizeof(e->text) - n, ": %s", strerror(saved));
    }
    errno = saved;
    return status;
}

int error_while(struct error *e, const char *fmt, ...)
{
    if (!e)
        return STATUS_SYSTEM;
    size_t n = strlen(e->text);
    if (n + 12 < sizeof(e->text)) {
        va_list ap;
        n += (size_t)snprintf(e->text + n, sizeof(e->text) - n, " (while ");
        va_start(ap, fmt);
        vsnprintf(e->text + n, sizeof(e->text) - n - 1, fmt, ap);
        va_end(ap);
        n = strlen(e->text);
        snprintf(e->text + n, sizeof(e->text) - n, ")");
    }
    return e->status;
}
