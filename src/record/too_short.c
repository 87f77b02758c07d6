/* SPDX-License-Identifier: MIT */
#include "record/too_short.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"

#include <stdlib.h>
#include <string.h>

/* Ten steps tell the mean of a step to a third of its spread (1 / sqrt(n)), and in half a second the sampler looks
 * 25 times or more: less says little of what comes after. */
#define ENOUGH_NS (NS_PER_S / 2)
#define ENOUGH_STEPS 10

/* What is left of an accelerator's time without the start-up; of the one with most of it. */
static int64_t after_start(const struct report *r)
{
    int64_t most = 0;
    for (size_t i = 0; i < r->accelerator_count; i++) {
        int64_t ns = r->accelerators[i].ns - r->accelerators[i].state_ns[STATE_UNUSED];
        for (size_t k = 0; k < r->row_count; k++)
            if (r->rows[k].accelerator == i && r->rows[k].cause == CAUSE_STARTUP)
                ns -= r->rows[k].ns;
        most = ns > most ? ns : most;
    }
    return most;
}

/* A job that launched nothing was starting all the time, however long that is. */
static bool worked(const struct report *r)
{
    for (size_t i = 0; i < r->accelerator_count; i++) {
        const int64_t *ns = r->accelerators[i].state_ns;
        if (ns[STATE_COMPUTE] || ns[STATE_COMM] || ns[STATE_COPY])
            return true;
    }
    return false;
}

bool too_short_look(struct report *r, uint64_t steps)
{
    char time[32];
    struct str why = {0};
    int64_t ns = after_start(r);
    bool foreign = r->mode && !strcmp(r->mode, "foreign trace");
    if (foreign || !worked(r) || ns >= ENOUGH_NS || steps >= ENOUGH_STEPS)
        return true;
    str_add(&why, unit_format_ns(time, sizeof(time), ns));
    if (steps)
        str_addf(&why, " and %u step%s", (unsigned)steps, steps == 1 ? "" : "s");
    str_add(&why, " after the start-up");
    r->too_short = why.failed ? NULL : mem_strdup(str_text(&why));
    str_clear(&why);
    return r->too_short != NULL;
}

/* By its scenario a finding is priced by the ledger; "healthy" is a verdict of its own. */
static bool rests_on_ledger(const struct report_finding *f, const struct rule_scenario *s)
{
    return strcmp(s->text, "none") || !strcmp(f->id, "healthy");
}

void too_short_drop(struct report *r, struct rule_scenarios *s)
{
    for (size_t i = r->finding_count; i-- > 0;) {
        if (!rests_on_ledger(&r->findings[i], &s->list[i]))
            continue;
        report_drop_finding(r, i);
        free(s->list[i].text);
        s->count--;
        memmove(&s->list[i], &s->list[i + 1], (s->count - i) * sizeof(*s->list));
    }
}
