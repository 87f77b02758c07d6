/* SPDX-License-Identifier: MIT */
#include "record/diff.h"

#include "base/str.h"

#include <string.h>

#define FOREIGN "foreign trace"

static bool same(const char *a, const char *b)
{
    return !strcmp(a ? a : "", b ? b : "");
}

static bool is_foreign(const struct report *r)
{
    return same(r->mode, FOREIGN);
}

static void add_name(const struct report_accelerator *a, struct str *out)
{
    str_addf(out, "%s%s", a->name && *a->name ? a->name : "unnamed accelerator",
             a->simulated ? " (simulated)" : "");
}

/* The first accelerator that the other run has none like; NULL if there is none. */
static const struct report_accelerator *other_kind(const struct report *r, const struct report *in)
{
    for (size_t i = 0; i < r->accelerator_count; i++) {
        const struct report_accelerator *a = &r->accelerators[i];
        bool found = false;
        for (size_t k = 0; k < in->accelerator_count && !found; k++)
            found = same(a->name, in->accelerators[k].name) &&
                    a->simulated == in->accelerators[k].simulated;
        if (!found)
            return a;
    }
    return NULL;
}

static void tell_accelerators(const struct report *before, const struct report *after,
                              struct str *out)
{
    const struct report_accelerator *gone = other_kind(before, after);
    const struct report_accelerator *come = other_kind(after, before);
    if (!before->accelerator_count || !after->accelerator_count)
        return; /* the sentence says so */
    if (gone || come) {
        str_add(out, "the accelerators differ: ");
        add_name(gone ? gone : &before->accelerators[0], out);
        str_add(out, " before, ");
        add_name(come ? come : &after->accelerators[0], out);
        str_add(out, " after");
    } else if (before->accelerator_count != after->accelerator_count) {
        str_addf(out, "the number of accelerators differs: %zu before, %zu after",
                 before->accelerator_count, after->accelerator_count);
    }
}

static void tell_modes(const struct report *before, const struct report *after, struct str *out)
{
    if (before->mode && after->mode && !same(before->mode, after->mode))
        str_addf(out,
                 "waits were seen by other means (%s before, %s after): shares can differ for that "
                 "alone",
                 before->mode, after->mode);
}

static void tell_parts(const struct report *before, const struct report *after, struct str *out)
{
    if (is_foreign(before) || is_foreign(after))
        str_add(out, "a trace shows a part of a run: how long it took compares only where both "
                     "show the same steps");
}

static void tell_cut(const struct report *before, const struct report *after, struct str *out)
{
    if (before->cut_short || after->cut_short)
        str_addf(out, "the recording %s is cut short: %s", before->cut_short ? "before" : "after",
                 before->cut_short ? before->cut_short : after->cut_short);
}

static void tell_short(const struct report *before, const struct report *after, struct str *out)
{
    if (before->too_short || after->too_short)
        str_addf(out, "the run %s is too short to judge (%s): its findings are not known",
                 before->too_short ? "before" : "after",
                 before->too_short ? before->too_short : after->too_short);
}

static void add_exit(int code, const char *when, struct str *out)
{
    if (code < 0)
        str_addf(out, "no exit known %s", when);
    else
        str_addf(out, "exit %d %s", code, when);
}

/* Of recordings: traces have told of themselves, and so have those that are cut short. */
static void tell_ends(const struct report *before, const struct report *after, struct str *out)
{
    bool watched = (before->exit_code < 0 && !is_foreign(before) && !before->cut_short) ||
                   (after->exit_code < 0 && !is_foreign(after) && !after->cut_short);
    if (before->exit_code > 0 || after->exit_code > 0) {
        str_add(out, "the command did not succeed: ");
        add_exit(before->exit_code, "before", out);
        str_add(out, ", ");
        add_exit(after->exit_code, "after", out);
    } else if (watched) {
        str_add(out, "a job that was running already was watched for a while");
    } else {
        return;
    }
    str_add(out, ": how long it took compares only where both did the same work");
}

bool diff_add_notes(struct diff *d, const struct report *before, const struct report *after)
{
    static void (*const tell[DIFF_NOTES_MAX])(const struct report *, const struct report *,
                                              struct str *) = {
        tell_accelerators, tell_modes, tell_parts, tell_cut, tell_short, tell_ends};
    for (int i = 0; i < DIFF_NOTES_MAX; i++) {
        struct str text = {0};
        tell[i](before, after, &text);
        if (text.failed) {
            str_clear(&text);
            return false;
        }
        if (text.len)
            d->notes[d->note_count++] = text.data;
    }
    return true;
}
