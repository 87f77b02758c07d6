/* SPDX-License-Identifier: MIT */
#include "record/read.h"

#include "record/fill.h"
#include "record/open.h"
#include "record/price.h"
#include "record/rules.h"
#include "record/too_short.h"
#include "record/verdict.h"
#include "record/writer.h"

static int fill_tables(struct recording *db, struct report *r, struct error *e)
{
    struct fill_meta meta;
    int status = fill_meta(db, r, &meta, e);
    if (!status)
        status = fill_ledger(db, &meta, r, e);
    if (!status)
        status = fill_windows(db, &meta, r, e);
    if (!status)
        status = fill_chains(db, &meta, r, e);
    if (!status)
        status = fill_notes(db, r, e);
    if (!status)
        status = fill_facts(db, r, e);
    return status ? status : fill_communication(db, r, e);
}

static int find(struct recording *db, const struct record_options *o, struct price_log *log,
                struct report *r, struct rule_scenarios *scenarios, struct error *e)
{
    struct rules rules = {0};
    struct rule_fact facts[PRICE_FACTS];
    int status = rules_prepare(db, facts, price_facts(log, facts), e);
    if (!status)
        status = price_learn(log, db, e);
    if (!status)
        status = rules_load(o->rules_dir, RULE_REPORT, r, &rules, e);
    if (!status)
        status = rules_run(db, &rules, r, scenarios, e);
    if (!status && !too_short_look(r, price_steps(log)))
        status = fill_no_memory(db, e);
    if (!status && r->too_short)
        too_short_drop(r, scenarios);
    rules_clear(&rules);
    return status;
}

static int conclude(struct recording *db, const struct record_options *o, struct report *r,
                    struct error *e)
{
    struct price_log *log = NULL;
    struct rule_scenarios scenarios = {0};
    struct price_verdict price;
    int status = price_load(db, r, &log, e);
    if (!status)
        status = find(db, o, log, r, &scenarios, e);
    if (!status)
        status = price_findings(log, r, &scenarios, &price, e);
    if (!status && (!price_money(r, o) || !verdict_fill(r, &price)))
        status = fill_no_memory(db, e);
    rule_scenarios_clear(&scenarios);
    price_free(log);
    return status;
}

static int report_of(struct recording *db, const struct record_options *options, struct report *ret,
                     struct error *e)
{
    struct report r;
    report_init(&r);
    int status = fill_tables(db, &r, e);
    if (!status)
        status = conclude(db, options, &r, e);
    if (status)
        report_clear(&r);
    else
        *ret = r;
    return status;
}

int record_report(const char *path, const struct record_options *options, struct report *ret,
                  struct error *e)
{
    struct recording db;
    int status = recording_open(path, &db, e);
    if (status)
        return status;
    status = report_of(&db, options, ret, e);
    recording_close(&db);
    return status;
}

int record_report_memory(struct record *record, const struct record_options *options,
                         struct report *ret, struct error *e)
{
    struct recording db;
    int status = recording_borrow(&db, record->db, e);
    if (!status)
        status = report_of(&db, options, ret, e);
    recording_return(&db);
    return status;
}
