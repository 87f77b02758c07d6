/* SPDX-License-Identifier: MIT */
#include "ledger/account.h"

#include "base/unit.h"

void account_init(struct account *a, uint32_t accelerator, int64_t window_ns,
                  struct account_sink sink)
{
    *a = (struct account){
        .sink = sink, .window_ns = window_ns, .at = INT64_MIN, .accelerator = accelerator};
}

void account_begin(struct account *a, int64_t t)
{
    a->origin = a->at = a->window = t;
}

static void add_row(struct account *a, const struct ledger_row *r)
{
    a->state_ns[r->state] += r->ns;
    a->cause_ns[r->cause] += r->ns;
    for (int i = 0; i < a->count; i++) {
        struct ledger_row *o = &a->row[i];
        if (o->state == r->state && o->cause == r->cause && o->resource == r->resource &&
            o->workload == r->workload && o->evidence == r->evidence) {
            o->ns += r->ns;
            return;
        }
    }
    if (a->count < ACCOUNT_ROWS_MAX) {
        a->row[a->count++] = *r;
        return;
    }
    /* no room: the resource is dropped, never the time */
    for (int i = 0; i < a->count; i++)
        if (a->row[i].state == r->state && a->row[i].cause == r->cause) {
            a->row[i].ns += r->ns;
            a->row[i].resource = 0;
            return;
        }
    account_close(a);
    a->row[a->count++] = *r;
}

void account_close(struct account *a)
{
    for (int i = 0; i < a->count; i++)
        a->sink.row(a->sink.arg, &a->row[i]);
    a->count = 0;
}

void account_add(struct account *a, int64_t t1, enum state state, const struct shares *parts,
                 uint32_t workload, enum evidence evidence)
{
    static const struct shares none = {.count = 1, .part = {{.cause = CAUSE_NONE, .ns = 1}}};
    struct shares rest;
    shares_clear(&rest);
    if (t1 <= a->at)
        return;
    shares_add_scaled(&rest, parts && parts->count ? parts : &none, t1 - a->at);
    while (a->at < t1) {
        int64_t end = a->window + a->window_ns;
        int64_t ns = (t1 < end ? t1 : end) - a->at, left = t1 - a->at, seen = 0, given = 0;
        for (int i = 0; i < rest.count; i++) {
            struct share *p = &rest.part[i];
            seen += p->ns;
            int64_t upto = unit_part(ns, seen, left), mine = upto - given;
            given = upto;
            if (mine > 0)
                add_row(a, &(struct ledger_row){a->window, a->accelerator, workload, (uint8_t)state,
                                                p->cause, (uint8_t)evidence, p->resource, mine});
            p->ns -= mine;
        }
        a->at += ns;
        if (a->at == end) {
            account_close(a);
            a->window = end;
        }
    }
}
