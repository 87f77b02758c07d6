/* SPDX-License-Identifier: MIT */
/*
 * schema: the tables and views of a recording (doc/recording.md), as the writer
 * makes them and as the reader demands to find them, byte for byte.
 *
 * RECORD_VERSION is stored as user_version. It goes up whenever a table or view
 * changes; an object's SQL text is part of the format. Formats from RECORD_OLDEST on are read:
 * the reader makes its views anew from this text, never from the file's.
 */
#ifndef GPUFEED_RECORD_SCHEMA_H
#define GPUFEED_RECORD_SCHEMA_H

#include <stddef.h>

#define RECORD_APPLICATION_ID 0x67706664 /* "gpfd" */
#define RECORD_VERSION 2
#define RECORD_OLDEST 1

struct schema_object {
    const char *type; /* "table" or "view" */
    const char *name;
    const char *sql;
};

extern const struct schema_object schema_objects[];
extern const size_t schema_object_count;

/* The SQL text of an object in a format from RECORD_OLDEST to RECORD_VERSION. */
const char *schema_sql(const struct schema_object *o, int version);

/* Views for the rules of check alone, made when these run; they may use one another, in order. */
extern const struct schema_object rule_views[];
extern const size_t rule_view_count;
/* Views for the rules of report alone, made beside those of the recording. */
extern const struct schema_object report_views[];
extern const size_t report_view_count;

#endif
