/* SPDX-License-Identifier: MIT */
#include "record/db.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

static enum status status_of_system(sqlite3 *db)
{
    switch (sqlite3_system_errno(db)) {
    case ENOSPC:
    case EDQUOT:
        return STATUS_FULL;
    case EACCES:
    case EPERM:
    case EROFS:
        return STATUS_DENIED;
    case ENOENT:
    case ENOTDIR:
        return STATUS_MISSING;
    default:
        return STATUS_SYSTEM;
    }
}

enum status db_status(sqlite3 *db)
{
    if (!db)
        return STATUS_MEMORY;
    switch (sqlite3_errcode(db) & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return STATUS_OK;
    case SQLITE_FULL:
        return STATUS_FULL;
    case SQLITE_NOMEM:
        return STATUS_MEMORY;
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return STATUS_DENIED;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:
    case SQLITE_TOOBIG:
    case SQLITE_AUTH:
    case SQLITE_INTERRUPT:
        return STATUS_INPUT;
    default:
        return status_of_system(db);
    }
}

char *db_message(sqlite3 *db, char *buf, size_t size)
{
    str_copy(buf, size, sqlite3_errmsg(db));
    for (char *p = buf; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = ' ';
    return buf;
}

int db_error(sqlite3 *db, struct error *e, const char *path, const char *doing)
{
    char message[256];
    enum status status = db_status(db);
    int err = db ? sqlite3_system_errno(db) : 0;
    if (status == STATUS_OK)
        status = STATUS_SYSTEM;
    if (status == STATUS_FULL)
        return error_set(e, status, "\"%s\": no space left %s", path, doing);
    if (status == STATUS_MEMORY)
        return error_set(e, status, "\"%s\": out of memory %s", path, doing);
    return error_set(e, status, "\"%s\": failed %s: %s%s%s", path, doing,
                     db_message(db, message, sizeof(message)), err ? ": " : "",
                     err ? strerror(err) : "");
}

char *db_text(sqlite3_stmt *stmt, int column, int *failed)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    if (!text) {
        if (sqlite3_column_type(stmt, column) != SQLITE_NULL)
            *failed = 1;
        return NULL;
    }
    char *copy = mem_strdup(text);
    if (!copy)
        *failed = 1;
    return copy;
}

void db_finalize_at(sqlite3_stmt **stmt)
{
    sqlite3_finalize(*stmt);
}
