/* SPDX-License-Identifier: MIT */
#include "model/check.h"

#include <stdlib.h>

void check_report_init(struct check_report *c)
{
    *c = (struct check_report){0};
    report_init(&c->found);
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
