/* SPDX-License-Identifier: MIT */
#include "build.h"

#include "base/mem.h"
#include "base/unit.h"

#include <math.h>
#include <stdlib.h>

#define ADD(r, array, item)                                                                        \
    grow((void **)&(r)->array##s, &(r)->array##_cap, (r)->array##_count + 1,                       \
         sizeof(*(r)->array##s)),                                                                  \
        (r)->array##s[(r)->array##_count++] = (item)

static void grow(void **array, size_t *cap, size_t need, size_t elem)
{
    if (!mem_grow(array, cap, need, elem))
        abort();
}

char *build_text(const char *text)
{
    char *copy = text ? mem_strdup(text) : NULL;
    if (text && !copy)
        abort();
    return copy;
}

size_t build_accelerator(struct report *r, const char *id, const char *name, bool simulated)
{
    struct report_accelerator a = {
        .id = build_text(id), .name = build_text(name), .simulated = simulated};
    ADD(r, accelerator, a);
    return r->accelerator_count - 1;
}

void build_row(struct report *r, size_t accelerator, const char *workload, enum state state,
               enum cause cause, const char *resource, int64_t ns, enum evidence evidence)
{
    struct report_row row = {.accelerator = accelerator,
                             .workload = build_text(workload),
                             .state = state,
                             .cause = cause,
                             .resource = build_text(resource),
                             .ns = ns,
                             .share = NAN,
                             .evidence = evidence};
    ADD(r, row, row);
    r->accelerators[accelerator].ns += ns;
    r->accelerators[accelerator].state_ns[state] += ns;
}

static void add_item(struct evidence_list *l, struct evidence_item item)
{
    grow((void **)&l->items, &l->cap, l->count + 1, sizeof(*l->items));
    l->items[l->count++] = item;
}

void build_evidence(struct evidence_list *l, const char *name, double value, const char *unit,
                    const char *source)
{
    add_item(l, (struct evidence_item){.name = build_text(name),
                                       .unit = build_text(unit),
                                       .source = build_text(source),
                                       .value = value});
}

void build_evidence_text(struct evidence_list *l, const char *name, const char *text,
                         const char *source)
{
    add_item(l, (struct evidence_item){.name = build_text(name),
                                       .source = build_text(source),
                                       .value = NAN,
                                       .text = build_text(text)});
}

struct report_finding *build_finding(struct report *r, enum severity severity, const char *id,
                                     const char *title, const char *fix, double gain_seconds)
{
    struct report_finding f = {.id = build_text(id),
                               .title = build_text(title),
                               .fix = build_text(fix),
                               .severity = severity,
                               .gain_seconds = gain_seconds,
                               .gain_share = gain_seconds / unit_seconds(r->span_ns)};
    ADD(r, finding, f);
    return &r->findings[r->finding_count - 1];
}

void build_note(struct report *r, const char *text)
{
    ADD(r, note, build_text(text));
}

struct chain_example *build_chain(struct report *r, int64_t t0, int64_t ns, enum cause cause,
                                  const char *resource)
{
    struct chain_example c = {.t0 = t0, .ns = ns, .cause = (uint8_t)cause};
    grow((void **)&r->chain_resources, &r->chain_resource_cap, r->chain_count + 1,
         sizeof(*r->chain_resources));
    r->chain_resources[r->chain_count] = build_text(resource);
    ADD(r, chain, c);
    return &r->chains[r->chain_count - 1];
}

void build_link(struct chain_example *c, const char *who, const char *did)
{
    str_copy(c->links[c->count].who, sizeof(c->links[0].who), who);
    str_copy(c->links[c->count].did, sizeof(c->links[0].did), did);
    c->count++;
}

static void add_money(struct report *r, const char *currency, double rate)
{
    double total = 0, span_hours = unit_seconds(r->span_ns) / S_PER_HOUR;
    if (!currency)
        return;
    for (size_t i = 0; i < r->accelerator_count; i++)
        total += (double)r->accelerators[i].ns;
    r->money.currency = build_text(currency);
    r->money.rate_per_hour = rate;
    r->money.spent = rate * span_hours;
    r->money.waited = 0;
    for (int c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++)
        r->money.by_cause[c] = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct report_row *row = &r->rows[i];
        double amount = r->money.spent * (double)row->ns / total;
        if (row->cause != CAUSE_NONE)
            r->money.by_cause[row->cause] += amount;
        if (row->cause != CAUSE_NONE && row->state != STATE_UNSEEN)
            r->money.waited += amount;
    }
}

/* Time of a row up to t when it comes in slow waves around its mean. */
static int64_t upto(int64_t ns, double t, size_t row)
{
    double wave = 0.11 * sin(t * 37.7 + (double)row * 2.1) + 0.06 * sin(t * 94.2 + (double)row);
    double start = 0.11 * sin((double)row * 2.1) + 0.06 * sin((double)row);
    double part = t >= 1 ? 1 : t + (wave - start) * t * (1 - t) * 0.6;
    return (int64_t)((double)ns * part);
}

static void add_windows(struct report *r, size_t accelerator, int64_t window_ns)
{
    int64_t total = r->accelerators[accelerator].ns;
    for (int64_t t0 = 0; t0 < total; t0 += window_ns) {
        struct report_window w = {.accelerator = accelerator, .t0 = t0};
        int64_t t1 = t0 + window_ns < total ? t0 + window_ns : total;
        for (size_t i = 0; i < r->row_count; i++) {
            const struct report_row *row = &r->rows[i];
            if (row->accelerator != accelerator)
                continue;
            int64_t ns = upto(row->ns, (double)t1 / (double)total, i) -
                         upto(row->ns, (double)t0 / (double)total, i);
            ns = ns < 0 ? 0 : ns;
            w.state_ns[row->state] += ns;
            w.cause_ns[row->cause] += row->state == STATE_UNSEEN ? 0 : ns;
            w.ns += ns;
        }
        ADD(r, window, w);
    }
}

void build_finish(struct report *r, const char *currency, double rate, int64_t window_ns)
{
    int64_t total = 0, compute = 0;
    for (size_t i = 0; i < r->row_count; i++)
        r->rows[i].share =
            (double)r->rows[i].ns / (double)r->accelerators[r->rows[i].accelerator].ns;
    for (size_t i = 0; i < r->accelerator_count; i++) {
        total += r->accelerators[i].ns;
        compute += r->accelerators[i].state_ns[STATE_COMPUTE];
        if (window_ns)
            add_windows(r, i, window_ns);
    }
    if (total)
        r->verdict.utilisation = (double)compute / (double)total;
    add_money(r, currency, rate);
}
