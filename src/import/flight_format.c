/* SPDX-License-Identifier: MIT */
/* Dumps of PyTorch's flight recorder, as pickle or JSON, one a rank. */
#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "import/flight.h"
#include "import/formats.h"
#include "import/formats_list.h"
#include "import/pickle.h"

#define PICKLE_BYTES_MAX (512 * MIB)

/* A pickle that is no dump says so when it is read: "it has no pg_config". */
static bool recognise(const char *head, size_t size)
{
    return pickle_recognise(head, size) || flight_is_json(head, size);
}

static int read_all(struct source *source, struct str *all, struct error *e)
{
    const char *bytes;
    size_t size;
    int status;
    while (!(status = source_next(source, &bytes, &size, e)) && size) {
        if (all->len + size > PICKLE_BYTES_MAX)
            return error_set(e, STATUS_INPUT, "\"%s\": a dump of more than 512 MiB is not read",
                             source_path(source));
        str_addn(all, bytes, size);
    }
    if (!status && all->failed)
        status = error_set(e, STATUS_MEMORY, "\"%s\": out of memory", source_path(source));
    return status;
}

static int read_pickle(struct values *v, struct source *source, const struct value **ret,
                       struct error *e)
{
    struct str all = {0};
    int status = read_all(source, &all, e);
    if (!status && !(*ret = pickle_read(v, str_text(&all), all.len, source_path(source), e)))
        status = STATUS_INPUT;
    str_clear(&all);
    return status;
}

static int set_read(void *set, struct source *source, struct sink *sink, struct error *e)
{
    struct values v = {0};
    const struct value *dump = NULL;
    const char *head, *path = source_path(source);
    size_t size;
    uint64_t before = flight_skipped(set);
    sink_tool(sink, "flight recorder");
    int status = source_head(source, &head, &size, e);
    if (!status && pickle_recognise(head, size))
        status = read_pickle(&v, source, &dump, e);
    else if (!status)
        status = value_read(&v, source, &dump, e);
    int rank = flight_rank_of_name(path);
    if (!status && rank < 0)
        sink_note(
            sink,
            "its name does not end in a rank: it is taken for the lowest rank without a dump");
    if (!status)
        status = flight_add(set, dump, rank, path, e);
    sink_skip(sink, "entries without a name or number", flight_skipped(set) - before);
    values_clear(&v);
    return status;
}

FORMAT_SET(flight, set_read);

const struct format format_flight = {
    .name = "a dump of PyTorch's flight recorder", .recognise = recognise, .set = &flight_set};
