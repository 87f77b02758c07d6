/* SPDX-License-Identifier: MIT */
#include "model/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const severity_names[SEVERITY_COUNT] = {"info", "warning", "critical"};

const char *severity_name(enum severity s)
{
    return (unsigned)s < SEVERITY_COUNT ? severity_names[s] : "info";
}

int severity_of_name(const char *name)
{
    for (int i = 0; i < SEVERITY_COUNT; i++)
        if (!strcmp(severity_names[i], name))
            return i;
    return -1;
}

void report_init(struct report *r)
{
    *r = (struct report){.exit_code = -1};
    r->tool.cpu_seconds = r->tool.peak_rss_bytes = r->tool.slowdown_bound = NAN;
    r->awaited_ns = r->late_ns = NAN;
    r->money.rate_per_hour = r->money.spent = r->money.waited = NAN;
    for (int i = 0; i < CAUSE_COUNT; i++)
        r->money.by_cause[i] = NAN;
    r->verdict.utilisation = r->verdict.utilisation_after_fixes = NAN;
    r->verdict.faster_accelerator_max_speedup = NAN;
    r->verdict.more_accelerators_help = -1;
}

void evidence_list_clear(struct evidence_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].name);
        free(l->items[i].unit);
        free(l->items[i].source);
        free(l->items[i].text);
    }
    free(l->items);
    *l = (struct evidence_list){0};
}

static void clear_finding(struct report_finding *f)
{
    free(f->id);
    free(f->title);
    free(f->why);
    free(f->fix);
    free(f->source);
    free(f->apply);
    free(f->first);
    evidence_list_clear(&f->evidence);
}

void report_drop_finding(struct report *r, size_t at)
{
    clear_finding(&r->findings[at]);
    r->finding_count--;
    memmove(&r->findings[at], &r->findings[at + 1], (r->finding_count - at) * sizeof(*r->findings));
}

static void clear_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void report_clear(struct report *r)
{
    for (size_t i = 0; i < r->accelerator_count; i++) {
        free(r->accelerators[i].id);
        free(r->accelerators[i].name);
        free(r->accelerators[i].unknown_why);
    }
    for (size_t i = 0; i < r->row_count; i++) {
        free(r->rows[i].workload);
        free(r->rows[i].resource);
    }
    for (size_t i = 0; i < r->finding_count; i++)
        clear_finding(&r->findings[i]);
    evidence_list_clear(&r->evidence);
    evidence_list_clear(&r->communication);
    clear_texts(r->chain_resources, r->chain_count);
    clear_texts(r->notes, r->note_count);
    free(r->accelerators);
    free(r->rows);
    free(r->windows);
    free(r->chains);
    free(r->findings);
    free(r->title);
    free(r->cut_short);
    free(r->mode);
    free(r->too_short);
    free(r->tool.version);
    free(r->money.currency);
    free(r->verdict.limited_by);
    free(r->verdict.sentence);
    report_init(r);
}

enum evidence report_state_evidence(const struct report *r, enum state s)
{
    enum evidence weakest = EVIDENCE_CHAIN;
    for (size_t i = 0; i < r->row_count; i++)
        if (r->rows[i].state == s && r->rows[i].evidence > weakest)
            weakest = r->rows[i].evidence;
    return weakest;
}

enum evidence report_waits_evidence(const struct report *r)
{
    enum evidence weakest = EVIDENCE_CHAIN;
    for (enum state s = STATE_COMM; s <= STATE_WAIT; s++) {
        enum evidence e = report_state_evidence(r, s);
        weakest = e > weakest ? e : weakest;
    }
    return weakest;
}
