/* SPDX-License-Identifier: MIT */
#include "import/value.h"

#include "base/mem.h"
#include "import/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)64 << 10)

struct chunk {
    struct chunk *next;
    max_align_t bytes[];
};

static void *take(struct values *v, size_t bytes)
{
    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (v->full || bytes > VALUES_BYTES_MAX || v->total + bytes > VALUES_BYTES_MAX)
        v->full = true;
    if (!v->full && bytes > v->size - v->used) {
        size_t size = bytes > CHUNK ? bytes : CHUNK;
        struct chunk *c = mem_zalloc(sizeof(*c) + size);
        if (c) {
            c->next = v->chunk;
            v->chunk = c;
            v->used = 0;
            v->size = size;
            v->total += size;
        }
        v->full = !c;
    }
    if (v->full)
        return NULL;
    void *p = (char *)((struct chunk *)v->chunk)->bytes + v->used;
    v->used += bytes;
    return p;
}

void values_clear(struct values *v)
{
    for (struct chunk *c = v->chunk, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    *v = (struct values){0};
}

void values_reset(struct values *v)
{
    struct chunk *c = v->chunk;
    if (c && !c->next && v->size == CHUNK)
        v->used = 0;
    else
        values_clear(v);
}

struct value *value_new(struct values *v, enum value_kind kind)
{
    struct value *p = take(v, sizeof(*p));
    if (p)
        *p = (struct value){.kind = (uint8_t)kind};
    return p;
}

const char *value_copy(struct values *v, const char *text, size_t len)
{
    char *p = take(v, len + 1);
    if (!p)
        return NULL;
    memcpy(p, text, len);
    p[len] = '\0';
    return p;
}

bool value_add(struct values *v, struct value *list, struct value *item)
{
    if (!item)
        return false;
    if (list->count == list->cap) {
        uint32_t cap = list->cap ? list->cap * 2 : 4;
        struct value **items = list->cap < UINT32_MAX / 2 ? take(v, cap * sizeof(*items)) : NULL;
        if (!items)
            return false;
        if (list->count)
            memcpy(items, list->items, list->count * sizeof(*items));
        list->items = items;
        list->cap = cap;
    }
    list->items[list->count++] = item;
    return true;
}

const struct value *value_get(const struct value *dict, const char *key)
{
    for (uint32_t i = 0; dict && dict->kind == VALUE_DICT && i + 1 < dict->count; i += 2)
        if (dict->items[i]->kind == VALUE_TEXT && !strcmp(dict->items[i]->text, key))
            return dict->items[i + 1];
    return NULL;
}

const struct value *value_at(const struct value *list, size_t i)
{
    return i < value_count(list) ? list->items[i] : NULL;
}

size_t value_count(const struct value *list)
{
    return list && (list->kind == VALUE_LIST || list->kind == VALUE_DICT) ? list->count : 0;
}

const char *value_text(const struct value *v, const char *otherwise)
{
    return v && v->kind == VALUE_TEXT ? v->text : otherwise;
}

double value_number(const struct value *v, double otherwise)
{
    if (v && (v->kind == VALUE_INT || v->kind == VALUE_BOOL))
        return (double)v->integer;
    return v && v->kind == VALUE_NUMBER ? v->number : otherwise;
}

int64_t value_int(const struct value *v, int64_t otherwise)
{
    if (v && (v->kind == VALUE_INT || v->kind == VALUE_BOOL))
        return v->integer;
    if (v && v->kind == VALUE_NUMBER && v->number > -9e18 && v->number < 9e18)
        return (int64_t)v->number;
    if (v && v->kind == VALUE_TEXT && *v->text) { /* some writers quote numbers */
        char *end;
        long long n = strtoll(v->text, &end, 10);
        return *end ? otherwise : n;
    }
    return otherwise;
}

bool value_true(const struct value *v)
{
    return v && (v->kind == VALUE_BOOL || v->kind == VALUE_INT) && v->integer;
}

/* ---- from JSON ---- */

static struct value *scalar(struct values *v, struct scan *s, enum scan_token t)
{
    struct value *p = value_new(v, VALUE_NULL);
    if (!p || t == SCAN_NULL)
        return p;
    if (t == SCAN_TRUE || t == SCAN_FALSE) {
        p->kind = VALUE_BOOL;
        p->integer = t == SCAN_TRUE;
    } else if (t == SCAN_NUMBER) {
        bool whole = !memchr(s->text, '.', s->len) && !memchr(s->text, 'e', s->len) &&
                     !memchr(s->text, 'E', s->len);
        p->kind = VALUE_INT;
        if (!whole || !scan_decimal(s->text, s->len, 0, &p->integer)) {
            p->kind = VALUE_NUMBER;
            p->number = scan_number(s->text, s->len);
        }
    } else {
        char *text = take(v, s->len * 3 + 1); /* a surrogate's replacement is longest */
        if (!text)
            return NULL;
        scan_text(s->text, s->len, text, s->len * 3 + 1);
        p->kind = VALUE_TEXT;
        p->text = text;
    }
    return p;
}

/* Key and value come in turn; the tree grows along a stack of open lists. */
static struct value *build(struct values *v, struct scan *s)
{
    struct value *open[VALUES_DEPTH_MAX], *root = NULL;
    int depth = 0;
    do {
        enum scan_token t = scan_next(s);
        struct value *p;
        if (t == SCAN_ERROR || t == SCAN_END)
            return NULL;
        if (t == SCAN_OBJECT_END || t == SCAN_ARRAY_END) {
            depth--;
            continue;
        }
        bool opens = t == SCAN_OBJECT || t == SCAN_ARRAY;
        if (opens)
            p = value_new(v, t == SCAN_OBJECT ? VALUE_DICT : VALUE_LIST);
        else
            p = scalar(v, s, t);
        if (depth ? !value_add(v, open[depth - 1], p) : !p)
            return NULL;
        root = depth ? root : p;
        if (opens && depth == VALUES_DEPTH_MAX) {
            v->full = true;
            return NULL;
        }
        if (opens)
            open[depth++] = p;
    } while (depth);
    return root;
}

int value_read(struct values *v, struct source *source, const struct value **ret, struct error *e)
{
    struct scan scan;
    struct error why = {0};
    scan_init(&scan, source, &why);
    *ret = build(v, &scan);
    if (!*ret && v->full)
        error_set(&why, STATUS_INPUT, "\"%s\": too deep or too large to be such a dump",
                  source_path(source));
    if (*ret && scan_next(&scan) != SCAN_END && !why.status)
        scan_wrong(&scan, "the end of the file");
    scan_clear(&scan);
    if (why.status && e)
        *e = why;
    return why.status;
}

const struct value *value_parse(struct values *v, const char *text, size_t len)
{
    struct source *source;
    const struct value *p;
    if (source_of_bytes("line", text, len, &source, NULL))
        return NULL;
    int status = value_read(v, source, &p, NULL);
    source_close(source);
    return status ? NULL : p;
}
