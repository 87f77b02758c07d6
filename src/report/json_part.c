/* SPDX-License-Identifier: MIT */
#include "report/json_part.h"

#include <math.h>
#include <stdio.h>

void json_part_item(struct json *j, const char *name, double value, const char *text,
                    const char *unit, const char *source)
{
    json_object(j);
    json_kstring(j, "name", name ? name : "");
    if (text)
        json_kstring(j, "value", text);
    else
        json_knumber(j, "value", value);
    json_kstring(j, "unit", unit && *unit ? unit : NULL);
    json_kstring(j, "source", source && *source ? source : NULL);
    json_object_end(j);
}

/* "ledger", "ledger (upper bound)": a reader of the number alone must not take a bound for a measurement. */
static const char *source_of(char *buf, size_t size, const struct evidence_item *e)
{
    const char *how = e->how == EVIDENCE_BOUND      ? "upper bound"
                      : e->how == EVIDENCE_SAMPLED  ? "sampled"
                      : e->how == EVIDENCE_COUNTERS ? "counters"
                                                    : NULL;
    if (!how || !e->source)
        return e->source;
    snprintf(buf, size, "%s (%s)", e->source, how);
    return buf;
}

void json_part_evidence(struct json *j, const struct evidence_list *l)
{
    char source[128];
    for (size_t i = 0; i < l->count; i++) {
        const struct evidence_item *e = &l->items[i];
        json_part_item(j, e->name, e->value, e->text, e->unit,
                       source_of(source, sizeof(source), e));
    }
}

void json_part_findings(struct json *j, const struct report *r,
                        void (*rest)(struct json *j, const struct report_finding *f))
{
    json_key(j, "findings");
    json_array(j);
    for (size_t i = 0; i < r->finding_count; i++) {
        const struct report_finding *f = &r->findings[i];
        json_object(j);
        json_kstring(j, "id", f->id);
        json_kstring(j, "severity", severity_name(f->severity));
        json_kstring(j, "title", f->title);
        json_key(j, "evidence");
        json_array(j);
        json_part_evidence(j, &f->evidence);
        if (f->gain_bounded && !isnan(f->gain_seconds))
            json_part_item(j, "gain_bound", NAN, "upper", NULL, JSON_PART_SELF);
        json_array_end(j);
        rest(j, f);
        json_object_end(j);
    }
    json_array_end(j);
}
