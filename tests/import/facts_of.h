/* SPDX-License-Identifier: MIT */
/* facts_of: keeps the facts that an importer gives, so that a test can ask for one by its name. */
#ifndef TESTS_IMPORT_FACTS_OF_H
#define TESTS_IMPORT_FACTS_OF_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/fact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file of tests/import, "logs/NAME"; it must be smaller than the buffer, and not empty. */
static inline size_t read_data(const char *name, char *buf, size_t size)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", DATA, name);
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("no file %s", path);
    size_t n = fread(buf, 1, size, f);
    fclose(f);
    assert_true(n > 0 && n < size);
    return n;
}

struct facts {
    char **lines; /* "kind|subject|name|value|source" */
    size_t count, cap;
};

static inline int facts_add(void *arg, const struct fact *f)
{
    struct facts *all = arg;
    char line[2048];
    if (f->text)
        snprintf(line, sizeof(line), "%s|%s|%s|%s|%s", f->kind, f->subject, f->name, f->text,
                 f->source);
    else
        snprintf(line, sizeof(line), "%s|%s|%s|%.9g|%s", f->kind, f->subject, f->name, f->number,
                 f->source);
    assert_true(f->text || isfinite(f->number));
    assert_true(mem_grow((void **)&all->lines, &all->cap, all->count + 1, sizeof(char *)));
    all->lines[all->count++] = strdup(line);
    return 0;
}

static inline int facts_ignore(void *arg, const struct fact *f)
{
    (void)arg, (void)f;
    return 0;
}

static inline void facts_clear(struct facts *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->lines[i]);
    free(all->lines);
    *all = (struct facts){0};
}

/* Is there a fact that begins like this? `begin` may leave out the source. */
static inline bool facts_have(const struct facts *all, const char *begin)
{
    size_t n = strlen(begin);
    for (size_t i = 0; i < all->count; i++)
        if (!strncmp(all->lines[i], begin, n) &&
            (!all->lines[i][n] || all->lines[i][n] == '|' || begin[n - 1] == '|'))
            return true;
    return false;
}

#define HAS(all, begin)                                                                            \
    do {                                                                                           \
        if (!facts_have(all, begin)) {                                                             \
            for (size_t k_ = 0; k_ < (all)->count; k_++)                                           \
                print_message("%s\n", (all)->lines[k_]);                                           \
            fail_msg("no fact %s", begin);                                                         \
        }                                                                                          \
    } while (0)
#define HAS_NOT(all, begin)                                                                        \
    do {                                                                                           \
        if (facts_have(all, begin))                                                                \
            fail_msg("a fact %s", begin);                                                          \
    } while (0)

#endif
