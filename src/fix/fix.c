/* SPDX-License-Identifier: MIT */
#include "fix/fix.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/str.h"
#include "fix/journal.h"
#include "fix/knob.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(((struct fix_step *)0)->target) == KNOB_TARGET, "targets differ");
_Static_assert(sizeof(((struct fix_step *)0)->before) == KNOB_VALUE, "values differ");

static struct fix_step *add(struct fix_plan *p, const struct fix_step *step)
{
    if (!mem_grow((void **)&p->steps, &p->cap, p->count + 1, sizeof(*p->steps)))
        return NULL;
    p->steps[p->count] = *step;
    return &p->steps[p->count++];
}

static const char *root_of(const char *root)
{
    return root ? root : "";
}

static int add_step(struct fix_plan *p, const char *root, const struct knob *knob,
                    const struct fix_step *wanted, struct error *e)
{
    struct fix_step s = *wanted;
    struct error unread = {0};
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->steps[i].knob, s.knob) && !strcmp(p->steps[i].target, s.target))
            return STATUS_OK;
    if (knob->get(root, s.target, s.before, &unread)) {
        s.state = FIX_FAILED;
        str_copy(s.why, sizeof(s.why), unread.text);
    } else if (!strcmp(s.before, s.after)) {
        s.state = FIX_KEPT;
    }
    return add(p, &s) ? STATUS_OK : error_set(e, STATUS_MEMORY, "out of memory");
}

struct spread {
    struct fix_plan *plan;
    const char *root;
    const struct fix_step *step;
    int status; /* the first failure */
    struct error *e;
};

/* "governor all VALUE" is a file for each core. */
static void each_cpu(void *arg, const char *name)
{
    struct spread *s = arg;
    struct fix_step step = *s->step;
    size_t n = strlen(name);
    if (strncmp(name, "cpu", 3) || n < 4 || strspn(name + 3, "0123456789") != n - 3 || n > 16)
        return;
    str_copy(step.knob, sizeof(step.knob), "sysfs");
    step.target[0] = '\0';
    struct str path = {0};
    str_addf(&path, "/sys/devices/system/cpu/%s/cpufreq/scaling_governor", name);
    str_copy(step.target, sizeof(step.target), str_text(&path));
    if (path.failed && !s->status)
        s->status = error_set(s->e, STATUS_MEMORY, "out of memory");
    else if (!s->status && rootfs_exists(s->root, step.target))
        s->status = add_step(s->plan, s->root, &knob_sysfs, &step, s->e);
    str_clear(&path);
}

/* "limit nofile hard": the soft limit of the job becomes its hard one. */
static int plan_limit(struct fix_plan *p, const struct fix_context *c, struct fix_step *s,
                      struct error *e)
{
    char name[32], value[KNOB_VALUE];
    struct str text = {0};
    if (!c->pid)
        return STATUS_OK; /* nobody to raise it for */
    str_copy(name, sizeof(name), s->target);
    if (!limit_target(root_of(c->root), c->pid, name, s->target))
        return STATUS_OK;
    if (!knob_limit.get(root_of(c->root), s->target, value, e)) {
        const char *hard = strchr(value, ' ');
        str_addf(&text, "%s %s", hard + 1, hard + 1);
        str_copy(s->after, sizeof(s->after), str_text(&text));
        str_clear(&text);
        if (!strcmp(value, s->after))
            str_copy(
                s->why, sizeof(s->why),
                "its hard limit allows no more: root has to raise that where the job is started "
                "(limits.conf, LimitNOFILE= or LimitMEMLOCK=, docker --ulimit)");
    }
    return add_step(p, root_of(c->root), &knob_limit, s, e);
}

int fix_plan_add(struct fix_plan *p, const struct fix_context *c, const char *finding,
                 const char *text, struct error *e)
{
    struct fix_step s = {.state = FIX_PLANNED};
    size_t verb = strcspn(text, " ");
    const char *value = strrchr(text, ' ');
    const char *root = root_of(c->root);
    if (!text[verb] || value == text + verb || strpbrk(text, "\t\n"))
        return error_set(e, STATUS_INPUT, "\"%s\" is no KNOB TARGET VALUE", text);
    size_t n = (size_t)(value - (text + verb + 1));
    if (n >= sizeof(s.target) || !str_copy(s.after, sizeof(s.after), value + 1) ||
        verb >= sizeof(s.knob))
        return error_set(e, STATUS_INPUT, "\"%s\" is too long", text);
    memcpy(s.target, text + verb + 1, n);
    memcpy(s.knob, text, verb);
    str_copy(s.finding, sizeof(s.finding), finding);
    p->dry |= root[0] != '\0';
    if (!strcmp(s.knob, "governor") && !strcmp(s.target, "all")) {
        struct spread spread = {p, root, &s, STATUS_OK, e};
        rootfs_each(root, "/sys/devices/system/cpu", each_cpu, &spread);
        return spread.status;
    }
    if (!strcmp(s.knob, "limit"))
        return plan_limit(p, c, &s, e);
    const struct knob *knob = knob_find(s.knob, verb);
    if (!knob || !knob->may(s.target, s.after))
        return error_set(e, STATUS_INPUT, "\"%s\" is nothing that --fix may do", text);
    return add_step(p, root, knob, &s, e);
}

void fix_plan_clear(struct fix_plan *p)
{
    free(p->steps);
    *p = (struct fix_plan){0};
}

/* Sets a knob and looks whether it took. */
static bool turn(const struct knob *knob, const char *root, const char *target, const char *value,
                 char *why, size_t size)
{
    char now[KNOB_VALUE] = "";
    struct error e = {0};
    if (knob->set(root, target, value, &e) || knob->get(root, target, now, &e)) {
        str_copy(why, size, e.text);
        return false;
    }
    if (!strcmp(now, value))
        return true;
    struct str text = {0};
    str_addf(&text, "it was set to %s, and is %s", value, now);
    str_copy(why, size, str_text(&text));
    str_clear(&text);
    return false;
}

/* A knob that took half a value, or none, gets its old one. false: it has another, and `why` says so: the journal
 * goes on holding it. */
static bool turn_back(struct fix_step *s, const struct knob *knob, const char *root)
{
    char now[KNOB_VALUE] = "", why[sizeof(s->why)] = "";
    if (!knob->get(root, s->target, now, NULL) && !strcmp(now, s->before))
        return true;
    if (turn(knob, root, s->target, s->before, why, sizeof(why)))
        return true;
    struct str text = {0};
    str_addf(&text, "%s; and %s could not be set again: %s", s->why, s->before, why);
    str_copy(s->why, sizeof(s->why), str_text(&text));
    str_clear(&text);
    return false;
}

static int apply_one(struct fix_step *s, struct journal *j, const struct fix_journal *o,
                     struct error *e)
{
    const struct knob *knob = knob_find(s->knob, strlen(s->knob));
    const char *root = root_of(o->root);
    struct journal_entry x = {0};
    str_copy(x.knob, sizeof(x.knob), s->knob);
    str_copy(x.target, sizeof(x.target), s->target);
    str_copy(x.before, sizeof(x.before), s->before);
    str_copy(x.after, sizeof(x.after), s->after);
    str_copy(x.finding, sizeof(x.finding), s->finding);
    if (!knob || !knob->may(s->target, s->after))
        return error_set(e, STATUS_INPUT, "\"%s\" is nothing that --fix may do", s->knob);
    int status = journal_begin(j, &x, o->unix_ns, e);
    if (status)
        return status;
    s->number = x.number;
    if (o->moment)
        o->moment(o->arg);
    bool done = turn(knob, root, s->target, s->after, s->why, sizeof(s->why));
    s->state = done ? FIX_DONE : FIX_FAILED;
    if (!done && !turn_back(s, knob, root))
        return STATUS_OK; /* --undo may try again */
    return journal_event(j, x.number, done ? JOURNAL_DONE : JOURNAL_FAILED, o->unix_ns, e);
}

int fix_apply(struct fix_plan *p, const struct fix_journal *o, struct error *e)
{
    struct journal j;
    bool any = false;
    for (size_t i = 0; i < p->count; i++)
        any |= p->steps[i].state == FIX_PLANNED;
    if (!any)
        return STATUS_OK;
    int status = journal_open(o->path ? o->path : FIX_JOURNAL, true, &j, e);
    if (status)
        return status;
    for (size_t i = 0; i < p->count && !status; i++)
        if (p->steps[i].state == FIX_PLANNED)
            status = apply_one(&p->steps[i], &j, o, e);
    p->stopped = status != STATUS_OK;
    journal_close(&j);
    return status;
}

static void undo_one(struct fix_step *s, const struct knob *knob, const char *root)
{
    char now[KNOB_VALUE] = "";
    struct error e = {0};
    struct str text = {0};
    if (!knob || !knob->may(s->target, s->before)) {
        s->state = FIX_LEFT;
        str_copy(s->why, sizeof(s->why), "it is nothing that --fix may do");
    } else if (knob->get(root, s->target, now, &e)) {
        s->state = FIX_LEFT;
        str_copy(s->why, sizeof(s->why), e.text);
    } else if (!strcmp(now, s->before)) {
        s->state = FIX_UNDONE; /* killed before it was set, or set back by hand */
    } else if (strcmp(now, s->after) && !(knob->half && !strcmp(now, knob->half))) {
        s->state = FIX_LEFT;
        str_addf(&text, "somebody has set it to %s since", now);
        str_copy(s->why, sizeof(s->why), str_text(&text));
    } else {
        bool done = turn(knob, root, s->target, s->before, s->why, sizeof(s->why));
        s->state = done ? FIX_UNDONE : FIX_FAILED;
    }
    str_clear(&text);
}

static struct fix_step step_of(const struct journal_entry *x)
{
    struct fix_step s = {.number = x->number, .state = FIX_DONE};
    str_copy(s.knob, sizeof(s.knob), x->knob);
    str_copy(s.target, sizeof(s.target), x->target);
    str_copy(s.before, sizeof(s.before), x->before);
    str_copy(s.after, sizeof(s.after), x->after);
    str_copy(s.finding, sizeof(s.finding), x->finding);
    return s;
}

static int undo_entry(struct journal *j, size_t i, const struct fix_journal *o,
                      struct fix_plan *ret, struct error *e)
{
    struct fix_step s = step_of(&j->entries[i]), *kept = add(ret, &s);
    if (!kept)
        return error_set(e, STATUS_MEMORY, "out of memory");
    undo_one(kept, knob_find(s.knob, strlen(s.knob)), root_of(o->root));
    if (kept->state == FIX_FAILED)
        return STATUS_OK; /* may be tried again */
    return journal_event(j, s.number, kept->state == FIX_UNDONE ? JOURNAL_UNDONE : JOURNAL_LEFT,
                         o->unix_ns, e);
}

int fix_undo(const struct fix_journal *o, struct fix_plan *ret, struct error *e)
{
    struct journal j;
    int status = journal_open(o->path ? o->path : FIX_JOURNAL, false, &j, e);
    if (status)
        return status;
    ret->undo = true;
    for (size_t i = j.count; i-- > 0;) {
        if (j.entries[i].event != JOURNAL_BEGIN && j.entries[i].event != JOURNAL_DONE)
            continue;
        struct fix_step s = step_of(&j.entries[i]);
        if (status)
            add(ret, &s); /* it was not come to */
        else
            status = undo_entry(&j, i, o, ret, e);
    }
    ret->stopped = status != STATUS_OK;
    journal_close(&j);
    return status;
}
