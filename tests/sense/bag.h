/* SPDX-License-Identifier: MIT */
/*
 * bag: keeps the facts a source sends, for tests to ask.
 */
#ifndef GPUFEED_TESTS_SENSE_BAG_H
#define GPUFEED_TESTS_SENSE_BAG_H

#include "model/fact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAG_MAX 4096

struct bag_fact {
    char kind[32], subject[128], name[64], text[512], unit[16];
    double number;
};

struct bag {
    struct bag_fact *facts; /* owned */
    size_t count;
    long fail_after; /* fn fails at this fact; < 0 never */
};

static int bag_add(void *arg, const struct fact *f)
{
    struct bag *b = arg;
    if (b->fail_after >= 0 && (size_t)b->fail_after == b->count)
        return -77;
    if (!b->facts)
        b->facts = calloc(BAG_MAX, sizeof(*b->facts));
    if (b->count == BAG_MAX || !f->kind || !f->subject || !f->name || !f->source || !f->unit)
        abort();
    if (!f->text && !isfinite(f->number))
        abort(); /* absent facts are absent rows */
    struct bag_fact *x = &b->facts[b->count++];
    snprintf(x->kind, sizeof(x->kind), "%s", f->kind);
    snprintf(x->subject, sizeof(x->subject), "%s", f->subject);
    snprintf(x->name, sizeof(x->name), "%s", f->name);
    snprintf(x->text, sizeof(x->text), "%s", f->text ? f->text : "");
    snprintf(x->unit, sizeof(x->unit), "%s", f->unit);
    x->number = f->text ? NAN : f->number;
    return 0;
}

static inline const struct bag_fact *bag_find(const struct bag *b, const char *kind,
                                              const char *subject, const char *name)
{
    for (size_t i = 0; i < b->count; i++)
        if (!strcmp(b->facts[i].kind, kind) && !strcmp(b->facts[i].subject, subject) &&
            !strcmp(b->facts[i].name, name))
            return &b->facts[i];
    return NULL;
}

/* NAN when absent */
static inline double bag_number(const struct bag *b, const char *kind, const char *subject,
                                const char *name)
{
    const struct bag_fact *f = bag_find(b, kind, subject, name);
    return f ? f->number : NAN;
}

/* "" when absent */
static inline const char *bag_text(const struct bag *b, const char *kind, const char *subject,
                                   const char *name)
{
    const struct bag_fact *f = bag_find(b, kind, subject, name);
    return f ? f->text : "";
}

static inline void bag_clear(struct bag *b)
{
    free(b->facts);
    *b = (struct bag){.fail_after = -1};
}

#endif
