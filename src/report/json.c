/* SPDX-License-Identifier: MIT */
#include "report/json.h"

#include "base/json.h"
#include "base/unit.h"
#include "report/json_part.h"

#include <math.h>
#include <stdio.h>

#define SELF JSON_PART_SELF

static void top_evidence(struct json *j, const struct report *r)
{
    json_key(j, "evidence");
    json_array(j);
    if (r->title)
        json_part_item(j, "command", NAN, r->title, NULL, SELF);
    if (r->mode)
        json_part_item(j, "mode", NAN, r->mode, NULL, SELF);
    if (r->start_unix_ns)
        json_part_item(j, "start", unit_seconds(r->start_unix_ns), NULL, "unix seconds", SELF);
    if (r->exit_code >= 0)
        json_part_item(j, "exit_code", r->exit_code, NULL, NULL, SELF);
    if (r->cut_short)
        json_part_item(j, "cut_short", NAN, r->cut_short, NULL, SELF);
    if (r->too_short)
        json_part_item(j, "too_short", NAN, r->too_short, NULL, SELF);
    if (!isnan(r->tool.slowdown_bound))
        json_part_item(j, "slowdown_bound", r->tool.slowdown_bound, NULL, "share", SELF);
    json_part_evidence(j, &r->evidence);
    for (size_t i = 0; i < r->note_count; i++)
        json_part_item(j, "note", NAN, r->notes[i], NULL, SELF);
    json_array_end(j);
}

static void communication(struct json *j, const struct report *r)
{
    if (!r->communication.count)
        return;
    json_key(j, "communication");
    json_array(j);
    json_part_evidence(j, &r->communication);
    json_array_end(j);
}

static void tool(struct json *j, const struct report_tool *t)
{
    json_key(j, "tool");
    json_object(j);
    json_kstring(j, "version", t->version);
    json_knumber(j, "cpu_seconds", t->cpu_seconds);
    json_knumber(j, "peak_rss_bytes", t->peak_rss_bytes);
    json_kint(j, "events_lost", (int64_t)t->events_lost);
    json_object_end(j);
}

/* The id that ledger rows refer to; a nameless accelerator still ends in ":N". */
static void accelerator_id(struct json *j, const char *key, const struct report *r, size_t index)
{
    char made[32];
    const char *id = r->accelerators[index].id;
    snprintf(made, sizeof(made), "unknown:%zu", index);
    json_kstring(j, key, id ? id : made);
}

static void accelerators(struct json *j, const struct report *r)
{
    json_key(j, "accelerators");
    json_array(j);
    for (size_t i = 0; i < r->accelerator_count; i++) {
        const struct report_accelerator *a = &r->accelerators[i];
        json_object(j);
        accelerator_id(j, "id", r, i);
        json_kstring(j, "name", a->name);
        json_kbool(j, "simulated", a->simulated);
        json_knumber(j, "seconds", unit_seconds(a->ns));
        json_key(j, "state");
        json_object(j);
        for (int s = 0; s < STATE_COUNT; s++)
            json_knumber(j, state_name(s),
                         a->ns > 0 ? (double)a->state_ns[s] / (double)a->ns : NAN);
        json_object_end(j);
        json_object_end(j);
    }
    json_array_end(j);
}

/* Only compute and unused have no cause; any other row without one is unknown. */
static const char *cause_of(const struct report_row *row)
{
    if (row->state == STATE_COMPUTE || row->state == STATE_UNUSED)
        return NULL;
    return cause_name(row->cause == CAUSE_NONE ? CAUSE_UNKNOWN : row->cause);
}

static void ledger(struct json *j, const struct report *r)
{
    json_key(j, "ledger");
    json_array(j);
    for (size_t i = 0; i < r->row_count; i++) {
        const struct report_row *row = &r->rows[i];
        json_object(j);
        accelerator_id(j, "accelerator", r, row->accelerator);
        json_kstring(j, "workload", row->workload);
        json_kstring(j, "state", state_name(row->state));
        json_kstring(j, "cause", cause_of(row));
        json_kstring(j, "resource", row->resource);
        json_kint(j, "ns", row->ns);
        json_knumber(j, "seconds", unit_seconds(row->ns));
        json_knumber(j, "share", row->share);
        json_kstring(j, "evidence", evidence_name(row->evidence));
        json_object_end(j);
    }
    json_array_end(j);
}

static void chains(struct json *j, const struct report *r)
{
    json_key(j, "chains");
    json_array(j);
    for (size_t i = 0; i < r->chain_count; i++) {
        const struct chain_example *c = &r->chains[i];
        json_object(j);
        json_knumber(j, "seconds", unit_seconds(c->ns));
        json_key(j, "links");
        json_array(j);
        for (int k = 0; k < c->count && k < CHAIN_LINKS_MAX; k++) {
            json_object(j);
            json_kstring(j, "who", c->links[k].who);
            json_kstring(j, "did", c->links[k].did);
            json_object_end(j);
        }
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
}

static void finding(struct json *j, const struct report_finding *f)
{
    json_kstring(j, "fix", f->fix);
    json_knumber(j, "gain_seconds", f->gain_seconds);
    json_knumber(j, "gain_share", f->gain_share);
}

static void money(struct json *j, const struct report_money *m)
{
    json_key(j, "money");
    json_object(j);
    json_kstring(j, "currency", m->currency);
    json_knumber(j, "rate_per_hour", m->rate_per_hour);
    json_knumber(j, "spent", m->spent);
    json_knumber(j, "waited", m->waited);
    json_key(j, "by_cause");
    json_object(j);
    for (int c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++)
        if (isfinite(m->by_cause[c]) && m->by_cause[c] != 0.0)
            json_knumber(j, cause_name(c), m->by_cause[c]);
    json_object_end(j);
    json_object_end(j);
}

static void verdict(struct json *j, const struct report_verdict *v)
{
    json_key(j, "verdict");
    json_object(j);
    json_kstring(j, "limited_by", v->limited_by ? v->limited_by : "unknown");
    json_knumber(j, "utilisation", v->utilisation);
    json_knumber(j, "utilisation_after_fixes", v->utilisation_after_fixes);
    json_knumber(j, "faster_accelerator_max_speedup", v->faster_accelerator_max_speedup);
    json_key(j, "more_accelerators_help");
    if (v->more_accelerators_help < 0)
        json_null(j);
    else
        json_bool(j, v->more_accelerators_help > 0);
    json_kstring(j, "sentence", v->sentence);
    json_object_end(j);
}

void report_json(const struct report *r, struct str *out)
{
    struct json j;
    json_init(&j, out);
    json_object(&j);
    json_kstring(&j, "schema", "gpufeed.report/1");
    tool(&j, &r->tool);
    json_knumber(&j, "span_seconds", unit_seconds(r->span_ns));
    top_evidence(&j, r);
    communication(&j, r);
    accelerators(&j, r);
    ledger(&j, r);
    chains(&j, r);
    json_part_findings(&j, r, finding);
    money(&j, &r->money);
    verdict(&j, &r->verdict);
    json_object_end(&j);
    str_add(out, "\n");
}
