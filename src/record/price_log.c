/* SPDX-License-Identifier: MIT */
#include "record/price_log.h"

#include "base/mem.h"
#include "base/unit.h"
#include "record/fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAKES_LITTLE 10 /* one in so many */

/* PyTorch's loader, seen in jobs that have one: taking a batch over (wake up, fetch the descriptor from the
 * worker, unpickle: 0.5 to 2.4 ms on machines of two cores, so about their geometric mean), starting the
 * workers. */
#define TAKE_NS (1 * NS_PER_MS)
#define START_NS (50 * NS_PER_MS)
#define NO_TIME 1e-6 /* of a pageable copy: a pinned one takes some */
#define KNOWN 0.5    /* of the span: deliveries of less of it tell no gains */

struct price_log {
    struct replay_log *log; /* owned */
    struct replay *replay;  /* owned; reads log. NULL: too little is known */
    bool storage_full;      /* by price_learn, as is: */
    double pinned_ratio;    /* time of a pinned copy by that of a pageable one; NAN unknown */
};

void price_free(struct price_log *log)
{
    if (!log)
        return;
    replay_free(log->replay);
    replay_log_free(log->log);
    free(log);
}

/* Chunks in the order in which they were written; *ret_bad is why one could not be read. */
static int decode(struct recording *db, struct replay_log *log, struct error *ret_bad,
                  struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    int rc, status = STATUS_OK;
    if (sqlite3_prepare_v2(db->db, "SELECT chunk FROM delivery ORDER BY number", -1, &s, NULL))
        return recording_error(db, e, "reading its deliveries");
    while (!status && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        const void *bytes = sqlite3_column_blob(s, 0);
        size_t size = (size_t)sqlite3_column_bytes(s, 0);
        status = replay_decode(log, bytes ? bytes : "", size, ret_bad);
    }
    if (status == STATUS_MEMORY)
        return fill_no_memory(db, e);
    if (!status && rc != SQLITE_DONE)
        return recording_error(db, e, "reading its deliveries");
    return STATUS_OK;
}

/* The first row of a SELECT, if it has one (sqlite3_data_count); *ret is the caller's. */
static int first_row(struct recording *db, const char *sql, sqlite3_stmt **ret, struct error *e)
{
    int rc = sqlite3_prepare_v2(db->db, sql, -1, ret, NULL);
    if (!rc)
        rc = sqlite3_step(*ret);
    return rc == SQLITE_ROW || rc == SQLITE_DONE
               ? STATUS_OK
               : recording_error(db, e, "reading what gains rest on");
}

/* Numbers of cores among the job's facts; what is absent stays 0. */
static int learn_cores(struct recording *db, struct replay_setup *setup, struct error *e)
{
#define CORES(fact_name)                                                                           \
    "max(number) FILTER (WHERE name = '" fact_name "' AND number >= 0 AND number < 1e6)"
    sqlite3_stmt *s AUTOFINAL = NULL;
    static const char sql[] = "SELECT " CORES("cores_allowed") ", " CORES(
        "cores_spare") " FROM fact WHERE kind = 'job' AND subject = ''";
#undef CORES
    int status = first_row(db, sql, &s, e);
    if (status)
        return status;
    setup->cores = sqlite3_column_double(s, 0);
    if (sqlite3_column_type(s, 1) != SQLITE_NULL)
        setup->busy = fmax(0, setup->cores - sqlite3_column_double(s, 1));
    return STATUS_OK;
}

static int learn_storage(struct recording *db, bool *ret_full, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    static const char sql[] = "SELECT latency_bound = 0 FROM storage "
                              "ORDER BY seconds DESC, resource LIMIT 1";
    int status = first_row(db, sql, &s, e);
    if (!status)
        *ret_full = sqlite3_data_count(s) && sqlite3_column_int(s, 0);
    return status;
}

/* Bytes a second of one PCIe lane each way, after line coding, by generation (PCI Express Base
 * Specification 6.0), and what pinned copies reach of it (CUDA's bandwidthTest: 12.6 of 15.8 GB/s on
 * generation 3, 25 of 31.5 on 4, x16 each). */
static const double lane_rate[] = {0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
#define LINK_REACHED 0.8

/* By the rate that the pageable copies had and that of the link; nothing is known of memory. */
static int learn_pinned(struct recording *db, double *ret_ratio, struct error *e)
{
    sqlite3_stmt *s AUTOFINAL = NULL;
    static const char sql[] =
        "SELECT max(number) FILTER (WHERE kind = 'copy' AND name = 'pageable_rate'), "
        "min(number) FILTER (WHERE kind = 'gpu' AND name = 'pcie_gen'), "
        "min(number) FILTER (WHERE kind = 'gpu' AND name = 'pcie_width') FROM fact";
    int status = first_row(db, sql, &s, e);
    *ret_ratio = NAN;
    if (status)
        return status;
    double rate = sqlite3_column_double(s, 0), width = sqlite3_column_double(s, 2);
    int generation = sqlite3_column_int(s, 1);
    if (rate > 0 && width >= 1 && width <= 32 && generation >= 1 &&
        (size_t)generation < sizeof(lane_rate) / sizeof(lane_rate[0]))
        *ret_ratio = fmin(1, rate / (LINK_REACHED * width * lane_rate[generation]));
    return STATUS_OK;
}

int price_learn(struct price_log *log, struct recording *db, struct error *e)
{
    if (!log)
        return STATUS_OK;
    int status = learn_storage(db, &log->storage_full, e);
    return status ? status : learn_pinned(db, &log->pinned_ratio, e);
}

bool price_storage_full(const struct price_log *log)
{
    return log && log->storage_full;
}

static int note_bad(struct recording *db, struct report *r, const struct error *bad,
                    struct error *e)
{
    struct str line = {0};
    str_addf(&line, "gains are upper bounds: the recorded deliveries cannot be read: %s",
             bad->text);
    bool ok = !line.failed && fill_note(r, str_text(&line));
    str_clear(&line);
    return ok ? STATUS_OK : fill_no_memory(db, e);
}

/* Time of the longest consumer's steps, those dropped included. */
static int64_t known_ns(const struct replay_log *log)
{
    struct replay_consumer_info info;
    int64_t most = 0;
    for (int c = 0; replay_consumer_info(log, c, &info); c++)
        if (info.steps && info.last_ns - info.first_ns + info.dropped_ns > most)
            most = info.last_ns - info.first_ns + info.dropped_ns;
    return most;
}

static bool note_little(struct report *r, int64_t ns)
{
    char known[32], span[32];
    struct str line = {0};
    str_addf(&line, "gains are upper bounds: deliveries are known of %s of %s",
             unit_format_ns(known, sizeof(known), ns),
             unit_format_ns(span, sizeof(span), r->span_ns));
    bool ok = !line.failed && fill_note(r, str_text(&line));
    str_clear(&line);
    return ok;
}

int price_load(struct recording *db, struct report *r, struct price_log **ret, struct error *e)
{
    struct error bad = {0};
    struct replay_setup setup = {.take_ns = TAKE_NS, .start_ns = START_NS};
    struct price_log *p = mem_zalloc(sizeof(*p));
    *ret = NULL;
    if (!p || !(p->log = replay_log_new(0))) {
        price_free(p);
        return fill_no_memory(db, e);
    }
    int status = learn_cores(db, &setup, e);
    if (!status)
        status = decode(db, p->log, &bad, e);
    if (!status && bad.status)
        status = note_bad(db, r, &bad, e);
    int64_t known = known_ns(p->log);
    bool little = (double)known < KNOWN * (double)r->span_ns;
    if (!status && !bad.status && known && little && !note_little(r, known))
        status = fill_no_memory(db, e);
    if (!status && !bad.status && known && !little) {
        p->replay = replay_new(p->log, &setup, &bad);
        if (!p->replay && bad.status == STATUS_MEMORY)
            status = fill_no_memory(db, e);
    }
    if (status || bad.status || !known)
        price_free(p);
    else
        *ret = p;
    return status;
}

uint64_t price_steps(const struct price_log *log)
{
    struct replay_consumer_info info;
    uint64_t most = 0;
    for (int c = 0; log && replay_consumer_info(log->log, c, &info); c++)
        if (info.steps + info.dropped_steps > most)
            most = info.steps + info.dropped_steps;
    return most;
}

/* What the steps and deliveries of all consumers say about who makes batches. */
struct makers {
    uint64_t steps, deliveries;
    uint64_t reading; /* steps without a delivery in which the consumer read or prepared data */
    uint32_t workers; /* of the consumer that has most */
};

static bool reads(const struct replay_step *s)
{
    for (int i = 0; i < s->op_count; i++)
        if (s->ops[i].kind == REPLAY_THREAD &&
            (s->ops[i].what.cause == CAUSE_STORAGE || s->ops[i].what.cause == CAUSE_PREPARE))
            return true;
    return false;
}

/* Those who made at least a tenth of what the busiest one made: a thread that handed something
 * over once is no loader worker. */
static uint32_t count_workers(const struct price_log *p, int consumer, uint64_t deliveries)
{
    struct replay_delivery *d = mem_zalloc(sizeof(*d));
    uint32_t *made = mem_zalloc(REPLAY_WORKERS_MAX * sizeof(*made)), most = 0, workers = 0;
    for (uint64_t i = 0; d && made && i < deliveries; i++)
        if (replay_log_delivery(p->log, consumer, i, d) &&
            ++made[d->worker % REPLAY_WORKERS_MAX] > most)
            most = made[d->worker % REPLAY_WORKERS_MAX];
    for (uint32_t w = 0; made && most && w < REPLAY_WORKERS_MAX; w++)
        workers += made[w] && made[w] * MAKES_LITTLE >= most;
    free(d);
    free(made);
    return workers;
}

static struct makers look_at(const struct price_log *p)
{
    struct makers m = {0};
    struct replay_consumer_info info;
    struct replay_step *s = mem_zalloc(sizeof(*s));
    for (int c = 0; s && replay_consumer_info(p->log, c, &info); c++) {
        uint32_t workers = count_workers(p, c, info.deliveries);
        m.steps += info.steps;
        m.deliveries += info.deliveries;
        m.workers = workers > m.workers ? workers : m.workers;
        for (uint64_t i = 0; i < info.steps && replay_log_step(p->log, c, i, s); i++)
            m.reading += s->delivery == REPLAY_NONE && reads(s);
    }
    free(s);
    return m;
}

/* Several loaders: advice is about the one that was waited for longest. */
static size_t several_loaders(const struct price_log *log, const struct replay_learnt *learnt,
                              struct rule_fact *facts)
{
    struct replay_consumer_info info;
    size_t n = 0;
    facts[n++] = (struct rule_fact){"loader", "loaders", learnt->loaders, "count", FACT_IF_ABSENT};
    facts[n++] = (struct rule_fact){"loader", "part", learnt->part, "1", FACT_IF_ABSENT};
    if (replay_consumer_info(log->log, 0, &info) && !info.dropped_steps)
        facts[n++] =
            (struct rule_fact){"loader", "restarts", learnt->restarts, "count", FACT_INSTEAD};
    return n;
}

size_t price_facts(const struct price_log *log, struct rule_fact facts[PRICE_FACTS])
{
    struct replay_learnt learnt = {.loaders = 0};
    size_t n = 0;
    if (!log)
        return 0;
    struct makers m = look_at(log);
    bool in_main = m.reading * 2 > m.steps && m.deliveries * MAKES_LITTLE < m.steps;
    bool known = !in_main && log->replay && replay_learnt(log->replay, 0, &learnt);
    uint32_t workers = learnt.loaders > 1 && learnt.workers ? learnt.workers : m.workers;
    if (in_main)
        facts[n++] = (struct rule_fact){"loader", "in_main", 1, "1", FACT_IF_ABSENT};
    else if (workers)
        facts[n++] = (struct rule_fact){"loader", "workers", workers, "count", FACT_AT_MOST};
    if (known && learnt.workers && learnt.depth && !learnt.depth_bound)
        facts[n++] = (struct rule_fact){"loader", "depth", learnt.depth, "count", FACT_IF_ABSENT};
    if (learnt.loaders > 1)
        n += several_loaders(log, &learnt, facts + n);
    return n;
}

/* "prefetch N": N batches ahead per worker instead of what was learnt. */
static bool deeper(const struct price_log *log, double factor, struct replay_scenario *ret)
{
    struct replay_learnt learnt;
    if (!log->replay || !replay_learnt(log->replay, 0, &learnt) || !learnt.workers || !learnt.depth)
        return false;
    ret->depth_times = factor * learnt.workers / learnt.depth;
    return ret->depth_times > 1;
}

/* "CAUSE ...": all of them gone. */
static bool away(const char *causes, struct replay_scenario *ret)
{
    char word[32];
    int used, count = 0;
    for (; sscanf(causes, "%31s%n", word, &used) == 1; causes += used, count++) {
        int cause = cause_of_name(word);
        if (cause <= 0 || !replay_scenario_away(ret, (enum cause)cause, REPLAY_EVERYWHERE, 0, 0))
            return false;
    }
    return count > 0;
}

bool price_scenario(const struct price_log *log, const char *text, struct replay_scenario *ret,
                    bool *ret_bound)
{
    double number;
    *ret = (struct replay_scenario){0};
    *ret_bound = false;
    if (!log)
        return false;
    if (!strcmp(text, "pinned")) {
        *ret_bound = !isfinite(log->pinned_ratio);
        ret->pinned_ratio = *ret_bound ? NO_TIME : log->pinned_ratio;
        return ret->pinned = ret->pinned_async = true;
    }
    if (!strcmp(text, "persistent"))
        return ret->restarts_away = true;
    if (sscanf(text, "workers +%lf", &number) == 1 && number >= 1 && number <= 1024) {
        ret->workers_add = (int)number;
        return true;
    }
    if (sscanf(text, "prefetch %lf", &number) == 1 && number >= 1 && number <= 1024)
        return deeper(log, number, ret);
    return !strncmp(text, "away ", 5) && away(text + 5, ret);
}

const struct replay *price_replay(const struct price_log *log)
{
    return log ? log->replay : NULL;
}
