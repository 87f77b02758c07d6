/* SPDX-License-Identifier: MIT */
#include "model/check.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void check_report_init(struct check_report *c)
{
    *c = (struct check_report){0};
    report_init(&c->found);
}

static bool has(const struct report *r, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(r->findings[i].id, id))
            return true;
    return false;
}

bool check_report_join(struct check_report *to, struct check_report *from,
                       bool (*but)(const struct report_finding *f))
{
    struct report *a = &to->found, *b = &from->found;
    size_t before = a->finding_count, kept = 0;
    if (!mem_grow((void **)&a->findings, &a->finding_cap, before + b->finding_count,
                  sizeof(*a->findings)))
        return false;
    struct report had = {.findings = a->findings};
    AUTOFREE bool *mine = mem_zalloc(b->finding_count + 1);
    if (!mine)
        return false;
    for (size_t i = 0; i < b->finding_count; i++)
        mine[i] = !but(&b->findings[i]) && !has(&had, before, b->findings[i].id);
    for (size_t i = 0; i < b->finding_count; i++) {
        struct report_finding f = b->findings[i];
        size_t at = a->finding_count;
        if (!mine[i]) {
            b->findings[kept++] = f;
            continue;
        }
        for (; at > 0 && a->findings[at - 1].severity < f.severity; at--)
            a->findings[at] = a->findings[at - 1];
        a->findings[at] = f;
        a->finding_count++;
    }
    b->finding_count = kept;
    return true;
}

void check_report_clear(struct check_report *c)
{
    for (size_t i = 0; i < c->unjudged_count; i++) {
        free(c->unjudged[i].id);
        free(c->unjudged[i].missing);
    }
    for (size_t i = 0; i < c->fact_count; i++) {
        struct check_fact *f = &c->facts[i];
        free(f->kind);
        free(f->subject);
        free(f->name);
        free(f->text);
        free(f->unit);
        free(f->source);
    }
    free(c->unjudged);
    free(c->facts);
    free(c->what);
    report_clear(&c->found);
    check_report_init(c);
}
