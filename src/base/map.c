/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static struct map_slot *find(const struct map *m, uint64_t key)
{
    if (!m->cap)
        return NULL;
    size_t i = mix(key) & (m->cap - 1);
    while (m->slots[i].used) {
        if (m->slots[i].used == 1 && m->slots[i].key == key)
            return &m->slots[i];
        i = (i + 1) & (m->cap - 1);
    }
    return NULL;
}

bool map_get(const struct map *m, uint64_t key, uint64_t *ret)
{
    struct map_slot *s = find(m, key);
    if (s && ret)
        *ret = s->value;
    return s != NULL;
}

static void place(struct map *m, uint64_t key, uint64_t value)
{
    size_t i = mix(key) & (m->cap - 1);
    while (m->slots[i].used == 1)
        i = (i + 1) & (m->cap - 1);
    if (m->slots[i].used == 0)
        m->filled++;
    m->slots[i] = (struct map_slot){key, value, 1};
    m->count++;
}

static bool rehash(struct map *m)
{
    size_t cap = 16;
    while (cap < (m->count + 1) * 2)
        cap *= 2;
    struct map next = {.slots = mem_zalloc(cap * sizeof(*next.slots)), .cap = cap};
    if (!next.slots)
        return false;
    for (size_t i = 0; i < m->cap; i++)
        if (m->slots[i].used == 1)
            place(&next, m->slots[i].key, m->slots[i].value);
    free(m->slots);
    *m = next;
    return true;
}

bool map_put(struct map *m, uint64_t key, uint64_t value)
{
    struct map_slot *s = find(m, key);
    if (s) {
        s->value = value;
        return true;
    }
    if ((m->filled + 1) * 4 > m->cap * 3 && !rehash(m))
        return false;
    place(m, key, value);
    return true;
}

bool map_remove(struct map *m, uint64_t key)
{
    struct map_slot *s = find(m, key);
    if (!s)
        return false;
    s->used = 2;
    m->count--;
    return true;
}

void map_clear(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}

/* FNV-1a, 64 bit. */
static uint64_t hash_text(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return mix(h);
}

static bool table_grow(struct intern *t)
{
    size_t cap = t->table_cap ? t->table_cap * 2 : 32;
    uint32_t *table = mem_zalloc(cap * sizeof(*table));
    if (!table)
        return false;
    for (size_t n = 0; n < t->count; n++) {
        size_t i = hash_text(t->texts[n]) & (cap - 1);
        while (table[i])
            i = (i + 1) & (cap - 1);
        table[i] = (uint32_t)n + 1;
    }
    free(t->table);
    t->table = table;
    t->table_cap = cap;
    return true;
}

uint32_t intern_put(struct intern *t, const char *text)
{
    if (!text)
        return 0;
    if ((t->count + 1) * 2 > t->table_cap && !table_grow(t))
        return 0;
    size_t i = hash_text(text) & (t->table_cap - 1);
    for (; t->table[i]; i = (i + 1) & (t->table_cap - 1))
        if (!strcmp(t->texts[t->table[i] - 1], text))
            return t->table[i];
    if (!mem_grow((void **)&t->texts, &t->cap, t->count + 1, sizeof(*t->texts)))
        return 0;
    char *copy = mem_strdup(text);
    if (!copy)
        return 0;
    t->texts[t->count++] = copy;
    t->table[i] = (uint32_t)t->count;
    return (uint32_t)t->count;
}

uint32_t intern_put_most(struct intern *t, const char *text, size_t most, const char *other)
{
    if (t->count >= most && t->table_cap) {
        size_t i = hash_text(text) & (t->table_cap - 1);
        for (; t->table[i]; i = (i + 1) & (t->table_cap - 1))
            if (!strcmp(t->texts[t->table[i] - 1], text))
                return t->table[i];
        text = other;
    }
    return intern_put(t, text);
}

const char *intern_text(const struct intern *t, uint32_t number)
{
    return number && number <= t->count ? t->texts[number - 1] : "";
}

void intern_clear(struct intern *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->texts[i]);
    free(t->texts);
    free(t->table);
    *t = (struct intern){0};
}
