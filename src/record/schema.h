/* SPDX-License-Identifier: MIT */
/*
 * schema: the tables and views of a recording (doc/recording.md), as the writer
 * makes them and as the reader demands to find them, byte for byte.
 *
 * RECORD_VERSION is stored as user_version. It goes up whenever a table or view
 * changes; an object's SQL text is part of the format.
 */
#ifndef GPUFEED_RECORD_SCHEMA_H
#define GPUFEED_RECORD_SCHEMA_H

#include <stddef.h>

#define RECORD_APPLICATION_ID 0x67706664 /* "gpfd" */
#define RECORD_VERSION 1

struct schema_object {
    const char *type; /* "table" or "view" */
    const char *name;
    const char *sql;
};

extern const struct schema_object schema_objects[];
extern const size_t schema_object_count;

/* Views for the rules of check alone, made when these run; they may use one another, in order. */
extern const struct schema_object rule_views[];
extern const size_t rule_view_count;

#endif
