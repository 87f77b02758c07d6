/* SPDX-License-Identifier: MIT */
#include "cmd/check_look.h"
#include "import/nccl_log.h"
#include "import/source.h"
#include "measure/dump.h"
#include "record/check.h"

#include "base/unit.h"

#include <string.h>

/* In data/check: what was watched for less may pass. */
#define STEADY_NS (5 * NS_PER_S)

struct keep {
    struct check *check;
    struct error e;
};

static int keep_fact(void *arg, const struct fact *fact)
{
    struct keep *k = arg;
    return check_fact(k->check, fact, &k->e);
}

static int read_log(struct nccl_log *l, const char *path, struct error *e)
{
    struct source *source;
    uint64_t before = nccl_log_counts(l).nccl;
    int status = source_open(path, &source, e);
    if (status)
        return status;
    status = nccl_log_read(l, source, e);
    source_close(source);
    if (!status && nccl_log_counts(l).nccl == before)
        status = error_set(e, STATUS_INPUT,
                           "\"%s\": no line of NCCL or RCCL is in it (is it the job's output, "
                           "started with NCCL_DEBUG=INFO?)",
                           path);
    return status;
}

/* Several files are several ranks of one job. */
static int read_logs(const struct look_options *o, struct keep *k, struct error *e)
{
    struct nccl_log *l = nccl_log_new();
    int status = l ? STATUS_OK : error_set(e, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < o->log_count && !status; i++)
        status = read_log(l, o->logs[i], e);
    if (!status)
        status = nccl_log_facts(l, keep_fact, k, e);
    nccl_log_free(l);
    return status;
}

static int judge(const struct look_options *o, struct keep *k, struct look *l, struct error *e)
{
    struct check_options co = {.rules_dir = o->rules_dir, .facts = o->facts};
    int status = survey_run(&l->options, keep_fact, k, &l->seen, e);
    if (k->e.status)
        *e = k->e;
    if (!status && o->log_count)
        status = read_logs(o, k, e);
    return status ? status : check_run(k->check, &co, &l->report, e);
}

void look_clear(struct look *l)
{
    dump_free(l->options.dump);
    check_report_clear(&l->report);
}

static int look(const struct look_options *o, int64_t interval_ns, struct look *ret,
                struct error *e)
{
    struct keep k = {0};
    struct look l = {.options = o->survey};
    l.options.interval_ns = interval_ns;
    check_report_init(&l.report);
    int status = check_new(&k.check, e);
    if (!status && o->dump && !(l.options.dump = dump_new()))
        status = error_set(e, STATUS_MEMORY, "out of memory");
    if (!status)
        status = judge(o, &k, &l, e);
    check_free(k.check);
    if (status)
        look_clear(&l);
    else
        *ret = l;
    return status;
}

/* Does it rest on a load that was watched for a short time (doc/rules.md)? */
static bool may_pass(const struct report_finding *f)
{
    for (size_t i = 0; i < f->evidence.count; i++)
        if (!strcmp(f->evidence.items[i].name, "watched"))
            return f->evidence.items[i].value < unit_seconds(STEADY_NS);
    return false;
}

static bool any_may_pass(const struct check_report *r)
{
    for (size_t i = 0; i < r->found.finding_count; i++)
        if (may_pass(&r->found.findings[i]))
            return true;
    return false;
}

int look_at(const struct look_options *o, struct look *ret, struct error *e)
{
    struct look first, again;
    bool given = o->survey.interval_ns >= 0;
    int status = look(o, given ? o->survey.interval_ns : NS_PER_S, &first, e);
    if (status)
        return status;
    if (given || o->survey.root || !any_may_pass(&first.report)) {
        *ret = first;
        return STATUS_OK;
    }
    status = look(o, STEADY_NS, &again, e);
    if (!status && !check_report_join(&again.report, &first.report, may_pass)) {
        look_clear(&again);
        status = error_set(e, STATUS_MEMORY, "out of memory");
    }
    look_clear(&first);
    if (!status)
        *ret = again;
    return status;
}
