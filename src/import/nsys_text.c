/* SPDX-License-Identifier: MIT */
#include "import/nsys.h"

int nsys_text_open(struct nsys *n)
{
    bool there;
    int status = nsys_is_table(n, "StringIds", &there);
    if (status || !there)
        return status;
    if (sqlite3_prepare_v2(n->db, "SELECT value FROM StringIds WHERE id = ?", -1, &n->text, NULL))
        sink_note(n->sink, "table StringIds lacks id or value: names are not known");
    return STATUS_OK;
}

const char *nsys_text(struct nsys *n, int64_t id)
{
    if (!n->text || n->error->status)
        return "";
    sqlite3_reset(n->text);
    sqlite3_bind_int64(n->text, 1, id);
    if (nsys_step(n, n->text, "StringIds") != SQLITE_ROW ||
        sqlite3_column_type(n->text, 0) != SQLITE_TEXT)
        return "";
    return (const char *)sqlite3_column_text(n->text, 0);
}

const char *nsys_text_at(struct nsys *n, const struct nsys_table *t, enum nsys_column text,
                         enum nsys_column id)
{
    int64_t number;
    const char *s = nsys_string(t, text);
    if (s)
        return s;
    return nsys_integer(n, t, id, &number) ? nsys_text(n, number) : "";
}
