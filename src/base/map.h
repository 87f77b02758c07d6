/* SPDX-License-Identifier: MIT */
/*
 * map: uint64 key -> uint64 value, open addressing; and intern: text -> small
 * number, the texts kept. Both start zero-initialised and own their memory.
 */
#ifndef GPUFEED_BASE_MAP_H
#define GPUFEED_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
    uint64_t key, value;
    uint8_t used; /* 0 free, 1 used, 2 deleted */
};

struct map {
    struct map_slot *slots; /* owned */
    size_t cap, count, filled;
};

bool map_get(const struct map *m, uint64_t key, uint64_t *ret);
bool map_put(struct map *m, uint64_t key, uint64_t value); /* false: out of memory */
bool map_remove(struct map *m, uint64_t key);              /* false: was absent */
void map_clear(struct map *m);

/* Texts are numbered from 1 in order of first sight; 0 stands for "none". */
struct intern {
    char **texts; /* owned, texts[0..count-1] are numbers 1..count */
    size_t count, cap;
    uint32_t *table; /* owned, open addressing over numbers */
    size_t table_cap;
};

uint32_t intern_put(struct intern *t, const char *text); /* 0: out of memory or text NULL */
/* The same, but once `most` texts are there each new one becomes `other`. */
uint32_t intern_put_most(struct intern *t, const char *text, size_t most, const char *other);
const char *intern_text(const struct intern *t, uint32_t number); /* "" for 0 or unknown */
void intern_clear(struct intern *t);

#endif
