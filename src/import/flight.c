/* SPDX-License-Identifier: MIT */
#include "import/flight.h"

#include "base/mem.h"
#include "base/str.h"
#include "import/flight_int.h"
#include "import/scan.h"

#include <stdlib.h>
#include <string.h>

#define RANKS_MAX (1 << 20)
#define SEQUENCE_MAX (INT64_C(1) << 50)

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
    return scan_begin(head, size) == '{' && (memmem(head, size, "\"pg_config\"", 11) ||
                                             memmem(head, size, "\"collective_seq_id\"", 19) ||
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
    f->groups[f->group_count] =
        (struct flight_group){.name = text, .description = text_of(f, description)};
    return (uint32_t)f->group_count++;
}

static struct flight_seat *seat_of(struct flight *f, uint32_t group, uint32_t rank)
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
    f->seats[f->seat_count] = (struct flight_seat){group, rank, -1, -1, -1};
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

/* The number of a collective; -1: absent, or none that a job can reach. */
static int64_t sequence_of(const struct value *v)
{
    int64_t n = value_int(v, -1);
    return n >= 0 && n < SEQUENCE_MAX ? n : -1;
}

static void higher(int64_t *to, const struct value *v)
{
    int64_t n = sequence_of(v);
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
        struct flight_seat *s = seat_of(f, (uint32_t)g, rank);
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
        return FLIGHT_COMPLETED;
    return !strcmp(text, "started") ? FLIGHT_STARTED : FLIGHT_SCHEDULED;
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
    int64_t sequence = sequence_of(value_get(entry, "collective_seq_id"));
    if (value_true(value_get(entry, "is_p2p")))
        return;
    if (!name || !operation || sequence < 0) {
        f->skipped++;
        return;
    }
    uint32_t g = group_of(f, name, value_text(value_at(group, 1), NULL));
    struct flight_seat *seat = f->failed ? NULL : seat_of(f, g, rank);
    int64_t id = value_int(value_get(entry, "pg_id"), -1);
    if (id >= 0)
        f->failed |= !map_put(&f->id_of, (uint64_t)id, g);
    if (!seat ||
        !mem_grow((void **)&f->calls, &f->call_cap, f->call_count + 1, sizeof(*f->calls))) {
        f->failed = true;
        return;
    }
    struct flight_call *c = &f->calls[f->call_count++];
    *c = (struct flight_call){.group = g,
                              .rank = rank,
                              .sequence = sequence,
                              .operation = text_of(f, operation),
                              .state = (uint8_t)state_of(entry)};
    c->sizes = spelt(f, value_get(entry, "input_sizes"), s);
    c->types = spelt(f, value_get(entry, "input_dtypes"), s);
    seat->enqueued = sequence > seat->enqueued ? sequence : seat->enqueued;
    if (c->state >= FLIGHT_STARTED && sequence > seat->started)
        seat->started = sequence;
    if (c->state == FLIGHT_COMPLETED && sequence > seat->completed)
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

int flight_add(struct flight *f, const struct value *dump, int rank, const char *path,
               struct error *e)
{
    const struct value *entries = value_get(dump, "entries");
    struct str scratch = {0};
    if (!value_get(dump, "pg_config") && !entries)
        return error_set(
            e, STATUS_INPUT,
            "\"%s\" is no dump of PyTorch's flight recorder: it has no pg_config and no "
            "entries",
            path);
    rank = rank < 0 ? free_rank(f) : rank;
    if (map_get(&f->rank_of, (uint64_t)rank, NULL))
        return error_set(e, STATUS_INPUT, "\"%s\": a dump of rank %d was there already", path,
                         rank);
    if (!mem_grow((void **)&f->dumps, &f->dump_cap, f->dump_count + 1, sizeof(*f->dumps)) ||
        !map_put(&f->rank_of, (uint64_t)rank, f->dump_count))
        return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", path);
    uint32_t index = (uint32_t)f->dump_count;
    f->dumps[f->dump_count++] = (struct flight_dump){rank, text_of(f, path)};
    if (!f->version)
        f->version = text_of(f, value_text(value_get(dump, "version"), NULL));
    const struct value *library = value_get(dump, "comm_lib_version");
    if (!f->library)
        f->library =
            text_of(f, value_text(library ? library : value_get(dump, "nccl_version"), NULL));
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
