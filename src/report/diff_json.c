/* SPDX-License-Identifier: MIT */
#include "report/diff.h"

#include "base/json.h"

#include <math.h>

static void figure(struct json *j, const char *key, struct diff_figure f)
{
    json_key(j, key);
    json_object(j);
    json_knumber(j, "before", f.before);
    json_knumber(j, "after", f.after);
    json_object_end(j);
}

static void run(struct json *j, const char *key, const char *title)
{
    json_key(j, key);
    json_object(j);
    json_kstring(j, "title", title);
    json_object_end(j);
}

static bool is_zero(struct diff_figure f)
{
    return f.before == 0 && f.after == 0;
}

static void shares(struct json *j, const struct diff *d)
{
    json_key(j, "state");
    json_object(j);
    for (int s = 0; s < STATE_COUNT; s++)
        figure(j, state_name(s), d->state[s]);
    json_object_end(j);
    json_key(j, "cause");
    json_object(j);
    for (int c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++) {
        struct diff_figure f = d->cause[c];
        if (c == CAUSE_UNKNOWN) {
            f.before += d->cause[CAUSE_NONE].before;
            f.after += d->cause[CAUSE_NONE].after;
        }
        if (!is_zero(f) && (isfinite(f.before) || isfinite(f.after)))
            figure(j, cause_name(c), f);
    }
    json_object_end(j);
}

static void money(struct json *j, const struct diff *d)
{
    json_key(j, "money");
    json_object(j);
    json_kstring(j, "currency", d->currency);
    figure(j, "rate_per_hour", d->rate_per_hour);
    figure(j, "spent", d->spent);
    figure(j, "waited", d->waited);
    json_key(j, "by_cause");
    json_object(j);
    for (int c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++)
        if (!is_zero(d->money_by_cause[c]) &&
            (isfinite(d->money_by_cause[c].before) || isfinite(d->money_by_cause[c].after)))
            figure(j, cause_name(c), d->money_by_cause[c]);
    json_object_end(j);
    json_object_end(j);
}

static const char *severity_text(int severity)
{
    return severity < 0 ? NULL : severity_name((enum severity)severity);
}

static void findings(struct json *j, const struct diff *d)
{
    json_key(j, "findings");
    json_array(j);
    for (size_t i = 0; i < d->finding_count; i++) {
        const struct diff_finding *f = &d->findings[i];
        json_object(j);
        json_kstring(j, "id", f->id);
        json_kstring(j, "title", f->title);
        json_kstring(j, "change", diff_change_name(f->change));
        json_key(j, "severity");
        json_object(j);
        json_kstring(j, "before", severity_text(f->severity_before));
        json_kstring(j, "after", severity_text(f->severity_after));
        json_object_end(j);
        figure(j, "gain_seconds", f->gain_seconds);
        json_object_end(j);
    }
    json_array_end(j);
}

void report_diff_json(const struct diff *d, struct str *out)
{
    struct json j;
    json_init(&j, out);
    json_object(&j);
    json_kstring(&j, "schema", "gpufeed.diff/1");
    run(&j, "before", d->title_before);
    run(&j, "after", d->title_after);
    figure(&j, "span_seconds", d->span_seconds);
    json_knumber(&j, "speedup", d->speedup);
    figure(&j, "utilisation", d->utilisation);
    shares(&j, d);
    money(&j, d);
    findings(&j, d);
    json_key(&j, "notes");
    json_array(&j);
    for (size_t i = 0; i < d->note_count; i++)
        json_string(&j, d->notes[i]);
    json_array_end(&j);
    json_kstring(&j, "sentence", d->sentence);
    json_object_end(&j);
    str_add(out, "\n");
}
