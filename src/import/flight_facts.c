/* SPDX-License-Identifier: MIT */
/* What the dumps tell together: who has not come, and who does something else. */
#include "base/mem.h"
#include "base/str.h"
#include "import/flight_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MISSING_TOLD 16
#define MISMATCHES_TOLD 8

static int by_number(const void *pa, const void *pb)
{
    const struct flight_call *a = pa, *b = pb;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

struct out {
    struct flight *f;
    fact_fn fn;
    void *arg;
    int status, missing, mismatches;
    struct str subject, text;
};

static void emit(struct out *o, const char *kind, const char *name, double number, const char *text,
                 uint32_t rank)
{
    bool one = rank < o->f->dump_count;
    struct fact fact = {kind,
                        str_text(&o->subject),
                        name,
                        text,
                        text ? NAN : number,
                        text ? "" : "count",
                        one ? intern_text(&o->f->texts, o->f->dumps[rank].path)
                            : "flight recorder"};
    o->f->failed |= o->subject.failed || o->text.failed; /* the next reset forgets it */
    if (!o->status)
        o->status = o->fn(o->arg, &fact);
}

static void emit_text(struct out *o, const char *kind, const char *name, uint32_t text,
                      uint32_t rank)
{
    if (text)
        emit(o, kind, name, NAN, intern_text(&o->f->texts, text), rank);
}

/* The calls of group g with that number; calls are sorted. */
static const struct flight_call *find(const struct flight *f, uint32_t g, int64_t sequence,
                                      size_t *count)
{
    size_t low = 0, high = f->call_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct flight_call *c = &f->calls[mid];
        if (c->group < g || (c->group == g && c->sequence < sequence))
            low = mid + 1;
        else
            high = mid;
    }
    size_t end = low;
    while (end < f->call_count && f->calls[end].group == g && f->calls[end].sequence == sequence)
        end++;
    *count = end - low;
    return *count ? f->calls + low : NULL;
}

/* A rank that has not entered the collective after its last, which another has entered and not completed. */
static void tell_missing(struct out *o, const struct flight_seat *s)
{
    const struct flight *f = o->f;
    int64_t furthest = f->groups[s->group].furthest;
    size_t count;
    int64_t next = s->enqueued + 1;
    const struct flight_call *c = find(f, s->group, next, &count);
    bool waits = false;
    for (size_t i = 0; i < count; i++)
        waits |= c[i].state != FLIGHT_COMPLETED;
    if (s->enqueued >= furthest || !waits)
        return;
    o->missing++;
    if (o->missing > MISSING_TOLD)
        return;
    str_reset(&o->subject);
    str_addf(&o->subject, "%s %d", intern_text(&f->texts, f->groups[s->group].name),
             f->dumps[s->rank].rank);
    emit(o, "flight/missing", "sequence", (double)next, NULL, s->rank);
    emit_text(o, "flight/missing", "operation", c[0].operation, s->rank);
    emit(o, "flight/missing", "behind", (double)(furthest - s->enqueued), NULL, s->rank);
}

static void sum_up(struct flight *f)
{
    for (size_t g = 0; g < f->group_count; g++) {
        f->groups[g].furthest = -1;
        f->groups[g].least = INT64_MAX;
    }
    for (size_t i = 0; i < f->seat_count; i++) {
        const struct flight_seat *s = &f->seats[i];
        struct flight_group *g = &f->groups[s->group];
        g->furthest = s->enqueued > g->furthest ? s->enqueued : g->furthest;
        g->least = s->completed < g->least ? s->completed : g->least;
    }
}

/* Every rank gives the same number of bytes in these; elsewhere sizes may differ. */
static bool sizes_are_equal(const char *operation)
{
    static const char *const equal[] = {
        "all_reduce",           "allreduce",        "broadcast",
        "all_gather",           "_all_gather_base", "reduce_scatter",
        "_reduce_scatter_base", "reduce",           "barrier"};
    for (size_t i = 0; i < sizeof(equal) / sizeof(equal[0]); i++)
        if (!strcmp(operation, equal[i]))
            return true;
    return false;
}

static uint32_t trait(const struct flight_call *c, int which)
{
    return which == 0 ? c->operation : which == 1 ? c->sizes : c->types;
}

/* The value of the trait that most of the calls have. */
static uint32_t most_have(const struct flight_call *c, size_t count, int which)
{
    uint32_t best = 0;
    size_t best_count = 0, looked = count < 64 ? count : 64;
    for (size_t i = 0; i < looked; i++) {
        size_t n = 0;
        for (size_t k = 0; k < count; k++)
            n += trait(&c[k], which) == trait(&c[i], which);
        if (n > best_count) {
            best_count = n;
            best = trait(&c[i], which);
        }
    }
    return best;
}

static void add_calls(struct out *o, const struct flight_call *c, int which)
{
    const struct flight *f = o->f;
    str_reset(&o->text);
    str_add(&o->text, intern_text(&f->texts, c->operation));
    if (which)
        str_addf(&o->text, " of %s", intern_text(&f->texts, trait(c, which)));
}

static void tell_mismatch(struct out *o, const struct flight_call *c, size_t count, int which)
{
    static const char *const words[] = {"operation", "size", "type"};
    static const char kind[] = "flight/mismatch";
    const struct flight *f = o->f;
    uint32_t most = most_have(c, count, which);
    const struct flight_call *usual = NULL, *other = NULL;
    struct str ranks = {0};
    for (size_t i = 0; i < count; i++) {
        if (trait(&c[i], which) == most) {
            usual = usual ? usual : &c[i];
            continue;
        }
        other = other ? other : &c[i];
        if (ranks.len < 100)
            str_addf(&ranks, "%s%d", ranks.len ? ", " : "", f->dumps[c[i].rank].rank);
    }
    if (!other || !usual || ++o->mismatches > MISMATCHES_TOLD) {
        str_clear(&ranks);
        return;
    }
    str_reset(&o->subject);
    str_addf(&o->subject, "%s %lld", intern_text(&f->texts, f->groups[c->group].name),
             (long long)c->sequence);
    emit(o, kind, "what", NAN, words[which], other->rank);
    add_calls(o, usual, which);
    emit(o, kind, "operation", NAN, str_text(&o->text), other->rank);
    add_calls(o, other, which);
    emit(o, kind, "other", NAN, str_text(&o->text), other->rank);
    emit(o, kind, "ranks", NAN, str_text(&ranks), other->rank);
    o->f->failed |= ranks.failed;
    str_clear(&ranks);
}

/* Differs any call from the first in the trait? One that does not tell it differs from none. */
static bool differ(const struct flight_call *c, size_t count, int which)
{
    for (size_t i = 1; i < count; i++)
        if (trait(&c[i], which) != trait(c, which) && trait(&c[i], which) && trait(c, which))
            return true;
    return false;
}

/* The first number of each group at which ranks differ; those after it follow from it. */
static void tell_mismatches(struct out *o)
{
    const struct flight *f = o->f;
    uint32_t done = UINT32_MAX;
    for (size_t i = 0, n; i < f->call_count; i += n) {
        const struct flight_call *c = &f->calls[i];
        for (n = 1; i + n < f->call_count && c[n].group == c->group && c[n].sequence == c->sequence;
             n++)
            ;
        if (c->group == done)
            continue;
        int which = differ(c, n, 0) ? 0 : -1;
        if (which < 0 && sizes_are_equal(intern_text(&f->texts, c->operation)))
            which = differ(c, n, 1) ? 1 : differ(c, n, 2) ? 2 : -1;
        if (which < 0)
            continue;
        done = c->group;
        tell_mismatch(o, c, n, which);
    }
}

static void tell_group(struct out *o, const struct flight_group *g)
{
    str_reset(&o->subject);
    str_add(&o->subject, intern_text(&o->f->texts, g->name));
    emit_text(o, "flight/group", "name", g->description, UINT32_MAX);
    emit(o, "flight/group", "ranks", g->members ? g->members : g->dumped, NULL, UINT32_MAX);
    emit(o, "flight/group", "dumped", g->dumped, NULL, UINT32_MAX);
    if (g->least >= 0 && g->least < INT64_MAX)
        emit(o, "flight/group", "last_completed", (double)g->least, NULL, UINT32_MAX);
    if (g->furthest >= 0)
        emit(o, "flight/group", "last_enqueued", (double)g->furthest, NULL, UINT32_MAX);
}

static void tell_seat(struct out *o, const struct flight_seat *s)
{
    const struct flight *f = o->f;
    str_reset(&o->subject);
    str_addf(&o->subject, "%s %d", intern_text(&f->texts, f->groups[s->group].name),
             f->dumps[s->rank].rank);
    if (s->completed >= 0)
        emit(o, "flight/rank", "last_completed", (double)s->completed, NULL, s->rank);
    if (s->started >= 0)
        emit(o, "flight/rank", "last_started", (double)s->started, NULL, s->rank);
    if (s->enqueued >= 0)
        emit(o, "flight/rank", "last_enqueued", (double)s->enqueued, NULL, s->rank);
}

static int by_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* "1, 4-7": ranks of the job without a dump. */
static void tell_absent(struct out *o, uint32_t ranks)
{
    const struct flight *f = o->f;
    int *have = f->dump_count ? mem_zalloc(f->dump_count * sizeof(*have)) : NULL;
    if (!have) {
        o->f->failed |= f->dump_count > 0;
        return;
    }
    for (size_t i = 0; i < f->dump_count; i++)
        have[i] = f->dumps[i].rank;
    qsort(have, f->dump_count, sizeof(*have), by_int);
    int64_t next = 0;
    str_reset(&o->text);
    for (size_t i = 0; i <= f->dump_count && o->text.len < 200; i++) {
        int64_t end =
            i < f->dump_count ? (int64_t)have[i] : (int64_t)ranks; /* next ... end - 1 are absent */
        if (end > next)
            str_addf(&o->text, end > next + 1 ? "%s%lld-%lld" : "%s%lld", o->text.len ? ", " : "",
                     (long long)next, (long long)end - 1);
        next = end + 1 > next ? end + 1 : next;
    }
    free(have);
    if (o->text.len)
        emit(o, "flight", "ranks_absent", NAN, str_text(&o->text), UINT32_MAX);
}

static void tell_job(struct out *o)
{
    const struct flight *f = o->f;
    uint32_t ranks = 0;
    for (size_t g = 0; g < f->group_count; g++)
        ranks = f->groups[g].members > ranks ? f->groups[g].members : ranks;
    str_reset(&o->subject);
    str_add(&o->subject, "");
    emit_text(o, "flight", "version", f->version, UINT32_MAX);
    emit_text(o, "flight", "library", f->library, UINT32_MAX);
    if (ranks)
        emit(o, "flight", "ranks", ranks, NULL, UINT32_MAX);
    emit(o, "flight", "ranks_dumped", (double)f->dump_count, NULL, UINT32_MAX);
    if (ranks > f->dump_count)
        tell_absent(o, ranks);
    emit(o, "flight", "entries", (double)f->entries, NULL, UINT32_MAX);
    emit(o, "flight", "missing", o->missing, NULL, UINT32_MAX);
    emit(o, "flight", "mismatches", o->mismatches, NULL, UINT32_MAX);
}

int flight_facts(struct flight *f, fact_fn fn, void *arg, struct error *e)
{
    struct out o = {.f = f, .fn = fn, .arg = arg};
    sum_up(f);
    if (f->call_count)
        qsort(f->calls, f->call_count, sizeof(*f->calls), by_number);
    for (size_t g = 0; g < f->group_count; g++)
        tell_group(&o, &f->groups[g]);
    for (size_t i = 0; i < f->seat_count; i++) {
        tell_seat(&o, &f->seats[i]);
        tell_missing(&o, &f->seats[i]);
    }
    tell_mismatches(&o);
    tell_job(&o);
    if (!o.status && (f->failed || o.subject.failed || o.text.failed))
        o.status = error_set(e, STATUS_MEMORY, "out of memory comparing the dumps");
    str_clear(&o.subject);
    str_clear(&o.text);
    return o.status;
}
