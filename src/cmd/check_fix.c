/* SPDX-License-Identifier: MIT */
#include "cmd/check_fix.h"

#include "base/json.h"
#include "base/unit.h"
#include "cmd/cmd.h"
#include "report/plain.h"

#include <string.h>
#include <time.h>

static const char *const words[] = {
    [FIX_PLANNED] = "planned", [FIX_KEPT] = "kept",     [FIX_DONE] = "done",
    [FIX_FAILED] = "failed",   [FIX_UNDONE] = "undone", [FIX_LEFT] = "left",
};

static struct fix_journal journal(const struct check_fix *o)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (struct fix_journal){.path = o->journal,
                                .unix_ns = (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec};
}

static int plan(const struct check_fix *o, const struct fix_context *c,
                const struct check_report *r, struct fix_plan *p, struct error *e)
{
    struct str text = {0};
    int status = STATUS_OK;
    for (size_t i = 0; i < r->found.finding_count && !status; i++) {
        const struct report_finding *f = &r->found.findings[i];
        if (f->apply && *f->apply)
            status = fix_plan_add(p, c, f->id, f->apply, e);
    }
    if (!status && o->scratch) {
        str_addf(&text, "scratch %s mounted", o->scratch);
        status = text.failed ? error_set(e, STATUS_MEMORY, "out of memory")
                             : fix_plan_add(p, c, "", str_text(&text), e);
        if (status == STATUS_INPUT)
            status = error_set(e, STATUS_INPUT,
                               "--scratch wants /dev/DEVICE[,/dev/DEVICE...]:/FOLDER, not \"%s\"",
                               o->scratch);
        str_clear(&text);
    }
    return status;
}

int check_fix_run(const struct check_fix *o, const struct fix_context *c,
                  const struct check_report *r, struct fix_plan *ret, struct error *e)
{
    struct fix_plan p = {0};
    struct fix_journal j = journal(o);
    int status = plan(o, c, r, &p, e);
    if (status)
        fix_plan_clear(&p); /* nothing was begun */
    else if (o->apply)
        status = fix_apply(&p, &j, e);
    *ret = p;
    return status;
}

int check_fix_undo(const struct check_fix *o, struct fix_plan *ret, struct error *e)
{
    struct fix_journal j = journal(o);
    *ret = (struct fix_plan){0};
    return fix_undo(&j, ret, e);
}

/* "planned  sysfs /sys/class/bdi/0:45/read_ahead_kb: 128 -> 15380  [nfs-read-ahead-small]"; names of mounts
 * and the like may be hostile. */
static void put_step(const struct fix_step *s, struct str *out)
{
    struct str line = {0};
    bool undo = s->state == FIX_UNDONE;
    str_addf(&line, "%-8s %s %s: %s -> %s", words[s->state], s->knob, s->target,
             undo ? s->after : s->before, undo ? s->before : s->after);
    if (*s->finding)
        str_addf(&line, "  [%s]", s->finding);
    plain_add(out, str_text(&line), true);
    str_add(out, "\n");
    if (*s->why) {
        str_add(out, "         ");
        plain_add(out, s->why, true);
        str_add(out, "\n");
    }
    out->failed |= line.failed;
    str_clear(&line);
}

/* "gpufeed check --undo", with the journal that it needs. */
static void put_undo(const struct check_fix *o, struct str *out)
{
    str_add(out, "gpufeed check --undo");
    if (o->journal) {
        str_add(out, " --journal ");
        plain_add(out, o->journal, true);
    }
}

static void put_end(const struct check_fix *o, const struct fix_plan *p, const bool *any,
                    struct str *out)
{
    if (p->stopped && p->undo)
        str_add(out, "It stopped before the end: what is done above has not been taken back.\n");
    else if (p->stopped && any[FIX_PLANNED])
        str_add(out, "It stopped before the end: what is planned above has not been done.\n");
    else if (any[FIX_PLANNED] && !p->dry)
        str_add(out, "Nothing has been changed. --fix --apply does it, --undo takes it back.\n");
    if (!any[FIX_DONE])
        return;
    put_undo(o, out);
    str_add(out, p->undo ? " tries again.\n" : " takes back what is done.\n");
}

void check_fix_text(const struct check_fix *o, const struct fix_plan *p, struct str *out)
{
    bool any[FIX_LEFT + 1] = {false};
    if (!p->count && !p->stopped)
        str_add(out, p->undo ? "There is nothing to take back.\n"
                             : "There is nothing that --fix could change.\n");
    for (size_t i = 0; i < p->count; i++) {
        put_step(&p->steps[i], out);
        any[p->steps[i].state] = true;
    }
    put_end(o, p, any, out);
}

void check_fix_json(const struct fix_plan *p, struct str *out)
{
    struct json j;
    json_init(&j, out);
    json_object(&j);
    json_kstring(&j, "schema", "gpufeed.fix/1");
    json_kbool(&j, "stopped", p->stopped);
    json_key(&j, "steps");
    json_array(&j);
    for (size_t i = 0; i < p->count; i++) {
        const struct fix_step *s = &p->steps[i];
        json_object(&j);
        json_kstring(&j, "state", words[s->state]);
        json_kstring(&j, "finding", *s->finding ? s->finding : NULL);
        json_kstring(&j, "knob", s->knob);
        json_kstring(&j, "target", s->target);
        json_kstring(&j, "before", *s->before ? s->before : NULL);
        json_kstring(&j, "after", s->after);
        json_kstring(&j, "why", *s->why ? s->why : NULL);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    str_add(out, "\n");
}

int check_fix_code(const struct fix_plan *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->steps[i].state == FIX_FAILED)
            return EXIT_FINDINGS;
    return EXIT_DONE;
}
