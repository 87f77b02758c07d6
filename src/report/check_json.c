/* SPDX-License-Identifier: MIT */
#include "report/check.h"

#include "report/json_part.h"

#include <math.h>

static void rules(struct json *j, const struct check_report *c)
{
    json_key(j, "rules");
    json_object(j);
    json_kint(j, "total", (int64_t)c->rules);
    json_kint(j, "judged", (int64_t)c->judged);
    json_key(j, "unjudged");
    json_array(j);
    for (size_t i = 0; i < c->unjudged_count; i++) {
        json_object(j);
        json_kstring(j, "id", c->unjudged[i].id);
        json_kstring(j, "missing", c->unjudged[i].missing);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

static void finding(struct json *j, const struct report_finding *f)
{
    json_kstring(j, "why", f->why);
    json_kstring(j, "fix", f->fix);
    json_kstring(j, "apply", f->apply);
    json_kstring(j, "source", f->source);
}

static void facts(struct json *j, const struct check_report *c)
{
    json_key(j, "facts");
    json_array(j);
    for (size_t i = 0; i < c->fact_count; i++) {
        const struct check_fact *f = &c->facts[i];
        json_object(j);
        json_kstring(j, "kind", f->kind);
        json_kstring(j, "subject", f->subject);
        json_kstring(j, "name", f->name);
        if (f->text)
            json_kstring(j, "value", f->text);
        else
            json_knumber(j, "value", f->number);
        json_kstring(j, "unit", *f->unit ? f->unit : NULL);
        json_kstring(j, "source", f->source);
        json_object_end(j);
    }
    json_array_end(j);
}

void report_check_json(const struct check_report *c, const char *version, struct str *out)
{
    struct json j;
    json_init(&j, out);
    json_object(&j);
    json_kstring(&j, "schema", "gpufeed.check/1");
    json_kstring(&j, "version", version);
    json_kstring(&j, "what", c->what);
    json_knumber(&j, "interval_seconds", c->interval_seconds > 0 ? c->interval_seconds : NAN);
    rules(&j, c);
    json_part_findings(&j, &c->found, finding);
    json_key(&j, "notes");
    json_array(&j);
    for (size_t i = 0; i < c->found.note_count; i++)
        json_string(&j, c->found.notes[i]);
    json_array_end(&j);
    if (c->fact_count)
        facts(&j, c);
    json_object_end(&j);
    str_add(out, "\n");
}
