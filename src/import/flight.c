/* SPDX-License-Identifier: MIT */
#include "import/flight.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX (1 << 20)
#define MISSING_TOLD 16
#define MISMATCHES_TOLD 8

enum { STATE_SCHEDULED, STATE_STARTED, STATE_COMPLETED };

/* One collective of one rank. */
struct call {
    uint32_t group, rank; /* indices */
    int64_t sequence;
    uint32_t operation, sizes, types; /* interned; 0: absent */
    uint8_t state;
};

/* A rank of a group, as its own dump tells. */
struct seat {
    uint32_t group, rank;
    int64_t completed, started, enqueued; /* highest numbers; -1: none */
};

struct group {
    uint32_t name, description;
    uint32_t members; /* ranks by its configuration; 0 unknown */
    uint32_t dumped;
    int64_t furthest, least; /* last entered by any rank; last completed by all; -1: none */
};

struct dump {
    int rank;
    uint32_t path;
};

struct flight {
    struct intern texts;
    struct map group_of, seat_of, rank_of; /* name; group and rank; number of a rank */
    struct map id_of; /* the number that the dump that is read gives a group */
    struct call *calls;
    size_t call_count, call_cap;
    struct seat *seats;
    size_t seat_count, seat_cap;
    struct group *groups;
    size_t group_count, group_cap;
    struct dump *dumps;
    size_t dump_count, dump_cap;
    uint32_t version, library;
    uint64_t skipped, entries;
    bool failed;
};

struct flight *flight_new(void)
{
    return mem_zalloc(sizeof(struct flight));
}

void flight_free(struct flight *f)
{
    if (!f)
        return;
    intern_clear(&f->texts);
    map_clear(&f->group_of);
    map_clear(&f->seat_of);
    map_clear(&f->rank_of);
    map_clear(&f->id_of);
    free(f->calls);
    free(f->seats);
    free(f->groups);
    free(f->dumps);
    free(f);
}

bool flight_is_json(const char *head, size_t size)
{
    size_t i = 0;
    while (i < size && strchr(" \t\r\n", head[i]) && head[i])
        i++;
    return i < size && head[i] == '{' &&
           (memmem(head, size, "\"pg_config\"", 11) || memmem(head, size, "\"collective_seq_id\"", 19) ||
            memmem(head, size, "\"nccl_comm_state\"", 17));
}

int flight_rank_of_name(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    const char *end = name + strcspn(name, ".");
    const char *p = end;
    while (p > name && p[-1] >= '0' && p[-1] <= '9')
        p--;
    if (p == end || end - p > 7)
        return -1;
    long n = strtol(p, NULL, 10);
    return n < RANKS_MAX ? (int)n : -1;
}

static uint32_t text_of(struct flight *f, const char *text)
{
    uint32_t n = text ? intern_put(&f->texts, text) : 0;
    f->failed |= text && !n;
    return n;
}

/* ---- reading ---- */

static uint32_t group_of(struct flight *f, const char *name, const char *description)
{
    uint64_t known;
    uint32_t text = text_of(f, name);
    if (map_get(&f->group_of, text, &known))
        return (uint32_t)known;
    if (!mem_grow((void **)&f->groups, &f->group_cap, f->group_count + 1, sizeof(*f->groups)) ||
        !map_put(&f->group_of, text, f->group_count)) {
        f->failed = true;
        return 0;
    }
    f->groups[f->group_count] = (struct group){.name = text, .description = text_of(f, description)};
    return (uint32_t)f->group_count++;
}

static struct seat *seat_of(struct flight *f, uint32_t group, uint32_t rank)
{
    uint64_t known, key = (uint64_t)group << 32 | rank;
    if (map_get(&f->seat_of, key, &known))
        return &f->seats[known];
    if (f->failed ||
        !mem_grow((void **)&f->seats, &f->seat_cap, f->seat_count + 1, sizeof(*f->seats)) ||
        !map_put(&f->seat_of, key, f->seat_count)) {
        f->failed = true;
        return NULL;
    }
    f->seats[f->seat_count] = (struct seat){group, rank, -1, -1, -1};
    f->groups[group].dumped++;
    return &f->seats[f->seat_count++];
}

/* "[0, 1, 2]", or a list: how many. */
static uint32_t count_ranks(const struct value *ranks)
{
    const char *text = value_text(ranks, NULL);
    uint32_t n = (uint32_t)value_count(ranks);
    for (const char *p = text; p && *p; n++) {
        p += strcspn(p, "0123456789");
        if (!*p)
            break;
        p += strspn(p, "0123456789");
    }
    return n;
}

static void higher(int64_t *to, const struct value *v)
{
    int64_t n = value_int(v, -1);
    *to = n > *to ? n : *to;
}

/* pg_config {id: {name, desc, ranks}}: ids are this rank's own. */
static void read_groups(struct flight *f, const struct value *dump, uint32_t rank)
{
    const struct value *config = value_get(dump, "pg_config");
    for (size_t i = 0; i + 1 < value_count(config) && !f->failed; i += 2) {
        const struct value *c = value_at(config, i + 1);
        const char *name = value_text(value_get(c, "name"), "");
        if (!*name)
            continue;
        uint32_t g = group_of(f, name, value_text(value_get(c, "desc"), NULL));
        uint32_t members = count_ranks(value_get(c, "ranks"));
        if (f->failed || !seat_of(f, g, rank))
            return;
        f->groups[g].members = members > f->groups[g].members ? members : f->groups[g].members;
        uint64_t id = (uint64_t)value_int(value_at(config, i), -1);
        f->failed |= !map_put(&f->id_of, id, g);
    }
}

/* pg_status {id: {last_..._collective}}. */
static void read_status(struct flight *f, const struct value *dump, uint32_t rank)
{
    const struct value *all = value_get(dump, "pg_status");
    for (size_t i = 0; i + 1 < value_count(all) && !f->failed; i += 2) {
        const struct value *status = value_at(all, i + 1);
        uint64_t g;
        if (!map_get(&f->id_of, (uint64_t)value_int(value_at(all, i), -1), &g))
            continue;
        struct seat *s = seat_of(f, (uint32_t)g, rank);
        if (!s)
            return;
        higher(&s->completed, value_get(status, "last_completed_collective"));
        higher(&s->started, value_get(status, "last_started_collective"));
        higher(&s->enqueued, value_get(status, "last_enqueued_collective"));
    }
}

/* "[[4, 8], [2]]" of lists of numbers, or texts joined; 0: absent. */
static uint32_t spelt(struct flight *f, const struct value *list, struct str *s)
{
    str_reset(s);
    for (size_t i = 0; i < value_count(list) && s->len < 400; i++) {
        const struct value *item = value_at(list, i);
        str_add(s, i ? ", " : "");
        if (value_text(item, NULL))
            str_add(s, value_text(item, ""));
        for (size_t k = 0; k < value_count(item) && s->len < 400; k++)
            str_addf(s, "%s%lld", k ? "x" : "", (long long)value_int(value_at(item, k), -1));
    }
    return s->len ? text_of(f, str_text(s)) : 0;
}

/* What the watchdog has let go of ("retired") is over, also where nobody asked for its state. */
static int state_of(const struct value *entry)
{
    const char *text = value_text(value_get(entry, "state"), "");
    if (!strcmp(text, "completed") || value_true(value_get(entry, "retired")))
        return STATE_COMPLETED;
    return !strcmp(text, "started") ? STATE_STARTED : STATE_SCHEDULED;
}

/* "nccl:all_reduce" is all_reduce. */
static const char *operation_of(const struct value *entry)
{
    const char *name = value_text(value_get(entry, "profiling_name"), NULL);
    const char *colon = name ? strchr(name, ':') : NULL;
    return colon && colon[1] ? colon + 1 : name;
}

static void read_entry(struct flight *f, const struct value *entry, uint32_t rank, struct str *s)
{
    const struct value *group = value_get(entry, "process_group");
    const char *name = value_text(value_at(group, 0), NULL), *operation = operation_of(entry);
    int64_t sequence = value_int(value_get(entry, "collective_seq_id"), -1);
    if (value_true(value_get(entry, "is_p2p")))
        return;
    if (!name || !operation || sequence < 0) {
        f->skipped++;
        return;
    }
    uint32_t g = group_of(f, name, value_text(value_at(group, 1), NULL));
    struct seat *seat = f->failed ? NULL : seat_of(f, g, rank);
    int64_t id = value_int(value_get(entry, "pg_id"), -1);
    if (id >= 0)
        f->failed |= !map_put(&f->id_of, (uint64_t)id, g);
    if (!seat ||
        !mem_grow((void **)&f->calls, &f->call_cap, f->call_count + 1, sizeof(*f->calls))) {
        f->failed = true;
        return;
    }
    struct call *c = &f->calls[f->call_count++];
    *c = (struct call){.group = g, .rank = rank, .sequence = sequence,
                       .operation = text_of(f, operation),
                       .state = (uint8_t)state_of(entry)};
    c->sizes = spelt(f, value_get(entry, "input_sizes"), s);
    c->types = spelt(f, value_get(entry, "input_dtypes"), s);
    seat->enqueued = sequence > seat->enqueued ? sequence : seat->enqueued;
    if (c->state >= STATE_STARTED && sequence > seat->started)
        seat->started = sequence;
    if (c->state == STATE_COMPLETED && sequence > seat->completed)
        seat->completed = sequence;
}

/* The lowest number that no dump has. */
static int free_rank(const struct flight *f)
{
    int rank = 0;
    while (map_get(&f->rank_of, (uint64_t)rank, NULL))
        rank++;
    return rank;
}

int flight_add(struct flight *f, const struct value *dump, int rank, const char *path, struct error *e)
{
    const struct value *entries = value_get(dump, "entries");
    struct str scratch = {0};
    if (!value_get(dump, "pg_config") && !entries)
        return error_set(e, STATUS_INPUT,
                         "\"%s\" is no dump of PyTorch's flight recorder: it has no pg_config and no "
                         "entries", path);
    rank = rank < 0 ? free_rank(f) : rank;
    if (map_get(&f->rank_of, (uint64_t)rank, NULL))
        return error_set(e, STATUS_INPUT, "\"%s\": a dump of rank %d was there already", path, rank);
    if (!mem_grow((void **)&f->dumps, &f->dump_cap, f->dump_count + 1, sizeof(*f->dumps)) ||
        !map_put(&f->rank_of, (uint64_t)rank, f->dump_count))
        return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", path);
    uint32_t index = (uint32_t)f->dump_count;
    f->dumps[f->dump_count++] = (struct dump){rank, text_of(f, path)};
    if (!f->version)
        f->version = text_of(f, value_text(value_get(dump, "version"), NULL));
    const struct value *library = value_get(dump, "comm_lib_version");
    if (!f->library)
        f->library = text_of(f, value_text(library ? library : value_get(dump, "nccl_version"), NULL));
    map_clear(&f->id_of);
    read_groups(f, dump, index);
    for (size_t i = 0; i < value_count(entries) && !f->failed; i++, f->entries++)
        read_entry(f, value_at(entries, i), index, &scratch);
    read_status(f, dump, index);
    f->failed |= scratch.failed;
    str_clear(&scratch);
    return f->failed ? error_set(e, STATUS_MEMORY, "\"%s\": out of memory", path) : STATUS_OK;
}

uint64_t flight_skipped(const struct flight *f)
{
    return f->skipped;
}

/* ---- comparing ---- */

static int by_number(const void *pa, const void *pb)
{
    const struct call *a = pa, *b = pb;
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
    struct fact fact = {kind, str_text(&o->subject), name, text, text ? NAN : number,
                        text ? "" : "count",
                        one ? intern_text(&o->f->texts, o->f->dumps[rank].path) : "flight recorder"};
    if (!o->status)
        o->status = o->fn(o->arg, &fact);
}

static void emit_text(struct out *o, const char *kind, const char *name, uint32_t text, uint32_t rank)
{
    if (text)
        emit(o, kind, name, NAN, intern_text(&o->f->texts, text), rank);
}

/* The calls of group g with that number; calls are sorted. */
static const struct call *find(const struct flight *f, uint32_t g, int64_t sequence, size_t *count)
{
    size_t low = 0, high = f->call_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct call *c = &f->calls[mid];
        if (c->group < g || (c->group == g && c->sequence < sequence))
            low = mid + 1;
        else
            high = mid;
    }
    size_t end = low;
    while (end < f->call_count && f->calls[end].group == g && f->calls[end].sequence == sequence)
        end++;
    *count = end - low;
    return f->calls + low;
}

/* A rank that has not entered the collective after its last, which another has entered and not completed. */
static void tell_missing(struct out *o, const struct seat *s)
{
    const struct flight *f = o->f;
    int64_t furthest = f->groups[s->group].furthest;
    size_t count;
    int64_t next = s->enqueued + 1;
    const struct call *c = find(f, s->group, next, &count);
    bool waits = false;
    for (size_t i = 0; i < count; i++)
        waits |= c[i].state != STATE_COMPLETED;
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
        const struct seat *s = &f->seats[i];
        struct group *g = &f->groups[s->group];
        g->furthest = s->enqueued > g->furthest ? s->enqueued : g->furthest;
        g->least = s->completed < g->least ? s->completed : g->least;
    }
}

/* Every rank gives the same number of bytes in these; elsewhere sizes may differ. */
static bool sizes_are_equal(const char *operation)
{
    static const char *const equal[] = {"all_reduce", "allreduce", "broadcast", "all_gather",
                                        "_all_gather_base", "reduce_scatter", "_reduce_scatter_base",
                                        "reduce", "barrier"};
    for (size_t i = 0; i < sizeof(equal) / sizeof(equal[0]); i++)
        if (!strcmp(operation, equal[i]))
            return true;
    return false;
}

static uint32_t trait(const struct call *c, int which)
{
    return which == 0 ? c->operation : which == 1 ? c->sizes : c->types;
}

/* The value of the trait that most of the calls have. */
static uint32_t most_have(const struct call *c, size_t count, int which)
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

static void add_calls(struct out *o, const struct call *c, int which)
{
    const struct flight *f = o->f;
    str_reset(&o->text);
    str_add(&o->text, intern_text(&f->texts, c->operation));
    if (which)
        str_addf(&o->text, " of %s", intern_text(&f->texts, trait(c, which)));
}

static void tell_mismatch(struct out *o, const struct call *c, size_t count, int which)
{
    static const char *const words[] = {"operation", "size", "type"};
    static const char kind[] = "flight/mismatch";
    const struct flight *f = o->f;
    uint32_t most = most_have(c, count, which);
    const struct call *usual = NULL, *other = NULL;
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
    str_clear(&ranks);
}

/* Differs any call from the first in the trait? One that does not tell it differs from none. */
static bool differ(const struct call *c, size_t count, int which)
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
        const struct call *c = &f->calls[i];
        for (n = 1; i + n < f->call_count && c[n].group == c->group && c[n].sequence == c->sequence; n++)
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

static void tell_group(struct out *o, const struct group *g)
{
    str_reset(&o->subject);
    str_add(&o->subject, intern_text(&o->f->texts, g->name));
    emit_text(o, "flight/group", "name", g->description, UINT32_MAX);
    emit(o, "flight/group", "ranks", g->members ? g->members : g->dumped, NULL, UINT32_MAX);
    if (g->least >= 0 && g->least < INT64_MAX)
        emit(o, "flight/group", "last_completed", (double)g->least, NULL, UINT32_MAX);
    if (g->furthest >= 0)
        emit(o, "flight/group", "last_enqueued", (double)g->furthest, NULL, UINT32_MAX);
}

static void tell_seat(struct out *o, const struct seat *s)
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
