/* SPDX-License-Identifier: MIT */
/*
 * value: a small document (JSON, or a pickle of plain data) as a tree. Internal to the room.
 *
 * For dumps of some megabytes, not for traces. Nodes and texts live in `struct values` and go with it. Its size is
 * bounded: a document that needs more is refused by whoever builds it.
 */
#ifndef GPUFEED_IMPORT_VALUE_H
#define GPUFEED_IMPORT_VALUE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_kind {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_NUMBER,
    VALUE_TEXT,
    VALUE_LIST,
    VALUE_DICT
};

struct value {
    uint8_t kind;        /* enum value_kind */
    uint8_t mark;        /* for the builder */
    uint32_t count, cap; /* of items; of a dict: keys and values alternate */
    union {
        int64_t integer; /* also of a bool */
        double number;
        const char *text; /* NUL-terminated */
        struct value **items;
    };
};

#define VALUES_BYTES_MAX ((size_t)768 << 20)
#define VALUES_DEPTH_MAX 64

/* Zero-initialised is empty. */
struct values {
    void *chunk; /* owned, linked */
    size_t used, size, total;
    bool full; /* beyond VALUES_BYTES_MAX or out of memory */
};
void values_clear(struct values *v);
/* Forgets all values; keeps some memory for the next. */
void values_reset(struct values *v);

/* NULL: full. */
struct value *value_new(struct values *v, enum value_kind kind);
const char *value_copy(struct values *v, const char *text, size_t len);
bool value_add(struct values *v, struct value *list, struct value *item);

/* All take NULL and other kinds, and then answer NULL, `otherwise` or 0. */
const struct value *value_get(const struct value *dict, const char *key);
const struct value *value_at(const struct value *list, size_t i);
size_t value_count(const struct value *list);
const char *value_text(const struct value *v, const char *otherwise);
int64_t value_int(const struct value *v, int64_t otherwise);
double value_number(const struct value *v, double otherwise);
bool value_true(const struct value *v);

struct source;
/* All of the source is one JSON value. A status, with e filled: it is not, or it is too large. */
int value_read(struct values *v, struct source *source, const struct value **ret, struct error *e);
/* A text that is one JSON value; NULL: it is not, or it is too large. */
const struct value *value_parse(struct values *v, const char *text, size_t len);

#endif
