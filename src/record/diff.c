/* SPDX-License-Identifier: MIT */
#include "record/diff.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORTH_TELLING 0.01 /* a cause whose share moved by less is left out of the sentence */
#define SAME_LENGTH 0.02   /* runs that differ by less took the same time */

static const char *const change_names[DIFF_CHANGE_COUNT] = {"gone", "new", "kept"};

const char *diff_change_name(enum diff_change c)
{
    return (unsigned)c < DIFF_CHANGE_COUNT ? change_names[c] : "kept";
}

struct shares {
    double state[STATE_COUNT], cause[CAUSE_COUNT];
};

/* NAN for a run that never held an accelerator. */
static void share_out(const struct report *r, struct shares *s)
{
    double total = 0;
    *s = (struct shares){0};
    for (size_t i = 0; i < r->accelerator_count; i++)
        total += (double)r->accelerators[i].ns;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct report_row *row = &r->rows[i];
        s->state[row->state] += (double)row->ns;
        if (row->state == STATE_WAIT || row->state == STATE_COMM || row->state == STATE_COPY)
            s->cause[row->cause] += (double)row->ns;
    }
    for (int i = 0; i < STATE_COUNT; i++)
        s->state[i] = total > 0 ? s->state[i] / total : NAN;
    for (int i = 0; i < CAUSE_COUNT; i++)
        s->cause[i] = total > 0 ? s->cause[i] / total : NAN;
}

static const struct report_finding *find(const struct report *r, const char *id)
{
    for (size_t i = 0; i < r->finding_count; i++)
        if (!strcmp(r->findings[i].id, id))
            return &r->findings[i];
    return NULL;
}

static bool add_finding(struct diff *d, const struct report_finding *before,
                        const struct report_finding *after)
{
    if (!mem_grow((void **)&d->findings, &d->finding_cap, d->finding_count + 1,
                  sizeof(*d->findings)))
        return false;
    const struct report_finding *named = after ? after : before;
    struct diff_finding *f = &d->findings[d->finding_count++];
    *f = (struct diff_finding){
        .id = mem_strdup(named->id),
        .title = mem_strdup(named->title ? named->title : named->id),
        .change = before && after ? DIFF_KEPT
                  : after         ? DIFF_NEW
                                  : DIFF_GONE,
        .severity_before = before ? (int)before->severity : -1,
        .severity_after = after ? (int)after->severity : -1,
        .gain_seconds = {before ? before->gain_seconds : NAN, after ? after->gain_seconds : NAN},
    };
    return f->id && f->title;
}

/* The findings of `from` that are of this change; each rule once. What a run lacks that is too short to judge is
 * not known. */
static bool add_findings(struct diff *d, const struct report *from, const struct report *other,
                         enum diff_change change)
{
    bool known = change == DIFF_KEPT || !other->too_short;
    for (size_t i = 0; i < from->finding_count && known; i++) {
        const struct report_finding *f = &from->findings[i];
        const struct report_finding *same = find(other, f->id);
        if (find(from, f->id) != f || (same != NULL) != (change == DIFF_KEPT))
            continue;
        bool ok = change == DIFF_GONE ? add_finding(d, f, NULL) : add_finding(d, same, f);
        if (!ok)
            return false;
    }
    return true;
}

static void compare_money(struct diff *d, const struct report *before, const struct report *after)
{
    const struct report_money *b = &before->money, *a = &after->money;
    bool same = b->currency && a->currency && !strcmp(b->currency, a->currency);
    const struct diff_figure unknown = {NAN, NAN};
    d->rate_per_hour = same ? (struct diff_figure){b->rate_per_hour, a->rate_per_hour} : unknown;
    d->spent = same ? (struct diff_figure){b->spent, a->spent} : unknown;
    d->waited = same ? (struct diff_figure){b->waited, a->waited} : unknown;
    for (int c = 0; c < CAUSE_COUNT; c++)
        d->money_by_cause[c] =
            same ? (struct diff_figure){b->by_cause[c], a->by_cause[c]} : unknown;
}

/* The cause whose share moved most; CAUSE_NONE: none moved much. */
static enum cause moved_most(const struct diff *d)
{
    enum cause most = CAUSE_NONE;
    double by = WORTH_TELLING;
    for (int c = 1; c < CAUSE_COUNT; c++) {
        double now = fabs(d->cause[c].after - d->cause[c].before);
        if (now > by) {
            by = now;
            most = (enum cause)c;
        }
    }
    return most;
}

static char *sentence(const struct diff *d)
{
    char b[48], a[48];
    struct str out = {0};
    if (!isfinite(d->utilisation.before) || !isfinite(d->utilisation.after)) {
        str_add(&out, "One of the two recordings shows no accelerator.");
    } else {
        str_addf(&out, "Computing went from %s to %s of the time",
                 unit_format_share(b, sizeof(b), d->utilisation.before),
                 unit_format_share(a, sizeof(a), d->utilisation.after));
        enum cause c = moved_most(d);
        if (c != CAUSE_NONE)
            str_addf(&out, ", %s from %s to %s", cause_title(c),
                     unit_format_share(b, sizeof(b), d->cause[c].before),
                     unit_format_share(a, sizeof(a), d->cause[c].after));
        str_addf(&out, "; the run took %s instead of %s",
                 unit_format_ns(a, sizeof(a), unit_ns(d->span_seconds.after)),
                 unit_format_ns(b, sizeof(b), unit_ns(d->span_seconds.before)));
        if (isfinite(d->speedup) && fabs(d->speedup - 1) >= SAME_LENGTH)
            str_addf(&out, d->speedup < 100 ? ", %.2f× as fast" : ", %.0f× as fast", d->speedup);
        str_add(&out, ".");
    }
    if (out.failed)
        str_clear(&out);
    return out.data;
}

static bool copy_text(const char *text, char **ret)
{
    *ret = text ? mem_strdup(text) : NULL;
    return !text || *ret;
}

int diff_make(const struct report *before, const struct report *after, struct diff *ret,
              struct error *e)
{
    struct diff d = {.span_seconds = {unit_seconds(before->span_ns), unit_seconds(after->span_ns)}};
    struct shares b, a;
    share_out(before, &b);
    share_out(after, &a);
    for (int i = 0; i < STATE_COUNT; i++)
        d.state[i] = (struct diff_figure){b.state[i], a.state[i]};
    for (int i = 0; i < CAUSE_COUNT; i++)
        d.cause[i] = (struct diff_figure){b.cause[i], a.cause[i]};
    d.utilisation = d.state[STATE_COMPUTE];
    bool known = isfinite(d.utilisation.before) && isfinite(d.utilisation.after) &&
                 before->span_ns > 0 && after->span_ns > 0;
    d.speedup = known ? d.span_seconds.before / d.span_seconds.after : NAN;
    compare_money(&d, before, after);
    d.sentence = sentence(&d);
    bool ok = d.sentence && copy_text(before->title, &d.title_before) &&
              copy_text(after->title, &d.title_after) && diff_add_notes(&d, before, after) &&
              (!isfinite(d.spent.before) || copy_text(before->money.currency, &d.currency)) &&
              add_findings(&d, before, after, DIFF_GONE) &&
              add_findings(&d, after, before, DIFF_NEW) &&
              add_findings(&d, after, before, DIFF_KEPT);
    if (!ok) {
        diff_clear(&d);
        return error_set(e, STATUS_MEMORY, "out of memory comparing two recordings");
    }
    *ret = d;
    return STATUS_OK;
}

void diff_clear(struct diff *d)
{
    for (size_t i = 0; i < d->finding_count; i++) {
        free(d->findings[i].id);
        free(d->findings[i].title);
    }
    free(d->findings);
    free(d->title_before);
    free(d->title_after);
    free(d->currency);
    free(d->sentence);
    for (size_t i = 0; i < d->note_count; i++)
        free(d->notes[i]);
    *d = (struct diff){0};
}
